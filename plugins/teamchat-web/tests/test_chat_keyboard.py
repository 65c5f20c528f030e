"""The chat by keys alone, and on a phone by touch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

WITH_ALL_PARTS = True

pytestmark = pytest.mark.slow

GRACE = "grace@example.org"
Serve = Callable[..., Any]
Enter = Callable[..., Page]
UntilLoaded = Callable[[Page, str], None]


def test_a_whole_session_needs_no_mouse(serve: Serve, enter: Enter) -> None:
    server = serve()
    server.post("/channels", {"name": "random"}, server.token())
    server.token(GRACE)
    page = enter(server)
    press, say = page.keyboard.press, page.keyboard.type
    expect(page.get_by_label("Write to #General")).to_be_focused()
    press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    say("rnd")
    press("Enter")
    expect(page.get_by_label("Write to #random")).to_be_focused()

    say("Hello @gr")
    expect(page.get_by_role("option", name="grace")).to_have_attribute("aria-selected", "true")
    press("Enter")
    say("look :rocket")
    expect(page.get_by_role("option", name="rocket")).to_be_visible()
    press("Tab")
    press("Enter")
    expect(page.locator("article:not(.pending)")).to_have_text(re.compile("Hello @grace look 🚀"))
    expect(page.locator(".mention")).to_have_text("@grace")
    say("Line one")
    press("Shift+Enter")
    say("Line two")
    press("Enter")
    expect(page.locator("article:not(.pending)")).to_have_count(2)

    for _ in range(2):
        press("Shift+Tab")  # Past the button for images.
    expect(page.locator("article").last).to_be_focused()
    press("ArrowUp")
    expect(page.locator("article").first).to_be_focused()
    press("r")
    expect(page.get_by_label("Search emoji")).to_be_focused()
    say("heart_eyes")
    press("ArrowDown")
    press("Enter")
    expect(
        page.locator("article").first.get_by_role("button", name=re.compile("^😍, 1 person"))
    ).to_be_visible()
    expect(page.locator("article").first).to_be_focused()
    press("e")
    expect(page.get_by_label("Edit the message")).to_be_focused()
    say("!")
    press("Enter")
    expect(page.locator("article").first).to_contain_text("🚀! (edited)")
    expect(page.get_by_label("Write to #random")).to_be_focused()
    for _ in range(2):
        press("Shift+Tab")
    press("Home")
    expect(page.locator("article").first).to_be_focused()
    press("t")
    expect(page.get_by_label("Reply", exact=True)).to_be_focused()
    say("A reply")
    press("Enter")
    expect(page.get_by_role("complementary").get_by_role("log")).to_contain_text("A reply")
    press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(page.get_by_label("Write to #random")).to_be_focused()

    for _ in range(2):
        press("Shift+Tab")
    press("End")
    press("Delete")
    expect(page.get_by_role("dialog", name="Delete this message?")).to_be_visible()
    press("Tab")
    press("Enter")
    expect(page.locator("article")).to_have_count(1)
    press("Alt+ArrowUp")
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    page.get_by_role("button", name="Jump to").first.focus()
    press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Edit your last message")
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_is_typed_after_an_edit_goes_to_the_composer(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    field = page.get_by_label("Write to #General")
    field.fill("First")
    page.keyboard.press("Enter")
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    for end in ("Enter", "Escape"):
        page.keyboard.press("ArrowUp")
        expect(page.get_by_label("Edit the message")).to_be_focused()
        page.keyboard.press(end)
        expect(field).to_be_focused()
        page.keyboard.type("Rest")
        expect(field).to_have_value("Rest")
        field.fill("")
    expect(page.get_by_role("complementary")).to_have_count(0)


def test_typing_with_the_focus_on_no_field_goes_to_the_composer(
    serve: Serve, enter: Enter, until_loaded: UntilLoaded
) -> None:
    page = enter(serve())
    field = page.get_by_label("Write to #General")
    expect(field).to_be_focused()
    page.keyboard.type("First")
    page.keyboard.press("Enter")
    message = page.locator("article:not(.pending)")
    expect(message).to_have_count(1)

    message.locator(".message-body").click()
    until_loaded(page, "/view/typing.js")  # It comes when the focus first leaves the field.
    page.keyboard.type("tree")
    expect(field).to_have_value("tree")
    message.hover()
    message.get_by_role("toolbar").get_by_role("button", name="React", exact=True).click()
    page.get_by_label("Search emoji").fill("rocket")
    page.keyboard.press("Enter")
    expect(message.get_by_role("button", name=re.compile("^🚀, 1 person"))).to_be_visible()
    page.keyboard.press("Backspace")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.type("s")
    expect(field).to_have_value("trees")
    page.get_by_role("button", name="Jump to").first.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("and")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.type("!")
    expect(field).to_have_value("trees!")  # A space pressed the button, and its palette took the rest.
    page.get_by_role("heading", name="General", level=2).click()
    page.keyboard.type("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.type("no")
    page.keyboard.press("Escape")
    expect(field).to_have_value("trees!")


def test_typing_in_a_thread_goes_to_its_own_composer(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    page.get_by_label("Write to #General").fill("First")
    page.keyboard.press("Enter")
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    page.locator("article").hover()
    page.get_by_role("button", name="Reply in a thread").click()
    reply = page.get_by_label("Reply", exact=True)
    expect(reply).to_be_focused()
    for place in (page.get_by_role("heading", name="Thread"), page.locator(".thread .message-body")):
        place.click()
        expect(reply).not_to_be_focused()
        page.keyboard.type("e")
    expect(reply).to_have_value("ee")
    page.locator("main .message-body").click()
    page.keyboard.type("r")
    expect(page.get_by_label("Write to #General")).to_have_value("r")


def test_escape_in_a_threads_picker_leaves_the_thread_open(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    page.get_by_label("Write to #General").fill("First")
    page.keyboard.press("Enter")
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    page.locator("article").hover()
    page.get_by_role("button", name="Reply in a thread").click()
    page.get_by_role("complementary").get_by_role("button", name="Emoji").click()
    expect(page.get_by_label("Search emoji")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search emoji")).to_have_count(0)
    expect(page.get_by_label("Reply", exact=True)).to_be_visible()


def test_a_palette_that_finds_nothing_points_at_nothing(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    expect(page.get_by_label("Write to #General")).to_be_focused()
    page.keyboard.press("Control+k")
    pointed = """() => document.getElementById(document.querySelector("[role=combobox]")
      ?.getAttribute("aria-activedescendant"))?.innerText.includes("General")"""
    page.wait_for_function(pointed)
    page.keyboard.type("zzzz")
    expect(page.get_by_role("option", name="Nothing found")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => !document.querySelector('[role=combobox][aria-activedescendant]')")
    expect(page.locator("[aria-selected=true]")).to_have_count(0)
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.wait_for_function(pointed)


def test_the_first_link_skips_to_writing(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    expect(page.get_by_label("Write to #General")).to_be_focused()
    skip = page.get_by_role("link", name="Skip to writing")
    expect(skip).not_to_be_in_viewport()
    assert (
        page.evaluate("() => document.querySelector('a, button, input, textarea').className") == "skip-link"
    )
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Write to #General")).to_be_focused()


def test_on_a_phone_the_sidebar_is_a_drawer(serve: Serve, enter: Enter) -> None:
    server = serve()
    server.post("/channels", {"name": "random"}, server.token())
    page = enter(server, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    opener = page.get_by_role("button", name="Open the sidebar")
    random = page.get_by_role("link", name="random")
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(random).not_to_be_in_viewport()
    opener.tap()
    expect(random).to_be_in_viewport()
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(random).not_to_be_in_viewport()
    expect(opener).to_be_focused()
    opener.tap()
    random.tap()
    expect(page.get_by_role("heading", name="random", level=1)).to_be_visible()
    expect(random).not_to_be_in_viewport()
    opener.tap()
    page.touchscreen.tap(310, 300)
    expect(opener).to_have_attribute("aria-expanded", "false")
    page.wait_for_function("() => document.documentElement.scrollWidth <= 320")


def test_a_tap_on_a_message_shows_what_can_be_done_with_it(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server, viewport={"width": 320, "height": 800}, has_touch=True, is_mobile=True)
    expect(page.locator("#sidebar")).to_contain_text("Saved messages")  # The parts are there.
    page.get_by_label("Write to #General").fill("Tap me")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    page.locator("article").tap()
    page.get_by_role("button", name="More actions").tap()
    menu = page.get_by_role("menu", name="More actions")
    expect(menu.get_by_role("menuitem", name="Save for later")).to_be_visible()
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("menuitem").last).to_be_focused()
    menu.get_by_role("menuitem", name="Save for later").tap()
    expect(menu).to_have_count(0)
    expect(page.locator("article")).to_contain_text("Saved")
    # What is done often stays in reach, beside the beginning of the author's name.
    page.locator("article").tap()
    tools = page.get_by_role("toolbar", name="Actions")
    for name in ("React", "Reply in a thread", "Edit", "Delete", "More actions"):
        expect(tools.get_by_role("button", name=name)).to_be_visible()
    name = page.locator("article .name").bounding_box()
    bar = tools.bounding_box()
    assert name is not None
    assert bar is not None
    assert name["x"] < bar["x"]
    # Where there is room, a reaction is one tap away.
    page.set_viewport_size({"width": 768, "height": 800})
    page.reload()
    page.locator("article").tap()
    page.get_by_role("button", name="React with 👍").tap()
    expect(page.get_by_role("button", name=re.compile("^👍, 1 person"))).to_be_visible()


def test_the_focus_stays_on_a_link_while_the_sidebar_changes(serve: Serve, enter: Enter) -> None:
    server = serve()
    place = server.post("/channels", {"name": "random"}, server.token())["channel"]["id"]
    page = enter(server, viewport={"width": 390, "height": 800})
    opener = page.get_by_role("button", name="Open the sidebar")
    expect(opener).to_have_accessible_name("Open the sidebar")
    opener.click()
    link = page.get_by_role("link", name="random")
    link.focus()
    server.post(f"/channels/{place}/messages", {"content": "Hello"}, server.token(GRACE))
    expect(link).to_have_accessible_name(re.compile("1 unread"))
    expect(link).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_have_accessible_name("Open the sidebar, 1 unread")
    expect(opener.locator(".dot")).to_be_visible()
    opener.click()
    link.focus()
    page.keyboard.press("Enter")
    expect(opener).to_have_accessible_name("Open the sidebar")


def test_on_a_phone_a_thread_covers_the_conversation(serve: Serve, enter: Enter) -> None:
    page = enter(serve(), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page.get_by_label("Write to #General").fill("Let us go into detail")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    page.locator("article").tap()
    page.get_by_role("button", name="Reply in a thread").tap()
    expect(page.get_by_label("Reply", exact=True)).to_be_focused()
    expect(page.locator("main")).to_have_js_property("inert", True)
    page.get_by_role("button", name="Close the thread").tap()
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(page.get_by_label("Write to #General")).to_be_focused()


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_who_writes_has_the_whole_width(
    serve: Serve, enter: Enter, until_loaded: UntilLoaded, width: int
) -> None:
    server = serve()
    talk = server.token()
    with server.client(talk) as client:
        [channel] = client.get("/channels").json()["channels"]
    server.post(f"/channels/{channel['id']}/messages", {"content": "hello"}, talk)
    page = enter(server, viewport={"width": width, "height": 640}, has_touch=True, is_mobile=True)
    expect(page.get_by_role("button", name="Attach files")).to_be_visible()
    until_loaded(page, "/style/writing.css")
    places = """() => Object.fromEntries(["textarea", "button", ".send"].map((one) => {
      const box = document.querySelector(`main > .composer ${one}`).getBoundingClientRect();
      return [one, box.toJSON()];
    }))"""
    field = page.get_by_label("Write to #General")
    field.fill("words " * 30)
    shown = page.evaluate(places)
    assert shown["textarea"]["right"] - shown["textarea"]["left"] > width - 50
    assert shown["button"]["top"] >= shown["textarea"]["bottom"] - 1
    assert shown[".send"]["top"] == shown["button"]["top"]
    assert shown[".send"]["right"] > width - 50
    field.fill("")
    shown = page.evaluate(places)
    assert shown["button"]["bottom"] == shown["textarea"]["bottom"] == shown[".send"]["bottom"]
    page.get_by_role("button", name="Insert an emoji").tap()  # It stays where it is while it is pressed.
    expect(page.get_by_label("Search emoji")).to_be_focused()


def test_on_a_phone_the_settings_leave_no_drawer_behind(serve: Serve, enter: Enter) -> None:
    page = enter(serve(), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    opener = page.get_by_role("button", name="Open the sidebar")
    opener.tap()
    page.get_by_role("button", name="Settings", exact=True).tap()
    page.get_by_role("dialog").get_by_role("button", name="Close").tap()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(page.locator("#sidebar .jump")).not_to_be_in_viewport()
    expect(opener).to_be_focused()
