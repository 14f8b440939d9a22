"""What a model is told of a callable's parameters, and how its arguments are read."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import math
import threading
from collections.abc import Iterable, Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NotRequired,
    ParamSpec,
    Self,
    TypedDict,
    Unpack,
)

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    RootModel,
    SecretStr,
    Tag,
    create_model,
    field_serializer,
    model_validator,
)

from nbtools.errors import InvalidArguments, ToolDefinitionError
from nbtools.jsontext import digest
from nbtools.schema import Described
from nbtools.schema.closed import _told_apart
from nbtools.tools import Tool, ToolContext, collect, tool

if TYPE_CHECKING:
    from nowhere import Ghost  # type: ignore[import-not-found]


@dataclasses.dataclass
class Box:
    w: float
    h: float = 1.0


class Options(TypedDict, total=False):
    dpi: int


class Span(BaseModel):
    lo: int
    hi: int | None = None


class Node(BaseModel):
    label: str
    kids: list[Node] = []


class Renamed(BaseModel):
    kind: Annotated[str, Field(alias="class")]


class Tree(TypedDict):
    label: str
    kids: NotRequired[list[Tree]]


class Colour(enum.Enum):
    RED = (255, 0, 0)


class Quarter(enum.Enum):
    FIRST = dt.date(2024, 1, 1)


class Login(BaseModel):
    password: SecretStr


@dataclasses.dataclass
class Ticket:
    title: str
    number: int = dataclasses.field(default=1, init=False)


class Printed(BaseModel):
    day: dt.date
    size: int = Field(2, serialization_alias="width")

    @field_serializer("day")
    def as_printed(self, day: dt.date) -> str:
        return f"{day:%d.%m.%Y}"


class Tank:
    """A tank."""

    def level(self, hour: int) -> float:
        """Level at an hour."""
        return float(hour)

    def merge(self, other: Self) -> Self:
        return self

    @classmethod
    def sizes(cls) -> list[int]:
        return [1]

    @staticmethod
    def unit(long: bool = False) -> str:
        return "litres" if long else "l"

    def __call__(self, litres: float) -> str:
        return f"{litres} l"


def scale(x: float, factor: float) -> float:
    """Scale it."""
    return x * factor


def properties(function: Any) -> dict[str, Any]:
    return dict(tool(function).parameters["properties"])


def run(made: Tool, **args: Any) -> Any:
    positional, named = made.arguments(made.check(args), ToolContext(None))
    return made(*positional, **named)


def test_a_free_dict_defaults_and_further_names_are_no_trouble():
    """S-01: registration works, `**kw` is in no schema, absent and null mean the default."""

    def tag(row: int, extra: dict[str, float] | None = None, **kw: Any) -> Any:
        return row, extra, kw

    made = tool(tag)
    assert list(made.parameters["properties"]) == ["row", "extra"]
    assert made.parameters["required"] == ["row"]
    assert run(made, row=1) == run(made, row=1, extra=None) == (1, None, {})
    assert run(made, row=1, extra={"a": 2}) == (1, {"a": 2.0}, {})


def test_lists_of_dicts_and_untyped_parameters_take_anything():
    """S-01: the variants `list[dict]`, `Any`, and a model with a free dict inside."""

    def odd(rows: list[dict], anything: Any, bare, span: Span) -> Any:  # type: ignore[type-arg]
        return rows, anything, bare, span

    assert run(tool(odd), rows=[{"a": [1]}], anything=None, bare="x", span={"lo": 1}) == (
        [{"a": [1]}],
        None,
        "x",
        Span(lo=1),
    )


def test_every_kind_of_callable_has_a_name_a_text_and_its_own_parameters():
    """S-02: no `self` or `cls`, no bound argument in any schema."""
    tank = Tank()
    made = [tool(each) for each in (tank.level, Tank.sizes, Tank.unit, tank)]
    assert [(each.name, list(each.parameters["properties"])) for each in made] == [
        ("level", ["hour"]),
        ("sizes", []),
        ("unit", ["long"]),
        ("tank", ["litres"]),
    ]
    assert [each.description for each in made] == ["Level at an hour.", "", "", "A tank."]
    assert run(made[0], hour=2) == 2.0
    assert run(made[3], litres=2) == "2.0 l"


def test_what_a_partial_binds_by_place_is_gone_and_by_name_is_a_default():
    """S-02: one rule for partials; the text is that of the wrapped function."""
    by_place = tool(functools.partial(scale, 2.0))
    assert (by_place.name, by_place.description) == ("scale", "Scale it.")
    assert list(by_place.parameters["properties"]) == ["factor"]
    assert run(by_place, factor=3) == 6.0
    by_name = tool(functools.partial(scale, factor=2.0))
    assert by_name.parameters["properties"]["factor"]["default"] == 2.0
    assert run(by_name, x=3) == 6.0


def test_two_partials_of_one_function_are_refused_until_one_is_named():
    """S-02: no silent overwrite."""
    double, triple = (functools.partial(scale, factor=factor) for factor in (2.0, 3.0))
    with pytest.raises(ToolDefinitionError, match=r"Two tools are called 'scale'.*name="):
        collect([double, triple])
    assert list(collect([double, tool(triple, name="triple")])) == ["scale", "triple"]


def test_a_wrapped_function_shows_the_parameters_of_the_inner_one():
    """S-02: decorated with functools.wraps."""

    @functools.wraps(scale)
    def wrapper(*args: Any, **kwargs: Any) -> float:
        return -scale(*args, **kwargs)

    assert run(tool(wrapper), x=2, factor=3) == -6.0


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Tank.level, "Tank.level is a method without its object; pass the method of an instance"),
        (lambda x: x, "'<lambda>' cannot be the name of a tool; expected 1 to 64 letters"),
        (Tank, "Tank is a class, not a function"),
        (max, "no readable signature"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_what_to_do(function, text):
    """S-02: the unbound method and the lambda without a name."""
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert text in str(caught.value)


def test_models_used_twice_and_recursive_ones_are_described_by_reference():
    """S-03: no RecursionError, and a free dict stays free."""

    def walk(root: Node, also: Node, spans: dict[str, Span]) -> Any:
        return root, spans

    made = tool(walk)
    assert made.parameters["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert made.parameters["properties"]["spans"]["additionalProperties"] == {
        "$ref": "#/$defs/Span"
    }
    node = {"label": "a", "kids": [{"label": "b"}]}
    root, spans = run(made, root=node, also=node, spans={"x": {"lo": 1}})
    assert root == Node(label="a", kids=[Node(label="b")])
    assert spans == {"x": Span(lo=1)}


GOOGLE = """Mix two paints.
    Args:

        a: first, e.g. ratio: 1:2
        b (int): second
            on two lines
        nobody: not a parameter
    Raises:
        ValueError: if both are zero
    Returns:
        int: shade
    """
RAISES_FIRST = """Mix two paints.

    Raises:
        ValueError: if both are zero

    Args:
        a: first, e.g. ratio: 1:2
        b: second on two lines
    """
NUMPY = """Mix two paints.

    Parameters
    ----------
    a : int
        first, e.g. ratio: 1:2
    b : int
        second
        on two lines

    Raises
    ------
    ValueError
        if both are zero
    """
SPHINX = """Mix two paints.

    :param a: first, e.g. ratio: 1:2
    :param int b: second
        on two lines
    :raises ValueError: if both are zero
    :returns: shade
    """
TABS = (
    "Mix two paints.\n\n\tArgs:\n\t\ta: first, e.g. ratio: 1:2\n\t\tb: second\n\t\t\ton two lines"
)


@pytest.mark.parametrize("text", [GOOGLE, RAISES_FIRST, NUMPY, SPHINX, TABS])
def test_each_parameter_has_its_own_text_in_every_style(text):
    """S-04: nothing of Raises and Returns leaks into a description."""

    def mix(a: int, b: int) -> int:
        return a + b

    mix.__doc__ = text
    made = tool(mix)
    assert made.description == "Mix two paints."
    described = {n: each["description"] for n, each in made.parameters["properties"].items()}
    assert described == {"a": "first, e.g. ratio: 1:2", "b": "second on two lines"}


def test_a_docstring_may_begin_with_its_parameters_and_hold_what_no_utf_8_does():
    def mix(a: int) -> int:
        return a

    mix.__doc__ = """Args:
        a: first \ud800
    """
    made = tool(mix)
    assert made.description == ""
    assert made.parameters["properties"]["a"]["description"] == "first \ufffd"


@pytest.mark.parametrize("text", [None, "", "  \n ", "Args:", "Parameters\n----------\n", 12])
def test_an_odd_docstring_raises_nothing_and_says_nothing(text):
    """S-04: a docstring that is empty or only a heading."""

    def mix(a: int) -> int:
        return a

    mix.__doc__ = text
    made = tool(mix)
    assert made.parameters["properties"] == {"a": {"type": "integer"}}
    assert made.description == ""


def test_hints_that_are_text_are_resolved_and_the_function_gets_such_values():
    """S-05: with `from __future__ import annotations`, and a class local to a function."""

    def make() -> Any:
        class Mode(str, enum.Enum):  # noqa: UP042 - as people write it
            A = "a"
            B = "b"

        def draw(box: Box, opt: Options, mode: Mode = Mode.A) -> Any:
            return box, opt, mode, Mode

        return draw

    made = tool(make())  # the function around `draw` has returned
    definitions = made.parameters["$defs"]
    assert definitions["Box"]["required"] == ["w"]
    assert definitions["Mode"]["enum"] == ["a", "b"]
    assert "required" not in definitions["Options"]
    box, opt, mode, kind = run(made, box={"w": 2}, opt={"dpi": 3}, mode="b")
    assert (box, opt, mode) == (Box(2.0), {"dpi": 3}, kind("b"))
    assert type(mode) is kind


def test_classes_of_the_cell_function_are_seen_while_it_runs():
    """S-05: local classes, also within each other, and a hint that is written as text."""

    @dataclasses.dataclass
    class Lid:
        heavy: bool

    @dataclasses.dataclass
    class Pot:
        lid: Lid

    @tool
    def cook(pot: Pot, box: Box | None, ctx: ToolContext[Tank]) -> Any:
        return pot, box

    assert run(cook, pot={"lid": {"heavy": True}}, box=None) == (Pot(Lid(True)), None)


def test_a_hint_that_cannot_be_resolved_names_function_parameter_and_hint():
    """S-05: a hint under TYPE_CHECKING is never a missing parameter."""

    def haunt(house: Ghost) -> None: ...

    with pytest.raises(ToolDefinitionError, match="'haunt': the type 'Ghost' of parameter 'house'"):
        tool(haunt)


def test_an_alias_is_the_name_outside_and_the_function_gets_its_own():
    """S-06: aliases, leading underscores and names that pydantic uses itself."""

    def pick(  # noqa: PLR0917
        class_: Annotated[str, Field(alias="class")],
        _n: int = 1,
        name: str = "n",
        args: int = 0,
        schema: int = 0,
        json: int = 0,
        model_config: int = 0,
    ) -> Any:
        return class_, _n, name, args, schema, json, model_config

    made = tool(pick)
    assert list(made.parameters["properties"])[:3] == ["class", "_n", "name"]
    assert run(made, **{"class": "A", "_n": 2, "schema": 3}) == ("A", 2, "n", 0, 3, 0, 0)
    assert "field" not in str(made.parameters)


def test_an_alias_within_a_model_is_read_and_shown_as_the_alias():
    """S-06: alias inside a nested model."""

    def pick(one: Renamed) -> Any:
        return one.kind

    made = tool(pick)
    assert made.check({"one": {"class": "A"}}) == {"one": {"class": "A"}}
    assert run(made, one={"class": "A"}) == "A"


def test_two_parameters_of_one_outside_name_are_refused():
    """S-06: a name that is used twice."""

    def pick(a: int, b: Annotated[int, Field(alias="a")]) -> None: ...

    with pytest.raises(ToolDefinitionError, match="'a' and 'b' are both called 'a'"):
        tool(pick)


def test_the_authors_own_description_goes_first_and_limits_are_kept():
    def pick(n: Annotated[int, Field(description="own", ge=1)] = 3, m: int = Field(2, le=4)) -> Any:
        """Pick.

        Args:
            n: from the docstring
            m: how many
        """
        return n, m

    made = tool(pick)
    assert made.parameters["properties"] == {
        "n": {"type": "integer", "description": "own", "minimum": 1, "default": 3},
        "m": {"type": "integer", "description": "how many", "maximum": 4, "default": 2},
    }
    assert run(made) == (3, 2)


def test_the_context_is_hidden_and_handed_over():
    def who(ctx: ToolContext[dict[str, str]], n: int, /) -> Any:
        return ctx.context, n

    made = tool(who)
    assert (made.hidden, list(made.parameters["properties"])) == ("ctx", ["n"])
    assert made.arguments(made.check({"n": 1}), ToolContext("me"))[0][1] == 1
    with pytest.raises(InvalidArguments, match="Unknown: 'ctx'"):
        made.check({"n": 1, "ctx": "forged"})


def test_defaults_come_back_as_the_values_they_were():
    def rich(  # noqa: PLR0917
        day: dt.date = dt.date(2024, 5, 1),
        low: float = -math.inf,
        blob: bytes = b"\xff",
        pair: tuple[int, str] = (1, "a"),
        names: frozenset[str] = frozenset({"x"}),
        span: dt.timedelta = dt.timedelta(hours=1),
        kind: Literal["a", "b"] = "b",
        none: str = None,  # type: ignore[assignment]  # noqa: RUF013 - people write this
    ) -> Any:
        return day, low, blob, pair, names, span, kind, none

    made = tool(rich)
    assert made.check({}) == {
        "day": "2024-05-01",
        "low": "-Infinity",
        "blob": "_w==",
        "pair": [1, "a"],
        "names": ["x"],
        "span": "PT1H",
        "kind": "b",
        "none": None,
    }
    assert run(made) == rich()


def test_a_default_that_json_cannot_hold_is_left_to_the_function():
    missing: Any = object()

    def find(n: int = missing) -> Any:
        return n

    made = tool(find)
    assert made.parameters["properties"] == {"n": {"type": "integer"}}
    assert made.check({}) == {}
    assert run(made) is missing


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Tank, "the type Tank of parameter 'x' cannot be described to a model"),
        (type(len), "of parameter 'x' cannot be described"),
        (Annotated[str, Field(pattern="(?=a)")], "of parameter 'x' cannot be described"),
        (SecretStr, "parameter 'x' is a secret"),
        (SecretStr | None, "parameter 'x' is a secret"),
        (list[Login], "parameter 'x' is a secret"),
        (type[int], "the type type[int] of parameter 'x' cannot be described"),
        (Colour, "<Colour.RED: (255, 0, 0)>, whose value is no text, number or None"),
        (list[Quarter], "of parameter 'x' cannot be described to a model"),
        (Unpack[Options], "of parameter 'x' cannot be "),  # resolved, or described: by the Python
    ],
)
def test_a_type_that_no_model_can_fill_is_refused_with_its_parameter(hint, text):
    def function(ok: int, x: Any) -> None: ...

    function.__annotations__["x"] = hint
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert "Tool 'function'" in str(caught.value)
    assert text in str(caught.value)


def test_a_type_that_no_value_has_is_refused():
    def function(x: Any = 1) -> None: ...

    function.__annotations__["x"] = ClassVar[int]
    with pytest.raises(ToolDefinitionError, match=r"parameter 'x' .* \(no value has such a type\)"):
        tool(function)


def test_a_default_that_is_no_text_is_refused():
    def function(x: str = "\ud800") -> None: ...

    with pytest.raises(ToolDefinitionError, match="Tool 'function' cannot be described to a model"):
        tool(function)


def test_what_a_type_reads_item_by_item_is_read_before_the_call():
    def total(numbers: Iterable[int]) -> int:
        return sum(numbers)

    made = tool(total)
    assert run(made, numbers=[1, "2"]) == 3
    with pytest.raises(InvalidArguments, match="The arguments of 'total' could not be read"):
        made.check({"numbers": ["one"]})


def pay(to: str, amount: int = 10) -> str:
    return f"{to}: {amount}"


def test_a_method_that_takes_its_own_kind_is_refused():
    with pytest.raises(ToolDefinitionError, match="the type Self of parameter 'other' cannot be"):
        tool(Tank().merge)


def test_a_typed_dict_may_contain_itself():
    def count(tree: Tree) -> int:
        return 1 + sum(map(count, tree.get("kids", [])))

    made = tool(count)
    assert made.parameters["$defs"]["Tree"]["required"] == ["label"]
    assert run(made, tree={"label": "a", "kids": [{"label": "b"}]}) == 2


def test_a_default_that_a_field_makes_is_made_for_each_call():
    made_defaults: list[list[int]] = []

    def fresh() -> list[int]:
        made_defaults.append([len(made_defaults)])
        return made_defaults[-1]

    def take(x: list[int] = Field(default_factory=fresh)) -> list[int]:  # noqa: B008
        return x

    made = tool(take)
    assert "required" not in made.parameters
    first, second = made.check({}), made.check({})
    assert first["x"] != second["x"]
    assert made.bind(second) == second


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (Ticket, {"title": "a"}, Ticket("a")),
        (Printed, {"day": "2024-05-01", "size": 3}, Printed(day=dt.date(2024, 5, 1), size=3)),
        (Annotated[float, PlainSerializer(lambda x: f"{x} EUR")], 2, 2.0),
    ],
)
def test_what_writes_itself_in_a_form_that_it_does_not_read_is_shown_as_it_was_given(
    hint, given, value
):
    def take(x: Any, n: int = 1) -> Any:
        return x

    take.__annotations__["x"] = hint
    made = tool(take)
    shown = made.check({"x": given})
    assert shown == {"x": given, "n": 1}
    assert made.bind(shown)["x"] == value


def test_a_type_that_reads_what_it_made_as_something_else_is_never_run():
    def move(path: Annotated[str, AfterValidator(lambda text: f"data/{text}")]) -> str:
        return path

    with pytest.raises(InvalidArguments) as caught:
        tool(move).check({"path": "a"})
    assert caught.value.field == "path"
    assert "'path' is read as 'data/a', and that as 'data/data/a'" in str(caught.value)


def test_equal_sets_may_be_written_in_another_order():
    def take(x: set[int]) -> set[int]:
        return x

    made = tool(take)
    for values in ([0, 8], [8, 0], [3, 11, 19, 27, 0], [27, 19, 11, 3]):
        assert run(made, x=values) == set(values)


@pytest.mark.parametrize(
    ("args", "effective"),
    [
        ({"to": "Ann"}, '{"to": "Ann", "amount": 10}'),
        ({"amount": "25", "to": "Ann"}, '{"to": "Ann", "amount": 25}'),
    ],
)
def test_the_effective_arguments_have_defaults_and_coercions_in_the_signatures_order(
    args, effective
):
    """P-04: what is shown is what will run."""
    assert str(tool(pay).check(args)).replace("'", '"') == effective


@pytest.mark.parametrize(
    ("args", "text", "field"),
    [
        ({}, "Missing: 'to'.", "to"),
        ({"to": "A", "amout": 1}, "Unknown: 'amout' (did you mean 'amount'?).", "amout"),
        ({"to": "A", "zz": 1}, "Unknown: 'zz'.", "zz"),
        ({"to": 1}, "Wrong: 'to': Input should be a valid string, found 1.", "to"),
        ({"to": math.nan}, "could not be read", ""),
    ],
)
def test_arguments_that_do_not_fit_are_named_with_what_is_accepted(args, text, field):
    with pytest.raises(InvalidArguments) as caught:
        tool(pay).check(args)
    assert text in caught.value.text
    assert caught.value.field == field
    if field:
        assert caught.value.text.endswith("Accepted: to (string), amount (integer, default 10).")


def test_a_wrong_value_is_quoted_within_bounds():
    with pytest.raises(InvalidArguments) as caught:
        tool(pay).check({"to": ["x" * 10_000_000], **{f"n{index}": 1 for index in range(50)}})
    assert len(caught.value.text) < 1_000


def written(**schema: Any) -> Tool:
    return Tool("find", "", {"type": "object", **schema})


def test_a_written_schema_is_checked_and_its_defaults_are_filled_in():
    made = written(
        properties={"a": {"type": "string"}, "b": {"type": "array", "default": [1]}},
        required=["a"],
    )
    assert list(made.check({"a": "x"}).items()) == [("a", "x"), ("b", [1])]
    made.check({"a": "x"})["b"].append(2)
    assert made.check({"a": "x"})["b"] == [1]


@pytest.mark.parametrize(
    ("args", "text", "field"),
    [
        ({}, "Missing: 'a'.", "a"),
        ({"a": "x", "A": 1}, "Unknown: 'A'", "A"),
        ({"a": 1}, "Wrong: 'a': expected string, found 1.", "a"),
        ({"a": "x", "b": {"c": "2"}}, "Wrong: 'b.c': expected integer, found '2'.", "b"),
        ({"a": "x", "b": {}}, "Wrong: 'b': 'c' missing, found {}.", "b"),
        ({"a": "x", "b": {"c": 11}}, "Wrong: 'b.c': expected maximum 10, found 11.", "b"),
    ],
)
def test_arguments_that_a_written_schema_refuses_are_named(args, text, field):
    inner = {
        "type": "object",
        "properties": {"c": {"type": "integer", "maximum": 10}},
        "required": ["c"],
    }
    made = written(properties={"a": {"type": "string"}, "b": inner}, required=["a"])
    with pytest.raises(InvalidArguments) as caught:
        made.check(args)
    assert text in caught.value.text
    assert caught.value.field == field
    assert "Accepted: a (string), b (object, optional)." in caught.value.text


def test_a_written_schema_may_allow_further_names():
    made = written(properties={}, patternProperties={"^x_": {"type": "integer"}},
                   additionalProperties={"type": "string"})  # fmt: skip
    assert made.check({"x_1": 1, "y": "s"}) == {"x_1": 1, "y": "s"}
    for args in ({"x_1": "1"}, {"y": 1}):
        with pytest.raises(InvalidArguments):
            made.check(args)
    assert written().check({"anything": 1}) == {"anything": 1}


EVIL = "^(a+)+$"
LONG = "a" * 5_000 + "!"


@pytest.mark.parametrize(
    ("schema", "args", "fits"),
    [
        ({"properties": {"x": {"type": "string", "pattern": EVIL}}}, {"x": LONG}, False),
        ({"patternProperties": {EVIL: {"type": "string"}}}, {LONG: 1}, True),
        ({"patternProperties": {EVIL: {}}, "additionalProperties": False}, {LONG: 1}, False),
    ],
    ids=["pattern", "patternProperties", "additionalProperties"],
)
def test_a_catastrophic_pattern_does_not_freeze_the_process(schema, args, fits):
    """P-04: validation patterns run on an engine of linear time; `re` would take for ever."""
    made = written(**schema)
    if fits:
        assert made.check(args) == args
    else:
        with pytest.raises(InvalidArguments):
            made.check(args)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "the type of its schema is None, expected 'object'"),
        ({"type": "string"}, "the type of its schema is 'string', expected 'object'"),
        ({"type": "object", "properties": {"a": {"type": "nope"}}}, "not valid at $.properties.a"),
        ({"type": "object", "properties": {"a": {"pattern": "(?=b)"}}}, "has the pattern '(?=b)'"),
        ({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "refers to 'http://x/y'"),
        ({"type": "object", "x": math.nan}, "its schema is no JSON"),
        (
            {"type": "object", "patternProperties": {"a": {}}, "unevaluatedProperties": False},
            "use additionalProperties",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema, text):
    with pytest.raises(ToolDefinitionError) as caught:
        Tool("find", "", schema)
    assert str(caught.value).startswith("Tool 'find': its schema" if "type of" not in text else "")
    assert text in str(caught.value)


def test_a_schema_that_never_ends_is_an_error_of_the_call():
    made = written(properties={"a": {"$ref": "#/properties/a"}})
    with pytest.raises(InvalidArguments, match="RecursionError"):
        made.check({"a": 1})


def test_a_function_has_to_take_what_its_written_schema_describes():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert run(Tool("f", "", schema, lambda a, b=2: a + b), a=1) == 3
    with pytest.raises(ToolDefinitionError, match="its schema has 'a'"):
        Tool("f", "", schema, lambda b=1: b)
    with pytest.raises(ToolDefinitionError, match="its function needs 'c'"):
        Tool("f", "", schema, lambda a, c: a)


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "1", "true", "a", " 1 ", "nan"])
)


def of_plain_types(
    *,
    text: str = "a",
    whole: int = 1,
    part: float | None = None,
    flag: bool = False,
    choice: Literal["a", 1] | None = None,
    either: int | str | None = None,
) -> None:
    """Take values that JSON writes as they are."""


def of_exact_types(text: str, whole: int, flag: bool) -> None:
    """Take values that are read as they are, if they are what their types say."""


@given(
    st.fixed_dictionaries({"text": ATOMS, "whole": ATOMS}, optional={"flag": ATOMS, "no": ATOMS})
)
def test_plain_values_are_read_the_same_without_a_way_through_json(args: dict[str, Any]):
    quick, slow = (
        Described(of_exact_types, "plain", context=ToolContext, docs={}) for _ in range(2)
    )
    slow._exact = None  # as where one type is another
    read = []
    for arguments in (quick, slow):
        try:
            effective = arguments.check(args)
            read.append((repr(effective), repr(arguments.bind(effective))))
        except InvalidArguments as error:
            read.append((error.text, ""))
    assert read[0] == read[1]


def test_half_a_surrogate_pair_is_replaced_in_what_runs_as_in_what_is_shown():
    described = Described(of_plain_types, "plain", context=ToolContext, docs={})
    effective = described.check({"text": "a\ud800", "either": "\udfff"})
    assert (effective["text"], effective["either"]) == ("a\ufffd", "\ufffd")


def test_a_default_is_shown_as_the_type_writes_it():
    """What is given and what is left to the default is the same call."""

    def halve(part: float = 5) -> float:
        return part / 2

    marks = {digest("halve", tool(halve).check(args)) for args in ({}, {"part": 5}, {"part": 5.0})}
    assert len(marks) == 1


def test_the_schema_of_a_tool_cannot_be_changed_in_place():
    def halve(part: float) -> float:
        return part / 2

    with pytest.raises(TypeError, match="change a copy"):
        tool(halve).parameters["properties"]["part"]["description"] = "changed"


def test_other_arguments_have_another_fingerprint_however_odd_they_are():
    deep: Any = "end"
    for _ in range(400):
        deep = [deep]
    odd = [
        {"x": "\ud800"},
        {"x": "?"},
        {"x": "\ufffd"},
        {"x": deep},
        {"x": [deep]},
        {"x": 1},
        {"x": 1.0},
    ]
    assert len({digest("odd", args) for args in odd}) == len(odd)
    assert digest("odd", {"a": 1, "b": {"c": 2, "d": 3}}) == digest(
        "odd", {"b": {"d": 3, "c": 2}, "a": 1}
    )


EXACT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": "a", "n": 1}, {"text": "a", "n": 1}),
    ({"n": 1, "text": "a"}, {"text": "a", "n": 1}),
    ({"text": "a", "n": True}, {"text": "a", "n": 1}),
    ({"text": "a", "n": "7"}, {"text": "a", "n": 7}),
    ({"text": "a", "n": 7.0}, {"text": "a", "n": 7}),
    ({"text": "a", "n": 1 << 200}, {"text": "a", "n": 1 << 200}),
    ({"text": "\ud800"}, {"text": "\ufffd", "n": 3}),
]


@pytest.mark.parametrize(("args", "effective"), EXACT)
def test_arguments_are_read_as_their_types_say_however_they_came(
    args: dict[str, Any], effective: dict[str, Any]
):
    def plain(text: str, n: int = 3) -> None: ...

    made = tool(plain)
    assert list(made.check(args).items()) == list(effective.items())
    assert [type(value) for value in made.check(args).values()] == [str, int]
    assert made.bind(made.check(args)) == effective


def test_a_number_that_no_json_can_hold_is_refused():
    def plain(n: int) -> None: ...

    with pytest.raises(InvalidArguments, match="could not be read"):
        tool(plain).check({"n": 10**5000})


def test_bounds_hold_for_plain_types_too():
    def bounded(text: Annotated[str, Field(min_length=2)], n: int = Field(ge=1)) -> None: ...

    with pytest.raises(InvalidArguments, match="text"):
        tool(bounded).check({"text": "a", "n": 1})
    with pytest.raises(InvalidArguments, match="n"):
        tool(bounded).check({"text": "ab", "n": 0})


@pytest.mark.parametrize("number", [1, "1", True])
def test_an_argument_that_its_author_leaves_out_of_dumps_is_an_argument(number: Any):
    def hidden(n: int = Field(exclude=True), text: str = "x") -> None: ...

    made = tool(hidden)
    assert made.check({"n": number}) == {"n": 1, "text": "x"}


class Filter(BaseModel):
    column: str
    limit: int = Field(10, alias="most")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    column: str


class Lax(BaseModel):
    model_config = ConfigDict(extra="ignore")
    column: str


class Reading(BaseModel):
    column: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        return {"column": given.get("col") or given.get("column")}


class Away(BaseModel):
    lon: float = Field(validation_alias=AliasChoices("lng", "lon"))
    port: str = Field("Aro", validation_alias="in", serialization_alias="out")
    berth: int = Field(1, exclude=True)


def _tag(given: Any) -> str:
    return "b" if isinstance(given, Mapping) and given.get("kind") == "b" else "a"


class OfA(BaseModel):
    a: int


class OfB(BaseModel):
    b: int


class Number(BaseModel):
    op: Literal["num"]
    value: int


class Add(BaseModel):
    op: Literal["add"]
    left: Expression
    right: Expression


class Multiply(BaseModel):
    op: Literal["mul"]
    left: Expression
    right: Expression


Expression = Annotated[Number | Add | Multiply, Field(discriminator="op")]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    n: int


class Listed(RootModel[list[Filter]]):
    pass


@dataclasses.dataclass
class Holder:
    inner: Filter
    n: int = 1


class Branch(BaseModel):
    name: str
    kids: list[Branch] = []


def query(  # noqa: PLR0917
    one: Filter | int | None = None,
    many: list[Filter] = [],  # noqa: B006
    named: dict[str, Filter] = {},  # noqa: B006
    listed: Listed | None = None,
    holder: Holder | None = None,
    tree: Branch | None = None,
    free: Open | None = None,
    lax: Lax | None = None,
    several: frozenset[Frozen] = frozenset(),
    numbered: dict[int, Filter] = {},  # noqa: B006
) -> None:
    """Take fields within fields."""


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    (
        {"one": {"column": "a", "mots": 3}},
        "'one.Filter.mots': There is no such field (did you mean '",
    ),
    ({"one": {"column": "a", "limit": 3}}, "'one.Filter.limit': There is no such field, found 3"),
    (
        {"many": [{"column": "a"}, {"column": "b", "x": 1}]},
        "'many.1.x': There is no such field, fo",
    ),
    ({"named": {"k": {"column": "a", "colum": 1}}}, "'named.k.colum': There is no such field (did"),
    (
        {"listed": [{"column": "a", "colum": 1}]},
        "'listed.0.colum': There is no such field (did you",
    ),
    (
        {"holder": {"inner": {"column": "a", "x": 1}}},
        "'holder.inner.x': There is no such field, fou",
    ),
    (
        {"holder": {"inner": {"column": "a"}, "m": 1}},
        "'holder.m': There is no such field, found 1",
    ),
    (
        {"tree": {"name": "a", "kids": [{"name": "b", "nam": 1}]}},
        "'tree.kids.0.nam': There is no su",
    ),
]


@pytest.mark.parametrize(("args", "text"), UNKNOWN)
def test_an_unknown_field_is_refused_at_every_depth(args: dict[str, Any], text: str):
    """The model believes that it counted."""
    with pytest.raises(InvalidArguments) as caught:
        tool(query).check(args)
    assert text in caught.value.text


@pytest.mark.parametrize("args", [
    {"one": {"column": "a", "most": 3}},
    {"free": {"column": "a", "more": 3}},
    {"tree": {"name": "a", "kids": [{"name": "b", "kids": []}]}},
])  # fmt: skip
def test_what_a_model_takes_is_not_refused(args: dict[str, Any]):
    (name,) = args
    assert tool(query).check(args)[name] == args[name]


def test_a_model_may_say_that_further_fields_do_not_matter():
    assert tool(query).check({"lax": {"column": "a", "x": 1}})["lax"] == {"column": "a"}

    def look(reading: Reading) -> None: ...

    assert tool(look).check({"reading": {"col": "a"}}) == {"reading": {"column": "a"}}


def test_what_was_read_is_written_so_that_it_is_read_again():
    """However the names differ, and whatever an author leaves out elsewhere."""

    def look(away: Away) -> None: ...

    made = tool(look)
    effective = made.check({"away": {"lon": 5.5, "berth": 7}})
    assert effective == {"away": {"lng": 5.5, "in": "Aro", "berth": 7}}
    assert made.check(effective) == effective
    assert made.bind(effective)["away"] == Away.model_validate({"lng": 5.5, "berth": 7})


def test_a_default_may_look_like_anything():
    odd = {"type": "model", "cls": 1, "x": [{"type": "tagged-union"}]}

    def look(one: dict[str, Any] = odd, two: Literal["model"] = "model") -> None: ...

    assert tool(look).check({}) == {"one": odd, "two": "model"}


def test_a_field_that_an_author_renames_before_it_is_read_is_known():
    def renamed(given: Any) -> Any:
        return {"column": given["col"]} if "col" in given else given

    def look(one: Annotated[Filter, BeforeValidator(renamed)]) -> None: ...

    assert tool(look).check({"one": {"col": "a"}}) == {"one": {"column": "a", "most": 10}}


def test_a_field_that_only_tells_types_apart_is_known():
    Either = Annotated[  # noqa: N806 - a type
        Annotated[OfA, Tag("a")] | Annotated[OfB, Tag("b")], Discriminator(_tag)
    ]

    def look(one: Either) -> None: ...

    look.__annotations__["one"] = Either
    args = {"one": {"kind": "b", "b": 2}}
    assert tool(look).check(args) == args
    assert tool(look).bind(args)["one"] == OfB(b=2)


def test_only_models_are_left_open_where_types_are_told_apart():
    """What has neither class nor reference would stand for every model without a reference."""
    Either = Annotated[  # noqa: N806 - a type
        Annotated[OfB, Tag("b")] | Annotated[int, Tag("a")], Discriminator(_tag)
    ]
    model = create_model("arguments", one=(Either, ...), two=(Filter, ...))
    (found,) = _told_apart(model.__pydantic_core_schema__)
    assert "OfB" in str(found)


def test_what_is_wrong_in_a_tree_of_choices_is_told_at_once():
    """And without an end of text."""
    deep: dict[str, Any] = {"op": "num", "value": 1, "x" * 1000: 1}
    for _ in range(30):
        deep = {"op": "add", "left": {"op": "num", "value": 1}, "right": deep}

    def look(one: Expression) -> None: ...

    with pytest.raises(InvalidArguments, match=f"{'x' * 100}': There is no such field") as caught:
        tool(look).check({"one": deep})
    assert len(caught.value.text) < 1000


def test_the_schema_of_a_model_says_whether_it_takes_further_fields():
    known = tool(query).parameters["$defs"]
    further = {name: known[name].get("additionalProperties") for name in known}
    assert (further["Filter"], further["Branch"], further["Open"]) == (False, False, True)
    assert (further["Lax"], further["Holder"]) == (None, False)


P = ParamSpec("P")


def test_further_arguments_by_place_are_refused_where_they_are_meant():
    def concat(*tables: pd.DataFrame) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"a model cannot fill in \*tables \(DataFrame\)"):
        tool(concat)

    def wrapped(*args: Any, **more: Any) -> None: ...
    def typed(*args: object) -> None: ...
    def forwards(*args: P.args, **more: P.kwargs) -> None: ...  # type: ignore[valid-type]
    def unknown(*args: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821

    for function in (wrapped, typed, forwards, unknown, functools.partial(concat, 1, 2)):
        assert tool(function, name="f").parameters["properties"] == {}


@pytest.mark.parametrize(("hint", "name", "advice"), [
    (list[pd.DataFrame], r"list\[.*DataFrame\]", "stays in the kernel is a parameter of its own"),
    (pd.DataFrame | str, r".*DataFrame \| str", "stays in the kernel is a parameter of its own"),
    (pd.Timestamp, "Timestamp", "Use a type of Python itself, such as float or datetime"),
    (np.float64, "float64", "Use a type of Python itself, such as float or datetime"),
    (threading.Thread, "Thread", "Use types that JSON can hold; what the program provides comes"),
])  # fmt: skip
def test_a_type_that_no_model_can_fill_in_is_named_with_what_to_write(
    hint: Any, name: str, advice: str
):
    def take(value: hint) -> None: ...

    take.__annotations__["value"] = hint
    with pytest.raises(ToolDefinitionError, match=rf"type {name} of parameter 'value'") as caught:
        tool(take)
    assert advice in str(caught.value)
    assert "arbitrary_types_allowed" not in str(caught.value)
