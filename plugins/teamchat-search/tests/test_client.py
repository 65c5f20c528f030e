"""Search in the web client, in a browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
GRACE = "grace@example.org"


def begin(page: Page) -> Locator:
    """Open the dialog by its key; return the field."""
    expect(page.get_by_role("button", name="Search in here")).to_be_visible()
    page.keyboard.press("Control+Shift+F")
    field = page.get_by_role("dialog").get_by_role("combobox", name="Search messages")
    expect(field).to_be_focused()
    return field


def hits(page: Page) -> Locator:
    return page.get_by_role("list", name="Messages found").locator(".search-hit")


def told(page: Page, text: str) -> None:
    expect(page.get_by_role("dialog").get_by_role("status").filter(has_text=text)).to_be_visible()


@pytest.mark.slow
def test_a_hit_is_marked_and_leads_to_its_place_by_keys_alone(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "👩‍👩‍👧 İstanbul 𝒳 straße and STRASSE 😀 end")
    with talk.server.client(talk.ada) as client:
        for number in range(130):
            client.post(f"/channels/{talk.general}/messages", json={"content": f"number {number}"})
    page = enter(talk.server, GRACE)
    begin(page)
    page.keyboard.type("strasse")
    page.keyboard.press("Enter")
    told(page, "1 message")
    expect(hits(page).locator("mark")).to_have_text(["straße", "STRASSE"])
    page.keyboard.press("ArrowDown")
    expect(hits(page).first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("combobox", name="Search messages")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(message(page, "straße")).to_be_focused()
    expect(message(page, "number 129")).to_have_count(0)
    # What was searched for is there again.
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search messages")).to_have_value("strasse")
    expect(hits(page)).to_have_count(1)


@pytest.mark.slow
def test_operators_and_operands_are_completed(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "Lunch is at noon.")
    talk.say(talk.grace, "Lunch is late.")
    page = enter(talk.server, GRACE)
    field = begin(page)
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    page.keyboard.type("fro")
    expect(options).to_have_text(["from:who wrote it"])
    page.keyboard.press("Tab")
    expect(field).to_have_value("from:")
    page.keyboard.press("Control+z")
    expect(field).to_have_value("fro")
    expect(options).to_have_text(["from:who wrote it"])
    page.keyboard.press("Tab")
    expect(options.filter(has_text="from:me")).to_have_count(1)
    page.keyboard.type("@a")
    expect(options.first).to_have_text("from:@Ada")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(field).to_have_value("from:@Ada ")
    page.keyboard.type("in:#gen")
    expect(options).to_have_text(["in:#General"])
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(field).to_be_focused()
    field.fill("from:@Ada in:#General lunch")
    page.keyboard.press("Enter")
    told(page, "1 message")
    expect(hits(page)).to_contain_text(["Lunch is at noon."])
    field.fill("fro:@Ada lunch")
    page.keyboard.press("Enter")
    told(page, "Nothing was found that you can see.")
    expect(page.get_by_text("for it is no operator: fro:@Ada")).to_be_visible()


@pytest.mark.slow
def test_what_was_lost_goes_from_the_list_at_once(house: Any, enter: Enter) -> None:
    plans = house.private("Plans", "grace")
    secret = house.say(plans, "the secret of cheese")
    gone = house.say(house.general, "cheese for all")
    house.say(house.general, "more cheese")
    page = enter(house.server, GRACE)
    begin(page)
    page.keyboard.type("cheese")
    page.keyboard.press("Enter")
    expect(hits(page)).to_have_count(3)
    assert secret
    house.remove(plans, "grace")
    expect(hits(page)).to_have_count(2)
    expect(page.get_by_role("dialog").get_by_text("secret")).to_have_count(0)
    house.delete(f"/messages/{gone}")
    expect(hits(page)).to_contain_text(["more cheese"])
    expect(hits(page)).to_have_count(1)
    told(page, "1 message")


def test_what_is_lost_while_it_is_asked_for_does_not_come_with_the_answer(house: Any, enter: Enter) -> None:
    plans = house.private("Plans", "grace")
    house.say(plans, "the secret of cheese")
    house.say(house.general, "more cheese")
    page = enter(house.server, GRACE)
    late: list[tuple[Route, Any]] = []
    page.route("**/search/messages?*", lambda route: late.append((route, route.fetch())))
    begin(page)
    page.keyboard.type("cheese")
    page.keyboard.press("Enter")
    while not late:
        page.wait_for_timeout(20)
    expect(page.get_by_role("navigation").get_by_text("Plans")).to_have_count(1)
    house.remove(plans, "grace")
    expect(page.get_by_role("navigation").get_by_text("Plans")).to_have_count(0)
    [(route, answer)] = late
    assert "secret" in answer.text()
    route.fulfill(response=answer)
    expect(hits(page)).to_contain_text(["more cheese"])
    expect(page.get_by_role("dialog").get_by_text("secret")).to_have_count(0)


@pytest.mark.slow
def test_pages_follow_and_the_order_is_chosen(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "cat")
    with talk.server.client(talk.ada) as client:
        for number in range(24):
            client.post(f"/channels/{talk.general}/messages", json={"content": f"concatenated {number}"})
    page = enter(talk.server, GRACE)
    field = begin(page)
    page.keyboard.type("cat")
    page.keyboard.press("Enter")
    told(page, "20 messages, and there are more")
    page.get_by_role("button", name="More", exact=True).click()
    told(page, "25 messages")
    expect(hits(page)).to_have_count(25)
    expect(hits(page).nth(20)).to_be_focused()
    page.get_by_role("combobox", name="Order").select_option("Best first")
    expect(hits(page).first).to_contain_text("cat")
    expect(hits(page).first.locator("mark")).to_have_text("cat")
    expect(hits(page).first).not_to_contain_text("concatenated")
    page.get_by_role("button", name="Show what was said around it").nth(1).click()
    expect(page.locator(".search-around li").first).to_be_visible()
    field.fill("nothing of this kind")
    page.keyboard.press("Enter")


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    talk.say(talk.ada, "Lunch is at noon. " * 30)
    talk.say(talk.grace, "Is lunch late?")
    page = enter(talk.server, **look)
    expect(message(page, "late")).to_be_visible()
    expect(page.locator("[href='#icon-search-glass']").first).to_be_attached()
    page.keyboard.press("Control+Shift+F")
    field = page.get_by_role("combobox", name="Search messages")
    shots = os.environ.get("TEAMCHAT_SHOTS")
    for name, query in {"options": "in:#General fr", "hits": "lunch", "none": "breakfast"}.items():
        field.fill(query)
        if name == "options":
            expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
        else:
            page.keyboard.press("Enter")
            expect(hits(page)).to_have_count(2 if name == "hits" else 0)
        accessible(page)
        if shots:
            page.screenshot(path=f"{shots}/search-{name}-{look.get('color_scheme', 'phone')}.png")
