"""``make bench ARGS="--against COMMIT"``: two versions in turns, and what became worse than the noise.

Each version runs the scenarios of its own checkout, so that each server meets a database of its own making.
They take turns, and the figures of one turn are compared with each other, so that what else the machine does
falls on both alike.  A figure has become worse (or better) if it did in every turn, and by more than 3 % in
the middle one; anything less is noise.  Figures are compared that have the same name in both versions and a
unit by which it is known what is better: a rate, a time, or memory.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Report, middle

ROOT = Path(__file__).parent.parent
CHECKOUTS = ROOT / "build" / "against"
NOTABLE = 0.03
"""By what share a figure has to change to be named."""
_LESS_IS_BETTER = {"ms", "MiB", "KiB", "seconds", "p99", "median"}

Figures = Mapping[tuple[str, str, str], float]
"""What a turn gave, by scenario, row and column."""


@dataclass(frozen=True)
class Version:
    """A version that is measured: what it is called, and the checkout that it stands in."""

    name: str
    directory: Path
    python: Path

    def measured(self, arguments: Sequence[str]) -> Figures:
        """Run scenarios once. Raises `RuntimeError` if one fails."""
        with tempfile.TemporaryDirectory() as directory:
            output = Path(directory) / "figures.json"
            command = [str(self.python), "-m", "benchmarks", *arguments]
            command += ["--rounds", "1", "--output", str(output)]
            ended = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False)
            if ended.returncode or not output.exists():
                raise RuntimeError(f"{self.name}: {(ended.stdout + ended.stderr).strip()[-2000:]}")
            return figures(json.loads(output.read_text()))


def compare(commit: str, turns: int, arguments: Sequence[str], only_now: Sequence[str] = ()) -> Report:
    """Measure this checkout beside a commit, in turns; `arguments` are those of a run, `only_now` this one's.

    Raises `RuntimeError` for a commit that is not there, can't be installed, or can't be measured.
    """
    before, now = checked_out(commit), Version("this checkout", ROOT, Path(sys.executable))
    taken: list[tuple[Figures, Figures]] = []
    for number in range(turns):
        first, second = (before, now) if number % 2 == 0 else (now, before)
        asked = {before.name: arguments, now.name: [*arguments, *only_now]}
        given = {version.name: version.measured(asked[version.name]) for version in (first, second)}
        taken.append((given[before.name], given[now.name]))
        print(f"turn {number + 1} of {turns} is done", flush=True)
    return told(before, taken)


def checked_out(commit: str) -> Version:
    """Check a commit out under ``build/against`` and install it there, with the packages it was locked to."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--short=12", f"{commit}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise RuntimeError(f"there is no commit {commit} here")
    name = found.stdout.strip()
    directory = CHECKOUTS / name
    version = Version(name, directory, directory / ".venv" / "bin" / "python")
    if (directory / ".installed").exists():
        return version
    print(f"{name} is installed in {directory.relative_to(ROOT)}", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    for command in (
        ["git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(directory)],
        ["git", "-C", str(directory), "checkout", "--quiet", "--detach", name],
        ["make", "-C", str(directory), "install"],
    ):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"{name} could not be installed: {ended.stderr.strip()[-2000:]}")
    (directory / ".installed").touch()
    return version


def figures(kept: Mapping[str, Any]) -> Figures:
    """Return the figures that can be compared of what a run has kept."""
    return {
        (scenario, row, column): float(cell)
        for scenario, report in kept["scenarios"].items()
        for row, cells in report["rows"].items()
        for column, cell in cells.items()
        if is_better_by(column) and isinstance(cell, int | float)
    }


def is_better_by(column: str) -> int:
    """Return 1 where more is better, -1 where less is, and 0 where nobody can say."""
    if column == "a second" or column.endswith("/s"):
        return 1
    return -1 if _LESS_IS_BETTER & set(re.split("[ ,]+", column)) else 0


def told(before: Version, taken: Sequence[tuple[Figures, Figures]]) -> Report:
    """Return the table of all figures, with what became worse or better than the noise."""
    report = Report(f"This checkout beside {before.name}, {len(taken)} turns")
    changed: dict[str, list[str]] = {"worse": [], "better": []}
    for key, ratios in _ratios(taken):
        scenario, row, column = key
        name = f"{scenario}: {row}, {column}"
        verdict = judged(ratios, is_better_by(column))
        report.rows[name] = {
            before.name: round(middle([turn[0][key] for turn in taken]), 3),
            "now": round(middle([turn[1][key] for turn in taken]), 3),
            "ratio": round(middle(ratios), 3),
            "": verdict,
        }
        if verdict:
            changed[verdict].append(name)
    for verdict, names in changed.items():
        report.notes.append(f"{verdict.capitalize()} than the noise: {'; '.join(names) or 'nothing'}.")
    return report


def judged(ratios: Sequence[float], better_by: int) -> str:
    """Say whether a figure became worse or better, or "" if that may be noise."""
    if abs(middle(ratios) - 1) <= NOTABLE:
        return ""
    if all(ratio > 1 for ratio in ratios):
        return "better" if better_by > 0 else "worse"
    if all(ratio < 1 for ratio in ratios):
        return "worse" if better_by > 0 else "better"
    return ""


def _ratios(
    taken: Sequence[tuple[Figures, Figures]],
) -> Iterator[tuple[tuple[str, str, str], list[float]]]:
    """Yield each figure that every turn has of both versions, with the ratio of each turn."""
    first_before, first_now = taken[0]
    for key in filter(first_now.__contains__, first_before):
        pairs = [(before.get(key), now.get(key)) for before, now in taken]
        if all(pair[0] and pair[1] for pair in pairs):
            yield key, [now / before for before, now in pairs if before and now]
