"""A page that shows a conversation by itself: no kernel, no network, no other file.

The transcript is its body, so that it reads without scripts; the front end then draws the same
conversation in its place, from a snapshot that lies in the page as JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from typing import Any

from nbtools import transcript
from nbtools.jsontext import dumps
from nbtools.messages import Conversation

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:">
<title>{title}</title>
<style>
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 14px/1.5 system-ui, sans-serif; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
</style>
</head>
<body>
<main id="chat">{body}</main>
<script type="application/json" id="snapshot">{snapshot}</script>
<script type="application/json" id="assets">{assets}</script>
<script type="text/plain" id="runtime">{runtime}</script>
<script type="module">
const read = (id) => document.getElementById(id).textContent;
const code = new TextDecoder().decode(Uint8Array.from(atob(read("runtime")), (c) => c.charCodeAt(0)));
const address = URL.createObjectURL(new Blob([code], {{ type: "text/javascript" }}));
const {{ mountStatic }} = await import(address);
const chat = document.getElementById("chat");
chat.replaceChildren();
mountStatic(chat, JSON.parse(read("snapshot")), JSON.parse(read("assets")));
</script>
</body>
</html>
"""


def render(
    conversation: Conversation,
    snapshot: Mapping[str, Any],
    assets: Mapping[str, tuple[str, bytes]],
    runtime: str,
) -> str:
    """Write the page.

    Args:
        conversation: What it shows.
        snapshot: The same, as the front end takes it.
        assets: What the snapshot refers to by id: MIME type and bytes.
        runtime: The front end's code.
    """
    carried = {
        name: {"mime": mime, "data": base64.b64encode(content).decode()}
        for name, (mime, content) in assets.items()
    }
    model = snapshot.get("model", {}).get("label", "")
    return _PAGE.format(
        title=escape(f"Chat with {model}" if model else "Chat"),
        body=transcript.to_html(conversation),
        snapshot=_json(snapshot),
        assets=_json(carried),
        runtime=base64.b64encode(runtime.encode()).decode(),
    )


def _json(value: object) -> str:
    """Write JSON that cannot end the script element it lies in."""
    return dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
