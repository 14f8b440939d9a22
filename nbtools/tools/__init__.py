"""Tools: what a model may call, and running it.

`Tool` and `tool` describe, `invoke` runs, `failure` says what went wrong.
"""

from __future__ import annotations

from nbtools.tools.context import ToolContext
from nbtools.tools.decorator import collect, tool
from nbtools.tools.result import PENDING, Pending, Result
from nbtools.tools.tool import Tool

__all__ = ["PENDING", "Pending", "Result", "Tool", "ToolContext", "collect", "tool"]
