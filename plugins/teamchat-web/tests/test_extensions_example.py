"""The example of the reference works, and so does the test that stands beside it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import CHROMIUM
from tests.docs.pages import blocks
from tests.in_the_client import message

from .extensions import Bring

WITH_ALL_PARTS = True

Enter = Callable[..., Page]


@pytest.fixture
def waving(bring: Bring) -> None:
    [example] = blocks("reference/client-extensions.md", "js")
    bring("org.example.wave", example, **{"strings/en.json": '{"wave": "Wave", "waved": "Waved"}'})


@pytest.mark.slow
@pytest.mark.usefixtures("waving")
def test_the_example_of_the_reference_works(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "mine")
    talk.say(talk.grace, "hers")
    page = enter(talk.server)
    message(page, "mine").hover()
    expect(message(page, "mine").get_by_role("button", name="Edit")).to_be_visible()
    message(page, "hers").hover()
    page.get_by_role("button", name="Wave").click()
    expect(message(page, "hers").get_by_role("button", name="👋, 1 person: Ada")).to_be_visible()
    expect(page.get_by_text("Waved")).to_have_count(1)
    message(page, "mine").hover()
    expect(page.get_by_role("button", name="Wave")).to_have_count(0)


@pytest.mark.slow
def test_the_test_of_the_reference_passes(
    bring: Bring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    [part] = blocks("reference/client-extensions.md", "js")
    [test] = blocks("reference/client-extensions.md", "python")
    bring("wave", part, **{"strings/en.json": '{"wave": "Wave", "waved": "Waved"}'})
    ours = f"launch(executable_path={CHROMIUM!r}, args=['--no-sandbox'])"
    (tmp_path / "test_wave.py").write_text(test.replace("launch()", ours))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "trio_mode=true", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
