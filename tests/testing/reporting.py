"""A plugin of pytest that writes down which test failed and in which words, and has little patience."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from teamchat.testing import filters, listeners, services

_report: dict[str, dict[str, str]] = {}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "FILTER_SECONDS", 1.5)
    monkeypatch.setattr(listeners, "PATIENCE_SECONDS", 1.5)
    monkeypatch.setattr(services, "PATIENCE_SECONDS", 1.5)


def pytest_runtest_makereport(item: pytest.Function, call: pytest.CallInfo[None]) -> None:
    """Keep what each class failed with, by the test's name without its parameters."""
    failed = _report.setdefault(item.cls.__qualname__, {})
    if call.excinfo is not None:
        failed[item.originalname] = " / ".join(map(str, _leaves(call.excinfo.value)))


def pytest_sessionfinish() -> None:
    Path(os.environ["REPORT"]).write_text(json.dumps(_report))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield what went wrong, out of the groups that nurseries make of it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
