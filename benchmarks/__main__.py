"""``make bench``: run the scenarios, print a table for each, write ``benchmarks/results/latest.json``."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from benchmarks import against, machine, server, simulation
from benchmarks.report import Report
from benchmarks.scenarios import SCENARIOS
from benchmarks.sizes import QUICK, Sizes

RESULTS = Path(__file__).parent / "results" / "latest.json"


def main() -> None:
    """Parse the arguments, measure, tell; exit with 1 if a scenario failed."""
    given = _parser().parse_args()
    if given.simulate:
        print(simulation.told(given.simulate).text())
        return
    if given.against:
        sys.exit(_against(given))
    if given.core_alone:
        server.left_out += server.capabilities()
    sizes = _sizes(given)
    machine.raise_descriptors()
    gc.disable()  # A collection among ten thousand streams would be told as the server's latency.
    facts = machine.facts()
    print(", ".join(f"{name} {value}" for name, value in (facts | machine.versions()).items()))
    if not machine.is_quiet():
        print("Something else is at work on this machine: no figure below is worth keeping.")
    output = given.output or (None if given.quick else RESULTS)
    chosen = list(dict.fromkeys(given.only or (one for one in SCENARIOS if one != "peer" or given.peer)))
    reports: dict[str, Report] = {}
    for name in chosen:
        report = _measured(name, sizes)
        if report is not None:
            reports[name] = report
            _write(output, facts, sizes, reports)
    sys.exit(0 if len(reports) == len(chosen) else 1)


def _against(given: argparse.Namespace) -> int:
    """Measure beside another version, and return the exit status."""
    options = [("only", name) for name in given.only or ()]
    for size in fields(Sizes):
        if (value := getattr(given, size.name)) is not None and size.name != "rounds":
            options.append((size.name, value))
    arguments = ["--quick"] if given.quick else []
    for name, value in options:
        several = value if isinstance(value, list) else [value]
        arguments += [f"--{name.replace('_', '-')}", *map(str, several)]
    only_now = ["--core-alone"] if given.core_alone else []
    try:
        report = against.compare(given.against, given.rounds or Sizes().rounds, arguments, only_now)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\n{report.text()}")
    return 0


def _measured(name: str, sizes: Sizes) -> Report | None:
    """Run a scenario and print what it gave; the others are worth running even if it failed."""
    began = time.monotonic()
    try:
        report = SCENARIOS[name](sizes)
    except (RuntimeError, OSError) as error:
        print(f"\n{name} failed: {error}", flush=True)
        return None
    print(f"\n{report.text()}\n({name}: {time.monotonic() - began:.0f} s)", flush=True)
    return report


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=SCENARIOS,
        metavar="SCENARIO",
        help=f"run this one ({', '.join(SCENARIOS)}); may be repeated",
    )
    parser.add_argument(
        "--against",
        metavar="COMMIT",
        help="measure this checkout and that version in turns (--rounds), and name what became worse",
    )
    parser.add_argument(
        "--simulate",
        type=int,
        nargs="+",
        metavar="USERS",
        help="measure nothing: tell what companies of so many users need, by the simulation",
    )
    parser.add_argument(
        "--core-alone",
        action="store_true",
        help="this checkout's servers load no plugin that brings a capability: what is measured is the core",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny sizes: shows that all runs, measures nothing, keeps nothing",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help=f"where figures are kept as JSON (default {RESULTS.relative_to(Path(__file__).parent.parent)})",
    )
    for size in fields(Sizes):
        flag, default = f"--{size.name.replace('_', '-')}", size.default
        several = isinstance(default, tuple)
        parser.add_argument(
            flag,
            type=int if several else type(default),
            nargs="+" if several else None,
            metavar="ADDRESS" if default == "" else "N",
            help=f"{size.metadata['meaning']} (default {'none' if default == '' else default})",
        )
    return parser


def _sizes(given: argparse.Namespace) -> Sizes:
    chosen = {size.name: getattr(given, size.name) for size in fields(Sizes)}
    told: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in chosen.items()
        if value is not None
    }
    return replace(QUICK if given.quick else Sizes(), **told)


def _write(
    output: Path | None, facts: dict[str, str | int | float], sizes: Sizes, reports: dict[str, Report]
) -> None:
    if output is None:
        return
    output.parent.mkdir(exist_ok=True, parents=True)
    found = {
        "machine": facts,
        "versions": machine.versions(),
        "sizes": asdict(sizes),
        "scenarios": {name: asdict(report) for name, report in reports.items()},
    }
    output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
