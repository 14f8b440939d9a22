"""How the time to read markdown grows with its length, for texts that are hard to read.

Each text is eight times as long as another of its kind: 8 is linear, 64 quadratic.
"""

from __future__ import annotations

import json
import subprocess

from common import ROOT, Measure, judge

TIMES = 8


def main() -> None:
    command = ["npm", "run", "--silent", "growth", "--prefix", str(ROOT / "js")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    judge(
        Measure(name=f"markdown growth {name!r}", value=value, goal=3.5 * TIMES)
        for name, value in json.loads(printed).items()
    )


if __name__ == "__main__":
    main()
