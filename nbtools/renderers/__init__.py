"""What draws a call in place of the built-in card: a Python function or an anywidget module."""

from nbtools.renderers.javascript import JavaScriptRenderer
from nbtools.renderers.python import Drawing, draw
from nbtools.renderers.registry import Registry, Renderer

__all__ = ["Drawing", "JavaScriptRenderer", "Registry", "Renderer", "draw"]
