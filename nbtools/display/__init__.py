"""What a value looks like: to the person, to the model, to the page; and what code shows as it runs.

A value has three faces. `bundle` gives the one for the person, `tell` the text for the model,
`preview` the JSON for the page. `capture` and `figures` catch what code prints, displays and plots
on its way; `show_view` and `show_static` make outputs of a cell. The only package that knows IPython, which need not be there.
"""

from nbtools.display.bundles import bundle
from nbtools.display.faces import preview, tell
from nbtools.display.mime import together
from nbtools.display.outputs import current_cell, show_static, show_view, update_static
from nbtools.display.pages import reachable
from nbtools.display.pyplot import Figures, figures
from nbtools.display.routing import Collected, Sink, capture, user_names

__all__ = [
    "Collected",
    "Figures",
    "Sink",
    "bundle",
    "capture",
    "current_cell",
    "figures",
    "preview",
    "reachable",
    "show_static",
    "show_view",
    "tell",
    "together",
    "update_static",
    "user_names",
]
