"""What running calls ask of the person: the chat rests, the answer is checked, the tool goes on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools import questions, storage
from nbtools.errors import AlreadyDecided, InvalidArguments, ToolError
from nbtools.messages import Question
from nbtools.outcomes import cancelled_at_work
from nbtools.testing import call
from nbtools.tools import ToolContext, invoke
from tests.stage import Page, Strict, run_jumping

FORM = {
    "type": "object",
    "properties": {"port": {"type": "string"}, "berth": {"type": "integer", "default": 1}},
    "required": ["port"],
}


def asking_tool(heard: list[Any], form: Any = FORM, **settings: Any) -> nb.Tool:
    @nb.tool(**settings)
    async def moor(ship: str, ctx: ToolContext[None]) -> str:
        """Moor a ship where the person says."""
        heard.append(await ctx.ask(f"Where shall the {ship} lie?", form))
        return f"The {ship} is moored."

    return moor


async def asked(heard: list[Any], *replies: Any, **settings: Any) -> tuple[Page, Strict]:
    """A chat that rests because its only call asks."""
    model = Strict([call("moor", {"ship": "Gull"}, id="k-1")], *(replies or ("Done.",)))
    page = Page(model, [asking_tool(heard, **settings)])
    await page.say("Moor her")
    return page, model


async def answered(page: Page, value: Any) -> dict[str, Any]:
    question = page.call("k-1").question
    assert question is not None
    ack = page.command("answer", call="k-1", question=question.id, value=value)
    await page.session.rest()
    return ack


async def test_the_chat_waits_while_a_running_call_asks():
    page, model = await asked([])
    asking = page.call("k-1")
    assert (asking.state, page.session.conversation.status) == ("running", "waiting")
    assert asking.question is not None
    assert (asking.question.text, dict(asking.question.form or {})["required"]) == (
        "Where shall the Gull lie?",
        ["port"],
    )
    shown = page.shown["messages"][1]["parts"][0]
    assert shown["question"]["text"] == "Where shall the Gull lie?"
    page.command("stop")
    assert len(model.requests) == 1


async def test_a_tool_that_cannot_wait_for_the_answer_is_told_so_and_does_not_go_on():
    """What `ask` returned would be no None, and pass for a yes."""
    wiped: list[str] = []

    @nb.tool
    def wipe(ctx: ToolContext[None]) -> str:
        """Wipe everything."""
        if ctx.ask("Really?") is None:
            raise nb.ToolError("The user said no.")
        wiped.append("everything")
        return "wiped"

    model = Strict([call("wipe", id="k-1")], "Sorry.")
    page = Page(model, [wipe])
    await page.say("Wipe")
    assert wiped == []
    assert (page.call("k-1").outcome, page.call("k-1").question) == ("failed", None)
    assert model.told == [
        "This tool cannot ask: make it `async def`, and write `await ctx.ask(…)`."
    ]


async def test_a_question_that_is_not_awaited_is_no_answer():
    wiped: list[str] = []

    @nb.tool
    async def wipe(ctx: ToolContext[None]) -> str:
        """Wipe everything."""
        if ctx.ask("Really?"):
            wiped.append("everything")
        return "wiped"

    model = Strict([call("wipe", id="k-1")], "Sorry.")
    page = Page(model, [wipe])
    await page.say("Wipe")
    assert (wiped, page.call("k-1").outcome) == ([], "failed")
    assert model.told == ["Nobody was asked: write `await ctx.ask(…)`."]


async def test_the_parts_of_an_async_tool_may_ask_from_where_they_are():
    """From a task, from a thread that it awaits, and from a generator."""
    heard: list[Any] = []

    @nb.tool
    async def moor(ctx: ToolContext[None]) -> AsyncGenerator[str, None]:
        """Moor."""
        heard.append(await asyncio.create_task(ctx.ask("One?")))
        heard.append(await (await asyncio.to_thread(ctx.ask, "Two?")))
        yield "moored"

    page = Page(Strict([call("moor", id="k-1")], "Done."), [moor])
    await page.say("Moor")
    for text in ("One?", "Two?"):
        question = page.call("k-1").question
        assert question is not None
        assert question.text == text
        await answered(page, {})
    assert (heard, page.call("k-1").outcome) == ([{}, {}], "ok")


async def test_the_call_goes_on_with_the_answer_and_its_defaults():
    heard: list[Any] = []
    page, model = await asked(heard)
    assert (await answered(page, {"port": "Aro"}))["ok"] is True
    assert heard == [{"port": "Aro", "berth": 1}]
    assert (page.call("k-1").state, page.call("k-1").question) == ("result", None)
    assert model.told == ["The Gull is moored."]


async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays():
    heard: list[Any] = []
    page, _ = await asked(heard)
    ack = await answered(page, {"berth": "two"})
    assert (ack["ok"], ack["field"]) == (False, "port")
    assert ack["text"].startswith("Missing: 'port'. Wrong: 'berth': expected integer")
    assert page.call("k-1").question is not None
    assert (await answered(page, [1]))["text"] == (
        "An answer is an object with the fields of the form, not list."
    )
    assert heard == []


async def test_a_question_that_is_declined_gives_the_tool_none():
    heard: list[Any] = []
    page, _ = await asked(heard)
    question = page.call("k-1").question
    assert question is not None
    page.command("decline", call="k-1", question=question.id)
    await page.session.rest()
    assert (heard, page.call("k-1").state) == ([None], "result")


async def test_a_consent_is_an_empty_answer():
    heard: list[Any] = []
    page, _ = await asked(heard, form=None)
    await answered(page, None)
    assert heard == [{}]


async def test_a_late_answer_or_one_to_another_question_is_refused():
    page, _ = await asked([])
    ack = page.command("answer", call="k-1", question="q-other", value={"port": "Aro"})
    assert (ack["ok"], ack["text"]) == (
        False,
        "This question is not asked any more; look again.",
    )
    await answered(page, {"port": "Aro"})
    with pytest.raises(AlreadyDecided):
        page.session.answer_question("k-1", {"port": "Bo"})


async def test_waiting_for_the_person_is_not_tool_time():
    page, _ = await asked([], timeout=0.05)
    await asyncio.sleep(0.1)  # longer than the tool may take
    assert page.call("k-1").state == "running"
    await answered(page, {"port": "Aro"})
    assert page.call("k-1").outcome == "ok"


ENDS: dict[str, Callable[[Page], Awaitable[object]]] = {
    "stop": lambda page: carried(page, "stop"),
    "clear": lambda page: carried(page, "clear"),
    "cancel": lambda page: carried(page, "cancel", call="k-1"),
    "say": lambda page: page.say("Never mind"),
}


async def carried(page: Page, command: str, **fields: Any) -> None:
    page.command(command, **fields)
    await page.session.rest()


@pytest.mark.parametrize("settings", [{}, {"timeout": 60}])
@pytest.mark.parametrize("end", ENDS)
async def test_a_call_that_ends_while_it_asks_is_cancelled_once_and_given_no_answer(
    end: str, settings: Any
):
    """What the tool does about an answer, also about none, would come after its end."""
    heard: list[Any] = []
    gone = threading.Event()

    @nb.tool(**settings)
    async def moor(ctx: ToolContext[None]) -> None:
        """Moor a ship."""
        try:
            heard.append(await ctx.ask("Where?", FORM))
        except asyncio.CancelledError:
            for _ in range(5):  # what a second cancellation would cut short
                await asyncio.sleep(0)
            heard.append(f"cancelled: {ctx.cancelled}")
            raise
        finally:
            gone.set()

    page = Page(Strict([call("moor", {}, id="k-1")], "Well then."), [moor])
    await page.say("Moor her")
    await ENDS[end](page)
    await asyncio.to_thread(gone.wait, 10)
    assert (heard, page.session.conversation.status) == (["cancelled: True"], "ready")
    assert [known.outcome for known in page.session.calls()] == ["cancelled"] * (end != "clear")


async def test_a_call_on_the_main_thread_that_ends_while_it_asks_is_cancelled_as_a_whole():
    heard: list[str] = []
    gone = asyncio.Event()

    @nb.tool(thread="main")
    async def moor(ctx: ToolContext[None]) -> None:
        """Moor two ships."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(ctx.ask("Where?"))
                group.create_task(ctx.ask("And the other?"))
            heard.append("went on")
        finally:
            heard.append(f"cancelled: {ctx.cancelled}")
            gone.set()

    chat = nb.Chat(nb.Scripted([call("moor", {})]), tools=[moor])
    await chat.send("Moor them")
    chat.stop()
    await asyncio.wait_for(gone.wait(), 10)
    assert heard == ["cancelled: True"]
    chat.close()


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "GRACE", 0.0)


