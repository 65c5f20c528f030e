"""The section of the settings where one makes tokens, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

Enter = Callable[..., Page]
pytestmark = pytest.mark.slow


def settings(page: Page) -> Locator:
    """Open the section; a part of the client may still be on its way when the settings are first opened."""
    dialog, deadline = page.get_by_role("dialog"), monotonic() + 60
    while True:
        page.get_by_role("button", name="Settings").click()
        section = dialog.get_by_text("Tokens", exact=True)
        if section.count():
            section.click()
            return dialog
        assert monotonic() < deadline, "there is no section of tokens"
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)


def test_one_makes_a_token_is_shown_it_once_and_revokes_it(talk: Any, enter: Enter, accessible: Any) -> None:
    elsewhere = talk.channel("Elsewhere")
    page = enter(talk.server)
    dialog = settings(page)
    dialog.get_by_label("Read", exact=False).first.uncheck()
    dialog.get_by_role("button", name="Make a token").click()
    expect(dialog.get_by_text("Tick at least one thing")).to_be_visible()
    dialog.get_by_label("Name").fill("backup script")
    dialog.get_by_label("Read", exact=False).first.check()
    dialog.get_by_label("Only in some places").check()
    dialog.get_by_role("button", name="Make a token").click()
    expect(dialog.get_by_text("Tick at least one place.")).to_be_visible()
    dialog.get_by_label("Find a place").fill("elsew")
    expect(dialog.get_by_label("General")).to_be_hidden()
    dialog.get_by_label("Elsewhere").check()
    dialog.get_by_role("button", name="Make a token").click()
    shown = dialog.get_by_label("The token backup script")
    expect(shown).to_be_focused()
    text = shown.input_value()
    assert text.startswith("tct_")
    accessible(page)
    asked = {"headers": {"Authorization": f"Bearer {text}"}, "trust_env": False}
    places = {"General": talk.general, "Elsewhere": elsewhere}
    read = {
        name: httpx2.get(f"{talk.server.base}/channels/{id_}/messages", **asked)
        for name, id_ in places.items()
    }
    assert {name: answer.status_code for name, answer in read.items()} == {"General": 404, "Elsewhere": 200}
    expect(dialog.get_by_text("for one place")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    dialog = settings(page)
    expect(dialog.get_by_label("The token backup script")).to_have_count(0)
    dialog.get_by_role("button", name="Revoke backup script").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Revoke", exact=True).click()
    expect(dialog.get_by_text("You have no tokens.")).to_be_visible()
    assert httpx2.get(f"{talk.server.base}/channels/{elsewhere}/messages", **asked).status_code == 401
