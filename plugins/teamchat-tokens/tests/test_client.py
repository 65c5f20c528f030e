"""The section of the settings where one makes tokens, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, Route, expect

Enter = Callable[..., Page]
pytestmark = pytest.mark.slow


def settings(page: Page) -> Locator:
    """Open the section; it is listed as soon as the part of the client is there."""
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Tokens", exact=True).click()
    return dialog


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
    ways_out: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Escape"),
        lambda: page.keyboard.press("Escape"),  # Browsers close a dialog by the second one, whatever it says.
        lambda: page.mouse.click(5, 5),
        lambda: dialog.get_by_role("button", name="Close", exact=True).click(),
        lambda: dialog.get_by_role("button", name="Profile", exact=True).click(),
        lambda: dialog.get_by_role("button", name="Make a token").click(),
    ]
    for leave in ways_out:
        leave()
        assert shown.input_value() == text
    expect(dialog.get_by_role("alert")).to_contain_text("Keep it first")
    accessible(page)
    dialog.get_by_role("button", name="I have kept it").click()
    expect(shown).to_have_count(0)
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    dialog = settings(page)
    expect(dialog.get_by_role("button", name="Revoke backup script")).to_have_count(1)
    dialog.get_by_role("button", name="Revoke backup script").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Revoke", exact=True).click()
    expect(dialog.get_by_text("You have no tokens.")).to_be_visible()
    assert httpx2.get(f"{talk.server.base}/channels/{elsewhere}/messages", **asked).status_code == 401


def test_the_section_is_listed_when_the_part_comes_while_the_settings_are_open(
    talk: Any, visit: Enter
) -> None:
    page = visit("about:blank")
    held: list[Route] = []
    page.route("**/extensions/tokens/main.js", lambda route: held.append(route))
    with page.expect_request("**/extensions/tokens/main.js"):
        page.goto(f"{talk.server.base}/?access_token={talk.ada}")
    page.get_by_role("button", name="Settings").click()
    tabs = page.get_by_role("navigation", name="Settings").get_by_role("button")
    first = tabs.first
    expect(first).to_be_focused()
    before = tabs.all_inner_texts()
    assert "Tokens" not in before
    held[0].continue_()
    expect(tabs).to_have_count(len(before) + 1)
    assert tabs.all_inner_texts() == [*before[:-1], "Tokens", before[-1]]
    expect(first).to_be_focused()
