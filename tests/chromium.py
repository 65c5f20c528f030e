"""The browser of the tests that need one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The one without any window takes a fifth of the time for a page.
_CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _CHROMIUMS)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium without a window. There is one in a process: Playwright does not begin twice."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()
