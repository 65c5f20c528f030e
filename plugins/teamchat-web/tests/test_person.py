"""Names of people lead to their card: who that is, and the way to write to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from teamchat.testing import ADMIN

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Enter = Callable[..., Page]
GRACE = "grace@example.org"


def post(server: Any, content: str, email: str = GRACE) -> dict[str, Any]:
    token = server.token(email)
    with server.client(token) as client:
        [channel] = client.get("/channels").json()["channels"]
    message: dict[str, Any] = server.post(f"/channels/{channel['id']}/messages", {"content": content}, token)
    return message["message"]


def name(page: Page, who: str) -> Locator:
    return page.get_by_role("log").get_by_role("button", name=who, exact=True)


def card(page: Page, who: str) -> Locator:
    return page.get_by_role("dialog", name=who)


def test_a_name_leads_to_a_card_that_leads_to_a_conversation(serve: Serve, enter: Enter) -> None:
    server = serve()
    post(server, "hello")
    page = enter(server)
    name(page, "grace").click()
    shown = card(page, "grace")
    expect(shown.get_by_role("link", name=GRACE)).to_be_visible()
    expect(shown.get_by_text("Here since: Today")).to_be_visible()
    expect(shown.get_by_text("Administrator")).to_have_count(0)
    shown.get_by_role("button", name="Message").click()
    expect(shown).to_have_count(0)
    expect(page.get_by_role("heading", name="grace", level=1)).to_be_visible()
    expect(page.get_by_role("textbox", name="Write to grace")).to_be_focused()


def test_a_card_says_nothing_of_a_day_that_nobody_knows(serve: Serve, enter: Enter) -> None:
    """Who came from Slack is there since 0, for its exports don't tell."""
    server = serve()
    post(server, "hello")
    page = enter(server)
    expect(name(page, "grace")).to_be_visible()
    page.route("**/users", timeless)
    page.reload()
    name(page, "grace").click()
    expect(card(page, "grace").locator(".dialog-body")).to_have_text(GRACE)


def timeless(route: Route) -> None:
    answer = route.fetch().json()
    route.fulfill(json={"users": [user | {"createdAt": 0} for user in answer["users"]]})


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_card_is_opened_by_keys_and_the_focus_comes_back(serve: Serve, enter: Enter, key: str) -> None:
    server = serve()
    post(server, "hello")
    page = enter(server)
    expect(name(page, "grace")).to_have_attribute("aria-haspopup", "dialog")
    page.get_by_role("log").get_by_role("article").press("Tab")
    expect(name(page, "grace")).to_be_focused()
    page.keyboard.press(key)
    expect(card(page, "grace")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card(page, "grace")).to_have_count(0)
    expect(name(page, "grace")).to_be_focused()


def test_a_name_keeps_the_focus_when_its_message_is_drawn_anew(serve: Serve, enter: Enter) -> None:
    server = serve()
    message = post(server, "hello")
    page = enter(server)
    page.get_by_role("log").get_by_role("article").press("Tab")
    expect(name(page, "grace")).to_be_focused()
    with server.client(server.token(GRACE)) as grace:
        assert grace.put(f"/messages/{message['id']}", json={"content": "hello again"}).status_code == 200
    expect(page.get_by_role("article")).to_contain_text("hello again")
    expect(name(page, "grace")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, "grace")).to_be_visible()


def test_mentions_initials_headings_and_lists_lead_there_too(serve: Serve, enter: Enter) -> None:
    server = serve()
    message = post(server, "ask @Ada about it")
    server.post(f"/messages/{message['id']}/thread", {"content": "Yes?"}, server.token())
    page = enter(server, GRACE)
    name(page, "@Ada").click()
    expect(card(page, "Ada").get_by_text("Administrator")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("log").locator(".message > .avatar").click()
    expect(card(page, "grace").get_by_text("You", exact=True)).to_be_visible()
    card(page, "grace").get_by_role("button", name="Edit your profile").click()
    expect(page.get_by_role("dialog", name="Settings").get_by_label("Your name")).to_be_visible()
    page.keyboard.press("Escape")

    page.get_by_role("button", name="1 reply").click()
    people = page.get_by_role("list", name="In this thread")
    expect(people.get_by_role("listitem")).to_have_text(["Ggrace", "AAda"])
    people.get_by_role("button", name="Ada").click()
    card(page, "Ada").get_by_role("button", name="Message").click()
    page.get_by_role("heading", level=1).get_by_role("button", name="Ada").click()
    expect(card(page, "Ada").get_by_role("link", name=ADMIN)).to_be_visible()


def test_the_list_of_who_reacted_leads_to_cards(serve: Serve, enter: Enter) -> None:
    server = serve()
    message = post(server, "shall we?")["id"]
    for reaction, email in (("👍", GRACE), ("👍", ADMIN), ("🎉", GRACE)):
        server.post(f"/messages/{message}/reactions", {"reaction": reaction}, server.token(email))
    page = enter(server)
    page.get_by_role("group", name="Reactions").get_by_role("button", name="Who reacted").click()
    listed = page.get_by_role("dialog", name="Who reacted")
    expect(listed.get_by_role("list", name="👍").get_by_role("listitem")).to_have_text(["Ggrace", "AAda"])
    expect(listed.get_by_role("list", name="🎉").get_by_role("listitem")).to_have_text(["Ggrace"])
    listed.get_by_role("button", name="Ada").click()
    expect(card(page, "Ada").get_by_text("Administrator")).to_be_visible()
    page.keyboard.press("Escape")
    expect(listed.get_by_role("button", name="Ada")).to_be_focused()
    listed.get_by_role("list", name="🎉").get_by_role("button", name="grace").press("Enter")
    card(page, "grace").get_by_role("button", name="Message").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="grace", level=1)).to_be_visible()


def test_the_list_of_people_leads_to_cards(serve: Serve, enter: Enter) -> None:
    server = serve()
    server.token(GRACE)
    page = enter(server)
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    people = page.get_by_role("list", name="People")
    people.get_by_role("button", name="grace", exact=True).click()
    card(page, "grace").get_by_role("button", name="Message").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="grace", level=1)).to_be_visible()


def test_a_webhook_says_what_it_is_and_someone_who_left_that_they_did(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token()
    place = post(server, "so long")["channelId"]
    hook = server.post("/webhooks", {"name": "Deploys", "channelId": place}, token)["webhook"]
    server.post(f"/webhooks/{hook['id']}/messages", {"content": "done"}, hook["token"])
    server.post("/users/exit", {}, server.token(GRACE))
    page = enter(server)
    name(page, "Deploys").click()
    expect(card(page, "Deploys").get_by_text("under this name into #General")).to_be_visible()
    expect(card(page, "Deploys").get_by_role("button", name="Message")).to_have_count(0)
    page.keyboard.press("Escape")
    name(page, "grace").click()
    expect(card(page, "grace").get_by_text("No longer here")).to_be_visible()
    expect(card(page, "grace").get_by_role("button", name="Message")).to_have_count(0)


def test_a_name_can_be_selected_without_opening_the_card(serve: Serve, enter: Enter) -> None:
    server = serve()
    post(server, "hello")
    page = enter(server)
    expect(name(page, "grace")).to_be_visible()
    box = name(page, "grace").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()")
    expect(page.get_by_role("dialog")).to_have_count(0)
