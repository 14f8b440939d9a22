"""How the time to read markdown grows with its length, for texts that are hard to read.

What a character of a text costs, over what it costs in one of an eighth of the length: 1 is linear,
8 quadratic.
"""

from __future__ import annotations

import json
import subprocess

from common import ROOT, Measure, judge


def main() -> None:
    command = ["npm", "run", "--silent", "growth", "--prefix", str(ROOT / "js")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    judge(
        Measure(name=f"markdown growth {name!r}", value=value, goal=3.5)
        for name, value in json.loads(printed).items()
    )


if __name__ == "__main__":
    main()
