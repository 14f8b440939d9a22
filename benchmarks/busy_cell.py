"""Updates of a streaming answer while a cell blocks, as a share of those in an idle kernel.

One kernel, one answer of 200 tokens a second; the messages to the page are counted for 20 seconds
while the kernel is idle, and for 20 seconds while a cell runs `time.sleep(20)`.
"""

from __future__ import annotations

import time

from common import Measure, judge
from model_server import serve

from tests.lab.kernel import Kernel

SECONDS = 20
SPEED = 200

SETUP = """
import time
import nbtools as nb
chat = nb.Chat(nb.OpenAI("text-{tokens}@{speed}", base_url="{url}", api_key=""))
"""


def updates(kernel: Kernel, blocking: str) -> int:
    """Count the messages to the page within `SECONDS` of a running answer.

    Args:
        kernel: Where `chat` is, at rest.
        blocking: Code of a cell that runs meanwhile; "" for none.
    """
    kernel.run("turn = chat.send('Go on.')")
    begun = time.monotonic()
    message = kernel.start(blocking) if blocking else ""
    kernel.pump(lambda: time.monotonic() - begun > SECONDS, SECONDS + 10)
    if message:
        kernel.finish(message)
    kernel.run("chat.stop()")
    return sum(
        begun < sent.time < begun + SECONDS and "ops" in sent.data.get("content", {})
        for sent in kernel.comms
    )


def main() -> None:
    tokens = (SECONDS + 10) * SPEED
    with serve() as url, Kernel() as kernel:
        assert not kernel.run(SETUP.format(tokens=tokens, speed=SPEED, url=url)).failed
        idle = updates(kernel, "")
        busy = updates(kernel, f"time.sleep({SECONDS})")
    print(f"{idle} updates in an idle kernel, {busy} while a cell blocks")
    judge([Measure(name="busy_cell share of updates", value=busy / idle, goal=0.95, least=True)])


if __name__ == "__main__":
    main()
