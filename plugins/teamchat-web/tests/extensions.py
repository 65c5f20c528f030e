"""Plugins with a part of the client, written by a test; and pages in which a part may fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.docs.pages import DOCS

REFERENCE = DOCS / "reference" / "client-extensions.md"
Bring = Callable[..., None]

OFFER = """
from teamchat import Capability, hookimpl

@hookimpl
def capabilities():
    return [Capability(name={name!r}, client="client")]
"""


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Have the next servers find a plugin with a capability and its part of the client."""
    # A server finds what stands in the directory that it is started in.
    monkeypatch.chdir(tmp_path)

    def make(name: str, main: str, **others: str) -> None:
        package = f"teamchat_{re.sub('[^a-z]', '_', name)}"
        files = {"__init__.py": OFFER.format(name=name), "client/main.js": main}
        files |= {f"client/{path}": text for path, text in others.items()}
        for path, text in files.items():
            file = tmp_path / package / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        known = tmp_path / f"{package}-1.dist-info"
        known.mkdir()
        (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (known / "entry_points.txt").write_text(f"[teamchat]\n{name} = {package}\n")

    return make


# A browser that has just left for a provider: tokens in the address are what it comes back with.
LEFT = """try {
  if (location.search.includes("access_token")) localStorage["teamchat/left"] = Date.now();
} catch {}"""


@pytest.fixture
def loose(browser: Browser) -> Iterator[Callable[[str], tuple[Page, list[str]]]]:
    """Open an address where errors and warnings are expected; they are collected."""
    contexts = []

    def go(url: str) -> tuple[Page, list[str]]:
        context = browser.new_context(locale="en-GB", reduced_motion="reduce", service_workers="block")
        contexts.append(context)
        said: list[str] = []

        def note(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                said.append(message.text)

        context.on("console", note)
        context.add_init_script(LEFT)
        page = context.new_page()
        page.goto(url)
        return page, said

    yield go
    for context in contexts:
        context.close()
