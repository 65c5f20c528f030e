"""``make bench``: run the scenarios, print a table, write ``benchmarks/results/latest.json``."""

from __future__ import annotations

import argparse
import json
import platform
from functools import partial
from pathlib import Path

import trio

from benchmarks import requests

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Parse the arguments, measure, tell."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="length of the long history")
    parser.add_argument("--seconds", type=float, default=4.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; medians are told")
    given = parser.parse_args()
    figures = trio.run(
        partial(requests.run, messages=given.messages, seconds=given.seconds, rounds=given.rounds)
    )
    width = max(map(len, figures))
    print(f"{'':{width}}  {'rate':>8}  {'p50 ms':>8}  {'p99 ms':>8}")
    for name, row in figures.items():
        print(f"{name:{width}}  {row['rate']:>8,}  {row['p50 ms']:>8}  {row['p99 ms']:>8}")
    RESULTS.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.platform()}
    (RESULTS / "latest.json").write_text(json.dumps({"machine": machine, "figures": figures}, indent=2))


if __name__ == "__main__":
    main()
