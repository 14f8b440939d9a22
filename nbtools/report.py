"""What the next request of a chat would hold, part by part, and where it would go."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from nbtools import sight
from nbtools.jsontext import dumps
from nbtools.messages import File, Message, Part, Reasoning, Request, Text, ToolCall
from nbtools.privacy import NOT_COVERED, Finding, Privacy
from nbtools.providers import Provider
from nbtools.records import as_table

COLUMNS = ("part", "name", "message", "tokens", "bytes", "pinned")
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ContextReport:
    """What the next request would hold; it shows itself as a table."""

    model: str
    host: str
    """Where it would go; "" where nothing leaves the process."""
    rows: tuple[Row, ...]
    body: int | None
    """Bytes of the whole request as it would be written, where the wire is known."""
    left_out: tuple[str, ...]
    """The ids of the messages that it would leave out."""
    policies: Mapping[str, Mapping[str, str]]
    """The policies of columns, by table."""
    findings: tuple[Finding, ...]
    """Values of protected columns in it, about which nobody has decided."""
    not_covered: tuple[str, ...] = NOT_COVERED
    """What looking for such values does not find."""

    @property
    def tokens(self) -> int:
        """Estimated tokens: four characters each, 750 pixels of a picture."""
        return sum(row["tokens"] for row in self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of the texts, without what the wire writes around them."""
        return sum(row["bytes"] for row in self.rows)

    def table(self) -> Any:
        """Return the rows as a table."""
        return as_table(self.rows, COLUMNS)

    def lines(self) -> list[str]:
        """Say in sentences what the table does not."""
        where = f"goes to {self.host}" if self.host else "stays in this process"
        body = f" ({self.body:,} as it is written)" if self.body is not None else ""
        lines = [
            f"The next request to {self.model} {where}.",
            f"About {self.tokens:,} tokens, {self.bytes:,} bytes{body}.",
        ]
        if self.left_out:
            lines.append(f"Messages that are left out: {len(self.left_out)}.")
        if not self.policies:
            return lines
        lines += [
            f"Withheld until you decide: {len(each.values)} of {each.column} in {each.place}."
            for each in self.findings
        ]
        missed = "; ".join(self.not_covered)
        return [*lines, f"Values of protected columns are looked for. Not found are: {missed}."]

    def __repr__(self) -> str:
        rows = [
            f"{row['part']:<10}{row['name'][:40]:<42}{row['tokens']:>8,} tokens{row['bytes']:>12,} bytes"
            for row in self.rows
        ]
        return "\n".join([*self.lines(), *rows])

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines())
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(row[name]))}</td>" for name in COLUMNS) + "</tr>"
            for row in self.rows
        )
        return f"{lines}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def report_on(
    request: Request,
    provider: Provider,
    privacy: Privacy,
    tables: Mapping[str, object],
    left_out: Sequence[str],
) -> ContextReport:
    """Describe a request.

    Args:
        request: What would be sent.
        provider: Who would be asked.
        privacy: The policies of columns.
        tables: The shared values by name.
        left_out: The ids of the messages that do not fit.
    """
    request = replace(request, messages=provider.fit(request.messages, request.settings))
    encode = getattr(provider, "encode", None)
    written = None if encode is None else dumps(encode(request))
    return ContextReport(
        model=provider.label,
        host=provider.host,
        rows=tuple(_rows(request)),
        body=None if written is None else len(written.encode("utf-8", "replace")),
        left_out=tuple(left_out),
        policies={table: dict(columns) for table, columns in privacy.policies.items()},
        findings=tuple(privacy.findings(request, tables)),
        not_covered=(*NOT_COVERED, *_not_there(privacy, tables)),
    )


def _not_there(privacy: Privacy, tables: Mapping[str, object]) -> Iterator[str]:
    """Name the protected tables whose values cannot be looked for."""
    for table in privacy.policies:
        if table not in tables:
            yield f"values of {table!r}, which is not shared"


def _rows(request: Request) -> Iterator[Row]:
    if request.system:
        yield _row("system", "", request.system)
    for tool in request.tools:
        yield _row("tool", tool.name, f"{tool.name}{tool.description}{dumps(tool.parameters)}")
    for message in request.messages:
        for part in message.parts:
            yield from _part_rows(message, part)


def _part_rows(message: Message, part: Part) -> Iterator[Row]:
    if isinstance(part, Text | Reasoning):
        kind = part.type if message.role == "assistant" else "question"
        yield _row(kind, part.text, part.text, message)
    elif isinstance(part, ToolCall):
        yield _row("call", part.tool, part.tool + dumps(dict(part.args or {})), message)
        yield _row("result", part.tool, part.told, message)
        for picture in part.pictures:
            tokens = sight.estimate(picture.width, picture.height)
            yield _file_row("picture", part.tool, picture.data, tokens, message)
    elif isinstance(part, File):
        name = part.name or part.about or part.mime
        yield _file_row("file", name, part.data, sight.tokens_of(part), message)


def _file_row(part: str, name: str, data: str, tokens: int, message: Message) -> Row:
    """Write the row of a file in base64; a picture has tokens by its size, another by its text."""
    row = _row(part, name, data, message)
    return {**row, "tokens": tokens or row["tokens"], "bytes": len(base64.b64decode(data))}


def _row(part: str, name: str, text: str, message: Message | None = None) -> Row:
    return {
        "part": part,
        "name": name if len(name) <= 60 else f"{name[:59]}…",
        "message": message.id if message else "",
        "tokens": (len(text) + 3) // 4,
        "bytes": len(text.encode("utf-8", "replace")),
        "pinned": message.pinned if message else False,
    }
