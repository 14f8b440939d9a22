"""CPU of `import nbtools` in a started kernel, and what an installation adds to JupyterLab.

The time is told as a multiple of `import anywidget, httpx`, which a chat cannot do without. Each
import runs in a new kernel, in which httpx does not find what its command line needs: JupyterLab does
not bring it. What the first chat adds to the import is printed beside it.

What is added are the distributions that nbtools-chat needs and that JupyterLab and ipywidgets do not
bring.
"""

from __future__ import annotations

import compileall
import statistics
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from common import ROOT, Measure, judge, median_ratio
from packaging.requirements import Requirement

from tests.lab.kernel import Kernel

ROUNDS = 9
CODE = """
import sys, time
sys.modules["click"] = None
begun = time.process_time()
import {what}
print(time.process_time() - begun)
"""
BASE = ("jupyterlab", "ipywidgets")
MEGABYTE = 1_000_000


def import_cpu(what: str) -> float:
    """Import something in a new kernel; give the CPU seconds."""
    with Kernel() as kernel:
        return float(kernel.run(CODE.format(what=what)).text)


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Find these distributions and all that they need, by name."""
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        requirement = Requirement(waiting.pop())
        name = _canonical(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and name not in found:
            found[name] = distribution(name)
            waiting += found[name].requires or ()
    return found


def size(files: Iterable[Path]) -> int:
    """Add up the bytes of files, without .pyc."""
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc" and path.is_file())


def added() -> dict[str, int]:
    """Give the bytes of each distribution that an installation adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = needed(BASE)
    sizes = {project["name"]: size((ROOT / "nbtools").rglob("*"))}
    for name, found in needed(project["dependencies"]).items():
        if name not in base:
            sizes[name] = size(Path(str(file.locate())) for file in found.files or ())
    return sizes


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def main() -> None:
    compileall.compile_dir(ROOT / "nbtools", quiet=1)
    names = {"nbtools": "nbtools", "floor": "anywidget, httpx", "chat": "nbtools; nbtools.Chat()"}
    rounds = [{name: import_cpu(what) for name, what in names.items()} for _ in range(ROUNDS)]
    ours, floor, chat = ([cpu[name] for cpu in rounds] for name in names)
    for name, cpu in zip(names.values(), (ours, floor, chat), strict=True):
        print(f"import {name}: {statistics.median(cpu) * 1e3:.0f} ms of CPU")
    sizes = added()
    print(", ".join(f"{name} {size / MEGABYTE:.2f} MB" for name, size in sorted(sizes.items())))
    judge(
        [
            Measure(name="import_time ratio", value=median_ratio(ours, floor), goal=1.5),
            Measure(name="import_time distributions", value=len(sizes), goal=9),
            Measure(name="import_time MB", value=sum(sizes.values()) / MEGABYTE, goal=12),
        ]
    )


if __name__ == "__main__":
    main()
