"""How much one message may set going, and how much the model is told of a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of one chat; all but the last five hold for the answer to one message.

    At a limit the calls that are open end as `limit`, the chat says so, and the model may answer
    once more without calling anything.

    Raises:
        ValueError: A limit is no number, or too small; the text names it.
    """

    calls: int = 100
    """Calls that the model may make; those beyond are not run."""
    repeats: int = 3
    """How often the same call may fail in the same way."""
    seconds: float | None = None
    """How long all of it may take; waiting for a person does not count."""
    tokens: int | None = None
    """Tokens that its requests may use together, as the provider counts them."""
    cost: float | None = None
    """What its requests may cost together, in the currency of the prices in use."""
    told: int = 8_000
    """Characters of one result that the model is told; longer text is cut in its middle."""
    rows: int = 10
    """Rows of a table that the model is told."""
    columns: int = 50
    """Columns of a table that the model is told."""
    pictures: int = 4
    """Pictures of one result that the model is given; 0 gives it none."""
    pixels: int = 1_024
    """Pixels of their longer side; larger ones are made smaller for the model."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            optional = name in ("seconds", "tokens", "cost")
            if (value is None and optional) or _fits(name, value, least):
                continue
            kind = "number" if name in ("seconds", "cost") else "whole number"
            also = ", or None" if optional else ""
            raise ValueError(f"{name} is {value!r:.80}; expected a {kind} from {least}{also}.")


_LEAST = {
    "calls": 0,
    "repeats": 1,
    "seconds": 0,
    "tokens": 0,
    "cost": 0,
    "told": 256,
    "rows": 1,
    "columns": 1,
    "pictures": 0,
    "pixels": 64,
}


def _fits(name: str, value: object, least: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    whole = isinstance(value, int) or name in ("seconds", "cost")
    return whole and value >= least
