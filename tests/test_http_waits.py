"""What the chat says while it waits before another try."""

from __future__ import annotations

import pytest

from nbtools import Chat, OpenAI
from nbtools.messages import Notice
from tests.servers import Fault, ModelServer, text_reply


@pytest.mark.usefixtures("quick")
def test_the_card_says_why_it_waits_before_it_tries_again():
    """W-10: a wait that the server asked for is shown, and the answer then comes."""
    refused = Fault(
        429, {"error": {"message": "slow down", "type": "rate_limit"}}, **{"Retry-After": "0"}
    )
    with ModelServer(refused, text_reply("Here I am.")) as server:
        chat = Chat(OpenAI("m", base_url=server.url, api_key="k"))
        turn = chat.ask("hello")
    notices = [part.text for part in turn.messages[-1].parts if isinstance(part, Notice)]
    assert turn.text == "Here I am."
    assert len(notices) == 1
    assert notices[0].startswith("Waiting ")
    assert "slow down" in notices[0]
