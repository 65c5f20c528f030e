"""Pins in the web client, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, TimeoutError, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
GRACE = "grace@example.org"


def press(page: Page, text: str, label: str = "Pin", within: str = "main") -> None:
    """Press a tool of a message; what draws the message anew, as parts do that come, takes it away."""
    button = message(page, text, within).get_by_role("button", name=label, exact=True)
    for _ in range(30):
        message(page, text, within).hover()
        with suppress(TimeoutError):
            return button.click(timeout=500)
    raise AssertionError(f"{text} has no {label} for long enough")


def pin(talk: Any, message_id: str) -> None:
    talk.server.post(f"/messages/{message_id}/pin", {}, talk.grace)


def say(talk: Any, count: int) -> list[str]:
    """Post so many messages, and return their ids."""
    path = f"/channels/{talk.general}/messages"
    with talk.server.client(talk.ada) as client:
        posted = [client.post(path, json={"content": f"number {number}"}).json() for number in range(count)]
    return [one["message"]["id"] for one in posted]


def head(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("button", name="pinned message")


def listed(page: Page, place: str = "#General") -> Locator:
    return page.get_by_role("list", name=f"Pinned messages in {place}").get_by_role("listitem")


@pytest.mark.slow
def test_two_browsers_agree_and_the_list_leads_to_the_message(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "Lunch is at noon.")
    talk.say(talk.grace, "Thanks!")
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    press(ada, "Lunch")
    for page in (ada, grace):
        expect(message(page, "Lunch")).to_contain_text("Pinned by Ada")
        expect(head(page)).to_have_text("1")
        expect(head(page)).to_have_attribute("aria-label", "1 pinned message")
    head(grace).click()
    expect(listed(grace)).to_have_count(1)
    listed(grace).get_by_role("button", name="Lunch").click()
    expect(grace.get_by_role("dialog")).to_have_count(0)
    expect(message(grace, "Lunch")).to_be_focused()
    press(grace, "Lunch", "Unpin")
    for page in (ada, grace):
        expect(message(page, "Lunch")).not_to_contain_text("Pinned by")
        expect(head(page)).to_have_count(0)


@pytest.mark.slow
def test_pins_are_reached_by_keys_and_read_out(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "one")
    talk.say(talk.ada, "two")
    page = enter(talk.server)
    expect(message(page, "two")).to_be_visible()
    page.get_by_role("main").get_by_role("textbox").focus()
    for _ in range(2):  # Past the button for images.
        page.keyboard.press("Shift+Tab")
    for text in ("two", "one"):
        expect(message(page, text)).to_be_focused()
        expect(message(page, text).get_by_role("button", name="Pin", exact=True)).to_have_attribute(
            "aria-keyshortcuts", "p"
        )
        page.keyboard.press("p")
        expect(message(page, text)).to_contain_text("Pinned by Ada")
        expect(message(page, text)).to_be_focused()
        page.keyboard.press("ArrowUp")
    expect(message(page, "one")).to_have_accessible_name(re.compile("^Ada .* one Pinned by Ada$"))
    expect(page.get_by_role("status").filter(has_text="Pinned").first).to_be_attached()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("pinned mess")
    expect(page.get_by_role("option", name="Pinned messages")).to_be_visible()
    page.keyboard.press("Enter")
    expect(listed(page)).to_have_count(2)
    page.keyboard.press("Tab")
    expect(listed(page).nth(0).get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(listed(page).nth(1).get_by_role("button").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("Unpinned")
    expect(listed(page)).to_have_count(1)
    expect(listed(page).get_by_role("button").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(message(page, "one")).to_be_focused()
    page.keyboard.press("p")
    expect(message(page, "one")).not_to_contain_text("Pinned by")


@pytest.mark.slow
def test_a_pinned_message_far_up_is_shown_in_its_place(talk: Any, enter: Enter) -> None:
    first = talk.say(talk.ada, "the first of all")
    say(talk, 130)
    pin(talk, first)
    page = enter(talk.server)
    expect(message(page, "number 129")).to_be_visible()
    expect(message(page, "the first of all")).to_have_count(0)
    head(page).click()
    listed(page).get_by_role("button", name="the first of all").click()
    expect(message(page, "the first of all")).to_be_focused()
    expect(message(page, "the first of all")).to_be_in_viewport()


@pytest.mark.slow
def test_a_pinned_reply_opens_in_its_thread(talk: Any, enter: Enter) -> None:
    parent = talk.say(talk.ada, "Where?")
    talk.reply(talk.grace, parent, "In the garden.")
    page = enter(talk.server)
    message(page, "Where?").get_by_role("button", name="1 reply").click()
    press(page, "garden", within="complementary")
    expect(message(page, "garden", "complementary")).to_contain_text("Pinned by Ada")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    head(page).click()
    listed(page).get_by_role("button", name="garden").click()
    expect(message(page, "garden", "complementary")).to_be_focused()
    # It goes with the thread, and is counted no longer.
    talk.delete(f"/messages/{parent}")
    expect(head(page)).to_have_count(0)


@pytest.mark.slow
def test_a_conversation_has_pins_of_its_own(talk: Any, enter: Enter) -> None:
    [user] = [one for one in _users(talk) if one["email"] == GRACE]
    conversation = talk.server.post("/conversations", {"targetUserId": user["id"]}, talk.ada)["conversation"]
    path = f"/conversations/{conversation['id']}/messages"
    said = talk.server.post(path, {"content": "Between us."}, talk.ada)["message"]["id"]
    pin(talk, talk.say(talk.ada, "For all."))
    page = enter(talk.server, place=f"#/conversation/{conversation['id']}")
    expect(message(page, "Between us.")).to_be_visible()
    expect(head(page)).to_have_count(0)
    pin(talk, said)
    expect(head(page)).to_have_text("1")
    head(page).click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_contain_text(["Between us."])
    page.keyboard.press("Escape")
    page.get_by_role("link", name="General").click()
    expect(message(page, "For all.")).to_contain_text("Pinned by")
    expect(head(page)).to_have_text("1")


@pytest.mark.slow
def test_the_list_stays_true_while_it_is_open(talk: Any, enter: Enter) -> None:
    one, two = talk.say(talk.ada, "one"), talk.say(talk.ada, "two")
    pin(talk, one)
    page = enter(talk.server)
    head(page).click()
    expect(listed(page)).to_contain_text(["one"])
    pin(talk, two)
    expect(listed(page)).to_contain_text(["two", "one"])
    with talk.server.client(talk.ada) as client:
        assert client.put(f"/messages/{one}", json={"content": "changed"}).is_success
    expect(listed(page)).to_contain_text(["two", "changed"])
    talk.delete(f"/messages/{two}")
    expect(listed(page)).to_contain_text(["changed"])
    talk.delete(f"/messages/{one}/pin")
    expect(listed(page)).to_contain_text(["Nothing is pinned here."])
    page.keyboard.press("Escape")
    expect(head(page)).to_have_count(0)


def test_what_was_pinned_without_a_connection_is_seen_when_it_is_back(talk: Any, enter: Enter) -> None:
    one, two = talk.say(talk.ada, "one"), talk.say(talk.ada, "two")
    pin(talk, one)
    page = enter(talk.server)
    expect(head(page)).to_have_text("1")
    page.context.set_offline(True)
    pin(talk, two)
    page.context.set_offline(False)
    expect(head(page)).to_have_text("2")
    expect(message(page, "two")).to_contain_text("Pinned by grace")


@pytest.mark.slow
def test_what_happens_while_the_part_is_on_its_way_is_heard_in_its_order(talk: Any, visit: Enter) -> None:
    one, two = talk.say(talk.ada, "one"), talk.say(talk.ada, "two")
    pin(talk, one)
    page = visit("about:blank")
    held: list[Route] = []
    page.route("**/extensions/pins/main.js", lambda route: held.append(route))
    page.goto(f"{talk.server.base}/?access_token={talk.ada}")
    with page.expect_request("**/extensions/pins/main.js"):
        pass
    talk.delete(f"/messages/{one}/pin")
    pin(talk, one)
    pin(talk, two)
    talk.delete(f"/messages/{two}/pin")
    talk.say(talk.grace, "after all that")
    expect(message(page, "after all that")).to_be_visible()
    held[0].continue_()
    expect(head(page)).to_have_text("1")
    expect(message(page, "one")).to_contain_text("Pinned by grace")
    expect(message(page, "two")).not_to_contain_text("Pinned by")


@pytest.mark.slow
def test_one_pin_too_many_is_told(talk: Any, enter: Enter) -> None:
    for said in say(talk, 100):
        pin(talk, said)
    talk.say(talk.ada, "one too many")
    page = enter(talk.server)
    expect(head(page)).to_have_text("100")
    press(page, "one too many")
    expect(page.get_by_text("There are 100 pinned messages here already.").first).to_be_visible()
    expect(message(page, "one too many")).not_to_contain_text("Pinned by")


@pytest.mark.slow
def test_with_pin_policy_managers_others_are_not_offered_to_pin(managed: Any, enter: Enter) -> None:
    [grace] = [one for one in _users(managed) if one["email"] == GRACE]
    managed.server.post(f"/messages/{managed.say(managed.grace, 'pinned')}/pin", {}, managed.ada)
    managed.say(managed.grace, "Lunch is at noon.")
    page = enter(managed.server, GRACE)
    expect(message(page, "pinned")).to_contain_text("Pinned by Ada")
    message(page, "Lunch").hover()
    expect(message(page, "Lunch").get_by_role("button", name="Reply").first).to_be_visible()
    expect(message(page, "Lunch").get_by_role("button", name="Pin", exact=True)).to_have_count(0)
    head(page).click()
    expect(listed(page)).to_contain_text(["pinned"])
    expect(listed(page).get_by_role("button", name="Unpin")).to_have_count(0)
    page.keyboard.press("Escape")
    with managed.server.client(managed.ada) as client:
        member = f"/channels/{managed.general}/members/{grace['id']}"
        assert client.put(member, json={"role": "manager"}).is_success
    page.reload()
    press(page, "Lunch")
    expect(message(page, "Lunch")).to_contain_text("Pinned by grace")


@pytest.mark.slow
def test_pins_speak_german(talk: Any, enter: Enter) -> None:
    pin(talk, talk.say(talk.ada, "Mittag"))
    page = enter(talk.server, locale="de-DE")
    expect(message(page, "Mittag")).to_contain_text("Angepinnt von grace")
    page.get_by_role("button", name="1 angepinnte Nachricht").click()
    expect(page.get_by_role("dialog", name="Angepinnte Nachrichten in #General")).to_be_visible()


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    pin(talk, talk.say(talk.ada, "Lunch is at noon."))
    page = enter(talk.server, **look)
    expect(message(page, "Lunch")).to_contain_text("Pinned by")
    message(page, "Lunch").hover()
    expect(message(page, "Lunch").get_by_role("button", name="Unpin")).to_be_visible()
    for open_it in (lambda: None, lambda: head(page).click()):
        open_it()
        accessible(page)
    expect(listed(page)).to_have_count(1)


def _users(talk: Any) -> list[dict[str, Any]]:
    with talk.server.client(talk.ada) as client:
        return list(client.get("/users").json()["users"])
