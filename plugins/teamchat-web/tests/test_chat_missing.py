"""What is not there (any more) says so, instead of something else being shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
Enter = Callable[..., Page]
Talk = Any


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Thread")


@pytest.mark.parametrize("look", [{}, PHONE], ids=["desk", "phone"])
def test_a_channel_deleted_under_ones_eyes_says_so_and_gives_back_what_was_being_written(
    talk: Talk, enter: Enter, look: dict[str, Any]
) -> None:
    gone = talk.channel("soon gone")
    parent = talk.say(talk.grace, "a message", gone)
    page = enter(talk.server, place=f"#/channel/{gone}/thread/{parent}", **look)
    expect(panel(page)).to_contain_text("a message")
    page.get_by_role("button", name="Close the thread").click()
    page.get_by_label("Write to #soon gone").fill("half a sentence")
    talk.delete(f"/channels/{gone}")
    heading = page.get_by_role("heading", name="#soon gone was deleted")
    expect(heading).to_be_visible()
    expect(page.get_by_text("half a sentence")).to_be_visible()
    expect(page.locator("section:focus")).to_contain_text("was deleted")
    assert page.evaluate("location.hash") == f"#/channel/{gone}"
    page.get_by_role("link", name="Go to #General").click()
    expect(page.get_by_role("heading", level=1, name="General")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()


def test_an_open_thread_goes_with_its_channel(talk: Talk, enter: Enter) -> None:
    gone = talk.channel("soon gone")
    parent = talk.say(talk.grace, "a message", gone)
    page = enter(talk.server, place=f"#/channel/{gone}/thread/{parent}")
    expect(panel(page)).to_contain_text("a message")
    talk.delete(f"/channels/{gone}")
    expect(page.get_by_role("heading", name="#soon gone was deleted")).to_be_visible()
    expect(panel(page)).to_have_count(0)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("#/channel/0190aaaa", "The channel was deleted, or the link is broken."),
        ("#/conversation/dm:0190aaaa", "The conversation is between other people, or the link is broken."),
        ("#/elsewhere/at/all", "The link is broken."),
        ("#/channel/", "The link is broken."),
    ],
)
def test_a_dead_link_says_so(standing: Any, enter: Enter, address: str, words: str) -> None:
    page = enter(standing, place=address)
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    expect(page.get_by_text(words)).to_be_visible()
    assert page.evaluate("location.hash") == address
    page.get_by_role("link", name="Go to #General").click()
    expect(page.get_by_role("log")).to_be_visible()


def test_a_link_to_a_channel_that_is_new_since_the_last_visit_leads_there(talk: Talk, enter: Enter) -> None:
    page = enter(talk.server)
    expect(page.get_by_role("heading", level=1, name="General")).to_be_visible()
    page.goto(f"{talk.server.base}/health")
    new = talk.channel("brand new")
    page.goto(f"{talk.server.base}/#/channel/{new}")
    expect(page.get_by_role("heading", level=1, name="brand new")).to_be_visible()


def dead(page: Page) -> None:
    expect(panel(page).get_by_role("heading", name="This thread was deleted")).to_be_visible()
    expect(panel(page).get_by_role("textbox")).to_have_count(0)


def test_a_thread_whose_message_was_deleted_says_so(talk: Talk, enter: Enter) -> None:
    parent = talk.say(talk.grace, "soon gone")
    talk.reply(talk.grace, parent, "a reply")
    place = f"#/channel/{talk.general}/thread/{parent}"
    page = enter(talk.server, place=place)
    expect(panel(page)).to_contain_text("a reply")
    page.get_by_label("Reply", exact=True).fill("half a sentence")
    talk.delete(f"/messages/{parent}")
    dead(page)
    expect(panel(page)).to_contain_text("half a sentence")
    page.reload()
    dead(page)
    panel(page).get_by_role("button", name="Close the thread").click()
    expect(panel(page)).to_have_count(0)


@pytest.mark.parametrize("place", ["#/channel/{}/thread/0190aaaa", "#/threads/{}/0190aaaa"])
def test_a_link_to_no_thread_says_so(talk: Talk, enter: Enter, place: str) -> None:
    dead(enter(talk.server, place=place.format(talk.general)))
