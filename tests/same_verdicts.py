"""Compares two reports (``results.json``) of the conformance suite: ``python -m tests.same_verdicts A B``.

The same server on another storage conforms in the same way, check by check.  A check
that decides otherwise, or is missing in one, is told, and the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(one: str, other: str) -> int:
    verdicts = [_verdicts(Path(file)) for file in (one, other)]
    names = sorted(verdicts[0].keys() | verdicts[1].keys())
    different = [name for name in names if verdicts[0].get(name) != verdicts[1].get(name)]
    for name in different:
        print(name, *(found.get(name, "missing") for found in verdicts), sep=": ")
    print(f"{len(names) - len(different)} of {len(names)} verdicts are the same")
    return 1 if different else 0


def _verdicts(file: Path) -> dict[str, str]:
    return {check["id"]: check["verdict"] for check in json.loads(file.read_text())["checks"]}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
