"""Work that goes on in the background: beside its call, and told to the model when the chat is ready."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.errors import AlreadyDecided
from nbtools.messages import Job, Notice, Request, Text
from nbtools.testing import Scripted, call, hold
from nbtools.transcript import to_html, to_text
from tests.stage import Page, Strict, run_jumping, until


class Gates:
    """Holds background work until a test lets it go."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Event] = {}

    def gate(self, name: str) -> asyncio.Event:
        return self.open.setdefault(name, asyncio.Event())

    def fit(self, **settings: Any) -> nb.Tool:
        @nb.tool(background=True, **settings)
        async def fit(model: str, ctx: nb.ToolContext[None]) -> dict[str, str]:
            """Fit a model."""
            ctx.progress(0.5, "half way")
            await self.gate(model).wait()
            if model == "broken":
                raise nb.ToolError("It diverged.")
            return {"fitted": model}

        return fit


def jobs(page: Page) -> list[Job]:
    messages = page.session.conversation.messages
    return [part for message in messages for part in message.parts if isinstance(part, Job)]


def notices(page: Page) -> list[Notice]:
    messages = page.session.conversation.messages
    return [part for message in messages for part in message.parts if isinstance(part, Notice)]


def said_to(request: Request) -> list[str]:
    last = request.messages[-1]
    return [part.text for part in last.parts if isinstance(part, Text)]


# --- beside its call ------------------------------------------------------------------------------


async def test_a_call_ends_at_once_and_its_work_goes_on_as_a_job():
    gates = Gates()
    model = Strict([call("fit", {"model": "a"}, id="k-1")], "It runs.")
    page = Page(model, [gates.fit()])
    await page.say("Fit a")
    assert (page.calls[0].outcome, page.calls[0].value) == ("ok", {"job": "job-1"})
    assert model.told == [
        "Started in the background as 'job-1'. You will be told when it has ended."
    ]
    assert page.texts[-1] == "It runs."
    await until(page, lambda: jobs(page)[0].progress is not None)
    (job,) = jobs(page)
    assert (job.id, job.call, job.tool, job.state) == ("job-1", "k-1", "fit", "running")
    assert job.progress is not None
    assert (job.progress.fraction, page.session.conversation.status) == (0.5, "ready")
    gates.gate("a").set()
    await until(page, lambda: jobs(page)[0].outcome)
    (job,) = jobs(page)
    assert (job.state, job.outcome, job.value) == ("result", "ok", {"fitted": "a"})
    assert page.session.results["fit"] == {"fitted": "a"}
    assert page.shown["messages"][1]["parts"][1]["type"] == "job"


async def test_the_end_is_told_with_the_next_request_as_a_note_from_the_program():
    gates = Gates()
    model = Strict([call("fit", {"model": "a"})], "It runs.", "So I see.")
    page = Page(model, [gates.fit()])
    await page.say("Fit a")
    gates.gate("a").set()
    await until(page, lambda: notices(page))
    assert [notice.text for notice in notices(page)] == ["job-1 (fit) is done."]
    assert len(model.requests) == 2
    await page.say("And?")
    told = [
        part.text
        for message in model.requests[2].messages
        for part in message.parts
        if isinstance(part, Text)
    ]
    assert '[Note from the program: job-1 (fit) is done. {"fitted":"a"}]' in told
    assert model.refused == []


async def test_a_job_that_fails_says_why():
    gates = Gates()
    page = Page(Strict([call("fit", {"model": "broken"})], "It runs."), [gates.fit()])
    await page.say("Fit")
    gates.gate("broken").set()
    await until(page, lambda: notices(page))
    (job,) = jobs(page)
    assert (job.state, job.outcome, job.error) == ("error", "failed", "It diverged.")
    assert "ToolError" in job.trace
    assert notices(page)[0].told == "job-1 (fit) failed. It diverged."
    assert notices(page)[0].level == "warning"


async def test_what_a_job_prints_and_a_synchronous_one_in_its_thread_go_to_the_job():
    @nb.tool(background=True)
    def work() -> int:
        """Work."""
        print("working")  # noqa: T201 - it goes to the job
        return threading.current_thread() is threading.main_thread()

    page = Page(Strict([call("work", {})], "It runs."), [work])
    await page.say("Go")
    await until(page, lambda: jobs(page)[0].outcome)
    assert (jobs(page)[0].output, jobs(page)[0].value) == ("working\n", False)


