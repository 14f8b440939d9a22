"""What an answer cost, by a table of prices that has a date and can be replaced.

The table gives US dollars for a million tokens, at the vendors' list prices for ordinary requests.
A model that it does not name has an unknown cost, which is never taken for nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.messages import Message, Usage

_SHIPPED = Path(__file__).with_name("prices.json")
_MILLION = 1_000_000
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest)$")
_SAME = {"openai-responses": "openai"}
_COUNTS_CACHED_APART = frozenset({"anthropic"})
_COUNTS_REASONING_APART = frozenset({"gemini"})
_FIELDS = ("input", "output", "cached", "written")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What one or more answers cost."""

    amount: float | None
    """In `currency`; None where it is unknown for any of them."""
    currency: str = "USD"
    date: str = ""
    """When the prices held, as YYYY-MM-DD."""
    unknown: tuple[str, ...] = ()
    """The models that have no price, or did not say how many tokens they used."""

    def __str__(self) -> str:
        if self.amount is None:
            return f"unknown ({', '.join(self.unknown)})"
        return f"{self.amount:.4f} {self.currency} (prices of {self.date})"


class Prices:
    """A table of prices.

    Args:
        table: An object with `date`, `currency` and `models`: by a model's label, such as
            "openai:gpt-5.1", the prices of a million tokens as `input`, `output`, and where they
            differ `cached` (read from a cache) and `written` (to it).

    Raises:
        ValueError: The table has another shape; the error names the place.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        models = table.get("models") if isinstance(table, Mapping) else None
        if not isinstance(models, Mapping):
            raise ValueError("The table has no object 'models'.")  # noqa: TRY004 - a file's content
        for label, prices in models.items():
            _check(label, prices)
        self.date = str(table.get("date") or "")
        self.currency = str(table.get("currency") or "USD")
        self._models: Mapping[str, Mapping[str, float]] = models

    def of(self, label: str) -> Mapping[str, float] | None:
        """Give the prices of a model; None if it has none here.

        Args:
            label: Its label, such as "openai:gpt-5.1-2025-11-13"; a date at its end is left out
                where the dated name is not in the table.
        """
        vendor, colon, name = label.partition(":")
        label = f"{_SAME.get(vendor, vendor)}{colon}{name}"
        return self._models.get(label) or self._models.get(_DATED.sub("", label))

    def cost(self, messages: Iterable[Message]) -> Cost:
        """Add up what the answers among some messages cost.

        Args:
            messages: Messages of a conversation.

        Returns:
            The cost; its amount is unknown as soon as that of one answer is.
        """
        amounts = {
            message.id: (message.model, self._amount(message))
            for message in messages
            if message.role == "assistant" and (message.usage or message.finish)
        }
        unknown = sorted({model for model, amount in amounts.values() if amount is None})
        total = None if unknown else sum(amount or 0.0 for _, amount in amounts.values())
        return Cost(amount=total, currency=self.currency, date=self.date, unknown=tuple(unknown))

    def _amount(self, message: Message) -> float | None:
        prices, usage = self.of(message.model), message.usage
        if prices is None or usage is None or usage.input is None or usage.output is None:
            return None
        counts = _counted(usage, message.model.partition(":")[0])
        return sum(
            count * prices.get(name, prices["input"]) / _MILLION for name, count in counts.items()
        )


def prices() -> Prices:
    """Give the prices that hold: those that came with nbtools, or what `use_prices` set."""
    if _current.table is None:
        _current.table = Prices(json.loads(_SHIPPED.read_text("utf-8")))
    return _current.table


def use_prices(table: Mapping[str, Any] | str | Path | None) -> None:
    """Replace the table of prices.

    Args:
        table: What `Prices` takes, or a JSON file of it; None goes back to the shipped one.

    Raises:
        ValueError: The table has another shape; the error names the place.
    """
    if isinstance(table, str | Path):
        _current.table = Prices(json.loads(Path(table).read_text("utf-8")))
    else:
        _current.table = None if table is None else Prices(table)


class _Current:
    table: Prices | None = None


_current = _Current()


def _counted(usage: Usage, wire: str) -> dict[str, int]:
    """Count the tokens of each price once; wires differ in what `input` and `output` hold."""
    cached, output = usage.cached or 0, usage.output or 0
    fresh = (usage.input or 0) - (0 if wire in _COUNTS_CACHED_APART else cached)
    if wire in _COUNTS_REASONING_APART:
        output += usage.reasoning or 0
    return {"input": fresh, "output": output, "cached": cached, "written": usage.written or 0}


def _check(label: object, prices: object) -> None:
    fits = isinstance(prices, Mapping) and {"input", "output"} <= set(prices) <= set(_FIELDS)
    if not fits or not all(_is_price(price) for price in prices.values()):  # type: ignore[attr-defined]
        raise ValueError(
            f"The prices of {label!r} are {prices!r:.80}; expected numbers for 'input', 'output' "
            "and, if need be, 'cached' and 'written'."
        )


def _is_price(price: object) -> bool:
    return isinstance(price, int | float) and type(price) is not bool and 0 <= price < math.inf
