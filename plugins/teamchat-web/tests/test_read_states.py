"""What one has read, on all devices at once: marks, badges, and browsers that agree within a second."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
AGREE_MS = 10_000  # On a machine that does nothing else it is a second; how long it took is no verdict.
Enter = Callable[..., Page]
House = Any
# What the page shows of places in the sidebar, what its title says, and what the application's icon has.
SHOWN = """() => ({
  places: Object.fromEntries([...document.querySelectorAll(".side-scroll a.side-link")]
    .map((link) => [link.hash.split("/")[2], link.querySelector(".badge")?.textContent ?? 0])
    .map(([id, count]) => [decodeURIComponent(id), Number(count)])
    .filter(([, count]) => count)),
  title: Number(/^\\((\\d+)\\)/.exec(document.title)?.[1] ?? 0),
  badge: window.badge ?? 0,
})"""
BADGED = """navigator.setAppBadge = async (count) => { window.badge = count; };
navigator.clearAppBadge = async () => { window.badge = 0; };"""


def truth(house: House, who: str) -> dict[str, Any]:
    """What the server says, as a page would show it."""
    told = house.ask(who, "GET", "/me/places")
    places = {one["placeId"]: one["unreadCount"] for one in told["places"] if one["unreadCount"]}
    return {"places": places, "title": told["badge"], "badge": told["badge"]}


def agree(house: House, who: str, *pages: Page) -> None:
    """See that every page shows what the server says, soon."""
    until = time.monotonic() + AGREE_MS / 1000
    while True:
        shown, said = [page.evaluate(SHOWN) for page in pages], truth(house, who)
        if all(one == said for one in shown):
            return
        assert time.monotonic() < until, f"{shown} are not {said}"
        pages[0].wait_for_timeout(50)


def link(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=re.compile(f"^{name}"))


def counts(page: Page, name: str, count: int) -> None:
    named = f"{name} {count} unread" if count else name
    expect(link(page, name)).to_have_accessible_name(re.compile(f"^{named}$"))


@pytest.fixture
def at(house: House, enter: Enter) -> Callable[..., Page]:
    """Open the chat as Ada, at a place, on another device each time."""

    def go(place: str, **options: Any) -> Page:
        page = enter(house.server, place=f"#/channel/{place}", **options)
        expect(page.get_by_role("button", name="Options for this place")).to_be_visible()
        page.evaluate(BADGED)
        return page

    return go


def test_two_tabs_and_a_phone_agree_within_a_second(house: House, at: Callable[..., Page]) -> None:
    busy, quiet = house.public("busy"), house.public("quiet")
    for room in (busy, quiet):
        house.post(f"/channels/{room}/join", {}, by="grace")
    direct = house.ask("grace", "POST", "/conversations", {"targetUserId": house.ids["ada"]})["conversation"][
        "id"
    ]
    desk, phone = at(quiet), at(quiet, **PHONE)
    tab = desk.context.new_page()
    tab.goto(f"{house.server.base}/#/channel/{quiet}")
    expect(tab.get_by_role("button", name="Options for this place")).to_be_visible()
    tab.evaluate(BADGED)
    pages = (desk, tab, phone)
    agree(house, "ada", *pages)

    first = house.say(busy, "one", by="grace")
    second = house.say(busy, "two", by="grace")
    agree(house, "ada", *pages)
    psst = house.ask("grace", "POST", f"/conversations/{direct}/messages", {"content": "psst"})["message"][
        "id"
    ]
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["title"] == 1
    house.ask("grace", "POST", f"/messages/{first}/thread", {"content": "a reply is no message of the place"})
    agree(house, "ada", *pages)
    house.ask("grace", "DELETE", f"/messages/{second}")
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["places"] == {busy: 1, direct: 1}
    # For everybody, and no longer.
    house.put(f"/messages/{first}", {"content": "@channel, one"}, "grace")
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["title"] == 2
    house.put(f"/messages/{first}", {"content": "one"}, "grace")
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["title"] == 1
    # Read on the phone.
    phone.get_by_role("button", name=re.compile("^Open the sidebar")).click()
    link(phone, "busy").click()
    expect(phone.get_by_role("log")).to_contain_text("one")
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["places"] == {direct: 1}
    # Marked as unread elsewhere; the phone is looking at it all the while.
    house.ask("ada", "PUT", f"/me/places/{busy}/unread", {"from": first})
    agree(house, "ada", *pages)
    assert desk.evaluate(SHOWN)["places"] == {busy: 1, direct: 1}
    # Without a network, and back.
    desk.context.set_offline(True)
    expect(desk.get_by_text("No connection.").first).to_be_visible()
    house.say(quiet, "while you were out", by="grace")
    house.ask("grace", "DELETE", f"/conversations/{direct}/messages/{psst}")
    house.ask("ada", "PUT", f"/me/places/{busy}/read", {"position": first})
    agree(house, "ada", phone)
    desk.context.set_offline(False)
    for one in (desk, tab):
        expect(one.get_by_text("No connection.").first).to_be_hidden()
    agree(house, "ada", *pages)


def test_a_message_is_marked_as_unread_by_its_tools_and_by_a_key(
    house: House, at: Callable[..., Page]
) -> None:
    for text in ("one", "two", "three"):
        house.say(house.general, text, by="grace")
    other = house.public("other")
    page = at(house.general)
    counts(page, "General", 0)
    message = page.get_by_role("article").filter(has_text="three")
    message.hover()
    page.get_by_role("button", name="Mark as unread from here").click()
    counts(page, "General", 1)
    expect(page.locator(".entry", has=page.locator(".new-line"))).to_contain_text("three")
    # It stays so until one comes back to it.
    house.say(house.general, "four", by="grace")
    counts(page, "General", 2)
    expect(page.get_by_role("log")).to_contain_text("four")
    link(page, "other").click()
    expect(page.get_by_role("heading", level=1, name="other")).to_be_visible()
    counts(page, "General", 2)
    link(page, "General").click()
    counts(page, "General", 0)
    page.get_by_label("Write to #General").press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("u")
    counts(page, "General", 3)
    expect(page.locator(".entry", has=page.locator(".new-line"))).to_contain_text("two")
    expect(page.get_by_role("status").filter(has_text="Marked as unread.")).to_be_attached()
    assert other


def test_a_place_and_everything_are_marked_as_read_by_keys(house: House, at: Callable[..., Page]) -> None:
    rooms = [house.public(name) for name in ("first", "second")]
    page = at(house.general)
    for room in rooms:
        house.ask("grace", "POST", f"/channels/{room}/join")
        house.say(room, "hello", by="grace")
    counts(page, "first", 1)
    message = house.say(house.general, "to be read later", by="grace")
    expect(page.get_by_role("log")).to_contain_text("to be read later")
    house.ask("ada", "PUT", f"/me/places/{house.general}/unread", {"from": message})
    counts(page, "General", 1)
    page.get_by_role("button", name="Options for this place").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Mark as read")).to_be_focused()
    page.keyboard.press("Enter")
    counts(page, "General", 0)
    expect(page.get_by_role("status").filter(has_text="#General is marked as read.")).to_be_attached()
    counts(page, "first", 1)
    page.keyboard.press("Shift+Escape")
    for name in ("first", "second"):
        counts(page, name, 0)
    assert truth(house, "ada")["places"] == {}
    house.say(rooms[0], "again", by="grace")
    counts(page, "first", 1)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("everything as read")
    page.keyboard.press("Enter")
    counts(page, "first", 0)


def test_escape_marks_a_place_as_read_and_goes_to_its_end(house: House, at: Callable[..., Page]) -> None:
    room = house.public("first")
    page = at(house.general)
    house.ask("grace", "POST", f"/channels/{room}/join")
    for number in range(40):
        house.say(room, f"message {number}", by="grace")
    counts(page, "first", 40)
    link(page, "first").click()
    expect(page.get_by_text("New", exact=True)).to_be_in_viewport()
    field = page.get_by_role("textbox", name="Write to #first")
    field.fill("not yet sent")
    field.press("Escape")
    counts(page, "first", 0)
    expect(page.get_by_text("message 39")).to_be_in_viewport()
    expect(field).to_have_value("not yet sent")
    agree(house, "ada", page)

    message = house.say(room, "to be read later", by="grace")
    expect(page.get_by_text("to be read later", exact=True)).to_be_in_viewport()
    house.ask("ada", "PUT", f"/me/places/{room}/unread", {"from": message})
    counts(page, "first", 1)
    field.press("Escape")
    counts(page, "first", 0)


def test_the_line_above_what_is_new_stands_where_another_device_left_off(
    house: House, at: Callable[..., Page]
) -> None:
    said = [house.say(house.general, f"message {number}", by="grace") for number in range(130)]
    house.ask("ada", "PUT", f"/me/places/{house.general}/read", {"position": said[119]})
    page = at(house.general)
    expect(page.locator(".entry", has=page.locator(".new-line"))).to_contain_text("message 120")
    counts(page, "General", 0)
    house.ask("ada", "PUT", f"/me/places/{house.general}/unread", {"from": said[10]})
    phone = at(house.general, **PHONE)
    phone.get_by_role("button", name="To the first unread message").click()
    expect(phone.locator(".entry", has=phone.locator(".new-line"))).to_contain_text("message 10")
    expect(phone.locator(".new-line")).to_be_in_viewport()


def test_what_was_read_last_is_told_when_the_page_is_left(house: House, at: Callable[..., Page]) -> None:
    page = at(house.general)
    for text in ("one", "two"):
        house.say(house.general, text, by="grace")
        expect(page.get_by_role("log")).to_contain_text(text)
    counts(page, "General", 0)
    page.goto(f"{house.server.base}/health")
    for _ in range(100):
        if truth(house, "ada")["places"] == {}:
            break
        page.wait_for_timeout(20)
    assert truth(house, "ada")["places"] == {}


def test_a_look_that_fails_is_repeated(house: House, at: Callable[..., Page]) -> None:
    busy = house.public("busy")
    house.post(f"/channels/{busy}/join", {}, by="grace")
    page = at(house.general)
    house.say(busy, "@channel, one", by="grace")
    expect(page).to_have_title(re.compile(r"^\(1\)"))
    looks: list[str] = []

    def fail_twice(route: Route) -> None:
        looks.append(route.request.url)
        if len(looks) > 2:
            route.continue_()
        else:
            route.fulfill(status=503, json={"error": "Not now."})

    page.route("**/me/places**", fail_twice)
    # What is muted elsewhere is asked for.
    house.put(f"/me/places/{busy}/notifications", {"isMuted": True}, "ada")
    expect(page).to_have_title(re.compile(r"^(?!\()"))
    assert len(looks) == 3


def test_a_server_of_the_core_has_no_marks_and_the_page_counts(house: House, enter: Enter) -> None:
    other = house.public("other")
    house.ask("grace", "POST", f"/channels/{other}/join")
    page = enter(house.server, place=f"#/channel/{house.general}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(house.server.base)))
    page.route("**/capabilities", lambda route: route.fulfill(status=404, json={"error": "Not found."}))
    page.evaluate(
        "for (const key of Object.keys(localStorage)) if (/capabilities$/.test(key)) delete localStorage[key]"
    )
    with page.expect_response("**/capabilities"):
        page.reload()
    expect(page.get_by_role("heading", level=1, name="General")).to_be_visible()
    house.say(other, "hello", by="grace")
    counts(page, "other", 1)
    link(page, "other").click()
    counts(page, "other", 0)
    expect(page.get_by_role("button", name="Options for this place")).to_have_count(0)
    page.get_by_role("article").filter(has_text="hello").hover()
    expect(page.get_by_role("button", name="React", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Mark as unread from here")).to_have_count(0)
    assert not [path for path in asked if path.startswith("/me/")]


def test_a_muted_place_is_quiet_on_all_devices(house: House, at: Callable[..., Page]) -> None:
    made = house.ask("grace", "POST", "/conversations", {"targetUserId": house.ids["ada"]})
    direct = made["conversation"]["id"]
    page, phone = at(house.general), at(house.general, **PHONE)
    link(page, "grace").click()
    page.get_by_role("button", name="Options for this place").click()
    page.get_by_role("menuitem", name="Notifications …").click()
    dialog = page.get_by_role("dialog", name="Notifications of grace")
    dialog.get_by_label("Notify me of").select_option("Nothing")
    expect(dialog.get_by_role("status")).to_have_text("Saved")
    dialog.get_by_label("Mute").select_option("For a day")
    expect(dialog.get_by_label("Mute")).to_have_value("until")
    page.keyboard.press("Escape")
    link(page, "General").click()
    house.ask("grace", "POST", f"/conversations/{direct}/messages", {"content": "psst"})
    house.say(house.general, "a sign", by="grace")
    for one in (page, phone):
        expect(one.get_by_role("log")).to_contain_text("a sign")
        assert one.evaluate(SHOWN) == {"places": {}, "title": 0, "badge": 0}
    state = house.ask("ada", "GET", f"/me/places/{direct}")["state"]
    assert [state["level"], state["isMuted"], state["unreadCount"]] == ["nothing", True, 1]
    # Another device ends it; what is unread is there again.
    house.ask("ada", "PUT", f"/me/places/{direct}/notifications", {"isMuted": False})
    agree(house, "ada", page, phone)
    assert page.evaluate(SHOWN)["title"] == 1
