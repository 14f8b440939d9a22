"""Thoughts that a wire takes back although it signs none: they are marked when they end."""

from __future__ import annotations

from nbtools.events import ModelEvent, ModelReasoning


class Thoughts:
    """Marks what was thought as a wire's own, so that no other is sent it.

    Args:
        wire: The name of the wire.
    """

    __slots__ = ("_wire", "open")

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self.open = False
        """Whether the last thing that was said is a thought."""

    def grow(self, text: str, signature: str, into: list[ModelEvent]) -> None:
        """Take a piece of a thought, and what it is signed with; "" if it is not."""
        if text:
            self.open = True
            into.append(ModelReasoning(text))
        if signature:
            self.open = False
            sealed = {"wire": self._wire, "signature": signature, "tail": len(text)}
            into.append(ModelReasoning(sealed=sealed))

    def close(self, into: list[ModelEvent]) -> None:
        """End the thought that is open, if one is."""
        if self.open:
            self.open = False
            into.append(ModelReasoning(sealed={"wire": self._wire}))
