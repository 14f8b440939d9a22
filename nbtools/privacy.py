"""What a model may be told of the columns of shared tables, and what goes out in spite of it.

A policy binds everything that nbtools itself writes about a table. What a tool returned as text,
what an error says, what a person typed and what a model wrote are looked through for exact values
of the protected columns before each request.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from nbtools.display.bundles import items_of
from nbtools.display.frames import frame_of, table_of
from nbtools.display.tables import has_column, tell_frame
from nbtools.errors import WithheldError
from nbtools.frozen import freeze
from nbtools.history import NOTE
from nbtools.jsontext import dumps
from nbtools.limits import Limits
from nbtools.messages import File, Json, Message, Part, Reasoning, Request, Text, ToolCall
from nbtools.plain import plain, plain_and_whole
from nbtools.scan import Needles
from nbtools.tools import Result

ColumnPolicy = Literal["drop", "mask", "aggregate"]

MOST_VALUES = 100_000
"""Different values that are looked for, of all columns together."""

NOT_COVERED = (
    "parts of a value, and the same value spelt in another way (case, number or date format)",
    "values of fewer than 4 characters, and those beyond the first 100,000 different ones",
    "the contents of files and pictures",
    "the descriptions of tools, and material that only the provider can read",
    "what can be concluded from other columns or from summaries",
    "short values in columns that were renamed or spread over others",
)
"""What looking for exact values does not find."""

_STRICTEST: tuple[ColumnPolicy, ...] = ("drop", "mask", "aggregate")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Values of one column that stand in one place of a request."""

    place: str
    column: str
    values: frozenset[str]

    def __repr__(self) -> str:
        # The values are what is not to be told.
        return f"<{len(self.values)} values of {self.column} in {self.place}>"


class Privacy:
    """The policies of one chat, and what a person said about values that were found."""

    def __init__(self) -> None:
        self.policies: dict[str, dict[str, ColumnPolicy]] = {}
        self._blanked: dict[str, str] = {}
        self._released: set[str] = set()
        self._asked: dict[str, str] = {}

    def protect(self, table: str, columns: Mapping[str, ColumnPolicy]) -> None:
        """Set the policies of a table's columns, in the place of those there were.

        Raises:
            ValueError: There is no such policy; the text names it.
        """
        for column, policy in columns.items():
            if policy not in get_args(ColumnPolicy):
                raise ValueError(
                    f"The policy of {table}.{column} is {policy!r:.80}; "
                    "expected 'drop', 'mask' or 'aggregate'."
                )
        self.policies[table] = dict(columns)
        if not columns:
            del self.policies[table]

    @property
    def columns(self) -> dict[str, ColumnPolicy]:
        """The policy of each column by its name; the strictest, where tables share a name."""
        found: dict[str, ColumnPolicy] = {}
        for columns in self.policies.values():
            for name, policy in columns.items():
                found[name] = min(policy, found.get(name, policy), key=_STRICTEST.index)
        return found

    def veiled(self, value: object, limits: Limits) -> object:
        """Give a value whose face for the model keeps to the policies.

        Args:
            value: What a tool returned: any table with a protected column gets another face, also
                within other data.
            limits: How much the model is told.
        """
        if not self.policies:
            return value
        faces = value if isinstance(value, Result) else Result(value)
        told = faces.value if faces.model is None else faces.model
        veiled = self._veiled(told, limits)
        return value if veiled is told else replace(faces, model=veiled)

    def _veiled(self, told: object, limits: Limits) -> object:
        """Describe a table with a protected column; each of them, where they are told one by one."""
        if items := items_of(told):
            each = [self._veiled(item, limits) for item in items]
            return told if all(map(operator.is_, each, items)) else each
        described = self._described(told, limits)
        return self._veiled_within(told, limits) if described is told else described

    def _veiled_within(self, told: object, limits: Limits) -> object:
        """Describe the tables that stand in data, if there are any."""
        found: list[object] = []

        def instead(value: object) -> object:
            described = self._described(value, limits)
            if described is not value:
                found.append(described)
            return described

        written, _ = plain_and_whole(told, limit=limits.told, instead=instead)
        return written if found else told

    def _described(self, value: object, limits: Limits) -> object:
        policies, frame = self.columns, table_of(value)
        if frame is None or not has_column(frame, policies):
            return value
        return tell_frame(frame, limits.rows, limits.columns, policies)

    def let_through(self, request: Request, tables: Mapping[str, object]) -> Request:
        """Look through a request before it is sent.

        Args:
            request: What would be sent.
            tables: The shared values by name.

        Returns:
            The request, with a note in the place of values that were withheld.

        Raises:
            WithheldError: It holds values that nobody has decided about yet, or a table whose
                columns are protected is none that policies can bind.
        """
        self._expect_tables(tables)
        if found := self.findings(request, tables):
            self._asked = {value: each.column for each in found for value in each.values}
            raise _withheld(found)
        return _blank(request, Needles(self._blanked)) if self._blanked else request

    def _expect_tables(self, tables: Mapping[str, object]) -> None:
        """Send nothing where a name of a protected table means something else by now."""
        for table in self.policies:
            try:
                expect_table(table, tables.get(table))
            except ValueError as error:
                raise WithheldError(f"The request was not sent: {error}") from None

    def findings(self, request: Request, tables: Mapping[str, object]) -> list[Finding]:
        """List the values in a request about which nobody has decided yet."""
        values = self._values(tables)
        found = find(request, Needles(values)) if values else []
        return [each for each in found if each.values - self._blanked.keys()]

    def release(self) -> None:
        """Let the values go out that were asked about."""
        self._released |= self._asked.keys()
        self._asked = {}

    def withhold(self) -> None:
        """Blank the values that were asked about, in this request and in every later one."""
        self._blanked |= self._asked
        self._asked = {}

    def _values(self, tables: Mapping[str, object]) -> dict[str, str]:
        """List the values of protected columns, with the name of the column; at most so many."""
        values: dict[str, str] = {}
        for table, columns in self.policies.items():
            frame = frame_of(tables.get(table))
            for column in columns if frame is not None else ():
                for value in _texts(frame, column, MOST_VALUES - len(values)):
                    values.setdefault(value, f"{table}.{column}")
        return {value: source for value, source in values.items() if value not in self._released}


