"""Saved messages in the web client, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from time import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.in_the_client import message

WITH_PARTS = {"pins", "quotes"}

Enter = Callable[..., Page]
GRACE = "grace@example.org"
HIDDEN = """() => {
  globalThis.shown = [];
  window.Notification = class {
    constructor(title, { body, tag }) { shown.push({ title, body, tag, press: () => this.onclick() }); }
    close() {}
    static permission = "granted";
  };
  const get = () => globalThis.isHidden ? "hidden" : "visible";
  Object.defineProperty(document, "visibilityState", { get });
}"""


def press(page: Page, text: str, label: str = "Save for later") -> None:
    message(page, text).hover()
    message(page, text).get_by_role("button", name=label, exact=True).click()


def side(page: Page) -> Locator:
    return page.get_by_role("navigation").get_by_role("button", name="Saved messages")


def listed(page: Page) -> Locator:
    return page.get_by_role("list", name="Saved messages").get_by_role("listitem")


def about(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Saved message", exact=True)


def save(talk: Any, message_id: str, token: str = "", **beside: Any) -> None:
    with talk.server.client(token or talk.ada) as client:
        assert client.put(f"/me/saved/{message_id}", json=beside).is_success


def kept(talk: Any) -> list[dict[str, Any]]:
    with talk.server.client(talk.ada) as client:
        return list(client.get("/me/saved").json()["items"])


def say(talk: Any, count: int) -> list[str]:
    """Post so many messages, and return their ids."""
    path = f"/channels/{talk.general}/messages"
    with talk.server.client(talk.ada) as client:
        posted = [client.post(path, json={"content": f"number {number}"}).json() for number in range(count)]
    return [one["message"]["id"] for one in posted]


@pytest.mark.slow
def test_two_devices_agree_and_nobody_else_sees_it(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "Lunch is at noon.")
    laptop, phone, grace = enter(talk.server), enter(talk.server), enter(talk.server, GRACE)
    press(laptop, "Lunch")
    for page in (laptop, phone):
        expect(message(page, "Lunch")).to_contain_text("Saved")
    side(phone).click()
    expect(listed(phone)).to_contain_text(["Lunch is at noon."])
    press(laptop, "Lunch", "Saved: reminder and note")
    about(laptop).get_by_label("Note, for you alone").fill("book a table")
    about(laptop).get_by_role("button", name="Keep", exact=True).click()
    expect(message(laptop, "Lunch")).to_contain_text("Saved · book a table")
    expect(listed(phone)).to_contain_text(["#General · book a table"])
    # One with a note goes only when that was asked.
    listed(phone).get_by_role("button", name="Done: remove from the list").click()
    phone.get_by_role("dialog", name="Remove it from what you saved?").get_by_role(
        "button", name="Cancel"
    ).click()
    expect(listed(phone)).to_contain_text(["book a table"])
    listed(phone).get_by_role("button", name="Done: remove from the list").click()
    phone.get_by_role("button", name="Remove", exact=True).click()
    expect(listed(phone)).to_contain_text(["Nothing is saved."])
    expect(message(laptop, "Lunch")).not_to_contain_text("Saved")
    expect(side(grace)).to_be_visible()
    expect(message(grace, "Lunch")).not_to_contain_text("Saved")


@pytest.mark.slow
def test_what_is_saved_is_reached_by_keys_and_read_out(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "one")
    talk.say(talk.ada, "two")
    page = enter(talk.server)
    expect(side(page)).to_be_visible()
    page.get_by_role("main").get_by_role("textbox").focus()
    for _ in range(2):  # Past the button for images.
        page.keyboard.press("Shift+Tab")
    for text in ("two", "one"):
        expect(message(page, text)).to_be_focused()
        page.keyboard.press("s")
        expect(message(page, text)).to_contain_text("Saved")
        expect(message(page, text)).to_be_focused()
        page.keyboard.press("ArrowUp")
    expect(message(page, "one")).to_have_accessible_name(re.compile("^Ada .* one Saved$"))
    expect(page.get_by_role("status").filter(has_text="Press again for a reminder").first).to_be_attached()
    # Again, and Enter: the first choice of times.
    before = time()
    page.keyboard.press("s")
    expect(about(page).get_by_role("button", name="In 20 minutes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(about(page)).to_have_count(0)
    expect(message(page, "one")).to_contain_text("Saved · Reminder: ")
    expect(message(page, "one")).to_be_focused()
    [remind_at] = [item["remindAt"] for item in kept(talk) if item["message"]["content"] == "one"]
    assert before + 20 * 60 <= remind_at / 1000 <= time() + 20 * 60
    page.keyboard.press("s")
    about(page).get_by_role("button", name="No reminder").focus()
    page.keyboard.press("Enter")
    expect(message(page, "one")).not_to_contain_text("Reminder")
    assert [item["remindAt"] for item in kept(talk)] == [None, None]
    # The list: arrow keys, what can be done there, and the way to the message.
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("saved mess")
    expect(page.get_by_role("option", name="Saved messages")).to_be_visible()
    page.keyboard.press("Enter")
    expect(listed(page)).to_contain_text(["one", "two"])
    page.keyboard.press("Tab")
    expect(listed(page).nth(0).get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(listed(page).nth(1).get_by_role("button").first).to_be_focused()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("Removed from what you saved")
    expect(listed(page)).to_contain_text(["one"])
    expect(listed(page).get_by_role("button").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(message(page, "one")).to_be_focused()


def test_a_day_and_a_time_are_entered_and_what_is_wrong_loses_nothing(talk: Any, enter: Enter) -> None:
    save(talk, talk.say(talk.ada, "Lunch is at noon."))
    page = enter(talk.server)
    expect(message(page, "Lunch")).to_contain_text("Saved")
    press(page, "Lunch", "Saved: reminder and note")
    at, note = about(page).get_by_label("Remind me at"), about(page).get_by_label("Note, for you alone")
    keep = about(page).get_by_role("button", name="Keep", exact=True)
    note.fill("book a table")
    at.fill("2020-01-01T12:00")
    keep.click()
    expect(about(page).get_by_text("That time is past.")).to_be_visible()
    expect(at).to_be_focused()
    # A day without a time is no time.
    at.fill("")
    at.focus()
    page.keyboard.type("0101")
    keep.click()
    expect(about(page).get_by_text("Enter day and time, or neither.")).to_be_visible()
    expect(note).to_have_value("book a table")
    assert [(item["note"], item["remindAt"]) for item in kept(talk)] == [("", None)]
    then = (datetime.now() + timedelta(days=3)).replace(second=0, microsecond=0)
    at.fill(f"{then:%Y-%m-%dT%H:%M}")
    keep.click()
    expect(message(page, "Lunch")).to_contain_text("Saved · book a table · Reminder: ")
    assert [(item["note"], item["remindAt"]) for item in kept(talk)] == [
        ("book a table", int(then.timestamp() * 1000))
    ]
    # It stands there again, and what is not touched stays.
    press(page, "Lunch", "Saved: reminder and note")
    expect(at).to_have_value(f"{then:%Y-%m-%dT%H:%M}")
    note.fill("")
    keep.click()
    expect(message(page, "Lunch")).not_to_contain_text("book a table")
    assert [(item["note"], item["remindAt"]) for item in kept(talk)] == [("", int(then.timestamp() * 1000))]


@pytest.mark.slow
def test_a_reminder_that_is_due_is_shown_and_leads_to_its_message(talk: Any, enter: Enter) -> None:
    first = talk.say(talk.grace, "the first of all")
    say(talk, 130)
    page = enter(talk.server)
    activity = page.get_by_role("navigation").get_by_role("link", name=re.compile("^Activity"))
    expect(activity).to_have_accessible_name("Activity")
    save(talk, first, remindAt=int(time() * 1000) + 1000)
    notices = page.get_by_role("region", name="Notices")
    expect(notices).to_contain_text("Reminder: grace: the first of all")
    expect(activity).to_have_accessible_name("Activity 1 unread")
    notices.get_by_role("button", name="Show").click()
    expect(message(page, "the first of all")).to_be_focused()
    expect(message(page, "the first of all")).to_be_in_viewport()
    expect(message(page, "the first of all")).to_contain_text("Saved · Reminded: ")
    activity.click()
    items = page.get_by_role("list", name="Activity").get_by_role("link")
    expect(items).to_contain_text(["Reminder of what grace said in #General"])
    page.get_by_role("button", name="Reminders").click()
    expect(items).to_have_count(1)
    page.get_by_role("button", name="Mentions").click()
    expect(items).to_have_count(0)


@pytest.mark.slow
def test_a_page_that_nobody_looks_at_notifies_once_and_is_quiet_when_asked(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.grace, "Lunch is at noon.")
    page = enter(talk.server)
    expect(side(page)).to_be_visible()
    page.evaluate(HIDDEN)
    user = page.evaluate("Object.keys(localStorage).find((key) => key.endsWith('/place')).split('/')[1]")
    page.evaluate(
        "([user]) => { localStorage[`teamchat/${user}/notify`] = 'true'; isHidden = true; }", [user]
    )
    save(talk, said, remindAt=int(time() * 1000) + 1000)
    page.wait_for_function("() => shown.length")
    [shown] = page.evaluate("shown.map(({ title, body }) => [title, body])")
    assert shown == ["Reminder", "grace: Lunch is at noon."]
    page.evaluate("() => { isHidden = false; shown[0].press(); }")
    expect(message(page, "Lunch")).to_be_focused()
    # In a pause it waits in the activity alone.
    page.evaluate("isHidden = true")
    with talk.server.client(talk.ada) as client:
        paused = {"pausedUntil": int(time() * 1000) + 3_600_000}
        assert client.put("/me/notifications", json=paused).is_success
    save(talk, said, remindAt=int(time() * 1000) + 1000)
    with page.expect_response(lambda answer: "kinds=reminder" in answer.url and answer.ok):
        pass
    expect(
        page.get_by_role("navigation").get_by_role("link", name="Activity 1 unread", exact=True)
    ).to_be_attached()
    assert page.evaluate("shown.length") == 1


@pytest.mark.slow
def test_what_is_out_of_sight_goes_from_the_open_list_and_is_back_with_its_place(
    house: Any, enter: Enter
) -> None:
    plans = house.private("Plans", "grace")
    secret = house.say(plans, "the secret of cheese")
    gone = house.say(house.general, "cheese for all")
    parent = house.say(house.general, "more cheese")
    reply = house.post(f"/messages/{parent}/thread", {"content": "a reply"})["reply"]["id"]
    for one in (secret, gone, parent, reply):
        house.put(f"/me/saved/{one}", {}, "grace")
    page = enter(house.server, GRACE, place=f"#/channel/{house.general}")
    side(page).click()
    expect(listed(page)).to_contain_text(["a reply", "more cheese", "cheese for all", "secret"])
    house.remove(plans, "grace")
    expect(listed(page)).to_contain_text(["a reply", "more cheese", "cheese for all"])
    expect(listed(page)).to_have_count(3)
    house.put(f"/messages/{gone}", {"content": "cheese for everyone"})
    expect(listed(page)).to_contain_text(["a reply", "more cheese", "cheese for everyone"])
    house.delete(f"/messages/{gone}")
    expect(listed(page)).to_have_count(2)
    house.post(f"/channels/{plans}/members", {"userIds": [house.ids["grace"]]})
    expect(listed(page)).to_contain_text(["a reply", "more cheese", "secret"])
    # A reply opens in its thread; it goes with the message that the thread hangs from.
    listed(page).get_by_role("button", name="a reply").click()
    expect(message(page, "a reply", "complementary")).to_be_focused()
    side(page).click()
    house.delete(f"/messages/{parent}")
    expect(listed(page)).to_contain_text(["secret"])
    expect(listed(page)).to_have_count(1)


@pytest.mark.slow
def test_what_was_saved_without_a_connection_is_seen_when_it_is_back(talk: Any, enter: Enter) -> None:
    one, two = talk.say(talk.ada, "one"), talk.say(talk.ada, "two")
    save(talk, one)
    page = enter(talk.server)
    expect(message(page, "one")).to_contain_text("Saved")
    page.context.set_offline(True)
    press(page, "two")
    expect(page.get_by_role("region", name="Notices")).to_contain_text("server")
    save(talk, two, note="from elsewhere")
    talk.delete(f"/me/saved/{one}")
    page.context.set_offline(False)
    expect(message(page, "two")).to_contain_text("Saved · from elsewhere")
    expect(message(page, "one")).not_to_contain_text("Saved")


@pytest.mark.slow
def test_of_many_the_oldest_is_known_too_and_the_list_grows(talk: Any, enter: Enter) -> None:
    ids = say(talk, 120)
    for one in ids:
        save(talk, one)
    page = enter(talk.server)
    side(page).click()
    expect(listed(page)).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(listed(page)).to_have_count(100)
    expect(listed(page).nth(50).get_by_role("button").first).to_be_focused()
    page.get_by_role("button", name="Show more").click()
    expect(listed(page)).to_have_count(120)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    save(talk, ids[0], note="the oldest of all")
    expect(listed(page).last).to_contain_text("the oldest of all")
    listed(page).last.get_by_role("button").first.click()
    expect(message(page, "number 0")).to_be_focused()


@pytest.mark.slow
def test_without_activity_there_are_notes_and_no_reminders(serve: Any, enter: Enter) -> None:
    server = serve(mentions={"enabled": False})
    token = server.token()
    with server.client(token) as client:
        channel = client.get("/channels").json()["channels"][0]["id"]
    server.post(f"/channels/{channel}/messages", {"content": "Lunch"}, token)
    page = enter(server)
    expect(side(page)).to_be_visible()
    press(page, "Lunch")
    expect(message(page, "Lunch")).to_contain_text("Saved")
    press(page, "Lunch", "Saved: reminder and note")
    expect(about(page).get_by_label("Note, for you alone")).to_be_focused()
    expect(about(page).get_by_label("Remind me at")).to_have_count(0)
    expect(about(page).get_by_role("button", name="In 20 minutes")).to_have_count(0)


@pytest.mark.slow
def test_saved_messages_speak_german(talk: Any, enter: Enter) -> None:
    save(talk, talk.say(talk.ada, "Mittag"))
    page = enter(talk.server, locale="de-DE")
    expect(message(page, "Mittag")).to_contain_text("Gemerkt")
    page.get_by_role("button", name="Gemerkte Nachrichten").click()
    expect(page.get_by_role("dialog", name="Gemerkte Nachrichten")).to_contain_text("Mittag")


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    save(talk, talk.say(talk.ada, "Lunch is at noon."), note="book", remindAt=int(time() * 1000) + 3_600_000)
    page = enter(talk.server, **look)
    expect(message(page, "Lunch")).to_contain_text("Saved · book · Reminder: ")
    message(page, "Lunch").hover()
    # Where it is narrow, the tool is behind the three dots.
    tool = "More actions" if look.get("is_mobile") else "Saved: reminder and note"
    expect(message(page, "Lunch").get_by_role("button", name=tool)).to_be_visible()

    def open_list() -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill("saved mess")
        page.get_by_role("option", name="Saved messages").click()
        expect(listed(page)).to_have_count(1)

    def open_item() -> None:
        listed(page).get_by_role("button", name="Saved: reminder and note").click()
        expect(about(page)).to_be_visible()

    for open_it in (lambda: None, open_list, open_item):
        open_it()
        accessible(page)
