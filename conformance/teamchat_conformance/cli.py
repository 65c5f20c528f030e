"""The command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import trio

from teamchat_conformance import instance as description
from teamchat_conformance.registry import load
from teamchat_conformance.runner import Options, Unreachable, play_all

CONFORMS, DOES_NOT, USAGE, UNREACHABLE, INCOMPLETE = range(5)


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="teamchat-conformance", description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--instance", type=Path)
    parser.add_argument("--select", action="append", default=[])
    given = parser.parse_args()
    found = description.load(given.instance) if given.instance else description.Instance()
    found = found.at(given.base_url)
    try:
        result = trio.run(play_all, load(), found, Options(select=tuple(given.select)))
    except Unreachable as error:
        print(error, file=sys.stderr)
        sys.exit(UNREACHABLE)
    for finding in result.findings.values():
        print(f"{finding.outcome:14} {finding.id} {finding.message}")
