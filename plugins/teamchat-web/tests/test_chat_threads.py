"""Replies that wait: their count, the list of threads, and what beyond the sidebar's fold is unread."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
Serve = Callable[..., Any]
Enter = Callable[..., Page]
Talk = Any


def entry(page: Page) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=re.compile("^Threads"))


def cards(page: Page) -> Locator:
    return page.get_by_role("list", name="Threads").get_by_role("link")


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Thread")


@pytest.mark.slow
def test_an_answer_in_an_old_thread_waits_until_the_thread_is_read(talk: Talk, enter: Enter) -> None:
    parent = talk.say(talk.ada, "Where do we meet?")
    for number in range(60):
        talk.say(talk.grace, f"message {number}")
    other = talk.channel("random")
    page = enter(talk.server, place=f"#/channel/{other}")
    expect(page.get_by_role("heading", level=1, name="random")).to_be_visible()
    talk.reply(talk.grace, parent, "On the terrace")
    expect(entry(page)).to_have_accessible_name("Threads 1 unread 1 for you")
    page.reload()
    expect(entry(page)).to_have_accessible_name("Threads 1 unread 1 for you")
    # The channel it hangs in is opened, and read to its end.
    page.get_by_role("link", name="General").click()
    expect(page.get_by_text("message 59")).to_be_visible()
    expect(entry(page)).to_have_accessible_name("Threads 1 unread 1 for you")
    entry(page).click()
    expect(page.get_by_role("heading", level=1, name="Threads")).to_be_visible()
    expect(page).to_have_title(re.compile("Threads"))
    expect(cards(page)).to_have_count(1)
    expect(cards(page)).to_contain_text("Where do we meet?")
    expect(cards(page)).to_contain_text("On the terrace")
    expect(cards(page)).to_contain_text("1 new")
    cards(page).click()
    expect(panel(page)).to_contain_text("On the terrace")
    expect(entry(page)).to_have_accessible_name("Threads")
    expect(cards(page)).not_to_contain_text("1 new")
    page.reload()
    expect(panel(page)).to_contain_text("On the terrace")
    expect(entry(page)).to_have_accessible_name("Threads")


@pytest.mark.slow
def test_the_list_begins_with_what_is_unread_and_stays_in_order_while_it_is_read(
    talk: Talk, enter: Enter
) -> None:
    first, second, third = (talk.say(talk.grace, text) for text in ("first", "second", "third"))
    for parent in (first, second, third):
        talk.reply(talk.ada, parent, "noted")
    page = enter(talk.server)
    # Of the threads from before this browser's first visit nothing is unread, but they are found.
    entry(page).click()
    expect(cards(page)).to_contain_text(["third", "second", "first"])
    page.get_by_role("navigation").get_by_role("link", name=re.compile("^General")).click()
    talk.reply(talk.grace, first, "one more thing")
    talk.reply(talk.ada, third, "mine is newer")
    expect(entry(page)).to_have_accessible_name("Threads 1 unread 1 for you")
    entry(page).click()
    expect(cards(page)).to_contain_text(["first", "third", "second"])
    cards(page).first.click()
    expect(cards(page).first).to_have_attribute("aria-current", "true")
    expect(entry(page)).to_have_accessible_name("Threads")
    expect(cards(page)).to_contain_text(["first", "third", "second"])
    talk.reply(talk.grace, second, "and this")
    expect(cards(page)).to_contain_text(["second", "first", "third"])
    expect(cards(page).first).to_contain_text("and this")
    page.get_by_role("button", name="Mark all as read").click()
    expect(entry(page)).to_have_accessible_name("Threads")
    expect(page.get_by_role("button", name="Mark all as read")).to_have_count(0)
    talk.delete(f"/messages/{second}")
    expect(cards(page)).to_contain_text(["first", "third"])


@pytest.mark.slow
def test_the_list_is_walked_with_keys_and_a_closed_thread_leads_back_to_it(talk: Talk, enter: Enter) -> None:
    for text in ("first", "second"):
        talk.reply(talk.ada, talk.say(talk.grace, text), "noted")
    page = enter(talk.server, place="#/threads")
    expect(cards(page)).to_contain_text(["second", "first"])
    cards(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(cards(page).last).to_be_focused()
    expect(cards(page).last).to_have_accessible_name(re.compile("General.*grace.*first.*1 reply.*Ada.*noted"))
    page.keyboard.press("Enter")
    expect(panel(page)).to_contain_text("first")
    expect(page.get_by_label("Reply", exact=True)).to_be_focused()
    page.keyboard.type("An answer")
    page.keyboard.press("Enter")
    expect(panel(page).locator("article", has_text="An answer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel(page)).to_have_count(0)
    expect(cards(page).filter(has_text="An answer")).to_be_focused()
    page.go_back()
    expect(panel(page)).to_contain_text("An answer")


@pytest.mark.slow
def test_the_list_is_used_on_a_phone(talk: Talk, enter: Enter) -> None:
    parent = talk.say(talk.ada, "Where do we meet?")
    page = enter(talk.server, **PHONE)
    expect(page.get_by_role("heading", level=1, name="General")).to_be_visible()
    talk.reply(talk.grace, parent, "On the terrace")
    page.get_by_role("button", name="Open the sidebar, 1 unread").click()
    entry(page).click()
    cards(page).click()
    expect(panel(page)).to_contain_text("On the terrace")
    panel(page).get_by_role("button", name="Close the thread").click()
    expect(panel(page)).to_have_count(0)
    expect(cards(page)).to_be_visible()


def test_who_takes_part_in_no_thread_is_told_what_the_list_is_for(talk: Talk, enter: Enter) -> None:
    page = enter(talk.server, place="#/threads")
    expect(page.get_by_role("heading", name="No threads yet")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("thr")
    expect(page.get_by_role("option", name="Threads")).to_be_visible()


@pytest.mark.slow
def test_what_calls_beyond_the_fold_is_marked_at_the_edge(talk: Talk, enter: Enter) -> None:
    for number in range(40):
        talk.channel(f"project {number:02}")
    last = talk.channel("zebra")
    page = enter(talk.server, viewport={"width": 1280, "height": 600})
    below = page.get_by_role("button", name="More for you")
    expect(page.get_by_role("link", name="General")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^More"))).to_have_count(0)
    talk.say(talk.grace, "nothing special", last)
    expect(page.get_by_role("button", name="More unread")).to_be_visible()
    talk.say(talk.grace, "@Ada!", last)
    below.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="zebra")).to_be_in_viewport()
    expect(page.get_by_role("link", name="zebra")).to_be_focused()
    expect(below).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="zebra")).to_be_visible()
    talk.say(talk.grace, "hello", talk.general)
    page.get_by_role("button", name="More unread").click()
    expect(page.get_by_role("link", name=re.compile("^General"))).to_be_focused()


@pytest.mark.slow
def test_what_another_tab_shows_is_not_notified_of(talk: Talk, enter: Enter) -> None:
    """Both tabs hear of it; the one in front shows it, and the one behind keeps quiet."""
    random, other = talk.channel("random"), talk.channel("other")
    front = enter(talk.server, place=f"#/channel/{random}")
    expect(front.get_by_role("heading", level=1, name="random")).to_be_visible()
    behind = front.context.new_page()
    behind.goto(f"{talk.server.base}/#/channel/{talk.general}")
    expect(behind.get_by_role("heading", level=1, name="General")).to_be_visible()
    behind.evaluate(
        """() => {
          const keys = Object.keys(localStorage).filter((key) => key.endsWith("/place"));
          localStorage[keys[0].replace(/place$/, "notify")] = "true";
          window.Notification = class {
            static permission = "granted";
            constructor(title, { body }) { this.body = body; this.#tell("shown"); }
            close() { this.#tell("closed"); }
            #tell(what) { document.body.append(`${what}: ${this.body}.`); }
          };
        }"""
    )
    front.bring_to_front()
    talk.say(talk.grace, "@Ada in front", random)
    expect(front.get_by_role("log").get_by_text("in front")).to_be_visible()
    talk.say(talk.grace, "@Ada in a channel that nobody shows", other)
    expect(behind.locator("body")).to_contain_text("shown: @Ada in a channel that nobody shows.")
    expect(behind.locator("body")).not_to_contain_text("shown: @Ada in front")
    # What is read needs no notification any more.
    front.get_by_role("link", name=re.compile("^other")).click()
    expect(front.get_by_role("log")).to_contain_text("that nobody shows")
    expect(behind.locator("body")).to_contain_text("closed: @Ada in a channel that nobody shows.")


@pytest.mark.slow
def test_a_thread_is_followed_and_marked_as_unread_on_all_devices(talk: Talk, enter: Enter) -> None:
    parent = talk.say(talk.grace, "Where do we meet?")
    talk.reply(talk.grace, parent, "On the terrace")
    place = f"#/channel/{talk.general}/thread/{parent}"
    page, phone = enter(talk.server, place=place), enter(talk.server, **PHONE)
    follow = panel(page).get_by_role("button", name=re.compile("^Follow"))
    expect(follow).to_have_text("Follow")
    follow.focus()
    page.keyboard.press("Enter")
    expect(follow).to_have_text("Following")
    panel(page).get_by_role("article").filter(has_text="On the terrace").hover()
    panel(page).get_by_role("button", name="Mark as unread from here").click()
    expect(entry(page)).to_have_accessible_name("Threads 1 unread 1 for you")
    phone.get_by_role("button", name=re.compile("^Open the sidebar")).click()
    expect(entry(phone)).to_have_accessible_name("Threads 1 unread 1 for you")
    entry(phone).click()
    cards(phone).click()
    expect(panel(phone)).to_contain_text("On the terrace")
    expect(entry(page)).to_have_accessible_name("Threads")
    # Who follows no more is told of nothing more.
    follow.click()
    expect(follow).to_have_text("Follow")
    page.get_by_role("button", name="Close the thread").click()
    talk.reply(talk.grace, parent, "Are you coming?")
    expect(page.get_by_role("log")).to_contain_text("2 replies")
    expect(entry(page)).to_have_accessible_name("Threads")


@pytest.mark.slow
def test_on_a_phone_the_way_to_a_thread_is_large_and_breaks_no_words_apart(talk: Any, enter: Enter) -> None:
    parent = talk.say(talk.ada, "Where?")
    for token in (talk.ada, talk.grace, talk.server.token("linus@example.org")):
        talk.reply(token, parent, "Here.")
    page = enter(talk.server, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    link = page.get_by_role("button", name="3 replies")
    expect(link).to_be_visible()
    heights = "(link) => [link, ...link.children].map((one) => one.getBoundingClientRect().height)"
    whole, *parts = link.evaluate(heights)
    assert whole >= 32
    assert max(parts) < 24
