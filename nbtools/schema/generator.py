"""pydantic's JSON Schema without what only costs tokens, and without what no model can fill in."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import SchemaValidator, ValidationError, to_json

from nbtools.schema.closed import closes


class Generator(GenerateJsonSchema):
    """Leaves out the titles of fields, and takes a default that JSON cannot hold without a word.

    A type whose values JSON cannot name is refused.
    """

    ignored_warning_kinds: AbstractSet[JsonSchemaWarningKind] = {
        "skipped-choice",
        "non-serializable-default",
    }  # type: ignore[assignment]

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Say no: the title of a field only repeats its name."""
        return False

    def model_schema(self, schema: Any) -> Any:
        """Say that a model takes no further fields, where they are refused."""
        described = super().model_schema(schema)
        if closes(schema):
            described.setdefault("additionalProperties", False)
        return described

    def enum_schema(self, schema: Any) -> Any:
        """Refuse a choice whose members are not found by what the schema would say of them."""
        described = super().enum_schema(schema)
        reads = SchemaValidator(schema)
        for member in schema["members"]:
            try:
                reads.validate_json(to_json(member.value))
            except ValidationError:
                self.handle_invalid_for_json_schema(
                    schema, f"{member!r}, whose value is no text, number or None"
                )
        return described

    def is_subclass_schema(self, schema: Any) -> Any:
        """Refuse a class: no model can write one."""
        return self.handle_invalid_for_json_schema(schema, "a class")
