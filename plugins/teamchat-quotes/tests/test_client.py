"""Quotes in the web client, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

Enter = Callable[..., Page]
GRACE = "grace@example.org"


def message(page: Page, text: str | re.Pattern[str]) -> Locator:
    """Return the message that says this itself, not the one that quotes it."""
    body = page.locator(".message-body").filter(has_text=text)
    return page.get_by_role("main").get_by_role("article").filter(has=body)


def quoted(page: Page, text: str) -> Locator:
    return message(page, text).locator(".quotes-quote")


def field(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("textbox").last


def press(page: Page, text: str, label: str) -> None:
    """Press a tool of a message; where it is narrow, in the menu of the others."""
    message(page, text).hover()
    bar = message(page, text).get_by_role("toolbar")
    expect(bar.get_by_role("button").first).to_be_visible()
    if (more := bar.get_by_role("button", name="More actions", exact=True)).count():
        more.click()
        page.get_by_role("menuitem", name=label, exact=True).click()
    else:
        bar.get_by_role("button", name=label, exact=True).click()


def quote(talk: Any, message_id: str, text: str, by: str = "") -> str:
    body = {"content": text, "quotedMessageId": message_id}
    path = f"/channels/{talk.general}/messages"
    return str(talk.server.post(path, body, by or talk.ada)["message"]["id"])


@pytest.mark.slow
def test_a_message_is_quoted_by_keys_and_leads_to_what_it_quotes(talk: Any, enter: Enter) -> None:
    talk.say(talk.grace, "Lunch is at **noon**.")
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    expect(message(ada, "Lunch")).to_be_visible()
    field(ada).focus()
    for _ in range(3):  # Past the button for images and the name of who wrote.
        ada.keyboard.press("Shift+Tab")
    expect(message(ada, "Lunch")).to_be_focused()
    tool = message(ada, "Lunch").get_by_role("button", name="Quote", exact=True)
    expect(tool).to_have_attribute("aria-keyshortcuts", "q")
    ada.keyboard.press("q")
    expect(field(ada)).to_be_focused()
    strip = ada.locator(".composer-above")
    expect(strip).to_contain_text("Lunch is at noon.")
    ada.keyboard.press("Escape")
    expect(strip).to_be_hidden()
    press(ada, "Lunch", "Quote")
    expect(field(ada)).to_be_focused()
    ada.reload()
    expect(strip).to_contain_text("Lunch is at noon.")
    field(ada).fill("I am in")
    ada.keyboard.press("Enter")
    expect(strip).to_be_hidden()
    for page in (ada, grace):
        expect(quoted(page, "I am in")).to_contain_text("Lunch is at noon.")
    expect(message(ada, "I am in")).to_have_accessible_name(
        re.compile(r"^Ada .* Quoted: grace .* Lunch is at noon\. I am in$")
    )
    quoted(grace, "I am in").get_by_role("button").click()
    expect(message(grace, "Lunch")).to_be_focused()


def test_what_is_quoted_follows_edits_and_goes_with_its_message(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.ada, "as it was")
    quote(talk, said, "about that")
    page = enter(talk.server)
    expect(quoted(page, "about that")).to_contain_text("as it was")
    with talk.server.client(talk.ada) as client:
        assert client.put(f"/messages/{said}", json={"content": "as it is"}).is_success
        expect(quoted(page, "about that")).to_contain_text("as it is")
        assert client.delete(f"/messages/{said}").is_success
    expect(quoted(page, "about that")).to_contain_text("gone")
    expect(page.get_by_role("main")).not_to_contain_text("as it is")


def test_a_quote_is_there_until_an_edit_takes_it_away(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.ada, "as it was")
    quoting = quote(talk, said, "about that")
    page = enter(talk.server)
    with talk.server.client(talk.ada) as client:
        assert client.put(f"/messages/{said}", json={"content": "as it is"}).is_success
        assert client.put(f"/messages/{quoting}", json={"content": "more about that"}).is_success
        expect(quoted(page, "more about that")).to_contain_text("as it is")
        bare = {"content": "about nothing", "quotedMessageId": None}
        assert client.put(f"/messages/{quoting}", json=bare).is_success
    expect(message(page, "about nothing")).to_be_visible()
    expect(quoted(page, "about nothing")).to_have_count(0)


@pytest.mark.slow
def test_each_is_shown_of_a_message_of_elsewhere_what_they_see(talk: Any, enter: Enter) -> None:
    board = talk.server.post("/private-channels", {"name": "Board"}, talk.ada)["channel"]["id"]
    said = talk.say(talk.ada, "The plan", board)
    ada, grace = enter(talk.server, place=f"#/channel/{talk.general}"), enter(talk.server, GRACE)
    quote(talk, said, "see there")
    expect(quoted(ada, "see there")).to_contain_text("The plan")
    expect(quoted(ada, "see there")).to_contain_text("#Board")
    expect(quoted(grace, "see there")).to_contain_text("not for you to see")
    expect(grace.get_by_role("main")).not_to_contain_text("The plan")


@pytest.mark.slow
def test_a_message_is_passed_on_with_words_and_without(talk: Any, enter: Enter) -> None:
    talk.say(talk.grace, "Lunch is at noon.")
    with talk.server.client(talk.ada) as client:
        made = client.post("/channels", json={"name": "Kitchen"})
        kitchen = made.json()["channel"]["id"]
    page = enter(talk.server)
    for words in ("", "for you"):
        press(page, "Lunch", "Pass on")
        dialog = page.get_by_role("dialog", name="Pass on")
        dialog.get_by_label("Where to").select_option(label="#Kitchen")
        dialog.get_by_label("Your words").fill(words)
        dialog.get_by_role("button", name="Pass on").click()
        expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Show").last.click()
    expect(page.get_by_role("heading", name="Kitchen").first).to_be_visible()
    expect(page.locator(".quotes-quote")).to_have_count(2)
    for shown in page.locator(".quotes-quote").all():
        expect(shown).to_contain_text("Lunch is at noon.")
    with talk.server.client(talk.ada) as client:
        said = client.get(f"/channels/{kitchen}/messages").json()["messages"]
    assert [one["content"] for one in said] == ["", "for you"]


@pytest.mark.slow
def test_quotes_speak_german(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.ada, "Mittag")
    quote(talk, said, "gut")
    page = enter(talk.server, locale="de-DE")
    expect(message(page, "gut")).to_have_accessible_name(re.compile("Zitiert: Ada .* Mittag gut$"))
    press(page, "Mittag", "Weitergeben")
    expect(page.get_by_role("dialog", name="Weitergeben")).to_be_visible()


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    said = talk.say(talk.grace, "Lunch is at noon. " * 20)
    quote(talk, said, "I am in")
    page = enter(talk.server, **look)
    expect(quoted(page, "I am in")).to_contain_text("noon")
    press(page, "I am in", "Quote")
    expect(page.locator(".composer-above")).to_contain_text("I am in")
    accessible(page)
    press(page, "I am in", "Pass on")
    expect(page.get_by_role("dialog", name="Pass on")).to_be_visible()
    accessible(page)
