"""What the model is told of a result that is there to be looked at."""

from __future__ import annotations

import pytest

import nbtools as nb
from nbtools.testing import call


def told(tool):
    chat = nb.Chat(nb.Scripted([call(tool.name)], "Done."), tools=[tool])
    return chat.ask("Go on.").calls[0].told


def test_a_figure_that_a_tool_leaves_open_is_named_to_the_model():
    pyplot = pytest.importorskip("matplotlib.pyplot")

    @nb.tool
    def plot():
        """Plot a line."""
        pyplot.plot([1, 2])

    assert told(plot) == "Shown to the user: <Figure size 640x480 with 1 Axes>"


def test_a_tool_that_shows_nothing_and_returns_nothing_tells_null():
    @nb.tool
    def rest():
        """Do nothing."""

    assert told(rest) == "null"
