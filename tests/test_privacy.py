"""What a model is told of protected columns, and what is held back though it was said in text."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtools as nb
from nbtools.display import look
from nbtools.errors import WithheldError
from nbtools.messages import File, Message, Request, Text, ToolCall
from nbtools.privacy import Privacy
from nbtools.scan import Needles
from nbtools.testing import call
from tests.servers import calls_reply, text_reply
from tests.stage import Page, Serve, Strict, serve

__all__ = ["serve"]

PEOPLE = pd.DataFrame(
    {
        "name": ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay"],
        "email": [f"{name}@example.org" for name in ("ada", "ben", "cleo", "dora", "emil", "fay")],
        "ssn": [123456789, 223456789, 323456789, 423456789, 523456789, 623456789],
        "salary": [51000.5, 62000.5, 48000.5, 75000.5, 81000.5, 90000.5],
    }
)


# --- what nbtools writes ------------------------------------------------------------------------


def told(value: object, **columns: Any) -> str:
    privacy = Privacy()
    privacy.protect("people", columns)
    veiled = privacy.veiled(value, nb.Limits())
    assert isinstance(veiled, nb.Result)
    return str(veiled.model)


def test_a_dropped_column_is_not_mentioned_and_a_masked_one_has_no_values() -> None:
    """Neither by name, nor by type, nor in the count of columns."""
    text = told(PEOPLE, ssn="drop", email="mask")
    assert text.startswith("A table of 6 rows and 3 columns.\nColumns: name (")
    assert "ssn" not in text
    assert "123456789" not in text
    assert "email (" in text
    assert "Ada,•••,51000.5" in text
    assert "@example.org" not in text


def test_an_aggregated_column_tells_a_summary_and_no_value_of_a_row() -> None:
    """Not even its least and its greatest one."""
    text = told(PEOPLE, salary="aggregate", email="aggregate")
    assert "salary (float64; 6 values, mean 6.783e+04, standard deviation 1.689e+04)" in text
    assert "6 values, 6 of them different" in text
    assert not any(str(value) in text for value in PEOPLE["salary"])
    few = told(PEOPLE.head(4), salary="aggregate")
    assert "salary (float64; 4 values, too few to be summarised)" in few


def test_a_policy_binds_every_table_that_has_such_a_column() -> None:
    """Copies, selections, series, and one whose index it became."""
    assert "ada@" not in told(PEOPLE[["email"]].head(1), email="mask")
    assert "ada@" not in told(PEOPLE["email"], email="mask")
    assert "ada@" not in told(PEOPLE.set_index("email"), email="mask")
    assert "ada@" not in told(nb.Result(3, model=PEOPLE), email="mask")
    doubled = pd.concat([PEOPLE["email"], PEOPLE["email"]], axis=1)
    assert "ada@" not in told(doubled, email="mask")
    assert PEOPLE["email"][0] == "ada@example.org"


@dataclasses.dataclass
class Report:
    title: str
    table: object


AGES = pd.DataFrame({"name": ["Ada", "Ben", "Cleo"], "age": [31, 42, 53], "tall": [1, 0, 1]})


@pytest.mark.parametrize(
    "value",
    [
        {"top": AGES},
        [AGES, AGES],
        (AGES["age"], 1),
        {"deep": [{"deeper": AGES["age"]}]},
        Report("Ages", AGES),
        AGES.iloc[0],
        AGES.T,
        pd.concat({"first": AGES.iloc[0]}),
        AGES.set_index("age").index,
        AGES.set_index(["age", "name"]).index,
        AGES.merge(AGES, on="name"),
        AGES.merge(AGES, on="name").iloc[0],
        AGES.groupby("name").agg({"age": ["max"]}),
        AGES.groupby("name"),
        AGES.describe().T,
        AGES.pivot_table(index="name", columns="age", values="tall"),
        AGES.pivot_table(index="name", columns=["age", "tall"], values="tall"),
    ],
)
@pytest.mark.parametrize("policy", ["drop", "mask", "aggregate"])
def test_no_value_of_a_protected_column_is_told_in_whatever_shape_it_comes(
    value: object, policy: str
) -> None:
    """Not within other data, not as a row, not as a label: too short for the scan to find."""
    privacy = Privacy()
    privacy.protect("people", {"age": policy})  # type: ignore[dict-item]
    veiled = privacy.veiled(value, nb.Limits())
    assert isinstance(veiled, nb.Result)
    text = look(veiled.model, nb.Limits()).told
    assert not any(number in text for number in ("31", "42", "53"))
    assert policy != "drop" or "age" not in text


def test_a_dropped_column_is_not_among_the_labels_either() -> None:
    assert "age" not in told(AGES.columns, age="drop")
    assert "age" in told(AGES.columns, age="mask")


def test_a_row_that_is_dropped_is_not_mentioned() -> None:
    row = AGES.iloc[0]
    assert told(row, age="drop") == (
        "A table of 2 rows and 1 column.\nColumns: 0 (object)\n,0\nname,Ada\ntall,1\n"
    )


@pytest.mark.parametrize(
    "index", [pd.date_range("2020", periods=3), pd.interval_range(0, 3), [1, "a", None]]
)
def test_rows_of_any_index_are_told_beside_a_masked_column(index: Any) -> None:
    text = told(AGES.set_index(pd.Index(index)), age="mask")
    assert "Ada,•••,1" in text
    assert "Cleo,•••,1" in text


@pytest.mark.parametrize("value", [3, "ada@example.org", PEOPLE[["name"]], {"email": "a"}])
def test_other_values_have_their_own_face(value: object) -> None:
    """Text is looked through when it goes out, not when it is told."""
    privacy = Privacy()
    privacy.protect("people", {"email": "mask"})
    assert privacy.veiled(value, nb.Limits()) is value


def test_the_strictest_policy_holds_where_tables_share_a_name() -> None:
    """And an empty one ends the protection of a table."""
    privacy = Privacy()
    privacy.protect("people", {"email": "mask", "salary": "aggregate"})
    privacy.protect("staff", {"email": "aggregate", "salary": "drop"})
    assert privacy.columns == {"email": "mask", "salary": "drop"}
    privacy.protect("people", {})
    assert privacy.columns == {"email": "aggregate", "salary": "drop"}


def test_a_policy_has_to_be_known_and_to_name_a_column() -> None:
    """The text names what there is."""
    chat = nb.Chat(nb.Demo(pace=0))
    chat.share(people=PEOPLE)
    with pytest.raises(ValueError, match=r"The policy of people\.email is 'hide'; expected 'drop'"):
        chat.protect(people={"email": "hide"})  # type: ignore[dict-item]
    with pytest.raises(
        ValueError, match="people has no column 'mail'; its columns are name, email"
    ):
        chat.protect(people={"mail": "mask"})
    chat.close()


# --- finding values -----------------------------------------------------------------------------

NEEDLES = Needles(
    {
        "ada@example.org": "e",
        "example": "x",
        "123456789": "n",
        "abc": "short",
        'O"Neil': "q",
        "+49 17": "p",
    }
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Write to ada@example.org.", ["ada@example.org"]),
        ("ada@example.org,123456789\n", ["ada@example.org", "123456789"]),
        ("ada@example.organic", ["example"]),
        ("xada@example.org", ["example"]),
        ("1234567890", []),
        ("(123456789)", ["123456789"]),
        ("abc", []),
        ('{"name":"O\\"Neil"}', ['O"Neil']),
        ('O"Neil', ['O"Neil']),
        ("call +49 17", ["+49 17"]),
        ("mail_ada@example.org_2.csv", ["ada@example.org"]),
        ("ADA@EXAMPLE.ORG", []),
        ("", []),
    ],
)
def test_values_are_found_whole(text: str, found: list[str]) -> None:
    """At the bounds of words, the longest first, four characters and more."""
    assert [hit.value for hit in NEEDLES.find(text)] == found


def test_a_blanked_text_names_the_column_and_holds_no_value() -> None:
    """All else stays as it was."""
    assert NEEDLES.blank("to ada@example.org!") == "to [withheld: e]!"
    assert NEEDLES.blank("nothing here") == "nothing here"


WORD = st.text("abC1 @.", min_size=4, max_size=8).filter(lambda text: text == text.strip())


@given(st.lists(WORD, min_size=1, max_size=4), st.text("abC1 @.\n", max_size=20), st.data())
def test_whatever_stands_between_blanks_is_found(
    values: list[str], around: str, data: st.DataObject
) -> None:
    """And after blanking, no value stands alone any more."""
    needles = Needles(dict.fromkeys(values, "c"))
    value = data.draw(st.sampled_from(values))
    text = f"{around}\t{value}\t{around}"
    assert list(needles.find(text))
    assert not list(needles.find(needles.blank(text).replace("[withheld: c]", "\t")))


# --- before a request ---------------------------------------------------------------------------


def find_email(name: str) -> str:
    """Find the address of a person."""
    (row,) = PEOPLE[PEOPLE["name"] == name].to_dict("records")
    return f"{name} is at {row['email']} ({row['ssn']})"


def protected(*replies: Any, **settings: Any) -> Page:
    page = Page(Strict(*replies), [nb.tool(find_email)], **settings)
    page.session.settings.variables.share((), {"people": PEOPLE})
    page.session.settings.privacy.protect("people", {"email": "mask", "ssn": "drop"})
    return page


def sent(page: Page) -> str:
    model = page.session.settings.provider
    assert isinstance(model, Strict)
    return repr(model.requests)


FIND = call("find_email", {"name": "Ada"}, id="k-1")


async def test_a_value_in_the_text_of_a_tool_is_held_back_and_the_person_is_asked() -> None:
    """The failure says where, how many and of which column, and gives none of them away."""
    page = protected([FIND], "Thanks.")
    await page.say("Where is Ada?")
    failure = page.shown["error"]
    assert failure["kind"] == "WithheldError"
    assert failure["text"] == (
        "The request was not sent, because it holds values of protected columns: "
        "1 of people.email in what find_email returned; "
        "1 of people.ssn in what find_email returned."
    )
    assert page.session.conversation.status == "error"
    assert "ada@" not in sent(page)
    assert "ada@" in page.call("k-1").told


async def test_the_request_can_go_without_the_values_and_so_do_later_ones() -> None:
    """A note stands in their place; the transcript is as it was."""
    page = protected([FIND], "Thanks.", "Again.")
    await page.say("Where is Ada?")
    page.command("resend")
    await page.session.rest()
    await page.say("And again?")
    assert page.texts[-2:] == ["And again?", "Again."]
    assert "Ada is at [withheld: people.email] ([withheld: people.ssn])" in sent(page)
    assert "ada@" not in sent(page)
    assert "123456789" not in sent(page)
    assert page.call("k-1").told == "Ada is at ada@example.org (123456789)"


async def test_the_person_can_let_the_values_go() -> None:
    """They are not asked about these again, and about others they are."""
    page = protected([FIND], "Thanks.", "Hm.")
    await page.say("Where is Ada?")
    assert page.command("release")["ok"]
    await page.session.rest()
    assert page.texts[-1] == "Thanks."
    assert "Ada is at ada@example.org (123456789)" in sent(page)
    await page.say("And ben@example.org?")
    assert "1 of people.email in your message" in page.shown["error"]["text"]
    assert "ben@" not in sent(page)


async def test_everything_that_goes_out_is_looked_through() -> None:
    """The instructions, the user's own words, what the model wrote and called with."""
    page = protected(system="Never tell dora@example.org.")
    await page.say("I am cleo@example.org")
    text = page.shown["error"]["text"]
    assert "1 of people.email in the instructions; 1 of people.email in your message." in text
    request = Request(
        messages=[
            Message(id="u", role="user", parts=(Text(id="t", text="Hi"),)),
            Message(
                id="a",
                role="assistant",
                finish="calls",
                parts=(
                    Text(id="x", text="It is fay@example.org."),
                    ToolCall(
                        id="k",
                        tool="mail",
                        state="result",
                        args={"to": ["emil@example.org"], "ssn": 523456789},
                        told="sent",
                    ),
                ),
            ),
        ]
    )
    privacy, tables = page.session.settings.privacy, {"people": PEOPLE}
    places = {(each.place, each.column) for each in privacy.findings(request, tables)}
    assert places == {
        ("an answer", "people.email"),
        ("the arguments of mail", "people.email"),
        ("the arguments of mail", "people.ssn"),
    }
    with pytest.raises(WithheldError):
        privacy.let_through(request, tables)
    privacy.withhold()
    through = privacy.let_through(request, tables)
    known = through.messages[1].parts[1]
    assert isinstance(known, ToolCall)
    assert known.args == {"to": ["[withheld: people.email]"], "ssn": "[withheld: people.ssn]"}
    assert "emil@" not in json.dumps([repr(through)])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (pd.Timestamp("1990-05-01"), '{"born":"1990-05-01T00:00:00"}'),
        (pd.Timestamp("1990-05-01"), "KeyError: Timestamp('1990-05-01 00:00:00')"),
        ('the "Duke" of York', 'name\n"the ""Duke"" of York"\n'),
        (["red", "blue"], "found ['red', 'blue']"),
        (["red", "blue"], 'found ["red","blue"]'),
        (True, "said True"),
    ],
)
def test_a_value_is_found_as_python_and_as_nbtools_write_it(value: object, said: str) -> None:
    privacy = Privacy()
    privacy.protect("people", {"secret": "mask"})
    question = Request(
        messages=[Message(id="u", role="user", parts=(Text(id="t", text=said),))], tools=[]
    )
    tables = {"people": pd.DataFrame({"secret": pd.Series([value])})}
    assert [each.place for each in privacy.findings(question, tables)] == ["your message"]


