"""Bytes and messages that a page receives for an answer, as JupyterLab's web socket carries them.

All is counted that the chat sends, each with its envelope: patches, the state, and the transcript
beside the view. What an answer costs is told in multiples of its text's own bytes. The transcript
is written once a turn and is as long as the conversation, so that the comparison with a chat that
has a history is one of the patches; the transcript's bytes are printed beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from common import Measure, judge
from lab import Received, open_notebook, read
from model_server import serve, text
from playwright.sync_api import expect

from tests.lab.notebook import Notebook

TOKENS = 2_000
SPEED = 200
FLOOD = 10_000
FLOOD_SECONDS = 3
EARLIER = 200
CALLS = 50

SETUP = """
import nbtools as nb
from nbtools.messages import Conversation, Message, Text

def lookup(key: str) -> str:
    "Look a key up."
    return f"value of {{key}}"

def history(length):
    role = lambda n: "assistant" if n % 2 else "user"
    return Conversation(messages=tuple(
        Message(id=f"h{{n}}", role=role(n), finish="stop" if n % 2 else "",
                parts=(Text(id=f"t{{n}}", text=f"Number {{n}}. " * 20),))
        for n in range(length)))

def chat_with(model, earlier=0):
    provider = nb.OpenAI(model, base_url="{url}", api_key="")
    return nb.Chat(provider, tools=[lookup], conversation=history(earlier))
"""
OF_THE_CHAT = frozenset({"comm_msg", "comm_open", "display_data", "update_display_data"})


@dataclass(frozen=True)
class Answer:
    """What the page received while one answer was given."""

    messages: list[Received]

    @property
    def size(self) -> int:
        """All bytes."""
        return sum(message.size for message in self.messages)

    @property
    def streamed(self) -> int:
        """The bytes of the widget's own messages."""
        return sum(message.size for message in self.messages if message.kind == "comm_msg")

    @property
    def text(self) -> str:
        """The text of the answer, put together as the page does it."""
        grown = ""
        for op in (op for message in self.messages for op in message.ops):
            if op[0] == "append" and op[2] == "text":
                grown += op[3]
            elif op[0] == "part" and op[2]["type"] == "text":
                grown = op[2]["text"]
            elif op[0] == "message" and op[1]["role"] == "assistant":
                grown = "".join(part.get("text", "") for part in op[1]["parts"])
        return grown

    @property
    def over(self) -> bool:
        """Whether the page has heard that the chat is ready again."""
        sets = [op[1] for message in self.messages for op in message.ops if op[0] == "set"]
        return bool(sets) and sets[-1].get("status") == "ready"

    @property
    def rate(self) -> int:
        """The most patches within any one second."""
        times = sorted(message.sent for message in self.messages if message.kind == "comm_msg")
        return max(sum(at <= other < at + 1 for other in times) for at in times)


def ask(notebook: Notebook, model: str, earlier: int = 0) -> Answer:
    """Show a new chat, ask it, and take down what the page receives until it rests."""
    cell = notebook.run(f"chat = chat_with({model!r}, {earlier})\nchat")
    send = cell.area.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_visible()
    frames: list[str | bytes] = []
    notebook.tab.traffic.frames = frames
    notebook.run("await chat.send('Go on.');", seconds=120)
    while not (answer := Answer([*filter(_is_of_the_chat, read(frames))])).over:
        notebook.page.wait_for_timeout(50)
    notebook.tab.traffic.frames = None
    notebook.run("chat.close()")
    return answer


def _is_of_the_chat(message: Received) -> bool:
    return message.kind in OF_THE_CHAT


def measure(notebook: Notebook) -> list[Measure]:
    """Ask for each kind of answer."""
    size = TOKENS * 4
    paced = ask(notebook, f"text-{TOKENS}@{SPEED}")
    after = ask(notebook, f"text-{TOKENS}@{SPEED}", EARLIER)
    burst = ask(notebook, f"text-{TOKENS}")
    calls = ask(notebook, f"rounds-1x{CALLS}")
    flood = ask(notebook, f"text-{FLOOD * FLOOD_SECONDS}@{FLOOD}")
    whole = text(FLOOD * FLOOD_SECONDS)
    assert paced.text == after.text == burst.text == text(TOKENS)
    for name, answer in (("empty chat", paced), (f"chat of {EARLIER} messages", after)):
        beside = answer.size - answer.streamed
        print(f"{name}: {answer.streamed} bytes of patches, {beside} bytes of the transcript")
    rate = max(answer.rate for answer in (paced, after, burst, calls, flood))
    kept = len(flood.text) / len(whole) if whole.startswith(flood.text) else 0
    named = {
        f"at {SPEED} tokens a second": (paced.size / size, 18),
        f"after {EARLIER} messages, ratio": (after.streamed / paced.streamed, 1.1),
        "at full speed": (burst.size / size, 4),
        "most messages in a second": (rate, 25),
    }
    return [
        *(
            Measure(name=f"wire_bytes {name}", value=v, goal=goal)
            for name, (v, goal) in named.items()
        ),
        Measure(name=f"wire_bytes kept at {FLOOD} a second", value=kept, goal=1, least=True),
    ]


def main() -> None:
    with serve() as url, open_notebook() as notebook:
        cell = notebook.run(SETUP.format(url=url))
        assert cell.text == "", cell.text
        measures = measure(notebook)
    judge(measures)


if __name__ == "__main__":
    main()
