"""Drafts in the web client, in two browsers of one user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
LATER = 45_000  # milliseconds


def field(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("textbox").last


def others(page: Page) -> Locator:
    return page.get_by_role("list", name="Other drafts for here").get_by_role("listitem")


def drafts(talk: Any) -> list[str]:
    with talk.server.client(talk.ada) as client:
        return sorted(one["content"] for one in client.get("/me/drafts").json()["drafts"])


def wait_for(page: Page, talk: Any, texts: list[str]) -> None:
    """Wait until the server has these drafts."""
    for _ in range(LATER // 250):
        if drafts(talk) == texts:
            return
        page.wait_for_timeout(250)
    assert drafts(talk) == texts


@pytest.mark.slow
def test_a_draft_follows_to_another_device_and_is_sent_there(talk: Any, enter: Enter) -> None:
    desk, sofa = enter(talk.server), enter(talk.server)
    field(desk).fill("Not y")
    expect(field(sofa)).to_have_value("Not y", timeout=LATER)
    field(sofa).fill("Not yet")
    expect(field(desk)).to_have_value("Not yet", timeout=LATER)
    field(desk).focus()
    desk.keyboard.press("Enter")
    expect(message(sofa, "Not yet")).to_be_visible(timeout=LATER)
    for page in (desk, sofa):
        expect(field(page)).to_have_value("", timeout=LATER)
    assert drafts(talk) == []
    sofa.reload()
    expect(message(sofa, "Not yet")).to_be_visible(timeout=LATER)
    expect(field(sofa)).to_have_value("")


def test_a_tab_that_nobody_looks_at_has_what_is_written_in_another(talk: Any, enter: Enter) -> None:
    here = enter(talk.server)
    behind = here.context.new_page()
    behind.goto(talk.server.base)
    expect(field(behind)).to_be_focused()
    behind.evaluate("document.hasFocus = () => false")  # The browser of tests has all its pages in front.
    expect(behind.locator(".composer-above")).to_have_count(1)  # What follows is there.
    field(here).fill("Half a thought")
    expect(field(behind)).to_have_value("Half a thought")
    field(here).press("Enter")
    expect(field(behind)).to_have_value("")


@pytest.mark.slow
def test_what_was_sent_does_not_come_back_from_a_tab_that_slept(talk: Any, enter: Enter) -> None:
    desk, sofa = enter(talk.server), enter(talk.server)
    field(desk).fill("Good night")
    expect(field(sofa)).to_have_value("Good night", timeout=LATER)
    desk.context.set_offline(True)
    field(sofa).focus()
    sofa.keyboard.press("Enter")
    expect(message(sofa, "Good night")).to_be_visible(timeout=LATER)
    expect(field(desk)).to_have_value("Good night")
    desk.context.set_offline(False)
    expect(message(desk, "Good night")).to_be_visible(timeout=LATER)
    expect(field(desk)).to_have_value("", timeout=LATER)
    desk.reload()
    expect(message(desk, "Good night")).to_be_visible(timeout=LATER)
    expect(field(desk)).to_have_value("")
    assert drafts(talk) == []
    assert desk.locator("article").filter(has_text="Good night").count() == 1


@pytest.mark.slow
def test_the_draft_of_a_post_that_is_discarded_goes_from_all_devices(talk: Any, enter: Enter) -> None:
    desk, sofa = enter(talk.server), enter(talk.server)
    field(desk).fill("Regretted")
    expect(field(sofa)).to_have_value("Regretted", timeout=LATER)
    desk.context.set_offline(True)
    field(desk).press("Enter")
    desk.get_by_role("button", name="Discard").click()
    expect(desk.get_by_role("article")).to_have_count(0)
    desk.context.set_offline(False)
    expect(field(sofa)).to_have_value("", timeout=LATER)
    assert drafts(talk) == []
    assert desk.get_by_role("article").count() == 0


@pytest.mark.slow
def test_both_texts_are_kept_where_two_devices_wrote_at_the_same_time(talk: Any, enter: Enter) -> None:
    desk, sofa = enter(talk.server), enter(talk.server)
    field(desk).fill("Lunch")
    expect(field(sofa)).to_have_value("Lunch", timeout=LATER)
    desk.context.set_offline(True)
    field(desk).fill("Lunch at noon")
    field(sofa).fill("Lunch at one")
    wait_for(sofa, talk, ["Lunch at one"])
    desk.context.set_offline(False)
    wait_for(sofa, talk, ["Lunch at noon", "Lunch at one"])
    expect(field(desk)).to_have_value("Lunch at noon")
    expect(others(desk)).to_contain_text("Lunch at one", timeout=LATER)
    expect(field(sofa)).to_have_value("Lunch at one")
    expect(others(sofa)).to_contain_text("Lunch at noon", timeout=LATER)
    others(desk).get_by_role("button", name="Go on with this draft").click()
    expect(field(desk)).to_have_value("Lunch at one", timeout=LATER)
    expect(others(desk)).to_contain_text("Lunch at noon")
    others(desk).get_by_role("button", name="Drop this draft").click()
    expect(others(desk)).to_have_count(0)
    expect(others(sofa)).to_have_count(0, timeout=LATER)
    wait_for(sofa, talk, ["Lunch at one"])


@pytest.mark.slow
def test_a_save_that_was_late_brings_nothing_back(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    held: list[Route] = []
    page.route("**/me/drafts/*", lambda route: held.append(route))
    with page.expect_request("**/me/drafts/*", timeout=LATER):
        field(page).fill("On my way")
    field(page).focus()
    # It is shown before the server has it.
    with page.expect_response(lambda answer: answer.request.method == "POST", timeout=LATER):
        page.keyboard.press("Enter")
    expect(message(page, "On my way")).to_be_visible(timeout=LATER)
    with page.expect_response("**/me/drafts/*", timeout=LATER) as answered:
        held[0].continue_()
    assert answered.value.status == 410
    page.unroute("**/me/drafts/*")
    page.reload()
    expect(message(page, "On my way")).to_be_visible(timeout=LATER)
    expect(field(page)).to_have_value("")
    assert drafts(talk) == []


def test_a_draft_that_is_emptied_is_gone_everywhere(talk: Any, enter: Enter) -> None:
    desk, sofa = enter(talk.server), enter(talk.server)
    field(desk).fill("Never mind")
    expect(field(sofa)).to_have_value("Never mind", timeout=LATER)
    field(sofa).fill("")
    expect(field(desk)).to_have_value("", timeout=LATER)
    wait_for(desk, talk, [])


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    page = enter(talk.server, **look)
    for number, text in enumerate(("The one " * 30, "The other")):
        path = f"/me/drafts/0192f0a0-b1c2-7d3e-8f4a-5b6c7d8e9f0{number}"
        with talk.server.client(talk.ada) as client:
            body = {"placeId": talk.general, "content": text}
            assert client.put(path, json=body, headers={"If-None-Match": "*"}).is_success
    expect(others(page)).to_have_count(1, timeout=LATER)
    accessible(page)
