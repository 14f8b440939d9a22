"""A chat as Python code sees it: its sides, which `Chat` inherits, and the handles they give out.

Each side is one thing that code does with a chat. It knows the session and names what else it
needs; none knows another side, or the widget.
"""

from nbtools.face.answering import Answering
from nbtools.face.changing import Changing
from nbtools.face.keeping import Keeping
from nbtools.face.looking import Looking
from nbtools.face.sharing import Sharing
from nbtools.face.talking import Talking

__all__ = ["Answering", "Changing", "Keeping", "Looking", "Sharing", "Talking"]