async def test_the_name_of_a_file_and_the_words_of_a_job_are_looked_through() -> None:
    """Each is said where it stands, and goes out with a note in its place."""
    page = protected("Nice.")
    page.session.send((File(id="f", mime="text/csv", name="ada@example.org.csv", data="YQ=="),))
    await page.session.rest()
    assert "1 of people.email in the name of a file" in page.shown["error"]["text"]
    page.command("resend")
    await page.session.rest()
    assert "[withheld: people.email].csv" in sent(page)
    assert "ada@" not in sent(page)
    await page.say("/find_email name=Ben")
    await page.say("And?")
    assert "1 of people.email in a note from the program" in page.shown["error"]["text"]


async def test_a_table_that_no_policy_can_bind_is_not_protected_in_vain() -> None:
    """Whether it is shared before or after, or a name comes to mean it later."""
    chat = nb.Chat(nb.Demo(pace=0))
    chat.share(ages=np.array([31, 42]))
    with pytest.raises(ValueError, match=r"ages is a numpy\.ndarray; policies bind the columns of"):
        chat.protect(ages={"age": "mask"})
    with pytest.warns(UserWarning, match="'people' is not shared"):
        chat.protect(people={"age": "mask"})
    with pytest.raises(ValueError, match=r"people is a numpy\.ndarray; .* ends the protection\."):
        chat.share(people=np.array([31]))
    assert list(chat.shared) == ["ages"]
    chat.close()
    page = protected("Never.")
    page.session.settings.variables.share((), {"people": np.array([31])})
    await page.say("Hi")
    assert "The request was not sent: people is a numpy.ndarray" in page.shown["error"]["text"]
    assert sent(page) == "[]"


