"""Bots in the web client, in a browser: making one, giving it a token, and how what it says is marked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

WITH_PARTS = {"tokens"}

Enter = Callable[..., Page]
GRACE = "grace@example.org"
pytestmark = pytest.mark.slow


def section(page: Page, opened_by: Callable[[Page], None]) -> Locator:
    """Open the section; it is listed as soon as the part of the client is there."""
    opened_by(page)
    dialog = page.get_by_role("dialog").first
    dialog.get_by_role("button", name="Bots", exact=True).click()
    return dialog


def administration(page: Page) -> None:
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()


def settings(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()


def test_an_admin_makes_a_bot_gives_it_a_token_by_keys_and_ends_it(
    talk: Any, enter: Enter, accessible: Any
) -> None:
    page = enter(talk.server)
    dialog = section(page, administration)
    dialog.get_by_label("Name").fill("Deploys")
    dialog.get_by_label("Name").press("Enter")
    given = page.get_by_role("dialog", name="Tokens of Deploys")
    expect(given.get_by_text("It has no tokens.")).to_be_visible()
    for scope in ("Read", "Write"):
        given.get_by_role("checkbox", name=re.compile(f"^{scope}")).press("Space")
    given.get_by_label("Name").fill("build server")
    given.get_by_label("Name").press("Enter")
    expect(given.get_by_text("Tick at least one thing")).to_be_visible()
    for scope in ("Read", "Write"):
        given.get_by_role("checkbox", name=re.compile(f"^{scope}")).press("Space")
    given.get_by_label("Name").press("Enter")
    shown = given.get_by_label("The token build server")
    expect(shown).to_be_focused()
    text = shown.input_value()
    assert text.startswith("tct_")
    accessible(page)
    asked: dict[str, Any] = {"headers": {"Authorization": f"Bearer {text}"}, "trust_env": False}
    [channel] = httpx2.get(f"{talk.server.base}/channels", **asked).json()["channels"]
    messages = f"{talk.server.base}/channels/{channel['id']}/messages"
    assert httpx2.post(messages, json={"content": "it builds"}, **asked).status_code == 200
    for key in ("Escape", "Escape"):
        page.keyboard.press(key)
        assert shown.input_value() == text
    expect(given.get_by_role("alert")).to_contain_text("Keep it first")
    expect(given.get_by_role("button", name="I have kept it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown).to_have_count(0)
    page.keyboard.press("Escape")
    expect(given).to_have_count(0)
    accessible(page)
    dialog.get_by_role("button", name="People").click()
    row = dialog.get_by_role("listitem").filter(has_text="Deploys")
    expect(row.get_by_text("Bot", exact=True)).to_be_visible()
    expect(row.get_by_role("button", name="Make Deploys an administrator")).to_have_count(0)
    dialog.get_by_role("button", name="Bots", exact=True).click()
    dialog.get_by_role("button", name="Tokens of Deploys").click()
    expect(given.get_by_label("The token build server")).to_have_count(0)
    given.get_by_role("button", name="Revoke build server").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Revoke", exact=True).click()
    expect(given.get_by_text("It has no tokens.")).to_be_visible()
    assert httpx2.get(f"{talk.server.base}/channels", **asked).status_code == 401
    given.get_by_role("button", name="Close").click()
    dialog.get_by_role("button", name="Deactivate Deploys").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Deactivate", exact=True).click()
    expect(dialog.get_by_role("listitem").get_by_text("deactivated", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    said = page.get_by_role("article").filter(has_text="it builds")
    expect(said).to_have_accessible_name(re.compile(r"^Deploys Bot\b"))
    said.get_by_role("button", name="Deploys").click()
    card = page.get_by_role("dialog", name="Deploys")
    expect(card.get_by_text("A bot: a program writes under this name.")).to_be_visible()
    expect(card.get_by_role("link")).to_have_count(0)


def test_others_make_their_own_where_everyone_may(serve: Any, enter: Enter) -> None:
    server = serve(chat={"botsBy": "everyone"})
    page = enter(server, GRACE)
    dialog = section(page, settings)
    expect(dialog.get_by_text("There are no bots here.")).to_be_visible()
    dialog.get_by_label("Name").fill("Lunch")
    dialog.get_by_role("button", name="Make a bot").click()
    page.get_by_role("dialog", name="Tokens of Lunch").get_by_role("button", name="Close").click()
    expect(dialog.get_by_text("made by grace")).to_be_visible()
    expect(dialog.get_by_role("button", name="Deactivate Lunch")).to_have_count(0)
    dialog.get_by_role("button", name="Rename Lunch").click()
    renamed = page.get_by_role("dialog", name="Rename Lunch")
    renamed.get_by_label("Name").fill("Dinner")
    renamed.get_by_label("Name").press("Enter")
    dialog.get_by_role("button", name="Remove Dinner").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog.get_by_text("There are no bots here.")).to_be_visible()
