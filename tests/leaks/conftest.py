"""Tells at the end of a run how many questions were asked, and how many answers differed."""

from __future__ import annotations

from typing import Any

QUESTIONS = "questions"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each hidden thing that was asked about."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, [])]
    asked = [told for one in reports for name, told in one.user_properties if name == QUESTIONS]
    for thing, count, differing in asked:
        terminalreporter.write_line(f"{thing}: {count:,} questions, {differing} answers that tell")
    if len(asked) > 1:
        terminalreporter.write_line(f"{sum(count for _, count, _ in asked):,} questions in all")
