"""The conversation as still text and HTML, and as a page that stands alone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nbtools as nb
from nbtools.messages import (
    Conversation,
    Data,
    Decision,
    File,
    Message,
    Notice,
    Part,
    Reasoning,
    Source,
    Text,
    ToolCall,
)
from nbtools.outcomes import LEGAL_ENDS
from nbtools.testing import call, say
from nbtools.transcript import SEVERAL, TABLE, WORDS, call_words, to_html, to_text
from tests.stage import Strict

ATTACK = (
    '<img src=x onerror="window.__hit=1"><svg><script>window.__hit=1</script></svg>'
    "[ok](javascript:window.__hit=1)<style>body{display:none}</style></pre></div>\"'"
)
ALLOWED = {"div", "p", "strong", "em", "pre", "details", "summary", "img", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip


class Tags(HTMLParser):
    """The tags and attributes of a text, and what it says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.said = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.said += data


def of(*parts: Part) -> Conversation:
    return Conversation(messages=(Message(id="m", role="assistant", parts=parts, finish="stop"),))


EVERYWHERE: list[Part] = [
    Text(id="p", text=ATTACK),
    Reasoning(id="p", text=ATTACK),
    Notice(id="p", text=ATTACK),
    Data(id="p", name=ATTACK, data={ATTACK: ATTACK}),
    Source(id="p", url=f"javascript:{ATTACK}", title=ATTACK),
    File(id="p", mime="text/html", name=ATTACK, data=ATTACK),
    File(id="p", mime="image/png", name=ATTACK, data=f'" onload="x{ATTACK}'),
    ToolCall(id="p", tool=ATTACK, state="running", args={ATTACK: ATTACK}, output=ATTACK),
    ToolCall(id="p", tool="t", state="error", outcome="failed", raw=ATTACK, error=ATTACK),
    ToolCall(
        id="p",
        tool="t",
        state="error",
        outcome="declined",
        error="No.",
        decision=Decision(approved=False, by="person", reason=ATTACK),
    ),
    ToolCall(
        id="p",
        tool="t",
        state="result",
        outcome="ok",
        value={"columns": [ATTACK], "rows": [[ATTACK]]},
        display={"text/html": ATTACK, "text/plain": ATTACK},
        drawn={"text/html": ATTACK},
    ),
    ToolCall(id="p", tool="t", state="result", outcome="ok", display={"text/plain": ATTACK}),
]


@pytest.mark.parametrize("part", EVERYWHERE)
def test_what_a_model_or_a_tool_wrote_is_never_html(part: Part):
    """F-04, in the transcript: text, arguments, results, errors, names and reasons."""
    read = Tags(to_html(of(part), chat='x" onclick="'))
    assert read.tags <= ALLOWED
    assert read.attributes <= {"class", "open", "alt", "src"}


@pytest.mark.parametrize("part", EVERYWHERE)
def test_a_page_of_its_own_holds_the_same_text_and_no_way_out_of_it(tmp_path: Path, part: Part):
    """F-04, in the exported page: nothing ends the script element that carries the snapshot."""
    chat = nb.Chat(Strict(), conversation=of(part))
    html = chat.to_html(tmp_path / "page.html").read_text("utf-8")
    body = html.split('<main id="chat">')[1].split("</main>")[0]
    assert Tags(body).tags <= ALLOWED
    assert len(re.findall(r"<script", html)) == len(re.findall(r"</script>", html)) == 4
    snapshot = html.split('id="snapshot">')[1].split("</script>")[0]
    assert json.loads(snapshot)["conversation"]["messages"][0]["id"] == "m"


@pytest.mark.parametrize("outcome", sorted({end for ends in LEGAL_ENDS.values() for end in ends}))
def test_every_outcome_has_words_of_its_own(outcome: str):
    known = ToolCall(id="p", tool="look", state="error", outcome=outcome)  # type: ignore[arg-type]
    assert WORDS[call_words(known) and outcome] in to_html(of(known))
    assert len(set(WORDS.values())) == len(WORDS)


