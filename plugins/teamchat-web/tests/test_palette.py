"""The command palette: what it offers first, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow
WITH_PARTS = {"profiles"}

GRACE = "grace@example.org"
Enter = Callable[[Any], Page]


@pytest.fixture
def entered(enter: Callable[..., Page], until_loaded: Callable[[Page, str], None]) -> Enter:
    """Open the chat; the palette comes before its key is pressed."""

    def go(talk: Any) -> Page:
        page = enter(talk.server)
        until_loaded(page, "/view/palette.js")
        return page

    return go


def palette(page: Page, query: str = "") -> Locator:
    """What is offered, and how much of it is unread."""
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(query)
    return page.get_by_role("listbox", name="Jump to a channel").get_by_role("option")


def look_at(page: Page, name: str) -> None:
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_it_begins_with_what_is_unread_and_where_one_was_last(talk: Any, entered: Enter) -> None:
    for name in ("alpha", "beta", "gamma", "zeta"):
        talk.channel(name)
    page = entered(talk)
    for name in ("zeta", "beta", "General"):
        look_at(page, name)
    expect(palette(page).first).to_have_text("beta")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="beta", level=1)).to_be_visible()
    assert palette(page).all_inner_texts()[:4] == ["General", "zeta", "alpha", "beta"]

    page.keyboard.press("Escape")
    with talk.server.client(talk.ada) as client:
        channels = {one["name"]: one["id"] for one in client.get("/channels").json()["channels"]}
        me = client.get("/auth/me").json()["user"]["id"]
    talk.say(talk.grace, "news", channels["gamma"])
    conversation = talk.server.post("/conversations", {"targetUserId": me}, talk.grace)["conversation"]["id"]
    talk.server.post(f"/conversations/{conversation}/messages", {"content": "psst"}, talk.grace)
    expect(page.get_by_role("link", name="grace")).to_contain_text("1 unread")
    offered = [text.split("\n") for text in palette(page).all_inner_texts()[:4]]
    assert [text[-2:] for text in offered] == [
        ["grace", "1 unread"],
        ["gamma", "1 unread"],
        ["General"],
        ["zeta"],
    ]


def test_of_what_fits_alike_it_finds_first_where_one_was_last(talk: Any, entered: Enter) -> None:
    for name in ("team-a", "team-blue"):
        talk.channel(name)
    page = entered(talk)
    expect(palette(page, "team").first).to_have_text("team-a")
    page.keyboard.press("Escape")
    look_at(page, "team-blue")
    look_at(page, "General")
    expect(palette(page, "team").first).to_have_text("team-blue")
    expect(palette(page, "team-a").first).to_have_text("team-a")


def test_it_finds_people_by_their_full_names(talk: Any, entered: Enter) -> None:
    with talk.server.client(talk.grace) as client:
        assert client.put("/me/profile", json={"fullName": "Rear Admiral Hopper"}).is_success
    page = entered(talk)
    expect(palette(page, "hopper").first).to_contain_text("grace")
