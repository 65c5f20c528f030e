"""Private channels, groups and notes on the screen: made, used, and lost with all that showed them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from teamchat.testing import ADMIN

from .rooms import Rooms

Enter = Callable[..., Page]
GRACE, LINUS = "grace@example.org", "linus@example.org"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
ANY_TRACE = """([words, id]) => {
  const kept = Object.entries(localStorage).flat().join();
  const said = [document.documentElement.outerHTML, document.title, kept];
  return [...words, id].filter((one) => said.some((text) => text.includes(one)));
}"""

CAN_BE_SHOWN = """(address) => new Promise((done) => {
  const image = new Image();
  image.onload = () => done(true);
  image.onerror = () => done(false);
  image.src = address;
})"""


def sidebar(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Channels and conversations")


def new_channel(page: Page, name: str, *people: str) -> None:
    page.get_by_role("button", name="Add a channel").click()
    dialog = page.get_by_role("dialog", name="New channel")
    dialog.get_by_label("Name", exact=True).fill(name)
    for one in people:
        dialog.get_by_role("checkbox", name=one).check()
    dialog.get_by_role("button", name="Make the channel").click()
    expect(dialog).to_have_count(0)


def say(page: Page, room: str, words: str) -> None:
    page.get_by_label(f"Write to {room}").fill(words)
    page.keyboard.press("Enter")
    expect(page.locator("article:not(.pending)", has_text=words)).to_be_visible()


@pytest.mark.slow
def test_three_people_have_a_private_channel_and_one_who_is_removed_sees_nothing_of_it_any_more(
    house: Rooms, enter: Enter
) -> None:
    ada, grace, linus = (enter(house.server, email) for email in (ADMIN, GRACE, LINUS))
    new_channel(ada, "the plan", "grace", "linus")
    expect(ada.get_by_role("heading", level=1, name="Private channel the plan")).to_be_visible()
    say(ada, "#the plan", "nobody may know")
    for page in (grace, linus):
        sidebar(page).get_by_role("link", name="Private channel the plan").click()
        expect(page.get_by_role("log")).to_contain_text("nobody may know")
    room = grace.evaluate("location.hash.split('/').pop()")
    picture, shown = house.picture(room, by="linus"), grace.get_by_role("img", name="Image 1 of 1 from linus")
    expect(shown).to_have_js_property("naturalWidth", 4)
    address = shown.get_attribute("src")
    assert grace.evaluate(CAN_BE_SHOWN, address)
    assert house.status("grace", "GET", picture) == 200
    grace.get_by_label("Write to #the plan").fill("half a sentence")
    house.remove(room, "grace")
    expect(grace.get_by_role("heading", name="You are no longer in this channel")).to_be_visible()
    expect(grace).to_have_title(re.compile("^teamchat|^[^#]*$"))
    grace.get_by_role("link", name="Go to #General").click()
    expect(grace.get_by_label("Write to #General")).to_be_visible()
    words = ["the plan", "nobody may know", "half a sentence"]
    grace.wait_for_function(f"(about) => !({ANY_TRACE})(about).length", arg=[words, room])
    assert not grace.evaluate(CAN_BE_SHOWN, address)
    assert house.status("grace", "GET", picture) == 404
    assert house.status("linus", "GET", picture) == 200
    grace.keyboard.press("Control+k")
    grace.get_by_role("combobox").fill("the plan")
    expect(grace.get_by_text("Nothing found")).to_be_visible()
    grace.keyboard.press("Escape")
    say(ada, "#the plan", "and now it goes on")
    expect(linus.get_by_role("log")).to_contain_text("and now it goes on")
    grace.goto(f"{house.server.base}/#/channel/{room}")
    expect(grace.get_by_role("heading", name="There is nothing here")).to_be_visible()
    assert "and now it goes on" not in grace.content()


# Notices that are shown, as a page and as its service worker show them; `withdrawn` has what was closed.
NOTICES = """([room, message, other]) => {
  window.withdrawn = [];
  const notice = (name, data) => ({ data, close: () => window.withdrawn.push(name) });
  const push = (name, hash, placeId) => notice(name, { hash, messageId: message, placeId });
  const shown = [
    push("push of another", "#/messages/1", other),
    push("push", `#/messages/${message}`, room),
    notice("page", { hash: `#/channel/${room}` }),
  ];
  const getNotifications = async () => shown;
  ServiceWorkerContainer.prototype.getRegistration = async () => ({ getNotifications });
}"""


def test_notices_go_with_the_channel_one_is_removed_from(house: Rooms, enter: Enter) -> None:
    room = house.private("the plan", "grace")
    message = house.say(room, "nobody may know")
    grace = enter(house.server, GRACE, f"#/channel/{room}")
    expect(grace.get_by_role("log")).to_contain_text("nobody may know")
    grace.evaluate(NOTICES, [room, message, house.general])
    house.remove(room, "grace")
    grace.wait_for_function("() => window.withdrawn.includes('page')")
    assert grace.evaluate("window.withdrawn") == ["push", "page"]


@pytest.mark.slow
def test_a_picture_in_a_group_is_seen_by_those_in_it_and_lost_by_who_leaves_or_is_removed(
    house: Rooms, enter: Enter
) -> None:
    room = house.group("grace", "linus")
    picture = house.picture(room, by="linus")
    ada, grace = (enter(house.server, email, f"#/channel/{room}") for email in (ADMIN, GRACE))
    shown = [page.get_by_role("img", name="Image 1 of 1 from linus") for page in (ada, grace)]
    for one in shown:
        expect(one).to_have_js_property("naturalWidth", 4)
    address = shown[1].get_attribute("src")
    house.ask("grace", "POST", f"/channels/{room}/leave")  # on another device
    expect(shown[1]).to_have_count(0)
    expect(grace.get_by_role("heading", name="You are no longer in this")).to_be_visible()
    assert not grace.evaluate(CAN_BE_SHOWN, address)
    assert house.status("grace", "GET", picture) == 404
    house.delete(f"/users/{house.ids['linus']}")
    assert house.status("linus", "GET", picture) == 401
    expect(shown[0]).to_have_js_property("naturalWidth", 4)
    assert house.status("ada", "GET", picture) == 200


@pytest.mark.slow
@pytest.mark.parametrize("look", [{}, PHONE], ids=["desk", "phone"])
def test_several_people_are_written_to_in_a_group_where_all_works_as_in_a_channel(
    house: Rooms, enter: Enter, look: dict[str, Any]
) -> None:
    ada, grace = enter(house.server), enter(house.server, GRACE, **look)
    ada.get_by_role("button", name="Write to somebody").click()
    ada.get_by_role("option", name="Write to several people").click()
    dialog = ada.get_by_role("dialog", name="New direct message")
    dialog.get_by_role("button", name="Write to them").click()
    expect(dialog).to_contain_text("Choose somebody first.")
    find = dialog.get_by_role("searchbox")
    find.fill("grac")
    find.press("Enter")
    dialog.get_by_role("checkbox", name="linus").check()
    expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(2)
    dialog.get_by_role("button", name="Write to them").click()
    expect(ada.get_by_role("heading", level=1, name="grace, linus")).to_be_visible()
    say(ada, "grace, linus", "to the two of you")
    if look:
        grace.get_by_role("button", name="Open the sidebar").click()
    link = sidebar(grace).get_by_role("link", name="Ada, linus")
    expect(link).to_contain_text("1 for you")
    link.click()
    first = grace.get_by_role("log").get_by_role("article")
    expect(first).to_contain_text("to the two of you")
    room = grace.evaluate("location.hash.split('/').pop()")
    [message] = house.ask("linus", "GET", f"/channels/{room}/messages")["messages"]
    house.ask("linus", "POST", f"/messages/{message['id']}/reactions", {"reaction": "👍"})
    expect(first.get_by_role("button", name=re.compile("^👍, 1 person"))).to_be_visible()
    house.ask("linus", "POST", f"/messages/{message['id']}/thread", {"content": "a reply"})
    first.get_by_role("button", name="1 reply").click()
    panel = grace.get_by_role("complementary", name="Thread")
    expect(panel).to_contain_text("a reply")
    panel.get_by_label("Reply", exact=True).fill("mine")
    grace.keyboard.press("Control+Enter")
    expect(panel.locator("article:not(.pending)", has_text="mine")).to_be_visible()
    house.ask("linus", "PUT", "/users/me", {"userName": "Torvalds"})
    expect(sidebar(ada).get_by_role("link", name="grace, Torvalds")).to_be_visible()


@pytest.mark.slow
def test_notes_are_made_with_the_first_visit_and_stand_above_all_that_is_called_after_people(
    house: Rooms, enter: Enter
) -> None:
    page = enter(house.server)
    expect(page.get_by_label("Write to #General")).to_be_visible()
    page.wait_for_function("() => Object.keys(localStorage).some((key) => key.endsWith('/may'))")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("notes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Notes to self")).to_be_visible()
    say(page, "Notes to self", "buy milk")
    first = sidebar(page).get_by_role("list", name="Direct messages").get_by_role("link").first
    expect(first).to_have_accessible_name("Notes to self")
    other = enter(house.server, locale="de-DE")
    expect(other.get_by_role("link", name="Notizen an mich")).to_be_visible()


@pytest.mark.slow
def test_a_channel_is_left_out_of_the_sidebar_by_who_is_not_in_it_and_counts_nothing_there(
    house: Rooms, enter: Enter
) -> None:
    open_one = house.public("open to all")
    page = enter(house.server, GRACE)
    expect(sidebar(page).get_by_role("link", name="General")).to_be_visible()
    house.say(open_one, "not counted")
    house.say(house.general, "counted")
    expect(sidebar(page).get_by_role("link", name="General")).to_be_visible()
    expect(sidebar(page).get_by_role("link", name="open to all")).to_have_count(0)
    assert "•" not in page.title()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("open to all")
    expect(page.get_by_role("option", name="open to all")).to_contain_text("Not joined")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("not counted")
    house.ask("grace", "POST", f"/channels/{open_one}/join")
    expect(sidebar(page).get_by_role("link", name="open to all")).to_be_visible()
    house.ask("grace", "POST", f"/channels/{open_one}/leave")
    expect(sidebar(page).get_by_role("link", name="open to all")).to_have_count(0)
    expect(page.get_by_role("log")).to_contain_text("not counted")


@pytest.mark.slow
def test_where_nobody_may_write_there_is_no_field_and_a_sentence_says_why(house: Rooms, enter: Enter) -> None:
    room = house.private("of old", "grace")
    page = enter(house.server, GRACE, f"#/channel/{room}")
    field = page.get_by_label("Write to #of old")
    expect(field).to_be_visible()
    house.ask("ada", "PUT", f"/channels/{room}", {"postPolicy": "managers"})
    expect(page.get_by_text("Managers alone write here.")).to_be_visible()
    expect(field).to_have_count(0)
    house.ask("ada", "POST", f"/channels/{room}/archive")
    expect(page.get_by_text("This channel is archived.")).to_be_visible()
    expect(sidebar(page).get_by_role("link", name="of old")).to_have_count(0)
    house.ask("ada", "PUT", f"/channels/{room}", {"postPolicy": "everyone"})
    house.ask("ada", "POST", f"/channels/{room}/unarchive")
    expect(field).to_be_visible()


@pytest.mark.slow
def test_a_public_channel_that_becomes_private_closes_for_who_is_no_member(
    house: Rooms, enter: Enter
) -> None:
    room = house.public("about pay")
    house.say(room, "a sum of money")
    page = enter(house.server, GRACE, f"#/channel/{room}")
    expect(page.get_by_role("log")).to_contain_text("a sum of money")
    house.ask("ada", "PUT", f"/channels/{room}/privacy", {"isPrivate": True})
    expect(page.get_by_role("heading", name="This channel is private now")).to_be_visible()
    assert "a sum of money" not in page.content()


@pytest.mark.slow
def test_what_was_lost_while_nobody_was_here_is_forgotten_with_the_next_visit(
    house: Rooms, enter: Enter
) -> None:
    room = house.private("the hidden one", "grace")
    house.say(room, "a secret")
    page = enter(house.server, GRACE, f"#/channel/{room}")
    expect(page.get_by_role("log")).to_contain_text("a secret")
    page.get_by_label("Write to #the hidden one").fill("half a sentence")
    page.goto(f"{house.server.base}/health")
    house.remove(room, "grace")
    page.goto(f"{house.server.base}/#/channel/{house.general}")
    expect(page.get_by_label("Write to #General")).to_be_visible()
    words = ["the hidden one", "a secret", "half a sentence"]
    page.wait_for_function(f"(about) => !({ANY_TRACE})(about).length", arg=[words, room])


@pytest.mark.slow
def test_a_server_of_the_core_is_offered_nothing_of_it(house: Rooms, enter: Enter) -> None:
    page = enter(house.server)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(house.server.base)))
    page.route("**/capabilities", lambda route: route.fulfill(status=404, json={"error": "Not found."}))
    with page.expect_response("**/capabilities"):
        page.reload()
    page.get_by_role("button", name="Add a channel").click()
    expect(page.get_by_role("dialog", name="Administration")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Write to somebody").click()
    expect(page.get_by_role("option").first).to_contain_text("grace")
    expect(page.get_by_role("option", name="Write to several people")).to_have_count(0)
    new = re.compile("/(me|private-channels|groups|me/notes|admin/.*)$")
    assert not [path for path in asked if new.fullmatch(path)]
