"""The tools that the demo calls; they touch nothing and ask no network.

Imported when a chat with the demo is made, since `nbtools.tools` has the larger imports.
"""

from __future__ import annotations

from nbtools.messages import Json
from nbtools.tools.decorator import tool

_DAYS = ("Monday", "Tuesday", "Wednesday")
_SKIES = ("clear", "cloudy", "light rain", "windy")


@tool
def demo_weather(city: str) -> list[dict[str, Json]]:
    """Give three days of invented weather.

    Args:
        city: Name of a city.
    """
    seed = sum(map(ord, city))
    return [
        {
            "day": name,
            "low": seed % 9 + day,
            "high": seed % 9 + 6 + day * 2,
            "sky": _SKIES[(seed + day) % len(_SKIES)],
        }
        for day, name in enumerate(_DAYS)
    ]


@tool(approval=True, destructive=True)
def demo_delete(file: str) -> str:
    """Pretend to delete a file; nothing is ever deleted.

    Args:
        file: Name of the file.
    """
    return f"This is a demo: {file!r} was not touched."
