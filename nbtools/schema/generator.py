"""pydantic's JSON Schema without what only costs tokens."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind


class Generator(GenerateJsonSchema):
    """Leaves out the titles of fields, and takes a default that JSON cannot hold without a word."""

    ignored_warning_kinds: AbstractSet[JsonSchemaWarningKind] = {
        "skipped-choice",
        "non-serializable-default",
    }  # type: ignore[assignment]

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Say no: the title of a field only repeats its name."""
        return False