async def test_a_transcript_tells_the_whole_story(tmp_path: Path):
    @nb.tool
    def rows(n: int) -> list[int]:
        """Give rows."""
        print("counting")  # noqa: T201 - what it prints stands on its card
        return list(range(n))

    model = Strict([say("Let me look."), call("rows", {"n": 3}, id="k-1")], "There are **3**.")
    chat = nb.Chat(model, tools=[rows])
    await chat.send("How many?")
    assert to_text(chat.conversation) == (
        "You: How many?\n\n"
        'Assistant: Let me look.\n[rows({"n": 3}): done] [\n  0,\n  1,\n  2\n]\n\n'
        "Assistant: There are **3**."
    )
    read = Tags(to_html(chat.conversation))
    for said in ("How many?", "Let me look.", "rows", "done", '{"n": 3}', "counting", "[\n  0,"):
        assert said in read.said


def test_an_empty_chat_says_so():
    assert to_text(Conversation()) == "(empty chat)"
    assert Tags(to_html(Conversation())).said == "An empty chat."


def test_a_picture_is_shown_and_a_huge_one_is_named():
    picture = {"image/png": "aGk=", "text/plain": "<Figure>"}
    shown = ToolCall(id="p", tool="plot", state="result", outcome="ok", display=picture)
    assert '<img alt="picture" src="data:image/png;base64,aGk=">' in to_html(of(shown))
    huge = {"image/png": "a" * 1_000_000, "text/plain": "<Figure>"}
    named = ToolCall(id="p", tool="plot", state="result", outcome="ok", display=huge)
    assert "&lt;Figure&gt;" in to_html(of(named))
    assert len(to_html(of(named))) < 1_000


def test_a_table_is_drawn_from_its_values():
    rows = {"columns": ["city", "n"], "rows": [["Oslo", 1], ["Bergen", 2]], "note": "all"}
    bundle = {TABLE: rows, "text/html": "<b>t</b>", "text/plain": "t"}
    shown = ToolCall(id="p", tool="t", state="result", outcome="ok", display=bundle)
    html = to_html(of(shown))
    assert "<th>city</th><th>n</th>" in html
    assert "<tr><td>Oslo</td><td>1</td></tr>" in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    "odd", [1, "x", [], {}, {"columns": 1, "rows": []}, {"columns": [], "rows": [1]}]
)
@pytest.mark.parametrize("mime", [TABLE, SEVERAL])
def test_a_bundle_that_is_no_bundle_falls_back_to_its_text(mime: str, odd: object):
    shown = ToolCall(
        id="p", tool="t", state="result", outcome="ok", display={mime: odd, "text/plain": "text"}
    )
    html = to_html(of(shown))
    assert "text" in html or (mime, odd) == (SEVERAL, [])


async def test_a_displayed_chat_is_a_view_and_a_still_transcript():
    chat = nb.Chat(Strict("Hello."))
    await chat.send("Hi")
    shown, _ = chat._repr_mimebundle_()
    assert shown["text/plain"] == "You: Hi\n\nAssistant: Hello."
    assert f'class="nbt-static nbt-static-{chat._id}"' in shown["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in shown


async def test_a_page_needs_no_network_and_no_other_file(tmp_path: Path):
    chat = nb.Chat(Strict("Hello."))
    await chat.send("Hi")
    html = chat.to_html(str(tmp_path / "page.html")).read_text("utf-8")
    assert "default-src 'none'" in html
    outside = re.sub(r'<script type="text/plain" id="runtime">.*?</script>', "", html)
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", outside)


def test_sealed_material_without_a_text_is_not_shown():
    shown = to_html(of(Reasoning(id="r", sealed={"wire": "anthropic"}), Text(id="p", text="Low.")))
    assert "Reasoning" not in shown