async def test_an_approval_is_asked_before_the_job_begins():
    gates = Gates()
    page = Page(Strict([call("fit", {"model": "a"}, id="k-1")], "So."), [gates.fit(approval=True)])
    await page.say("Fit")
    assert (page.calls[0].waiting, jobs(page)) == ("approval", [])
    page.approve("k-1")
    await page.session.rest()
    assert jobs(page)[0].state == "running"


# --- only when the chat is ready ------------------------------------------------------------------


async def test_the_end_of_a_job_interrupts_no_run_and_closes_no_call():
    gates = Gates()
    gate = asyncio.Event()

    @nb.tool
    async def look() -> str:
        """Look."""
        await gate.wait()
        return "seen"

    @nb.tool(approval=True)
    async def wipe() -> str:
        """Wipe."""
        return "wiped"

    model = Strict(
        [call("fit", {"model": "a"}), call("look", {})],
        [call("wipe", {}, id="k-w")],
        "Wiped.",
        "The fit is done.",
    )
    page = Page(model, [gates.fit(on_done="continue"), look, wipe])
    page.command("send", text="Go")
    await until(page, lambda: jobs(page))
    gates.gate("a").set()
    await until(page, lambda: jobs(page)[0].outcome)
    assert notices(page) == []
    gate.set()
    await page.session.rest()
    assert (page.session.conversation.status, notices(page)) == ("waiting", [])
    page.approve("k-w")
    await until(page, lambda: page.texts[-1] == "The fit is done.")
    assert page.calls[-1].outcome == "ok"
    assert said_to(model.requests[3]) == [
        '[Note from the program: job-1 (fit) is done. {"fitted":"a"}]'
    ]
    assert model.refused == []


async def test_a_job_may_let_the_model_go_on_by_itself():
    gates = Gates()
    model = Strict([call("fit", {"model": "a"})], "It runs.", "It is fitted.")
    page = Page(model, [gates.fit(on_done="continue")])
    await page.say("Fit a")
    gates.gate("a").set()
    await until(
        page, lambda: page.session.conversation.status == "ready" and len(model.requests) == 3
    )
    assert page.texts == ["Fit a", "It runs.", "It is fitted."]
    assert notices(page)[0].asks


async def test_what_a_job_sets_going_spends_the_rounds_of_the_message_that_started_it():
    gates = Gates()
    fit_again = [call("fit", {"model": "b"}, id="")]
    model = Strict(
        [call("fit", {"model": "a"})],
        "It runs.",
        "Another question, no calls.",
        fit_again,
        "Enough.",
    )
    page = Page(model, [gates.fit(on_done="continue")], max_roundtrips=1)
    await page.say("Fit a")
    await page.say("What is a fit?")
    gates.gate("a").set()
    await until(
        page, lambda: len(model.requests) == 5 and page.session.conversation.status == "ready"
    )
    assert [request.choice for request in model.requests] == ["auto"] * 4 + ["none"]
    assert [known.outcome for known in page.calls] == ["ok", "limit"]
    assert page.texts[-1] == "Enough."


async def test_a_message_that_has_no_rounds_left_is_only_told_of_the_end():
    gates = Gates()
    fit_again = [call("fit", {"model": "b"}, id="")]
    model = Strict([call("fit", {"model": "a"})], fit_again, "Enough.")
    page = Page(model, [gates.fit(on_done="continue")], max_roundtrips=1)
    await page.say("Fit a")
    gates.gate("a").set()
    await until(page, lambda: any(notice.about == "job-1" for notice in notices(page)))
    assert (len(model.requests), page.session.conversation.status) == (3, "ready")


# --- ending one -----------------------------------------------------------------------------------


async def test_a_job_is_cancelled_from_its_card():
    gates = Gates()
    page = Page(Strict([call("fit", {"model": "a"})], "It runs."), [gates.fit()])
    await page.say("Fit a")
    assert page.command("cancel", call="job-1")["ok"]
    (job,) = jobs(page)
    assert (job.state, job.outcome) == ("error", "cancelled")
    assert notices(page)[0].told == (
        "job-1 (fit) was cancelled. The user cancelled this call. Nothing of it was returned."
    )
    refused = page.command("cancel", call="job-1")
    assert (refused["ok"], refused["error"]) == (False, "late")


