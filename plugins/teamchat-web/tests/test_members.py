"""Who is in a room: as its members see it, change it, and see it change from other browsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from teamchat.testing import ADMIN

from .conftest import serving
from .rooms import Rooms, dialog_of, email, open_about, open_members, rows

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    """One server for all tests of this module; each makes rooms of its own."""
    with serving(tmp_path_factory.mktemp("members")) as server:
        yield Rooms(server)


@pytest.mark.slow
def test_members_are_added_raised_and_removed_and_other_browsers_follow(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Money", "bea", topic="What we spend")
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    expect(page.get_by_role("button", name="About this room: What we spend")).to_be_visible()
    theirs = open_members(bea, "#Money")
    expect(rows(theirs)).to_have_count(2)
    # What a member may not do is not offered.
    expect(theirs.get_by_role("button", name="Remove Ada")).to_have_count(0)
    expect(theirs.get_by_role("button", name="Manage", exact=True)).to_have_count(0)

    dialog = open_members(page, "#Money")
    dialog.get_by_role("button", name="Add people").click()
    adding = page.get_by_role("dialog", name="Add people to #Money")
    expect(adding).to_contain_text("read everything that was ever said here")
    expect(adding.get_by_role("searchbox", name="Find people")).to_be_focused()
    adding.get_by_role("button", name="Add", exact=True).click()
    expect(adding.get_by_role("alert")).to_have_text("Choose somebody first.")
    page.keyboard.press("Shift+Tab")
    expect(adding.get_by_role("checkbox", name="bea")).to_have_count(0)
    adding.get_by_role("searchbox", name="Find people").fill("car")
    adding.get_by_role("checkbox", name="carl").check()
    expect(adding.get_by_role("status").first).to_have_text("1 chosen.")
    adding.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("status").filter(has_text="1 person is added.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Add people")).to_be_focused()
    expect(rows(dialog).filter(has_text="carl")).to_be_visible()
    expect(rows(theirs).filter(has_text="carl")).to_be_visible()
    expect(page.get_by_role("button", name="3 members: who is here")).to_have_count(1)

    dialog.get_by_role("button", name="Make bea a manager").click()
    expect(rows(dialog).filter(has_text="bea")).to_contain_text("Manager")
    expect(theirs.get_by_role("button", name="Remove carl")).to_be_visible()
    expect(theirs.get_by_role("button", name="Remove Ada")).to_have_count(0)

    theirs.get_by_role("button", name="Remove carl").click()
    asked = bea.get_by_role("dialog", name="Remove carl from #Money?")
    expect(asked).to_contain_text("loses #Money at once")
    asked.get_by_role("button", name="Remove", exact=True).click()
    expect(rows(theirs)).to_have_count(2)
    expect(rows(dialog).filter(has_text="carl")).to_have_count(0)
    assert rooms.members(room) == {"ada": "manager", "bea": "manager"}


@pytest.mark.slow
def test_whoever_is_removed_loses_the_open_dialog_with_the_room(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Plans", "bea")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    dialog = open_members(bea, "#Plans")
    rooms.delete(f"/channels/{room}/members/{rooms.ids['bea']}")
    expect(dialog).to_have_count(0)
    expect(bea.get_by_role("heading", name="Plans", exact=True)).to_have_count(0)


@pytest.mark.slow
def test_the_last_manager_is_told_in_words_that_they_stay_one(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Alone", "carl", by="bea")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}", locale="de-DE")
    bea.get_by_role("button", name="wer hier ist").click()
    dialog = bea.get_by_role("dialog", name="#Alone", exact=True)
    dialog.get_by_role("button", name="bea zum einfachen Mitglied machen").click()
    expect(dialog.get_by_role("status").filter(has_text="Sonst ist niemand in der Leitung.")).to_be_visible()


@pytest.mark.slow
def test_a_big_rooms_members_come_as_one_scrolls_and_are_sought_page_by_page_until_they_are_found(
    rooms: Rooms, enter: Enter
) -> None:
    for number in range(120):
        rooms.server.token(f"extra{number:03}@example.org")
    room = rooms.public("Crowd", isDefault=True)
    count = len(rooms.ids) + 120
    page = enter(rooms.server, place=f"#/channel/{room}")
    asked: list[str] = []
    held: list[Route] = []

    def in_pages_of_20(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 3:  # the second page that a filter asks for
            held.append(route)
        else:
            route.continue_(url=route.request.url.replace("limit=200", "limit=20"))

    page.route("**/members?*", in_pages_of_20)
    dialog = open_members(page, "#Crowd")
    expect(dialog.get_by_text(f"{count} members")).to_be_visible()
    expect(rows(dialog)).to_have_count(20)
    status = dialog.get_by_role("status").filter(has_text="found")
    dialog.get_by_role("searchbox", name="Filter members").fill("extra04")
    expect(status).to_have_text(f"Searching… 40 of {count} members, 0 found.")
    [waiting] = held
    waiting.continue_(url=waiting.request.url.replace("limit=200", "limit=20"))
    expect(rows(dialog)).to_have_count(10)
    expect(status).to_have_text("10 found.")
    assert len(asked) == 3  # Nobody else has such a name.
    dialog.get_by_role("searchbox", name="Filter members").fill("nobody at all")
    expect(rows(dialog)).to_have_text("Nobody of this name.")
    assert len(asked) == 3
    dialog.get_by_role("searchbox", name="Filter members").fill("")
    expect(rows(dialog)).to_have_count(60)
    for shown in (80, 100, 120):
        dialog.get_by_role("button", name="Show more").scroll_into_view_if_needed()
        expect(rows(dialog)).to_have_count(shown)
    dialog.get_by_role("button", name="Show more").scroll_into_view_if_needed()
    expect(rows(dialog)).to_have_count(count)
    expect(dialog.get_by_role("button", name="Show more")).to_be_hidden()


@pytest.mark.slow
def test_a_group_takes_people_and_with_a_name_becomes_a_private_channel(rooms: Rooms, enter: Enter) -> None:
    room = rooms.group("bea", "carl")
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    page.get_by_role("button", name="3 members: who is here").click()
    dialog = page.locator("dialog").first
    expect(rows(dialog)).to_have_count(3)
    expect(dialog.get_by_role("button", name="Manage", exact=True)).to_have_count(0)
    dialog.get_by_role("button", name="Add people").click()
    adding = page.locator("dialog").last
    expect(adding).to_contain_text("They see what is said from now on, and nothing of before.")
    adding.get_by_role("checkbox", name="dora").check()
    adding.get_by_role("button", name="Add", exact=True).click()
    expect(rows(dialog)).to_have_count(4)
    dialog.get_by_role("button", name="Give the group a name").click()
    naming = page.get_by_role("dialog", name="Give the group a name")
    expect(naming).to_contain_text("Whoever is added later reads everything")
    naming.get_by_label("Name").fill("Four")
    naming.get_by_role("button", name="Give the group a name").click()
    expect(bea.get_by_role("heading", name="Four", level=1)).to_be_visible()
    expect(dialog.get_by_role("button", name="Give the group a name")).to_have_count(0)
    assert set(rooms.members(room).values()) == {"manager"}


@pytest.mark.slow
def test_topic_and_description_are_written_where_one_may_and_read_where_not(
    rooms: Rooms, enter: Enter
) -> None:
    room = rooms.public("Tea")
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    theirs = open_about(bea, "#Tea")
    expect(theirs.get_by_label("Topic")).to_have_count(0)
    expect(theirs.get_by_text("None yet")).to_have_count(2)
    page.get_by_role("button", name="About this room: Add a topic").click()
    dialog = page.get_by_role("dialog", name="#Tea", exact=True)
    dialog.get_by_label("Topic").fill("Leaves, water")
    dialog.get_by_label("Description").fill("Nothing but tea.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(theirs.get_by_text("Nothing but tea.")).to_be_visible()
    dialog.get_by_label("Name").fill("General")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Name")).to_have_accessible_description(
        "There is a channel of this name already."
    )
    dialog.get_by_label("Name").fill("Green tea")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog", name="#Green tea")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="About this room: Leaves, water")).to_be_focused()
    expect(bea.get_by_role("dialog", name="#Green tea")).to_be_visible()


@pytest.mark.slow
def test_on_a_phone_the_topic_stands_in_what_the_head_leads_to(rooms: Rooms, enter: Enter) -> None:
    topic = "What we spend, on what, and who has to be asked before"
    room = rooms.private("Purse", "bea", topic=topic)
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    for who in ("ada", "bea"):
        page = enter(rooms.server, email(who) if who != "ada" else ADMIN, f"#/channel/{room}", **phone)
        expect(page.get_by_role("heading", level=1, name="Purse")).to_be_visible()
        expect(page.get_by_role("button", name=f"About this room: {topic}")).to_be_hidden()
        page.locator(".header-people").click()
        dialog_of(page, "#Purse", "Members").get_by_role("button", name="About").click()
        expect(dialog_of(page, "#Purse", "About").get_by_text(topic)).to_be_visible()


@pytest.mark.slow
def test_what_somebody_writes_in_the_dialog_stays_when_the_room_changes_meanwhile(
    rooms: Rooms, enter: Enter
) -> None:
    room = rooms.public("Draft")
    page = enter(rooms.server, place=f"#/channel/{room}")
    dialog = open_about(page, "#Draft")
    dialog.get_by_label("Topic").fill("half a sent")
    rooms.put(f"/channels/{room}", {"name": "Drafts", "description": "of others"})
    expect(page.get_by_role("dialog", name="#Drafts")).to_be_visible()
    expect(page.get_by_role("dialog", name="#Drafts").get_by_label("Topic")).to_have_value("half a sent")


@pytest.mark.slow
def test_a_server_of_the_core_shows_none_of_it(rooms: Rooms, visit: Callable[..., Page]) -> None:
    token = rooms.tokens["ada"]
    page = visit("about:blank")
    page.route("**/capabilities", lambda route: route.fulfill(status=404, json={"error": "Not found."}))
    page.goto(f"{rooms.server.base}/?access_token={token}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    with page.expect_response("**/capabilities"):
        page.reload()
    page.locator("button.server").click()
    expect(page.get_by_role("menuitem", name="Administration")).to_be_visible()
    expect(page.get_by_role("menuitem", name="All channels")).to_have_count(0)
    page.keyboard.press("Escape")
    for look in (".room-topic", ".header-people", ".room-bar"):
        expect(page.locator(look)).to_have_count(0)


def open_people(page: Page, name: str = "People") -> Any:
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    dialog = page.get_by_role("dialog", name="Administration")
    expect(dialog.get_by_role("heading", name=name)).to_be_visible()
    return dialog


def test_an_administrator_makes_others_administrators_and_the_last_one_stays(
    rooms: Rooms, enter: Enter
) -> None:
    page, bea = enter(rooms.server), enter(rooms.server, email("bea"))
    expect(bea.get_by_role("heading", level=1)).to_be_visible()
    dialog = open_people(page)
    dialog.get_by_role("button", name="Make Ada an ordinary member").click()
    asked = page.get_by_role("dialog", name="Take the administration from Ada?")
    expect(asked).to_contain_text("You lose the administration at once.")
    asked.get_by_role("button", name="Make member").click()
    expect(asked.get_by_role("alert")).to_contain_text("This is the last administrator.")
    asked.get_by_role("button", name="Cancel").click()
    expect(dialog.get_by_role("button", name="Make Ada an ordinary member")).to_be_focused()

    dialog.get_by_role("button", name="Make bea an administrator").click()
    asked = page.get_by_role("dialog", name="Make bea an administrator?")
    asked.get_by_role("button", name="Make administrator").click()
    expect(dialog.get_by_role("status").filter(has_text="bea is an administrator now.")).to_be_visible()
    expect(dialog.get_by_role("listitem").filter(has_text="bea@")).to_contain_text("Administrator")
    theirs = open_people(bea)  # offered to her at once
    theirs.get_by_role("button", name="Make bea an ordinary member").click()
    bea.get_by_role("dialog", name="Take the administration").get_by_role(
        "button", name="Make member"
    ).click()
    expect(dialog.get_by_role("button", name="Make bea an administrator")).to_be_visible()