def check_columns(table: str, columns: Mapping[str, object], value: object) -> None:
    """Make sure that the columns of a policy are there, where the table is shared already.

    Raises:
        ValueError: One is not; the text names it and those there are. Or it is no table of pandas.
    """
    if columns:
        expect_table(table, value)
    frame = frame_of(value)
    if frame is None:
        return
    missing = [name for name in columns if name not in _names(frame)]
    if missing:
        known = ", ".join(str(name) for name in frame.columns)
        raise ValueError(f"{table} has no column {missing[0]!r}; its columns are {known}.")


def expect_table(name: str, value: object) -> None:
    """Make sure that a value whose columns are protected is one that policies can bind.

    Args:
        name: What it is shared as.
        value: The value; None where nothing is shared under this name.

    Raises:
        ValueError: It is no DataFrame or Series of pandas; the text names its type.
    """
    if value is not None and frame_of(value) is None:
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        raise ValueError(
            f"{name} is a {kind}; policies bind the columns of pandas.DataFrame and pandas.Series "
            f"only. chat.protect({name}={{}}) ends the protection."
        )


def find(request: Request, needles: Needles) -> list[Finding]:
    """List the values that stand in a request, place by place."""
    found: dict[tuple[str, str], set[str]] = {}
    for place, text in _places(request):
        for hit in needles.find(text):
            found.setdefault((place, hit.source), set()).add(hit.value)
    return [
        Finding(place=place, column=column, values=frozenset(values))
        for (place, column), values in found.items()
    ]


def _withheld(found: Iterable[Finding]) -> WithheldError:
    listed = "; ".join(
        f"{len(each.values)} of {each.column} in {each.place}"
        for each in sorted(found, key=lambda each: (each.column, each.place))
    )
    return WithheldError(
        f"The request was not sent, because it holds values of protected columns: {listed}.",
        hint="Send it without them, or send them after all.",
    )


def _names(frame: Any) -> set[str]:
    return {str(name) for name in (*frame.columns, *frame.index.names)}


def _texts(frame: Any, column: str, most: int) -> list[str]:
    """Write the different values of a column as text."""
    places = [place for place, name in enumerate(frame.columns) if str(name) == column]
    series = [frame.iloc[:, place] for place in places]
    if column in map(str, frame.index.names):
        series.append(frame.index.get_level_values(column).to_series())
    texts = (text for each in series for value in _different(each) for text in _written(value))
    return list(itertools.islice(dict.fromkeys(texts), max(most, 0)))


def _different(series: Any) -> Iterable[object]:
    known = series.dropna()
    try:
        return known.unique()  # type: ignore[no-any-return]
    except TypeError:  # lists and the like
        return known  # type: ignore[no-any-return]


def _written(value: object) -> Iterator[str]:
    """Give the ways in which Python and nbtools write a value: in words, as JSON, in CSV."""
    text = str(value).strip()
    yield text
    if '"' in text:
        yield text.replace('"', '""')
    if not isinstance(value, str):
        data = plain(value)
        yield data if isinstance(data, str) else dumps(data)


def _places(request: Request) -> Iterator[tuple[str, str]]:
    yield "the instructions", request.system
    for message in request.messages:
        for part in message.parts:
            yield from _part_places(message, part)


def _part_places(message: Message, part: Part) -> Iterator[tuple[str, str]]:
    if isinstance(part, ToolCall):
        yield f"the arguments of {part.tool}", dumps(dict(part.args or {}))
        yield f"what {part.tool} returned", part.told
    elif isinstance(part, File):
        yield "the name of a file", part.name
    elif isinstance(part, Text | Reasoning):
        yield _place_of(message, part.text), part.text


def _place_of(message: Message, text: str) -> str:
    if message.role == "assistant":
        return "an answer"
    return "a note from the program" if text.startswith(NOTE) else "your message"


def _blank(request: Request, needles: Needles) -> Request:
    messages = [
        replace(message, parts=tuple(_blank_part(part, needles.blank) for part in message.parts))
        for message in request.messages
    ]
    return replace(request, system=needles.blank(request.system), messages=messages)


def _blank_part(part: Part, blank: Callable[[str], str]) -> Part:
    if isinstance(part, Text):
        return replace(part, text=blank(part.text))
    if isinstance(part, File):
        return replace(part, name=blank(part.name))
    if isinstance(part, Reasoning) and part.sealed is None:
        return replace(part, text=blank(part.text))
    if isinstance(part, ToolCall):
        args = _blank_json(dict(part.args or {}), blank)
        written = replace(part, args=freeze(args), raw=dumps(args), told=blank(part.told))
        # What only the person sees is in no request.
        return replace(written, value=None, display=None, output="", error="", trace="")
    return part


def _blank_json(value: Json, blank: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return blank(value)
    if isinstance(value, dict):
        return {blank(name): _blank_json(item, blank) for name, item in value.items()}
    if isinstance(value, list):
        return [_blank_json(item, blank) for item in value]
    # A number is withheld where its text is.
    text = dumps(value)
    blanked = blank(text)
    return value if blanked == text else blanked
