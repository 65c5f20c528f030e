"""What managers change of a channel: who sees it, who writes there, and whether it is closed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from .conftest import serving
from .rooms import Rooms, email, open_manage

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    """One server for all tests of this module; each makes rooms of its own."""
    with serving(tmp_path_factory.mktemp("managed")) as server:
        yield Rooms(server)


@pytest.mark.slow
def test_an_archived_channel_is_read_and_nothing_is_written_until_it_is_opened(
    rooms: Rooms, enter: Enter
) -> None:
    room = rooms.public("Fair")
    rooms.say(room, "See you there")
    rooms.post(f"/channels/{room}/join", {}, by="bea")
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    field = bea.get_by_role("textbox", name="Write to #Fair")
    expect(field).to_be_focused()
    open_manage(page, "#Fair").get_by_role("button", name="Archive it").click()
    asked = page.get_by_role("dialog", name="Archive #Fair?")
    expect(asked).to_contain_text("Everybody who sees it goes on reading and searching it.")
    asked.get_by_role("button", name="Archive it").click()
    bar = bea.get_by_role("region", name="About writing here")
    expect(bar).to_contain_text("This channel is archived.")
    expect(field).to_be_hidden()
    expect(bea.locator("#main")).to_be_focused()
    expect(bar.get_by_role("button")).to_have_count(0)
    expect(bea.get_by_text("See you there")).to_be_visible()
    expect(asked).to_be_hidden()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Open it again").click()
    expect(page.get_by_role("textbox", name="Write to #Fair")).to_be_focused()
    expect(field).to_be_visible()


@pytest.mark.slow
def test_in_an_archived_channel_nothing_is_offered_that_would_be_refused(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Old times", "bea")
    messages = {name: rooms.say(room, f"{name} was here", name) for name in ("ada", "bea")}
    rooms.post(f"/messages/{messages['ada']}/reactions", {"reaction": "👍"}, "bea")
    rooms.post(f"/messages/{messages['ada']}/thread", {"content": "And me"}, "bea")
    rooms.post(f"/messages/{messages['bea']}/pin", {}, "bea")
    page = enter(rooms.server, email("bea"), f"#/channel/{room}")
    theirs, own = (page.get_by_role("log").get_by_role("article").filter(has_text=one) for one in messages)
    offered = page.get_by_role("toolbar", name="Actions").get_by_role("button")
    own.hover()
    expect(offered.and_(page.locator("[aria-keyshortcuts=r]"))).to_have_count(1)
    refused: list[int] = []
    page.on("response", lambda answer: refused.append(answer.status) if answer.status == 403 else None)
    rooms.post(f"/channels/{room}/archive", {})
    expect(page.get_by_role("region", name="About writing here")).to_contain_text("is archived")
    names = ["Copy the link", "Copy the text", "Unpin", "Pass on", "Save for later", "Delete"]
    expect(offered).to_have_count(len(names))
    for at, label in enumerate(names):
        expect(offered.nth(at)).to_have_attribute("aria-label", label)
    theirs.hover()
    for at, label in enumerate(
        ["Reply in a thread", "Copy the link", "Copy the text", "Pass on", "Save for later"]
    ):
        expect(offered.nth(at)).to_have_attribute("aria-label", label)
    expect(offered).to_have_count(5)
    expect(theirs.get_by_role("button", name="Add a reaction")).to_have_count(0)
    theirs.get_by_role("button", name=re.compile("^👍, 1 person")).click()
    expect(page.get_by_role("dialog")).to_contain_text("bea")
    page.keyboard.press("Escape")
    own.focus()
    for key in ("r", "e"):
        page.keyboard.press(key)
    expect(page.locator(".picker, article .composer")).to_have_count(0)
    offered.last.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(own).to_have_count(0)
    rooms.post(f"/channels/{room}/unarchive", {})
    theirs.hover()
    expect(offered.and_(page.locator("[aria-keyshortcuts=r]"))).to_have_count(1)
    assert not refused


@pytest.mark.slow
def test_a_channel_is_deleted_where_it_is_managed_by_who_may(rooms: Rooms, enter: Enter) -> None:
    room = rooms.public("Mistake")
    rooms.post(f"/channels/{room}/join", {}, by="bea")
    rooms.put(f"/channels/{room}/members/{rooms.ids['bea']}", {"role": "manager"})
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    theirs = open_manage(bea, "#Mistake")
    expect(theirs.get_by_role("button", name="Archive it")).to_be_visible()
    expect(theirs.get_by_role("button", name="Delete it")).to_have_count(0)
    open_manage(page, "#Mistake").get_by_role("button", name="Delete it").click()
    asked = page.get_by_role("dialog", name="Remove #Mistake?")
    expect(asked).to_contain_text("deleted for everybody, for good")
    asked.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("region", name="Notices")).to_contain_text("#Mistake is removed.")
    for one in (page, bea):
        expect(one.get_by_role("dialog")).to_have_count(0)
        expect(one.get_by_role("link", name="Mistake")).to_have_count(0)
    assert rooms.status("ada", "GET", f"/channels/{room}") == 404


@pytest.mark.slow
def test_made_private_it_goes_from_the_screens_of_those_who_do_not_stay(rooms: Rooms, enter: Enter) -> None:
    room = rooms.public("Boats")
    rooms.say(room, "The blue one leaks")
    for name in ("bea", "carl"):
        rooms.post(f"/channels/{room}/join", {}, by=name)
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea, carl = (enter(rooms.server, email(name), f"#/channel/{room}") for name in ("bea", "carl"))
    for other in (bea, carl):
        expect(other.get_by_text("The blue one leaks")).to_be_visible()
    dialog = open_manage(page, "#Boats")
    dialog.get_by_role("button", name="Make it private").click()
    asked = page.get_by_role("dialog", name="Make #Boats private?")
    expect(asked).to_contain_text("Everybody but its members loses #Boats at once")
    expect(asked.get_by_role("radio", name="Who is in it now (3 people)")).to_be_focused()
    asked.get_by_role("radio", name="You, and those you choose").check()
    asked.get_by_role("checkbox", name="bea").check()
    asked.get_by_role("button", name="Make it private").click()
    expect(dialog.get_by_role("button", name="Make it public")).to_be_visible()
    expect(carl.get_by_text("The blue one leaks")).to_have_count(0)
    expect(carl.get_by_role("navigation").get_by_role("link", name="Boats")).to_have_count(0)
    expect(bea.get_by_text("The blue one leaks")).to_be_visible()
    assert rooms.members(room) == {"ada": "manager", "bea": "member"}


@pytest.mark.slow
def test_made_public_the_past_is_shown_only_where_that_was_chosen(rooms: Rooms, enter: Enter) -> None:
    pasts = {"Hid": "Stays with the present members", "Shown": "Everybody reads it"}
    for name, past in pasts.items():
        room = rooms.private(name, "bea")
        rooms.say(room, "said before")
        page = enter(rooms.server, place=f"#/channel/{room}")
        dialog = open_manage(page, f"#{name}")
        dialog.get_by_role("button", name="Make it public").click()
        asked = page.get_by_role("dialog", name=f"Make #{name} public?")
        expect(asked).to_contain_text("are not asked")
        asked.get_by_role("radio", name=past).check()
        asked.get_by_role("button", name="Make it public").click()
        expect(dialog.get_by_role("button", name="Make it private")).to_be_visible()
        with rooms.server.client(rooms.tokens["carl"]) as client:
            seen = client.get(f"/channels/{room}/messages").json()["messages"]
        assert [one["content"] for one in seen] == (["said before"] if name == "Shown" else [])


@pytest.mark.slow
def test_what_was_a_group_keeps_its_past_and_that_is_said(rooms: Rooms, enter: Enter) -> None:
    room = rooms.group("bea", "carl")
    rooms.post(f"/groups/{room}/convert", {"name": "Once"})
    page = enter(rooms.server, place=f"#/channel/{room}")
    open_manage(page, "#Once").get_by_role("button", name="Make it public").click()
    asked = page.get_by_role("dialog", name="Make #Once public?")
    asked.get_by_role("radio", name="Everybody reads it").check()
    asked.get_by_role("button", name="Make it public").click()
    expect(asked.get_by_role("alert")).to_have_text(
        "This was a group once: what was said in it stays with those who were in it."
    )


@pytest.mark.slow
def test_who_writes_and_who_adds_is_set_and_followed_by_others(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Rules", "bea")
    page = enter(rooms.server, place=f"#/channel/{room}")
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    bea.get_by_role("button", name="who is here").click()
    theirs = bea.get_by_role("dialog", name="#Rules", exact=True)
    expect(theirs.get_by_role("button", name="Add people")).to_be_visible()
    dialog = open_manage(page, "#Rules")
    dialog.get_by_label("Who adds people").select_option("Managers")
    dialog.get_by_label("Who writes here").select_option("Managers; others reply in threads")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(theirs.get_by_role("button", name="Add people")).to_have_count(0)
    expect(bea.get_by_role("textbox", name="Write to #Rules")).to_be_hidden()
    # Who becomes manager meanwhile is offered the section in the open dialog, and loses it with the role.
    rooms.put(f"/channels/{room}/members/{rooms.ids['bea']}", {"role": "manager"})
    theirs.get_by_role("button", name="Manage", exact=True).click()
    rooms.put(f"/channels/{room}/members/{rooms.ids['bea']}", {"role": "member"})
    expect(theirs.get_by_role("heading", name="About")).to_be_visible()
    expect(theirs.get_by_role("button", name="Manage", exact=True)).to_have_count(0)
