"""Going to a message: its place is opened at it, and reading goes on both ways from there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from teamchat.testing import ADMIN
from tests.in_the_client import message

Enter = Callable[..., Page]
GRACE = "grace@example.org"
NEWER = re.compile("[?&]after=")
READ_DOWN = """(text) => {
  const log = document.querySelector("main [role=log]");
  if (log.textContent.includes(text)) return true;
  log.scrollTop = log.scrollHeight;
  return false;
}"""


def say(talk: Any, count: int) -> list[str]:
    """Post so many messages, and return their ids."""
    path = f"/channels/{talk.general}/messages"
    with talk.server.client(talk.ada) as client:
        return [
            client.post(path, json={"content": f"number {at:03}"}).json()["message"]["id"]
            for at in range(count)
        ]


def scroll(page: Page, to: str) -> None:
    page.get_by_role("log").evaluate(f"(log) => {{ log.scrollTop = {to}; }}")


@pytest.mark.slow
def test_a_link_opens_the_place_at_its_message_and_reading_goes_both_ways(talk: Any, enter: Enter) -> None:
    ids = say(talk, 160)
    page = enter(talk.server, GRACE, f"#/messages/{ids[70]}")
    there = message(page, "number 070")
    expect(there).to_be_focused()
    expect(there).to_be_in_viewport()
    expect(page).to_have_url(re.compile(rf"#/channel/{talk.general}$"))
    expect(message(page, "number 159")).to_have_count(0)
    newest = page.get_by_role("button", name="Newest messages")
    expect(newest).to_be_visible()
    # What is posted meanwhile stands after what was not loaded yet.
    talk.say(talk.ada, "after all")
    # Upward to the beginning.
    for _ in range(4):
        scroll(page, "0")
    expect(message(page, "number 000")).to_be_visible()
    # Downward to the live end, without a gap.
    for text in ("number 100", "number 150", "after all"):
        page.wait_for_function(READ_DOWN, arg=text)
    scroll(page, "log.scrollHeight")
    expect(message(page, "after all")).to_be_in_viewport()
    talk.say(talk.ada, "and live")
    expect(message(page, "and live")).to_be_in_viewport()


@pytest.mark.slow
def test_the_newest_are_one_press_away_and_what_one_writes_leads_there(talk: Any, enter: Enter) -> None:
    ids = say(talk, 160)
    page = enter(talk.server, GRACE, f"#/messages/{ids[20]}")
    expect(message(page, "number 020")).to_be_focused()
    page.get_by_role("button", name="Newest messages").click()
    expect(message(page, "number 159")).to_be_in_viewport()
    expect(message(page, "number 020")).to_have_count(0)
    page.evaluate(f"location.hash = '#/messages/{ids[20]}'")
    expect(message(page, "number 020")).to_be_focused()
    expect(message(page, "number 159")).to_have_count(0)
    page.get_by_role("main").get_by_role("textbox").fill("mine")
    page.keyboard.press("Enter")
    expect(message(page, "mine")).to_be_in_viewport()
    expect(message(page, "number 159")).to_be_in_viewport()


@pytest.mark.slow
def test_where_a_message_was_deleted_on_the_way_reading_goes_on_downward(talk: Any, enter: Enter) -> None:
    ids = say(talk, 160)
    page = enter(talk.server, GRACE)
    expect(message(page, "number 159")).to_be_in_viewport()

    def delete_first(route: Route) -> None:
        talk.delete(f"/messages/{ids[20]}")
        route.continue_()

    page.route(re.compile("[?&]around="), delete_first, times=1)
    page.evaluate(f"location.hash = '#/messages/{ids[20]}'")
    expect(page.get_by_text("This message is no longer there.").first).to_be_visible()
    expect(message(page, "number 021")).to_be_in_viewport()
    page.wait_for_function(READ_DOWN, arg="number 159")


@pytest.mark.slow
def test_reading_goes_on_downward_after_a_page_could_not_be_had(talk: Any, enter: Enter) -> None:
    ids = say(talk, 160)
    page = enter(talk.server, GRACE)
    page.route(NEWER, lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed", lambda request: bool(NEWER.search(request.url))):
        page.evaluate(f"location.hash = '#/messages/{ids[20]}'")
        expect(message(page, "number 020")).to_be_focused()
        scroll(page, "log.scrollHeight")
    page.wait_for_function(READ_DOWN, arg="number 159")


@pytest.mark.slow
def test_a_page_that_comes_late_keeps_nobody_from_the_newest(talk: Any, enter: Enter) -> None:
    ids = say(talk, 160)
    random = talk.channel("random")
    page = enter(talk.server, GRACE, f"#/messages/{ids[20]}")
    expect(message(page, "number 020")).to_be_focused()
    held: list[Route] = []
    page.route(NEWER, lambda route: held.append(route))
    with page.expect_request(NEWER):
        scroll(page, "log.scrollHeight")
    page.get_by_role("main").get_by_role("textbox").fill("mine")
    page.keyboard.press("Enter")
    held.pop().continue_()
    expect(message(page, "mine")).to_be_in_viewport()
    expect(message(page, "number 159")).to_be_in_viewport()
    # The same for who leaves while it is on its way.
    with page.expect_request(NEWER):
        page.evaluate(f"location.hash = '#/messages/{ids[20]}'")
        expect(message(page, "number 020")).to_be_focused()
        scroll(page, "log.scrollHeight")
    page.evaluate(f"location.hash = '#/channel/{random}'")
    expect(page.get_by_label("Write to #random")).to_be_visible()
    held.pop().continue_()
    page.evaluate(f"location.hash = '#/channel/{talk.general}'")
    expect(message(page, "mine")).to_be_in_viewport()


@pytest.mark.slow
def test_a_link_is_copied_and_leads_who_signs_in_first(talk: Any, enter: Enter, visit: Enter) -> None:
    said = talk.say(talk.ada, "Lunch is at noon.")
    say(talk, 60)
    page = enter(talk.server, GRACE, f"#/messages/{said}", permissions=["clipboard-read", "clipboard-write"])
    expect(message(page, "Lunch")).to_be_focused()
    page.keyboard.press("ArrowDown")  # Keys walk only once one was pressed.
    page.keyboard.press("ArrowUp")
    page.keyboard.press("l")
    expect(page.get_by_text("Link copied").first).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{talk.server.base}/#/messages/{said}"
    other = visit(link)
    other.get_by_label("Email").fill(ADMIN)
    other.get_by_role("button", name="Sign in").click()
    expect(message(other, "Lunch")).to_be_focused()
    expect(other).to_have_url(re.compile(rf"#/channel/{talk.general}$"))


@pytest.mark.slow
def test_a_link_to_a_reply_opens_its_thread_at_it(talk: Any, enter: Enter) -> None:
    parent = talk.say(talk.ada, "Where?")
    path = f"/messages/{parent}/thread"
    replies = [
        talk.server.post(path, {"content": f"reply {at:02}"}, talk.ada)["reply"]["id"] for at in range(70)
    ]
    page = enter(talk.server, GRACE, f"#/messages/{replies[10]}")
    expect(message(page, "reply 10", "complementary")).to_be_focused()
    expect(page).to_have_url(re.compile(rf"#/channel/{talk.general}/thread/{parent}$"))


def test_what_one_may_not_see_is_not_told_from_what_never_was(house: Any, enter: Enter) -> None:
    gone = house.say(house.general, "to be deleted")
    house.delete(f"/messages/{gone}")
    hidden = house.say(house.private("Plans"), "our secret")
    page = enter(house.server, "grace@example.org", "#/messages/01900000-0000-7000-8000-000000000000")
    screens = []
    for address in ("", gone, hidden):
        if address:
            page.evaluate(f"location.hash = '#/messages/{address}'")
        expect(page).to_have_url(re.compile(f"{address}$"))
        expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
        expect(page.get_by_text("It was deleted, or it stands where you can’t read.")).to_be_visible()
        screens.append(page.get_by_role("main").inner_text())
    assert screens[0] == screens[1] == screens[2]
