"""CPU of ten rounds of three parallel calls, as a multiple of a bare loop that runs the same tools.

Every second call is one of a tool that asks, and a rule allows it. Both loops run on the same thread
of the same process, in turns; the figure is the median of the ratios of their CPU times.
"""

from __future__ import annotations

from common import Measure, judge
from loop_cpu import Case, Contest, contend
from model_server import serve

CASE = Case("mixed-10x3", 1.75, 101)


def main() -> None:
    with serve() as base_url:
        contest = Contest(base_url, asking=True)
        _, ratio = contend(contest, CASE)
        contest.close()
    judge([Measure(name=f"tool_loop {CASE.model}", value=ratio, goal=CASE.goal)])


if __name__ == "__main__":
    main()
