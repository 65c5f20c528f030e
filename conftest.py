"""What all tests share, those of the plugins and of the conformance suite too."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import hypothesis
import pytest

from teamchat.testing import servers
from tests import forks, shortcuts, storages
from tests.chromium import browser
from tests.shortcuts import real_hashes

__all__ = ["browser", "real_hashes"]

# All that tests ask is on this machine, and no proxy leads there.
for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]


# How long an example takes is for the benchmarks: on a busy machine a fast one is slow.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

servers._open_process = forks.open_process
shortcuts.take()


_LONGEST = (
    "conformance/tests/test_faults.py",
    "tests/races/test_the_reading_judge.py",
    "tests/test_benchmarks.py",
    "tests/workers/test_workers.py",
    "tests/testing/test_broken.py",
    "plugins/teamchat-web/tests/test_engines.py",
    "plugins/teamchat-web/tests/test_accessibility.py",
    "tests/scaffold/test_scaffold.py",
    "conformance/tests/test_choices.py",
    "tests/races/test_reading.py",
    "tests/races/test_rooms.py",
    "tests/races/test_the_rooms_judge.py",
)
"""The files that take longest: at the end one process would be busy with them and the others with nothing."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, then with those that need a browser."""
    longest = {config.rootpath / name: number for number, name in enumerate(_LONGEST)}
    in_browser = {item.path for item in items if "browser" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (longest.get(item.path, len(longest)), item.path not in in_browser))


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_HAS_FAILED] = report.failed or (report.when != "setup" and item.stash[_HAS_FAILED])
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Leave nothing to the next test that one which failed has used, nor to its own next try.

    A server that a module shares would have the channel already that the second try wants to make.
    """
    if item.stash[_HAS_FAILED]:
        item.session._setupstate.teardown_exact(None)


@pytest.fixture(autouse=True)
def _storages_end_with_their_test() -> Iterator[None]:
    yield
    storages.forget()
