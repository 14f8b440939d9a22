"""Tools: what a model may call, and running it.

`Tool` and `tool` describe, `lint` reads the descriptions, `invoke` runs, `failure` says what went
wrong.
"""

from __future__ import annotations

from nbtools.tools.context import ToolContext
from nbtools.tools.decorator import collect, tool
from nbtools.tools.lint import Remark, check_tools
from nbtools.tools.result import PENDING, Pending, Result
from nbtools.tools.tool import Tool

__all__ = [
    "PENDING",
    "Pending",
    "Remark",
    "Result",
    "Tool",
    "ToolContext",
    "check_tools",
    "collect",
    "tool",
]
