"""The page that stands alone, which `chat.to_html` writes."""

from __future__ import annotations

import json
import re

import nbtools as nb
from nbtools.testing import say


def test_a_page_written_right_after_an_answer_holds_all_of_it(tmp_path):
    chat = nb.Chat(nb.Scripted([say("every word " * 50, every=10)]))
    chat.ask("Speak.")
    html = chat.to_html(tmp_path / "chat.html").read_text("utf-8")
    snapshot = json.loads(re.findall(r'id="snapshot">(.*?)</script>', html, re.DOTALL)[0])
    conversation = snapshot["conversation"]
    assert conversation.get("status", "ready") == "ready"
    assert conversation["messages"][-1]["parts"][0]["text"] == "every word " * 50
