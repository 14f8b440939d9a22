"""A chat in a notebook whose tool calls are live components."""

__version__ = "0.1.0"
