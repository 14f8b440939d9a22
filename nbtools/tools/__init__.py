"""Tools: what a model may call, and running it.

`Tool` and `tool` describe, `Toolset` brings tools from elsewhere, `lint` reads the descriptions,
`invoke` runs.
"""

from __future__ import annotations

from nbtools.tools.context import ToolContext
from nbtools.tools.decorator import Offered, collect, tool
from nbtools.tools.lint import Remark, check_tools
from nbtools.tools.result import PENDING, Pending, Result
from nbtools.tools.tool import Tool
from nbtools.tools.toolset import Toolset

__all__ = [
    "PENDING",
    "Offered",
    "Pending",
    "Remark",
    "Result",
    "Tool",
    "ToolContext",
    "Toolset",
    "check_tools",
    "collect",
    "tool",
]
