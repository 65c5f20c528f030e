"""What concerns one: the feed in the web client, its marks, and the ways from it to the messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
Enter = Callable[..., Page]
House = Any


def side(page: Page) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=re.compile("^Activity"))


def items(page: Page) -> Locator:
    return page.get_by_role("list", name="Activity").get_by_role("link")


def react(house: House, message: str, reaction: str, by: str) -> None:
    house.post(f"/messages/{message}/reactions", {"reaction": reaction}, by=by)


def reply(house: House, parent: str, content: str, by: str) -> str:
    return str(house.post(f"/messages/{parent}/thread", {"content": content}, by=by)["reply"]["id"])


@pytest.fixture
def ada(house: House, enter: Enter) -> Page:
    """Ada's page, once the way to her activity is there."""
    page = enter(house.server, place=f"#/channel/{house.general}")
    expect(side(page)).to_be_visible()
    return page


def test_what_concerns_one_is_listed_counted_and_leads_to_its_message(house: House, ada: Page) -> None:
    mine = house.say(house.general, "a first thought")
    expect(side(ada)).to_have_accessible_name("Activity")
    house.say(house.general, "@Ada, look", by="grace")
    expect(side(ada)).to_have_accessible_name("Activity 1 unread")
    reply(house, mine, "a reply", by="linus")
    react(house, mine, "🎉", by="grace")
    react(house, mine, "👍", by="linus")
    house.group("ada", "linus", by="grace")
    side(ada).click()
    expect(ada.get_by_role("heading", level=1)).to_have_text("Activity")
    expect(items(ada)).to_have_count(4)
    for text in (
        "Linus and 1 other reacted with 👍",
        "Linus replied in a thread",
        "mentioned you in #General",
    ):
        expect(items(ada).filter(has_text=re.compile(text, re.IGNORECASE))).to_have_count(1)
    expect(ada.locator(".activity-item.unread")).to_have_count(4)
    expect(side(ada)).to_have_accessible_name(
        "Activity"
    )  # It was looked at; the marks stay until it is left.
    expect(ada.locator(".activity-item.unread")).to_have_count(4)
    items(ada).filter(has_text="a reply").click()
    expect(ada.get_by_role("complementary")).to_contain_text("a reply")
    expect(ada.locator(".thread article").filter(has_text="a reply")).to_be_focused()
    ada.go_back()
    expect(items(ada)).to_have_count(4)
    expect(ada.locator(".activity-item.unread")).to_have_count(0)


@pytest.mark.slow
def test_the_list_is_kept_true_while_it_is_open(house: House, ada: Page) -> None:
    mine = house.say(house.general, "a first thought")
    side(ada).click()
    expect(ada.get_by_role("heading", name="Nothing yet")).to_be_visible()
    said = house.say(house.general, "@Ada, look", by="grace")
    expect(ada.get_by_role("status").filter(has_text="mentioned you in #General")).to_be_attached()
    react(house, mine, "🎉", by="grace")
    expect(items(ada)).to_have_count(2)
    expect(ada.locator(".activity-item.unread")).to_have_count(2)
    react(house, mine, "👍", by="linus")  # The item moves, and stays one.
    expect(items(ada).first).to_contain_text("and 1 other reacted with 👍")
    expect(items(ada)).to_have_count(2)
    house.put(f"/messages/{said}", {"content": "@Ada, look at this"}, "grace")
    expect(items(ada).last).to_contain_text("look at this")
    house.put(f"/messages/{said}", {"content": "never mind"}, "grace")
    expect(items(ada)).to_have_count(1)
    house.delete(f"/messages/{mine}")
    expect(ada.get_by_role("heading", name="Nothing yet")).to_be_visible()


@pytest.mark.slow
def test_one_kind_is_chosen_pages_are_loaded_and_keys_go_through(house: House, ada: Page) -> None:
    mine = house.say(house.general, "a first thought")
    react(house, mine, "🎉", by="grace")
    for number in range(55):
        house.say(house.general, f"@Ada {number}", by="grace")
    expect(side(ada)).to_have_accessible_name("Activity 56 unread")
    side(ada).click()
    expect(items(ada)).to_have_count(50)
    expect(ada.locator(".activity-item.unread")).to_have_count(50)
    expect(ada.get_by_role("region", name="Activity")).to_be_focused()
    for number in range(2):
        ada.keyboard.press("ArrowDown")
        expect(items(ada).nth(number)).to_be_focused()
    ada.get_by_role("button", name="Show more").click()
    expect(items(ada)).to_have_count(56)
    expect(items(ada).nth(50)).to_be_focused()
    expect(ada.locator(".activity-item.unread")).to_have_count(56)
    ada.get_by_role("button", name="Reactions").click()
    expect(items(ada)).to_have_count(1)
    expect(ada.get_by_role("button", name="Reactions")).to_have_attribute("aria-pressed", "true")
    ada.get_by_role("button", name="Added to").click()
    expect(ada.get_by_role("heading", name="Nothing of this kind")).to_be_visible()


@pytest.mark.slow
def test_what_is_deleted_edited_or_seen_no_longer_goes_from_further_pages_too(
    house: House, ada: Page
) -> None:
    plans = house.private("Plans", "ada", by="grace")
    house.say(plans, "@Ada, nobody may know", by="grace")
    first = house.say(house.general, "@Ada, oops", by="grace")
    second = house.say(house.general, "@Ada, regretted", by="grace")
    for number in range(50):
        house.say(house.general, f"@Ada {number}", by="grace")
    side(ada).click()
    expect(items(ada)).to_have_count(50)
    ada.get_by_role("button", name="Show more").click()
    expect(items(ada)).to_have_count(54)
    house.put(f"/messages/{first}", {"content": "@Ada, better"}, "grace")
    expect(items(ada).filter(has_text="better")).to_have_count(1)
    expect(items(ada).filter(has_text="oops")).to_have_count(0)
    house.delete(f"/messages/{second}", by="grace")
    expect(items(ada)).to_have_count(53)
    expect(items(ada).filter(has_text="regretted")).to_have_count(0)
    house.remove(plans, "ada", by="grace")
    expect(items(ada)).to_have_count(51)
    expect(items(ada).filter(has_text="nobody may know")).to_have_count(0)


@pytest.mark.slow
def test_what_was_seen_on_the_phone_is_seen_on_the_laptop(house: House, ada: Page, enter: Enter) -> None:
    phone = enter(house.server, place=f"#/channel/{house.general}", **PHONE)
    house.say(house.general, "@Ada, look", by="grace")
    expect(side(ada)).to_have_accessible_name("Activity 1 unread")
    phone.get_by_role("button", name=re.compile("^Open the sidebar")).click()
    side(phone).click()
    expect(items(phone)).to_have_count(1)
    expect(phone.locator(".activity-item.unread")).to_have_count(1)
    expect(side(ada)).to_have_accessible_name("Activity")
