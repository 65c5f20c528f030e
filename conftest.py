"""What all tests share, those of the plugins and of the conformance suite too."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from teamchat.testing import servers
from tests import forks, shortcuts, storages
from tests.chromium import browser
from tests.shortcuts import real_hashes

__all__ = ["browser", "real_hashes"]

# All that tests ask is on this machine, and no proxy leads there.
for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]


servers._open_process = forks.open_process
shortcuts.take()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that need a browser: they take longest, and nobody waits for them at the end."""
    slow = {item.path for item in items if "browser" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def _storages_end_with_their_test() -> Iterator[None]:
    yield
    storages.forget()
