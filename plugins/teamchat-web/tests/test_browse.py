"""Looking through all channels, joining and leaving, and what the bar above the composer says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import serving
from .rooms import Rooms, email, open_about

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    """One server for all tests of this module; each makes rooms of its own."""
    with serving(tmp_path_factory.mktemp("browse")) as server:
        yield Rooms(server)


def browse(page: Page) -> Locator:
    page.get_by_role("navigation").get_by_role("button", name="All channels").click()
    dialog = page.get_by_role("dialog", name="All channels")
    expect(dialog.get_by_role("searchbox", name="Find a channel")).to_be_focused()
    return dialog


def found(dialog: Locator, name: str) -> Locator:
    return dialog.get_by_role("listitem").filter(has=dialog.page.get_by_role("link", name=name, exact=True))


def test_a_channel_is_found_looked_at_joined_and_left(rooms: Rooms, enter: Enter) -> None:
    room = rooms.public("Coffee", topic="Beans")
    rooms.say(room, "Who has the grinder?")
    page = enter(rooms.server, email("bea"))
    dialog = browse(page)
    dialog.get_by_role("searchbox", name="Find a channel").fill("bean")
    expect(dialog.get_by_role("status").first).to_have_text("1 channel")
    expect(found(dialog, "Coffee")).to_contain_text("1 member · Beans")
    found(dialog, "Coffee").get_by_role("link").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("Who has the grinder?")).to_be_visible()
    bar = page.get_by_role("region", name="About writing here")
    expect(bar).to_contain_text("You’re looking at #Coffee.")
    bar.get_by_role("button", name="Join").click()
    expect(bar).to_be_hidden()
    expect(page.get_by_role("textbox", name="Write to #Coffee")).to_be_focused()
    expect(page.get_by_role("button", name="2 members: who is here")).to_be_visible()

    dialog = browse(page)
    dialog.get_by_role("button", name="Yours", exact=True).click()
    expect(found(dialog, "Coffee")).to_be_visible()
    dialog.get_by_role("button", name="Leave Coffee").click()
    expect(found(dialog, "Coffee")).to_have_count(0)
    dialog.get_by_role("button", name="Not joined").click()
    dialog.get_by_role("button", name="Join Coffee").click()
    expect(found(dialog, "Coffee")).to_have_count(0)
    dialog.get_by_role("button", name="All", exact=True).click()
    expect(found(dialog, "Coffee")).to_contain_text("Joined")
    assert rooms.members(room) == {"ada": "manager", "bea": "member"}


@pytest.mark.slow
def test_the_list_follows_what_others_do_and_shows_private_channels_one_is_in_alone(
    rooms: Rooms, enter: Enter
) -> None:
    page = enter(rooms.server, email("carl"))
    dialog = browse(page)
    seen = rooms.private("Seen", "carl")
    rooms.private("Unseen", "bea")
    expect(found(dialog, "Seen")).to_contain_text("Private")
    expect(found(dialog, "Unseen")).to_have_count(0)
    old = rooms.public("Bygone")
    expect(found(dialog, "Bygone").get_by_role("button", name="Join Bygone")).to_be_visible()
    rooms.post(f"/channels/{old}/archive", {})
    expect(found(dialog, "Bygone")).to_have_count(0)
    dialog.get_by_role("button", name="Archived", exact=True).click()
    expect(found(dialog, "Bygone")).to_contain_text("Archived")
    expect(found(dialog, "Bygone").get_by_role("button")).to_have_count(0)
    dialog.get_by_role("button", name="All", exact=True).click()
    rooms.delete(f"/channels/{seen}/members/{rooms.ids['carl']}")
    expect(found(dialog, "Seen")).to_have_count(0)


@pytest.mark.slow
def test_leaving_a_private_channel_warns_and_leads_elsewhere(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Secret", "carl", by="bea")
    page = enter(rooms.server, email("bea"), f"#/channel/{room}")
    open_about(page, "#Secret").get_by_role("button", name="Leave").click()
    asked = page.get_by_role("dialog", name="Leave #Secret?")
    expect(asked).to_contain_text("you can’t come back by yourself")
    expect(asked).to_contain_text("whoever has been in it longest becomes manager")
    asked.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Secret")).to_have_count(0)
    expect(page.get_by_role("textbox")).to_be_visible()
    assert rooms.members(room, by="carl") == {"carl": "manager"}


@pytest.mark.slow
def test_where_managers_alone_write_others_are_told_and_reply_in_threads(rooms: Rooms, enter: Enter) -> None:
    room = rooms.public("News", postPolicy="managers")
    rooms.say(room, "We moved.")
    rooms.post(f"/channels/{room}/join", {}, by="dora")
    page = enter(rooms.server, email("dora"), f"#/channel/{room}")
    bar = page.get_by_role("region", name="About writing here")
    expect(bar).to_have_text("Managers alone write here. You can reply in threads.")
    expect(page.get_by_role("textbox", name="Write to #News")).to_be_hidden()
    rooms.put(f"/channels/{room}/members/{rooms.ids['dora']}", {"role": "manager"})
    expect(page.get_by_role("textbox", name="Write to #News")).to_be_visible()
    expect(bar).to_be_hidden()


@pytest.mark.slow
def test_the_palette_leads_to_all_channels_and_to_the_members(rooms: Rooms, enter: Enter) -> None:
    page = enter(rooms.server, email("dora"))
    expect(page.get_by_role("button", name="who is here")).to_be_visible()
    for typed, dialog in (("All channels", "All channels"), ("Members", "#General")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill(typed)
        page.get_by_role("option", name=typed).click()
        expect(page.get_by_role("dialog", name=dialog, exact=True)).to_be_visible()
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_an_administrator_enters_a_private_channel_and_all_are_told(rooms: Rooms, enter: Enter) -> None:
    room = rooms.private("Hidden", "carl", by="bea")
    page = enter(rooms.server)
    bea = enter(rooms.server, email("bea"), f"#/channel/{room}")
    expect(bea.get_by_role("button", name="2 members: who is here")).to_be_visible()
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    dialog = page.get_by_role("dialog", name="Administration")
    dialog.get_by_role("button", name="Channels", exact=True).click()
    hidden = dialog.get_by_role("list", name="Private channels you’re not in")
    row = hidden.get_by_role("listitem").filter(has_text="Hidden")
    expect(row).to_contain_text("2 members · made by bea")
    row.get_by_role("button", name="Enter Hidden").click()
    asked = page.get_by_role("dialog", name="Enter Hidden?")
    expect(asked).to_contain_text("All its members are told that you have entered")
    asked.get_by_role("button", name="Enter", exact=True).click()
    expect(asked.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    asked.get_by_label("Reason").fill("Bea is away, and asked me to")
    asked.get_by_role("button", name="Enter", exact=True).click()
    expect(row).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("link", name="Hidden")).to_have_count(1)
    expect(bea.get_by_role("button", name="3 members: who is here")).to_be_visible()
    told = bea.get_by_role("region", name="Notices")
    expect(told).to_contain_text("Ada has entered #Hidden as an administrator.")
    told.get_by_role("button", name="Members").click()
    expect(bea.get_by_role("dialog", name="#Hidden", exact=True)).to_be_visible()
    assert rooms.members(room, by="bea")["ada"] == "manager"