def test_a_slip_in_the_name_of_a_column_or_a_table_is_told() -> None:
    """Else nobody knows that values go out."""
    chat = nb.Chat(nb.Demo(pace=0))
    with pytest.warns(UserWarning, match="'people' is not shared: tables that have such columns"):
        chat.protect(people={"emial": "mask"})
    with pytest.raises(ValueError, match="people has no column 'emial'; its columns are name, ema"):
        chat.share(people=PEOPLE)
    assert dict(chat.shared) == {}
    chat.protect(people={})
    chat.share(people=PEOPLE)
    chat.protect(people={"email": "mask"})
    with pytest.warns(UserWarning, match=r"'peeple' is not shared \(did you mean 'people'\?\)"):
        chat.protect(peeple={"email": "mask"})
    report = chat.context_report()
    assert report.not_covered[-1] == "values of 'peeple', which is not shared"
    chat.close()


async def test_on_the_wire_a_withheld_value_is_in_no_byte(serve: Serve) -> None:
    """P-03: nothing goes out before somebody decided."""
    calls = calls_reply(("k-1", "find_email", '{"name":"Ada"}'))
    page, server = serve(calls, text_reply("So."), tools=[nb.tool(find_email)])
    page.session.settings.variables.share((), {"people": PEOPLE})
    page.session.settings.privacy.protect("people", {"email": "mask"})
    await page.say("Where is Ada?")
    assert len(server.requests) == 1
    page.session.resume()
    await page.session.rest()
    assert len(server.requests) == 2
    assert "ada@example.org" not in json.dumps(server.requests)
    assert server.refused == []


