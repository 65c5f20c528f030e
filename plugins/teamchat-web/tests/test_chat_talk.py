"""People talking: what one does, the other sees at once (interface, parts 1, 4 and 6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

GRACE = "grace@example.org"
Serve = Callable[..., Any]
Enter = Callable[..., Page]


def message(page: Page, text: str) -> Locator:
    return page.locator("article").filter(has_text=text)


def write(page: Page, text: str, field: str = "Write to #General") -> None:
    page.get_by_label(field, exact=True).fill(text)
    page.keyboard.press("Enter")


def tool(page: Page, text: str, name: str) -> None:
    expect(page.locator("article.pending")).to_have_count(0)
    message(page, text).first.hover()
    message(page, text).first.get_by_role("button", name=name, exact=True).click()


def channel(server: Any, name: str) -> str:
    return str(server.post("/channels", {"name": name}, server.token())["channel"]["id"])


def test_two_people_talk_live(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(ada, "Good **morning**\nGrace")
    expect(message(grace, "morning").locator("strong", has_text="morning")).to_be_visible()
    write(grace, "Morning, Ada")
    expect(message(ada, "Morning, Ada")).to_be_visible()
    for page in (ada, grace):
        expect(page.locator("article")).to_have_count(2)
        expect(page.locator("article.pending")).to_have_count(0)
        expect(page.locator(".day")).to_have_text("Today")
    write(grace, "How are you?")
    expect(message(ada, "How are you?")).to_have_class(re.compile("grouped"))
    expect(message(ada, "How are you?")).to_have_accessible_name(re.compile(r"^grace .*How are you\?"))


@pytest.mark.slow
def test_the_same_words_go_to_screen_readers(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    expect(ada.get_by_label("Write to #General")).to_be_focused()
    write(grace, "Is anybody there?")
    expect(ada.get_by_role("status").filter(has_text="grace: Is anybody there?")).to_have_count(1)
    expect(ada.get_by_role("log", name="Messages in #General")).to_be_visible()


@pytest.mark.slow
def test_a_thread_has_its_own_panel(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(grace, "Where do we meet?")
    tool(ada, "Where do we meet?", "Reply in a thread")
    panel = ada.get_by_role("complementary", name="Thread")
    expect(panel).to_contain_text("Where do we meet?")
    expect(ada.get_by_label("Reply", exact=True)).to_be_focused()
    write(ada, "On the terrace", "Reply")
    expect(panel.get_by_role("log")).to_contain_text("On the terrace")
    grace.get_by_role("button", name="1 reply").click()
    expect(grace.get_by_role("complementary").get_by_role("log")).to_contain_text("On the terrace")
    write(grace, "Coming", "Reply")
    expect(panel.get_by_role("log")).to_contain_text("2 replies")
    expect(panel.locator("article", has_text="Coming")).to_be_visible()
    ada.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(message(ada, "Coming")).to_have_count(0)
    ada.go_back()
    expect(panel).to_be_visible()


@pytest.mark.slow
def test_reactions_count_people_and_can_be_taken_back(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(grace, "We did it")
    tool(ada, "We did it", "React with 👍")
    thumb = message(grace, "We did it").get_by_role("button", name="👍, 1 person: Ada")
    expect(thumb).to_have_attribute("aria-pressed", "false")
    thumb.click()
    both = message(ada, "We did it").get_by_role("button", name="👍, 2 people: Ada, grace")
    expect(both).to_have_attribute("aria-pressed", "true")
    both.click()
    expect(message(grace, "We did it").get_by_role("button", name="👍, 1 person: grace")).to_be_visible()

    tool(ada, "We did it", "React")
    ada.get_by_label("Search emoji").fill("rocket")
    ada.keyboard.press("Enter")
    expect(message(grace, "We did it").get_by_role("button", name="🚀, 1 person: Ada")).to_be_visible()
    tool(ada, "We did it", "React")
    expect(ada.get_by_role("dialog", name="Emoji").get_by_role("button").first).to_have_text("🚀")


@pytest.mark.slow
def test_a_reaction_in_words_stands_in_line_with_the_others(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token()
    sent = server.post(f"/channels/{channel(server, 'tea')}/messages", {"content": "Sugar?"}, token)
    for reaction in ("👍", "two lumps of it, 2024 at the latest, as we all know"):
        server.post(f"/messages/{sent['message']['id']}/reactions", {"reaction": reaction}, token)
    page = enter(server)
    page.get_by_role("link", name="tea").click()
    buttons = page.get_by_role("group", name="Reactions").get_by_role("button")
    expect(buttons).to_have_count(4)
    boxes = buttons.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert len({(box["y"], box["height"]) for box in boxes}) == 1
    assert boxes[1]["width"] < 220
    words = buttons.nth(1).locator("span").first
    expect(words).not_to_have_css("font-family", re.compile("Emoji"))
    expect(buttons.first.locator("span").first).to_have_css("font-family", re.compile("Emoji"))


@pytest.mark.slow
def test_ones_own_message_is_edited_in_its_place(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(grace, "See you at nine")
    write(ada, "Seven is better")
    expect(message(ada, "Seven")).not_to_have_class(re.compile("pending"))
    ada.keyboard.press("ArrowUp")
    field = ada.get_by_label("Edit the message")
    expect(field).to_have_value("Seven is better")
    field.fill("Eight is better")
    ada.keyboard.press("Enter")
    expect(message(grace, "Eight is better")).to_contain_text("(edited)")
    expect(ada.get_by_label("Write to #General")).to_be_focused()
    message(ada, "See you at nine").hover()
    expect(message(ada, "See you at nine").get_by_role("toolbar")).to_be_visible()
    expect(message(ada, "See you at nine").get_by_role("button", name="Edit")).to_have_count(0)


@pytest.mark.slow
def test_what_others_do_leaves_the_field_of_an_edit_alone(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(ada, "Half a thought")
    expect(message(grace, "Half a thought")).to_be_visible()
    ada.keyboard.press("ArrowUp")
    ada.get_by_label("Edit the message").fill("A whole thought")
    tool(grace, "Half a thought", "React with 👍")
    write(grace, "Go on")
    expect(message(ada, "Go on")).to_be_visible()
    expect(ada.get_by_label("Edit the message")).to_have_value("A whole thought")
    expect(ada.get_by_label("Edit the message")).to_be_focused()
    ada.keyboard.press("Escape")
    expect(message(ada, "Half a thought").get_by_role("button", name=re.compile("^👍"))).to_be_visible()


@pytest.mark.slow
def test_deleting_asks_first_and_is_for_everybody(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(grace, "Never mind")
    tool(grace, "Never mind", "Delete")
    dialog = grace.get_by_role("dialog", name="Delete this message?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(message(grace, "Never mind")).to_be_visible()
    tool(ada, "Never mind", "Delete")  # Ada is an admin.
    ada.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(message(ada, "Never mind")).to_have_count(0)
    expect(message(grace, "Never mind")).to_have_count(0)


@pytest.mark.slow
def test_a_direct_message_reaches_one_person_and_the_title(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    ada.get_by_role("button", name="Write to somebody").click()
    ada.get_by_role("combobox", name="Write to …").fill("gra")
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="grace", level=1)).to_be_visible()
    write(ada, "Only for you", "Write to grace")
    link = grace.get_by_role("navigation").get_by_role("link", name=re.compile("^Ada"))
    expect(link).to_have_accessible_name(re.compile("1 unread.*1 for you"))
    expect(grace).to_have_title(re.compile(r"^\(1\) #General"))
    link.click()
    expect(message(grace, "Only for you")).to_be_visible()
    expect(link).to_have_accessible_name("Ada")
    expect(grace).to_have_title(re.compile("^Ada · "))
    write(grace, "Thanks", "Write to Ada")
    expect(message(ada, "Thanks")).to_be_visible()


@pytest.mark.slow
def test_what_is_new_stands_under_a_line(serve: Serve, enter: Enter) -> None:
    server = serve()
    channel(server, "random")
    ada, grace = enter(server), enter(server, GRACE)
    link = ada.get_by_role("navigation").get_by_role("link", name=re.compile("^random"))
    link.click()
    grace.get_by_role("link", name="random").click()
    write(grace, "Old news", "Write to #random")
    expect(message(ada, "Old news")).to_be_visible()
    ada.get_by_role("link", name=re.compile("^General")).click()
    expect(ada.get_by_role("heading", name="General", level=1)).to_be_visible()
    write(grace, "Fresh news", "Write to #random")
    write(grace, "@Ada have a look", "Write to #random")
    expect(link).to_have_accessible_name(re.compile("2 unread.*1 for you"))
    expect(ada).to_have_title(re.compile(r"^\(1\) "))
    link.click()
    expect(ada.locator(".entry", has=ada.locator(".new-line"))).to_contain_text("Fresh news")
    expect(link).to_have_accessible_name("random")
    expect(message(ada, "have a look")).to_have_class(re.compile("mentions-me"))
    write(ada, "Seen", "Write to #random")
    expect(ada).to_have_title(re.compile("^#random"))


@pytest.mark.slow
def test_a_draft_waits_in_its_place(serve: Serve, enter: Enter) -> None:
    server = serve()
    channel(server, "random")
    ada = enter(server)
    ada.get_by_label("Write to #General").fill("Not yet said")
    ada.get_by_role("link", name="random").click()
    expect(ada.get_by_label("Write to #random")).to_have_value("")
    ada.reload()
    ada.get_by_role("link", name="General").click()
    field = ada.get_by_label("Write to #General")
    expect(field).to_have_value("Not yet said")
    ada.keyboard.press("Enter")
    expect(message(ada, "Not yet said")).to_be_visible()
    ada.reload()
    expect(field).to_have_value("")


@pytest.mark.slow
def test_notifications_are_offered_once_and_shown_for_what_calls(serve: Serve, enter: Enter) -> None:
    server = serve()
    channel(server, "random")
    ada, grace = enter(server), enter(server, GRACE)
    ada.evaluate(
        """() => {
          window.Notification = class {
            static permission = "default";
            static async requestPermission() { return (this.permission = "granted"); }
            constructor(title, { body }) { document.body.dataset.shown = `${title}: ${body}`; }
          };
        }"""
    )
    grace.get_by_role("link", name="random").click()
    write(grace, "Nothing special", "Write to #random")
    expect(ada.get_by_role("link", name=re.compile("random.*1 unread"))).to_be_visible()
    expect(ada.get_by_role("button", name="Turn on")).to_have_count(0)
    write(grace, "@Ada something special", "Write to #random")
    ada.get_by_role("button", name="Turn on").click()
    write(grace, "@Ada more of it", "Write to #random")
    expect(ada.locator("body")).to_have_attribute("data-shown", "grace · #random: @Ada more of it")