@pytest.mark.usefixtures("no_grace")
@pytest.mark.parametrize("settings", [{}, {"timeout": 60}])
async def test_what_a_tool_leaves_behind_is_cancelled_when_it_asks_for_an_ended_call(settings: Any):
    left: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    @nb.tool(**settings)
    async def moor(ctx: ToolContext[None]) -> str:
        """Moor a ship."""

        async def later() -> object:
            await over.wait()
            return await ctx.ask("Where?")

        left.extend(asyncio.create_task(each) for each in (later(), ctx.ask("Why?")))
        await asyncio.sleep(0)
        return "Moored."

    page = Page(Strict([call("moor", {}, id="k-1")], "Done."), [moor])
    await page.say("Moor her")
    over.set()
    await asyncio.wait(left)
    assert [each.cancelled() for each in left] == [True, True]
    assert page.call("k-1").question is None


async def test_a_question_after_the_time_of_a_tool_does_not_take_the_place_of_its_end(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(invoke, "GRACE", 0.0)
    heard: list[str] = []

    @nb.tool(timeout=0.01)
    async def moor(ctx: ToolContext[None]) -> None:
        """Moor a ship, and ask about it too late."""
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await ctx.ask("And now?")
            except BaseException as error:
                heard.append(type(error).__name__)
                raise

    page = Page(Strict([call("moor", {}, id="k-1")], "Done."), [moor])
    await page.say("Moor her")
    page.command("stop")
    assert (page.call("k-1").outcome, page.call("k-1").question) == ("timeout", None)
    assert heard == []  # it is left to itself, still asking


async def test_a_tool_that_asks_on_after_its_end_holds_up_nobody():
    tries: list[int] = []
    free = asyncio.Event()

    @nb.tool
    async def moor(ctx: ToolContext[None]) -> None:
        """Moor a ship, whatever happens."""
        while not free.is_set():
            tries.append(len(tries))
            with contextlib.suppress(asyncio.CancelledError):
                await ctx.ask("Where?")

    page = Page(Strict([call("moor", {}, id="k-1")], "Done."), [moor])
    await page.say("Moor her")
    page.command("stop")
    other = Page(Strict("Hello."))
    await other.say("Hi")
    assert (other.texts, tries) == (["Hi", "Hello."], [0, 1])
    free.set()


async def test_stop_ends_a_call_that_asks():
    page, _ = await asked([])
    page.command("stop")
    await page.session.rest()
    assert (page.call("k-1").outcome, page.call("k-1").question) == ("cancelled", None)
    assert page.session.conversation.status == "ready"


async def test_a_call_that_asks_can_be_cancelled_alone():
    page, model = await asked([])
    page.command("cancel", call="k-1")
    await page.session.rest()
    assert (page.call("k-1").outcome, page.session.conversation.status) == ("cancelled", "ready")
    assert model.told == [cancelled_at_work()]


async def test_who_writes_on_ends_the_call_that_asks():
    page, model = await asked([], "Well then.")
    await page.say("Never mind")
    assert (page.call("k-1").outcome, model.refused) == ("cancelled", [])
    assert page.texts == ["Moor her", "Never mind", "Well then."]


async def test_one_call_asks_one_question_at_a_time():
    heard: list[Any] = []

    @nb.tool
    async def moor(ctx: ToolContext[None]) -> str:
        """Moor two ships."""
        heard.extend(await asyncio.gather(ctx.ask("First?", FORM), ctx.ask("Second?", FORM)))
        return "Moored."

    page = Page(Strict([call("moor", {}, id="k-1")], "Done."), [moor])
    await page.say("Moor them")
    texts = []
    for port in ("Aro", "Bo"):
        question = page.call("k-1").question
        assert question is not None
        texts.append(question.text)
        await answered(page, {"port": port})
    assert texts == ["First?", "Second?"]
    assert [each["port"] for each in heard] == ["Aro", "Bo"]


@pytest.mark.parametrize("settings", [{}, {"max_parallel": 1}])
async def test_what_waits_for_the_place_of_a_call_that_asks_waits_for_the_person_too(settings: Any):
    """The chat rests, so that whoever awaits it can answer."""
    heard: list[Any] = []
    calls = [call("moor", {"ship": ship}, id=f"k-{n}") for n, ship in enumerate("ABC", 1)]
    tool = asking_tool(heard, **({} if settings else {"max_parallel": 1}))
    page = Page(Strict(calls, "Done."), [tool], **settings)
    await page.say("Moor them")
    for name in ("k-1", "k-2", "k-3"):
        assert page.session.conversation.status == "waiting"
        question = page.call(name).question
        assert question is not None
        page.command("answer", call=name, question=question.id, value={"port": name})
        await page.session.rest()
    assert [each["port"] for each in heard] == ["k-1", "k-2", "k-3"]
    assert (page.session.conversation.status, page.texts[-1]) == ("ready", "Done.")


async def test_who_writes_on_ends_what_waits_for_the_place_of_a_call_that_asks():
    calls = [call("moor", {"ship": ship}, id=f"k-{n}") for n, ship in enumerate("AB", 1)]
    model = Strict(calls, "Well then.", "And now?")
    page = Page(model, [asking_tool([], max_parallel=1)])
    await page.say("Moor them")
    await page.say("Never mind")
    assert [page.call(name).outcome for name in ("k-1", "k-2")] == ["cancelled", "cancelled"]
    assert (page.texts[-1], model.refused) == ("Well then.", [])


def test_no_question_of_a_call_is_tool_time_however_many_it_asks_at_once():
    async def story() -> tuple[str, str]:
        @nb.tool(timeout=10)
        async def moor(ctx: ToolContext[None]) -> None:
            """Moor two ships, and then sleep."""
            await asyncio.gather(ctx.ask("First?"), ctx.ask("Second?"))
            await asyncio.sleep(60)

        page = Page(Strict([call("moor", {}, id="k-1")], "Done."), [moor])
        await page.say("Moor them")
        for _question in range(2):
            await asyncio.sleep(3_600)
            await answered(page, {})
        return page.call("k-1").outcome, page.call("k-1").error

    assert run_jumping(story()) == ("timeout", "It took over 10 s.")


async def test_other_calls_go_on_while_one_asks():
    heard: list[Any] = []

    @nb.tool
    async def tide(port: str) -> str:
        """Say when the tide comes."""
        return f"tide at {port}"

    calls = [call("moor", {"ship": "Gull"}, id="k-1"), call("tide", {"port": "Aro"}, id="k-2")]
    page = Page(Strict(calls, "Done."), [asking_tool(heard), tide])
    await page.say("Go")
    assert (page.call("k-2").outcome, page.session.conversation.status) == ("ok", "waiting")


async def test_a_form_that_is_no_schema_fails_the_call_with_words():
    page, _ = await asked([], form={"type": "array"})
    assert page.call("k-1").outcome == "failed"
    assert page.call("k-1").error == (
        "ToolDefinitionError: Tool 'question': the type of its schema is 'array', expected 'object'."
    )


async def test_a_question_is_interrupted_by_a_restart(tmp_path: Path):
    page, _ = await asked([])
    file = tmp_path / "chat.json"
    storage.save(file, page.session.conversation, {})
    loaded = storage.load(file, {})
    (asking,) = (part for part in loaded.messages[1].parts if part.type == "tool-call")
    assert (asking.outcome, asking.question) == ("interrupted", None)
    page.command("stop")


async def test_a_tool_that_nobody_watches_cannot_ask():
    with pytest.raises(ToolError, match="nobody here who could be asked"):
        await ToolContext(None).ask("Where?")


async def test_python_answers_and_declines_by_the_handle_of_the_call():
    heard: list[Any] = []
    model = nb.Scripted(
        [call("moor", {"ship": "Gull"}, id="k-1")],
        [call("moor", {"ship": "Tern"}, id="k-2")],
        "Done.",
    )
    chat = nb.Chat(model, tools=[asking_tool(heard)])
    await chat.send("Moor them")
    question = chat.calls["k-1"].question
    assert isinstance(question, Question)
    assert question.text == "Where shall the Gull lie?"
    with pytest.raises(InvalidArguments, match="Missing: 'port'"):
        await chat.calls["k-1"].answer(berth=2)
    await chat.calls["k-1"].answer(port="Aro", berth=2)
    await chat.calls["k-2"].decline_question()
    assert heard == [{"port": "Aro", "berth": 2}, None]
    assert chat.status == "ready"
    chat.close()