def test_a_job_may_be_given_a_while_longer():
    """From its card and from Python, in the words of a call."""

    async def story() -> Page:
        gates = Gates()
        page = Page(Strict([call("fit", {"model": "a"})], "It runs.", "So."), [gates.fit()])
        await page.say("Fit a")
        assert page.command("cancel", call="job-1", after=10)["ok"]
        assert jobs(page)[0].state == "running"
        assert [(note.text, note.about) for note in notices(page)] == [
            ("job-1 will be ended in 10 s.", "job-1")
        ]
        await asyncio.sleep(20)
        page.flush()
        return page

    page = run_jumping(story())
    (job,) = jobs(page)
    assert (job.outcome, job.error) == ("timeout", "It was given 10 s.")
    assert notices(page)[-1].told == (
        "job-1 (fit) ran out of time. The tool was ended: It was given 10 s. "
        "It may have done part of its work."
    )


def test_a_job_that_ended_before_its_time_was_up_is_left_as_it_is():
    @nb.tool(background=True)
    async def work() -> str:
        """Work."""
        await asyncio.sleep(5)
        return "done"

    async def story() -> Page:
        page = Page(Strict([call("work", {})], "It runs."), [work])
        await page.say("Go")
        page.command("cancel", call="job-1", after=10)
        await asyncio.sleep(20)
        return page

    assert jobs(run_jumping(story()))[0].outcome == "ok"


@pytest.mark.parametrize("after", [0, -1, "soon", True, float("nan")])
async def test_a_time_that_is_none_is_refused_for_a_job_too(after: Any):
    page = Page(Strict([call("fit", {"model": "a"})], "It runs."), [Gates().fit()])
    await page.say("Fit a")
    answer = page.command("cancel", call="job-1", after=after)
    assert (answer["ok"], answer["error"]) == (False, "invalid")
    assert "after" in answer["text"]
    assert jobs(page)[0].state == "running"


async def test_stop_ends_a_turn_and_leaves_its_jobs():
    gates = Gates()
    page = Page(Strict([call("fit", {"model": "a"})], [call("none", {})]), [gates.fit()])
    page.command("send", text="Fit a")
    await until(page, lambda: jobs(page))
    page.command("stop")
    assert jobs(page)[0].state == "running"


@pytest.mark.parametrize("ending", ["stop", "clear"])
async def test_a_job_that_ended_during_a_turn_asks_for_nothing_once_that_is_stopped(ending: str):
    """Whoever stops wants no answer; the model hears of the job with the next message."""
    gates = Gates()
    model = Strict([call("fit", {"model": "a"})], [hold(asyncio.Event())], "I see.")
    page = Page(model, [gates.fit(on_done="continue")])
    page.command("send", text="Fit a")
    await until(page, lambda: jobs(page))
    gates.gate("a").set()
    await until(page, lambda: jobs(page)[0].outcome)
    page.command(ending)
    await page.session.rest()
    assert (page.session.conversation.status, len(model.requests), model.refused) == (
        "ready",
        2,
        [],
    )
    assert [note.asks for note in notices(page)] == ([False] if ending == "stop" else [])
    await page.say("And?")
    told = "[Note from the program: job-1 (fit) is done." in str(model.requests[2].messages)
    assert (told, page.texts[-1]) == (ending == "stop", "I see.")


