"""Size of the shipped front end, and what ten chats on one page receive, save and evaluate of it."""

from __future__ import annotations

import gzip

from common import ROOT, Measure, judge
from lab import open_notebook
from playwright.sync_api import expect

from tests.lab.notebook import Notebook

KILOBYTE = 1_000
CHATS = 10
MAKE = """
import nbtools as nb
from IPython.display import display
chats = [nb.Chat() for _ in range({chats})]
for chat in chats:
    display(chat)
"""


def ten_chats(notebook: Notebook, runtime: int) -> list[Measure]:
    """Show ten chats, save the notebook, and count.

    Args:
        notebook: An empty one.
        runtime: Characters of the front end's code.
    """
    evaluated: list[int] = []
    inspector = notebook.page.context.new_cdp_session(notebook.page)
    inspector.on("Debugger.scriptParsed", lambda script: evaluated.append(script["length"]))
    inspector.send("Debugger.enable")
    notebook.toggle_saved_widgets()
    evaluated.clear()
    notebook.tab.traffic.reset()
    cell = notebook.run(MAKE.format(chats=CHATS))
    expect(cell.area.get_by_role("textbox", name="Message", exact=True)).to_have_count(CHATS)
    received = notebook.tab.traffic.received_bytes
    notebook.save()
    saved = (notebook.server.notebooks / notebook.path).stat().st_size
    times = evaluated.count(runtime)
    return [
        Measure(name="bundle_size received by ten chats", value=received / runtime, goal=1.6),
        Measure(name="bundle_size saved by ten chats", value=saved / runtime, goal=1.6),
        Measure(name="bundle_size evaluations", value=times, goal=1),
    ]


def main() -> None:
    files = sorted((ROOT / "nbtools" / "static").glob("*.js"))
    code = {path.name: path.read_bytes() for path in files}
    plain = sum(map(len, code.values()))
    packed = sum(len(gzip.compress(content, 9)) for content in code.values())
    print(", ".join(f"{name} {len(content)} bytes" for name, content in code.items()))
    with open_notebook() as notebook:
        shown = ten_chats(notebook, len(code["runtime.js"].decode()))
    judge(
        [
            Measure(name="bundle_size gzipped kB", value=packed / KILOBYTE, goal=60),
            Measure(name="bundle_size plain kB", value=plain / KILOBYTE, goal=200),
            *shown,
        ]
    )


if __name__ == "__main__":
    main()
