"""What a value looks like: to the person, to the model, to the page; and what code shows as it runs.

A value has three faces. `bundle` gives the one for the person, `look` the one for the model, of
which `tell` gives the words alone, `preview` the JSON for the page. `capture` and `figures` catch what code prints, displays and plots
on its way; `show_view` and `show_static` make outputs of a cell. The only package that knows IPython, which need not be there.
"""

from nbtools.display.bundles import bundle
from nbtools.display.faces import preview, tell
from nbtools.display.mime import together
from nbtools.display.outputs import current_cell, show_static, show_view, update_static
from nbtools.display.pages import reachable
from nbtools.display.pyplot import Figures, figures
from nbtools.display.routing import Collected, Sink, capture, user_names
from nbtools.display.seen import WORDS, Seen, look, look_at

__all__ = [
    "WORDS",
    "Collected",
    "Figures",
    "Seen",
    "Sink",
    "bundle",
    "capture",
    "current_cell",
    "figures",
    "look",
    "look_at",
    "preview",
    "reachable",
    "show_static",
    "show_view",
    "tell",
    "together",
    "update_static",
    "user_names",
]
