"""What a model is sent of a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.errors import ContextLengthError
from nbtools.history import estimate_tokens, prepare, trim
from nbtools.messages import (
    Conversation,
    Data,
    File,
    Message,
    Notice,
    Part,
    Reasoning,
    Request,
    Source,
    Text,
    ToolCall,
)
from nbtools.outcomes import sentence
from nbtools.testing import call
from tests.servers import calls_reply, text_reply
from tests.stage import Page, Serve, Strict, problem_of, serve, texts, tools_that_ran

__all__ = ["serve"]


def user(text: str, name: str = "u") -> Message:
    return Message(id=f"m-{name}", role="user", parts=(Text(id=f"p-{name}", text=text),))


def reply(*parts: Part, name: str = "a", finish: Any = "stop") -> Message:
    return Message(id=f"m-{name}", role="assistant", parts=parts, finish=finish)


def ended(name: str, told: str = "done", **fields: Any) -> ToolCall:
    kept: dict[str, Any] = {"state": "result", "outcome": "ok", "args": {}, "told": told, **fields}
    return ToolCall(id=name, tool="look", **kept)


def prepared(*messages: Message) -> tuple[Message, ...]:
    return prepare(Conversation(messages=messages))


def test_a_call_that_is_open_is_told_as_unanswered():
    waits = ToolCall(id="k-1", tool="look", state="pending", waiting="approval", args={"n": 1})
    _, told = prepared(user("Hi"), reply(waits, finish="calls"))
    (known,) = told.parts
    assert isinstance(known, ToolCall)
    assert (known.told, known.args) == (sentence("unanswered"), {"n": 1})


def test_a_call_never_lacks_arguments_or_a_result():
    _, told = prepared(user("Hi"), reply(ended("k-1", told="", args=None), finish="calls"))
    (known,) = told.parts
    assert isinstance(known, ToolCall)
    assert (known.told, known.args) == ("(no output)", {})


def test_what_is_empty_and_what_is_for_the_person_alone_is_left_out():
    parts = (
        Text(id="p1", text=" \n"),
        Reasoning(id="p2"),
        Notice(id="p3", text="The answer is not complete."),
        Data(id="p4", name="chart", data=[1]),
        Source(id="p5", url="https://example.org"),
        Text(id="p6", text="Yes."),
    )
    assert [part.id for part in prepared(user("Hi"), reply(*parts))[1].parts] == ["p6"]
    assert prepared(user("Hi"), reply(*parts[:-1])) == (user("Hi"),)


def test_a_notice_is_no_message_to_the_model():
    notice = Message(id="n", role="user", parts=(Notice(id="p", text="The model is another one."),))
    assert prepared(user("Hi"), notice) == (user("Hi"),)


def test_reasoning_that_is_sealed_goes_back_though_it_has_no_text():
    sealed = Reasoning(id="p1", sealed={"signature": "s"})
    assert prepared(user("Hi"), reply(sealed, Text(id="p2", text="Yes.")))[1].parts[0] == sealed


@pytest.mark.parametrize("finish", ["cut", "failed", "stopped"])
def test_a_broken_reply_at_the_end_is_not_sent_when_it_is_asked_for_again(finish: str):
    broken = reply(Text(id="p1", text="The sum is 4"), finish=finish)
    assert prepared(user("Hi"), broken) == (user("Hi"),)
    kept = prepared(user("Hi"), broken, user("Go on", "v"))
    assert [message.role for message in kept] == ["user", "assistant", "user"]


def test_a_direct_call_is_a_note_of_the_program():
    direct = ended("k-1", told="log", args={"day": "mon"}, origin="user")
    again = ended("k-2", told="", state="running", outcome="", origin="user", again="k-1")
    message = Message(id="d", role="user", parts=(direct, again))
    assert texts(prepared(message)) == [
        '[Note from the program: the user ran the tool \'look\' with {"day":"mon"}. log]',
        "[Note from the program: the user ran again the tool 'look' with {}. It is not finished yet.]",
    ]


def test_a_picture_of_the_user_is_sent():
    picture = File(id="f", mime="image/png", data="aGk=")
    message = Message(id="m", role="user", parts=(picture,))
    assert prepared(message) == (message,)


# --- trimming -----------------------------------------------------------------------------------

LONG = (
    user("Read it", "1"),
    reply(ended("k-1", told="long " * 400), ended("k-2", told="x"), name="2", finish="calls"),
    reply(Text(id="p", text="I read it."), name="3"),
    user("And now?", "4"),
)


def test_a_call_and_its_results_are_kept_or_dropped_together():
    """W-14: what is left begins with a user message and is accepted by a strict server."""
    whole, newest = sum(map(estimate_tokens, LONG)), estimate_tokens(LONG[3])
    for limit in range(newest, whole + 10):
        kept = trim(LONG, limit)
        assert kept == (LONG if limit >= whole else LONG[3:])
        assert problem_of(Request(messages=kept)) == ""
    with pytest.raises(ContextLengthError):
        trim(LONG, newest - 1)


@pytest.mark.parametrize(("limit", "left"), [(4, 4), (3, 1), (2, 1), (1, 1)])
def test_the_limit_may_count_messages(limit: int, left: int):
    """W-14: variant."""
    assert len(trim(LONG, limit, measure=lambda _: 1)) == left


def test_the_last_turn_stays_with_all_that_it_has():
    tail = (*LONG[:3], user("And now?", "4"), reply(ended("k-9", told="y" * 900), name="5"))
    assert trim(tail, 20) == tail[3:]


async def test_what_is_trimmed_is_dropped_by_a_setting_that_has_a_name(serve: Serve):
    """W-14: `on_trim="drop"` is what a chat does anyway."""
    for chosen in ({}, {"on_trim": "drop"}):
        page, server = serve(text_reply("One."), text_reply("Two."), context_turns=1, **chosen)
        await page.say("First")
        await page.say("Second")
        sent = [message["content"] for message in server.requests[1]["messages"]]
        assert sent == ["Second"]


async def test_a_chat_keeps_to_its_limit_and_its_transcript_is_not_changed(serve: Serve):
    """W-14: through a whole chat; the system text stays."""
    ran: list[str] = []
    calls = calls_reply(("k-1", "read_log", '{"day":"mon"}'), ("k-2", "read_log", '{"day":"tue"}'))
    page, server = serve(
        calls,
        text_reply("Rain. " * 100),
        text_reply("Sun."),
        tools=tools_that_ran(ran),
        system="Be brief.",
        context_limit=120,
    )
    await page.say("Read")
    await page.say("And?")
    assert [message["role"] for message in server.requests[2]["messages"]] == ["system", "user"]
    assert (server.refused, len(page.session.conversation.messages)) == ([], 5)


async def test_a_newest_message_that_is_too_long_is_an_error_before_any_request(serve: Serve):
    """W-14: a clear local error; the next, shorter one works."""
    page, server = serve(text_reply("Hello."), context_limit=100)
    await page.say("long " * 200)
    failure = page.shown["error"]
    assert failure["kind"] == "ContextLengthError"
    assert failure["text"] == (
        "The newest message alone is about 254 tokens, over the limit of 100."
    )
    assert server.requests == []
    await page.say("short")
    assert (page.texts[-1], len(server.requests)) == ("Hello.", 1)


# --- whatever was said --------------------------------------------------------------------------

TEXTS = st.sampled_from(["", " ", "Hi", "Yes.\n", "\ud800", "ö"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(
    ToolCall,
    id=st.just(""),
    tool=st.sampled_from(["look", "", "no such tool", "x" * 90]),
    state=st.sampled_from(["streaming", "pending", "running", "result", "error"]),
    raw=TEXTS,
    args=st.none() | st.dictionaries(TEXTS, JSON, max_size=2),
    told=TEXTS,
    origin=st.sampled_from(["model", "user"]),
    again=st.sampled_from(["", "k-1"]),
)
PARTS = st.one_of(
    st.builds(Text, id=st.just(""), text=TEXTS),
    st.builds(Reasoning, id=st.just(""), text=TEXTS),
    st.builds(Notice, id=st.just(""), text=TEXTS),
    st.builds(Data, id=st.just(""), name=TEXTS, data=JSON),
    CALLS,
    CALLS,
)
MESSAGES = st.builds(
    Message,
    id=st.just(""),
    role=st.sampled_from(["user", "assistant"]),
    parts=st.lists(PARTS, max_size=4).map(tuple),
    finish=st.sampled_from(["stop", "calls", "cut", "failed", "stopped", "length", ""]),
)


def numbered(messages: list[Message]) -> tuple[Message, ...]:
    """Give ids, and to the user no parts that only a reply has."""
    return tuple(
        Message(
            id=f"m{place}",
            role=message.role,
            finish=message.finish if message.role == "assistant" else "",
            parts=tuple(
                type(part)(**{**fields(part), "id": f"p{place}-{number}"})
                for number, part in enumerate(message.parts)
            ),
        )
        for place, message in enumerate(messages)
    )


def fields(part: Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__dataclass_fields__}


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(messages=st.lists(MESSAGES, max_size=5), limit=st.none() | st.integers(0, 60))
def test_whatever_was_said_a_strict_server_accepts_it(messages: list[Message], limit: int | None):
    """Each call has one result, ids are unique, arguments are an object, nothing is empty."""
    sent = prepare(Conversation(messages=numbered(messages)))
    try:
        sent = trim(sent, limit)
    except ContextLengthError:
        return
    if sent:
        assert problem_of(Request(messages=sent)) == ""


async def test_history_costs_no_copy_of_what_is_sent_as_it_is():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"}, id="k-1")], "Rain.", "Sun.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Read")
    await page.say("And?")
    first, second = model.requests[1].messages[0], model.requests[2].messages[0]
    assert first is second
