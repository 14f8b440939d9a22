"""What a person or a program may do with a conversation: the session on top of the ring."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace

from nbtools import events as ev
from nbtools import history, planner, runner
from nbtools.checks import SECONDS, expect, optional
from nbtools.deciding import Decisions
from nbtools.endings import finished, kept
from nbtools.errors import AlreadyDecided, ChatBusy, ChatWaiting, IllegalMove
from nbtools.jsontext import clean_text
from nbtools.messages import (
    FINAL,
    Failure,
    File,
    Json,
    Message,
    Outcome,
    Part,
    Text,
    ToolCall,
)
from nbtools.outcomes import sentence
from nbtools.pace import TO_THE_END, Pace
from nbtools.planner import Ask, Recheck, Run, Step
from nbtools.reducer import find_message, is_question
from nbtools.report import ContextReport, report_on
from nbtools.settings import Settings as AnswerSettings
from nbtools.slash import Slash, parse_slash, slash_name
from nbtools.tools import Tool


class Session(Decisions):
    """Keep one conversation, drive it, and take what people and programs decide.

    Every method is called on the engine's loop.
    """

    def take_up(self) -> None:
        """Begin with a conversation that was saved: nothing is sent or run by itself."""
        now = time.time()
        for call in planner.open_calls(self.conversation):
            if call.expires is not None and call.expires <= now:
                self._close(call, "expired")
        last = planner.last_said(self.conversation)
        under_way = self._next_steps()
        if self.conversation.error is None and (under_way or (last and last.finish == "cut")):
            self._apply(ev.RequestFailed(failure=_BROKE_OFF))
        self._expiry.take_up(self.conversation)
        budget, auto_send = self._budget(), self.settings.auto_send
        if planner.status(self.conversation, budget, auto_send=auto_send) == "ready":
            self.background.tell(asks=False)
        self._set_status()

    def send(
        self,
        parts: tuple[Part, ...],
        settings: AnswerSettings | None = None,
        pace: Pace = TO_THE_END,
    ) -> None:
        """Say something to the model; what still waits is closed as not answered.

        Args:
            parts: What is said.
            settings: What holds for the answer, on top of the provider's own.
            pace: How far the answer goes by itself.

        Raises:
            ChatBusy: An answer is under way.
            ValueError: The settings or the pace name a tool that there is not.
        """
        self.expect_rest("send")
        self._expect_tools(pace, settings.tool_choice if settings else None)
        direct = self._direct_call(parts)
        self.answer_settings, self._pace = settings, pace
        self._watch.reset()
        self.close_open("unanswered")
        message = direct or Message(id=self.new_id("m"), role="user", parts=parts, time=time.time())
        self.error = None
        self.emit(ev.MessageAdded(message=message))
        self.advance()

    def _expect_tools(self, pace: Pace, choice: str | None) -> None:
        """Look whether there are the tools that a message names, or leave it until they are known."""

        def check() -> None:
            pace.check(self.settings.tools, choice)

        self._unchecked = check if self._gathering.is_due(self.settings.offered) else None
        if self._unchecked is None:
            check()

    def user_parts(self, text: str, files: tuple[File, ...] = ()) -> tuple[Part, ...]:
        """Make the parts of a user message; the same file may be sent twice, under another id."""
        own = tuple(replace(file, id=self.new_id("f")) for file in files)
        return (Text(id=self.new_id("p"), text=clean_text(text)), *own)

    def _direct_call(self, parts: tuple[Part, ...]) -> Message | None:
        """Read `/tool name=value`: the person calls a tool, whatever the model is."""
        if self.settings.provider.slash or len(parts) != 1 or not isinstance(parts[0], Text):
            return None
        slash = self._slash(parts[0].text)
        if slash is None:
            return None
        raw = runner.write_args(slash.args)
        return runner.user_call(self.new_id("m"), self.new_id("c"), slash.name, raw)

    def _slash(self, text: str) -> Slash | None:
        name = slash_name(text)
        if name in self.settings.tools:
            return parse_slash(text)
        if not name or not self._may_come(name):
            return None
        with contextlib.suppress(ValueError):  # it may be no call at all
            return parse_slash(text)
        return None

    def answer(self, call_id: str, *, value: object = None, error: str | None = None) -> None:
        """Give the result of a call that waits for one.

        Raises:
            AlreadyDecided: The call does not wait for a result; the text names what to use.
        """
        call = self._expect_waiting(call_id, "result")
        if error is not None:
            told = sentence("failed", error)
            ended = ev.CallEnded(
                call=call.id, outcome="failed", error=error, told=told, time=time.time()
            )
            self.emit(ended)
        else:
            settings = self.settings
            limits = settings.limits
            veiled = settings.privacy.veiled(value, limits)
            end = finished(call, veiled, limits)
            self.emit(kept(end, call, value, settings.variables, settings.tools))
        self.advance()

    def answer_question(self, call_id: str, value: Json, question: str = "") -> None:
        """Give what a running call asks for; it goes on.

        Args:
            call_id: The call.
            value: The fields of its form.
            question: The id of the question that was shown; "" stands for whatever it asks now.

        Raises:
            AlreadyDecided: It asks nothing, or something else.
            InvalidArguments: The answer does not fit the form; the question stays.
        """
        self.questions.answer(self._find(call_id), value, question)
        self.advance()

    def decline_question(self, call_id: str, question: str = "") -> None:
        """Refuse what a running call asks for; it goes on and is told so.

        Raises:
            AlreadyDecided: It asks nothing, or something else.
        """
        self.questions.decline(self._find(call_id), question)
        self.advance()

    def cancel(self, call_id: str, after: float | None = None) -> None:
        """End one call, the rest of the turn going on.

        Args:
            call_id: The call, or a job.
            after: Seconds that it may still take; None ends it now.

        Raises:
            AlreadyDecided: It is over.
            ValueError: `after` is no number above 0.
        """
        if self.background.has(call_id):
            self.background.cancel(call_id, after)
            return
        call = self._find(call_id)
        if call.state in FINAL:
            raise AlreadyDecided(f"This call is over already ({call.outcome}).")
        if call.state == "streaming":
            raise AlreadyDecided("The model still writes this call; stop the answer instead.")
        expect("after", after, optional(SECONDS))
        if after is None:
            self._end_now(call, "cancelled")
            return
        self._say_about(call.id, f"It will be ended in {after:g} s.")
        self.engine.loop.call_later(after, self._time_is_up, call.id, after)

    def _time_is_up(self, call_id: str, seconds: float) -> None:
        call = next((known for known in self.calls() if known.id == call_id), None)
        if call is not None and call.state in ("pending", "running"):
            outcome: Outcome = "timeout" if call.state == "running" else "cancelled"
            self._end_now(call, outcome, f"It was given {seconds:g} s.")

    def _end_now(self, call: ToolCall, outcome: Outcome, reason: str = "") -> None:
        self.flush()
        self._close(call, outcome, reason)
        for step in [step for step in self._tasks if isinstance(step, Run | Recheck)]:
            if step.call == call.id:
                self._drop(step)
        self.advance()

    def rerun(self, call_id: str, args: Mapping[str, Json] | None = None) -> str:
        """Run a finished call once more, as a new call; return the new call's id.

        It may run beside other calls of the turn, which goes on.

        Raises:
            ChatBusy: The model is being asked.
            AlreadyDecided: The call is not over yet.
        """
        call = self._find(call_id)
        if call.state not in FINAL:
            raise AlreadyDecided("This call is not over yet; it can be run again afterwards.")
        if not self._only_calls_run():
            self.expect_rest("run a call again")
            self._watch.reset()
        again = self.new_id("c")
        message = runner.user_call(
            self.new_id("m"), again, call.tool, _raw_again(call, args), again=call.id
        )
        self.emit(ev.MessageAdded(message=message))
        self.advance()
        return again

    def _only_calls_run(self) -> bool:
        """Say whether something is under way, and the model is not being asked."""
        return bool(self._tasks) and not any(isinstance(step, Ask) for step in self._tasks)

    def resume(self) -> None:
        """Send results that were held back, or repeat the request that failed.

        Raises:
            ChatBusy: An answer is under way.
            ChatWaiting: Calls are open; the text names them.
        """
        self.expect_rest("resume")
        self.settings.privacy.withhold()
        calls = planner.open_calls(self.conversation)
        if waiting := [call for call in calls if call.state == "pending"]:
            names = ", ".join(f"{call.tool} ({call.id})" for call in waiting)
            raise ChatWaiting(f"These calls are open: {names}. Decide or answer them first.")
        self._pace = replace(TO_THE_END, tools=self._pace.tools)
        self._go_on()

    def step(self) -> None:
        """Do one thing: run the calls that can run, else make one request.

        Raises:
            ChatBusy: An answer is under way.
        """
        self.expect_rest("step")
        has_calls = any(not isinstance(step, Ask) for step in self._next_steps())
        pace = Pace(requests=0) if has_calls else Pace(requests=1, calls=False)
        self._pace = replace(pace, tools=self._pace.tools)
        self._go_on()

    def _go_on(self) -> None:
        """Take up what is held back: calls, results, a question, or a request that failed."""
        asks: tuple[Step, ...] = ()
        if self.conversation.error or planner.unsent(self.conversation):
            asks = planner.question(self.conversation)
        for step in asks:
            self._start(step)
        if asks:
            self._set_status()
        else:  # the model may not be asked any more, and a call may be held back all the same
            self.advance()

    def context_report(self) -> ContextReport:
        """Describe the request that would be sent now.

        Raises:
            ContextLengthError: The newest user message alone is over the chat's limit.
        """
        settings, request = self.settings, self.request()
        sent = {message.id for message in request.messages}
        told = history.prepare(self.conversation)
        left_out = [message.id for message in told if message.id not in sent]
        tables = settings.variables.shared
        return report_on(request, settings.provider, settings.privacy, tables, left_out)

    def release(self) -> None:
        """Let the values go out for which the last request was withheld, and send it.

        Raises:
            ChatBusy: An answer is under way.
        """
        self.expect_rest("send them")
        self.settings.privacy.release()
        self.resume()

    def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Keep a message, with the turn it is part of, in every request; or no longer.

        Raises:
            IllegalMove: There is no such message.
        """
        self.emit(ev.MessagePinned(message=message_id, pinned=pinned))

    def stop(self) -> None:
        """End the turn: close every open call, then the reply, then what runs."""
        self.flush()
        if self.conversation.status == "ready" and not self._tasks:
            return
        self.halt()
        self._set_status(asks=False)

    def clear(self) -> None:
        """Empty the conversation; what is open is closed first."""
        self.stop()
        self.background.end_in(self.conversation.messages)
        self.error = None
        self._apply(
            ev.MessagesRemoved(messages=tuple(known.id for known in self.conversation.messages))
        )
        self.results.clear()
        self._set_status()

    def close(self) -> None:
        """End the turn and all jobs, for good: the model is not asked what to do about them."""
        self.stop()
        self.background.end_in(self.conversation.messages)
        self._set_status(asks=False)

    def restart_at(self, message_id: str, text: str | None) -> None:
        """Go back to a question: with another `text` to edit it, with None to ask again.

        Args:
            message_id: The question, or an answer to it.
            text: What is asked in its place.

        Raises:
            ChatBusy: An answer is under way.
            IllegalMove: There is no such message, or no question before it.
        """
        self.expect_rest("edit the conversation")
        index = self._question_index(message_id)
        self._watch.reset()
        self._pace = replace(TO_THE_END, tools=self._pace.tools)
        self.close_open("unanswered")
        messages = self.conversation.messages
        asked = messages[index]
        self.background.end_in(messages[index:])
        self._apply(ev.MessagesRemoved(messages=tuple(known.id for known in messages[index:])))
        if text is not None:
            files = tuple(part for part in asked.parts if isinstance(part, File))
            asked = replace(asked, id=self.new_id("m"), parts=self.user_parts(text, files))
        self.error = None
        self.emit(ev.MessageAdded(message=asked))
        self.advance()

    def _question_index(self, message_id: str) -> int:
        messages = self.conversation.messages
        index = messages.index(find_message(self.conversation, message_id))
        for place in range(index, -1, -1):
            if is_question(messages[place]):
                return place
        raise IllegalMove(f"Message {message_id!r} answers no question that could be asked again.")

    def drop_unknown(self, before: Mapping[str, Tool]) -> None:
        """End pending calls whose tool is gone, or is another one than in `before`."""
        for call in planner.open_calls(self.conversation):
            tool, old = self.settings.tools.get(call.tool), before.get(call.tool)
            if tool is None or old is None or tool.fingerprint != old.fingerprint:
                reason = f"{call.tool!r} is not among the tools any more, or has changed."
                self._close(call, "unknown", reason)

    def expect_rest(self, verb: str) -> None:
        """Raise `ChatBusy` while an answer is under way."""
        if self.conversation.status == "running" or self.busy:
            raise ChatBusy(f"The chat is answering. Await it or stop it before you {verb}.")


_BROKE_OFF = Failure(
    kind="StreamError",
    text="The program ended before the answer came.",
    hint="Ask again to go on.",
    retry=True,
)


def _raw_again(call: ToolCall, args: Mapping[str, Json] | None) -> str:
    """Write the arguments for another run: never what was only half read of the first ones."""
    if args is not None:
        expect(
            "args", args, (lambda value: isinstance(value, Mapping), "arguments by name, or None")
        )
        return runner.write_args(args)
    was_checked = bool(call.digest)
    return runner.write_args(call.args or {}) if was_checked else call.raw