async def test_clearing_a_chat_and_going_back_before_it_end_its_jobs():
    gates = Gates()
    ended = asyncio.Event()

    @nb.tool(background=True)
    async def work() -> None:
        """Work."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    page = Page(Strict([call("work", {})], "It runs.", "Hm."), [work, gates.fit()])
    await page.say("Go")
    question = page.session.conversation.messages[0].id
    assert page.command("edit_message", message=question, text="Do not")["ok"]
    await ended.wait()
    await page.session.rest()
    assert (jobs(page), notices(page), page.texts) == ([], [], ["Do not", "Hm."])
    page.command("clear")
    assert page.session.conversation.messages == ()


@pytest.mark.parametrize("back", ["edit_message", "regenerate", "clear"])
async def test_a_job_that_goes_with_its_question_is_not_told_of_and_asks_for_nothing(back: str):
    """Nothing in the conversation knows of it; nobody may be asked because of it."""
    model = Strict([call("fit", {"model": "a"})], "It runs.", "Hm.")
    page = Page(model, [Gates().fit(on_done="continue")])
    await page.say("Fit a")
    question = page.session.conversation.messages[0].id
    fields = {"clear": {}, "edit_message": {"message": question, "text": "Do not"}}
    assert page.command(back, **fields.get(back, {"message": question}))["ok"]
    await page.session.rest()
    assert (jobs(page), notices(page), model.refused) == ([], [], [])
    assert len(model.requests) == (2 if back == "clear" else 3)
    said = {"clear": [], "edit_message": ["Do not", "Hm."], "regenerate": ["Fit a", "Hm."]}
    assert page.texts == said[back]


async def test_an_end_that_was_told_after_the_question_is_told_again_when_that_is_asked_anew():
    """The job itself was started before, and stays."""
    gates = Gates()
    model = Strict([call("fit", {"model": "a"})], "It runs.", "Rain.", "Sun.", "So it is.")
    page = Page(model, [gates.fit()])
    await page.say("Fit a")
    await page.say("What weather?")
    gates.gate("a").set()
    await until(page, lambda: notices(page))
    question = page.session.conversation.messages[3].id
    page.command("edit_message", message=question, text="And now?")
    await page.session.rest()
    roles = [
        [part.type for part in message.parts] for message in page.session.conversation.messages
    ]
    assert roles == [["text"], ["tool-call", "job"], ["text"], ["text"], ["text"], ["notice"]]
    assert page.texts == ["Fit a", "It runs.", "And now?", "Sun."]
    await page.say("Good")
    assert said_to(model.requests[-1])[-1] == "Good"
    assert "[Note from the program: job-1 (fit) is done." in str(model.requests[-1].messages)


async def test_a_job_asks_nobody_and_says_so():
    """It may end long after the person has gone; a tool can catch that, and its time runs on."""

    @nb.tool(background=True)
    async def ask(ctx: nb.ToolContext[None]) -> str:
        """Ask."""
        return str(await ctx.ask("Where to?"))

    @nb.tool(background=True, timeout=0.01)
    async def insist(ctx: nb.ToolContext[None]) -> str:
        """Ask, and wait all the same."""
        with contextlib.suppress(nb.ToolError):
            await ctx.ask("Where to?")
        return await asyncio.Event().wait()  # type: ignore[return-value]

    page = Page(Strict([call("ask", {}), call("insist", {})], "It runs."), [ask, insist])
    await page.say("Go")
    await until(page, lambda: all(job.outcome for job in jobs(page)))
    sentence = (
        "A job in the background cannot ask the person anything; let another tool ask before it "
        "begins."
    )
    assert [(job.outcome, job.error) for job in jobs(page)] == [
        ("failed", sentence),
        ("timeout", "It took over 0.01 s."),
    ]


async def test_a_timeout_holds_for_a_job_too():
    @nb.tool(background=True, timeout=0.01)
    async def work() -> None:
        """Work."""
        await asyncio.Event().wait()

    page = Page(Strict([call("work", {})], "It runs."), [work])
    await page.say("Go")
    await until(page, lambda: jobs(page)[0].outcome)
    assert jobs(page)[0].outcome == "timeout"


# --- from Python ----------------------------------------------------------------------------------


def chat_with(*replies: Any) -> tuple[nb.Chat, threading.Event]:
    gate = threading.Event()

    @nb.tool(background=True)
    def fit(n: int) -> int:
        """Fit."""
        gate.wait()
        return n * 2

    return nb.Chat(Scripted(*replies), tools=[fit]), gate


async def test_jobs_are_seen_awaited_and_found_by_id():
    chat, gate = chat_with([call("fit", {"n": 1}), call("fit", {"n": 2})], "They run.")
    await chat.send("Go")
    assert [job.id for job in chat.jobs] == ["job-1", "job-2"]
    job = chat.jobs["job-1"]
    assert (job.state, job.call.tool, repr(job)) == ("running", "fit", "<job-1 of fit: running>")
    with pytest.raises(KeyError, match="'job-1' has no value: it is running"):
        _ = job.value
    with pytest.raises(KeyError, match=r"works on in the background; await chat\.jobs\['job-1'\]"):
        _ = job.call.result
    gate.set()
    assert (await job).value == job.call.result == 2
    assert (await chat.jobs[1]).outcome == "ok"
    assert (job.error, len(chat.jobs[:1])) == ("", 1)
    with pytest.raises(AlreadyDecided, match=r"This job is over already \(ok\)"):
        job.cancel()
    with pytest.raises(KeyError, match="There is no job 'job-9'; there are: job-1, job-2"):
        chat.jobs["job-9"]
    chat.close()


async def test_the_end_of_a_cancelled_job_can_be_awaited():
    chat, gate = chat_with([call("fit", {"n": 1})], "It runs.")
    await chat.send("Go")
    assert (await chat.jobs[0].cancel()).outcome == "cancelled"
    gate.set()
    chat.close()


async def test_a_handle_of_a_job_that_was_cleared_says_so():
    chat, gate = chat_with([call("fit", {"n": 1})], "It runs.")
    await chat.send("Go")
    job = chat.jobs[0]
    chat.clear()
    assert repr(job) == "<job-1 cleared>"
    with pytest.raises(nb.NbtoolsError, match=r"^The job 'job-1' was cleared from the chat\.$"):
        _ = job.state
    with pytest.raises(nb.NbtoolsError, match="'job-1' was cleared"):
        job.cancel()
    assert await job is job
    gate.set()
    chat.close()


async def test_closing_a_chat_ends_its_jobs(tmp_path: Path):
    """The file says so too; the model, which could go on by itself, is not asked."""
    chat, gate = chat_with([call("fit", {"n": 1})], "It runs.", "Never asked.")
    await chat.send("Go")
    chat.tools["fit"].on_done = "continue"
    kept = chat.save
    chat._session.save = lambda _: kept(tmp_path / "chat.json")
    chat.close()
    assert chat.jobs[0].outcome == "cancelled"
    assert (chat.status, len(chat.model.requests)) == ("ready", 2)  # type: ignore[attr-defined]
    loaded = nb.Chat.load(tmp_path / "chat.json", model=Scripted(), tools=list(chat.tools.values()))
    assert loaded.jobs[0].outcome == "cancelled"
    gate.set()
    loaded.close()


async def test_a_job_is_ended_from_python_in_a_while():
    chat, gate = chat_with([call("fit", {"n": 1})], "It runs.")
    await chat.send("Go")
    with pytest.raises(
        ValueError, match=r"after is 0; expected a number of seconds above 0, or None\."
    ):
        chat.jobs[0].cancel(after=0)
    chat.jobs[0].cancel(after=0.05)
    assert chat.jobs[0].state == "running"
    assert (await chat.jobs[0]).outcome == "timeout"
    gate.set()
    chat.close()


async def test_a_job_is_interrupted_by_a_restart_and_loading_asks_nobody(tmp_path: Path):
    chat, gate = chat_with([call("fit", {"n": 1})], "It runs.")
    await chat.send("Go")
    chat.save(tmp_path / "chat.json")
    model = Scripted("So it is.")
    tools = list(chat.tools.values())
    tools[0].on_done = "continue"
    loaded = nb.Chat.load(tmp_path / "chat.json", model=model, tools=tools)
    assert loaded.jobs[0].outcome == "interrupted"
    assert (loaded.status, model.requests) == ("ready", [])
    await loaded.send("And?")
    told = [
        part.text
        for message in model.requests[0].messages
        for part in message.parts
        if isinstance(part, Text)
    ]
    assert (
        "[Note from the program: job-1 (fit) was interrupted. The program restarted while this call "
        "ran. What it had done is not known.]"
    ) in told
    gate.set()
    chat.close()
    loaded.close()


async def test_a_transcript_shows_the_job_and_what_came_of_it():
    chat, gate = chat_with([call("fit", {"n": 4})], "It runs.")
    await chat.send("Go")
    assert "[job-1 of fit: running]" in to_text(chat.conversation)
    gate.set()
    await chat.jobs[0]
    assert "[job-1 of fit: done] 8" in to_text(chat.conversation)
    assert "<strong>job-1 of fit</strong> — done" in to_html(chat.conversation)
    chat.close()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"background": True, "thread": "main"}, "background work cannot run on the main thread"),
        ({"background": "yes"}, "background is 'yes', expected True or False"),
        ({"on_done": "later"}, "on_done is 'later', expected 'note' or 'continue'"),
    ],
)
def test_background_settings_that_cannot_be_are_refused(settings: dict[str, Any], text: str):
    with pytest.raises(nb.ToolDefinitionError, match=text):
        nb.tool(lambda: None, name="f", **settings)