async def test_awaiting_raises_what_was_withheld() -> None:
    """As it raises every failure of a request."""
    chat = nb.Chat(nb.Scripted("Hm.", "Hello."), tools=[])
    chat.share(people=PEOPLE)
    chat.protect(people={"email": "mask"})
    with pytest.raises(WithheldError, match=r"1 of people\.email in your message"):
        await chat.send("I am ada@example.org")
    turn = await chat.release()
    assert turn.text == "Hm."
    chat.close()


def test_a_finding_does_not_show_its_values() -> None:
    """Nor does anything that is printed."""
    privacy = Privacy()
    privacy.protect("people", {"email": "mask"})
    message = Message(id="u", role="user", parts=(Text(id="t", text="ada@example.org"),))
    found = privacy.findings(Request(messages=[message]), {"people": PEOPLE})
    assert repr(found) == "[<1 values of people.email in your message>]"


# --- the report ---------------------------------------------------------------------------------


async def test_the_report_says_what_would_go_where() -> None:
    """Part by part, in tokens and bytes, with what is left out and what is not looked for."""
    chat = nb.Chat(
        nb.OpenAI("m-1", base_url="https://models.example.org/v1", api_key="sk-TEST"),
        system="Be brief.",
        tools=[nb.tool(find_email)],
    )
    chat.share(people=PEOPLE)
    chat.protect(people={"email": "mask"})
    report = chat.context_report()
    assert (report.host, report.left_out, report.findings) == ("models.example.org", (), ())
    assert (report.rows[0]["part"], report.rows[0]["bytes"]) == ("system", 9)
    assert list(report.table()["part"]) == ["system", "tool"]
    assert report.body is not None
    assert report.body > report.bytes > 100
    assert report.tokens == sum(row["tokens"] for row in report.rows)
    lines = report.lines()
    assert lines[0] == "The next request to openai:m-1 goes to models.example.org."
    assert "parts of a value" in lines[-1]
    assert "<td>system</td>" in report._repr_html_()
    chat.close()


async def test_the_report_names_each_part_of_a_conversation() -> None:
    """Calls apart from their results, what was trimmed, and what waits for a decision."""
    page = protected([FIND], "Thanks.", "Two.", context_turns=1)
    await page.say("Where is Ada?")
    page.session.release()
    await page.session.rest()
    report = page.session.context_report()
    assert [row["part"] for row in report.rows] == ["tool", "question", "call", "result", "text"]
    assert report.body is None
    assert "stays in this process" in repr(report)
    await page.say("ben@example.org?")
    report = page.session.context_report()
    assert len(report.left_out) == 3
    assert [each.column for each in report.findings] == ["people.email"]
    assert "Withheld until you decide: 1 of people.email in your message." in repr(report)
