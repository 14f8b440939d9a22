"""What a model is told of a callable's parameters, and how the arguments it sends are checked.

`Described` reads a typed function, `Written` takes a JSON Schema that somebody wrote; both give the
same things. pydantic and jsonschema are imported when the first tool is made.
"""

from __future__ import annotations

from nbtools.schema.described import Described
from nbtools.schema.docstring import Docstring, read_docstring
from nbtools.schema.signature import callable_name, is_kind
from nbtools.schema.variables import Variable
from nbtools.schema.written import Written

__all__ = [
    "Described",
    "Docstring",
    "Variable",
    "Written",
    "callable_name",
    "is_kind",
    "read_docstring",
]
