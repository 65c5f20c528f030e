"""What stays in a browser of whoever has signed out: nothing, also of what is answered only then."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .test_chat_images import files

WITH_PARTS = {"drafts"}
OWN = "Object.keys(localStorage).filter((key) => /^teamchat.[0-9a-f]{32}/.test(key))"
LATE = re.compile("/(users|me/drafts)$")
Enter = Callable[..., Page]


def sign_out(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("sign out")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Email")).to_be_visible()


@pytest.mark.slow
def test_what_was_asked_before_is_not_kept_after(talk: Any, enter: Enter) -> None:
    draft = {"placeId": talk.general, "content": "nobody may know"}
    with talk.server.client(talk.ada) as client:
        address, condition = "/me/drafts/01234567-89ab-4def-8123-456789abcdef", {"If-None-Match": "*"}
        assert client.put(address, json=draft, headers=condition).is_success
    page = enter(talk.server)
    field = page.get_by_label("Write to #General")
    expect(field).to_have_value("nobody may know")
    page.evaluate(
        f"() => {{ for (const key of {OWN}) if (/note|draft.0/.test(key)) delete localStorage[key]; }}"
    )
    held: dict[str, tuple[Route, Any]] = {}

    def hold(route: Route) -> None:
        held[route.request.url] = (route, route.fetch())

    page.clock.install()
    page.route(LATE, hold)
    with page.expect_request(re.compile("/me/drafts$")):
        page.reload()
    expect(field).to_be_visible()
    sign_out(page)
    assert page.evaluate(OWN) == []
    for route, answer in held.values():
        with page.expect_event("requestfinished", lambda one, url=route.request.url: one.url == url):
            route.fulfill(response=answer)
    assert {url.removeprefix(talk.server.base) for url in held} >= {"/users", "/me/drafts"}
    page.clock.fast_forward(5000)  # What is kept is kept a little later.
    assert page.evaluate(OWN) == []


@pytest.mark.slow
def test_a_post_whose_image_is_on_its_way_is_not_kept_after(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    page.locator("main input[type=file]").set_input_files(files("one.png"))
    expect(page.locator(".preview img")).to_have_count(1)
    held: list[tuple[Route, Any]] = []
    page.route("**/messages/image", lambda route: held.append((route, route.fetch())))
    page.get_by_label("Write to #General").fill("One picture")
    with page.expect_request("**/messages/image"):
        page.keyboard.press("Enter")
    sign_out(page)
    assert page.evaluate(OWN) == []
    [(route, answer)] = held
    with page.expect_event("requestfinished", lambda one: one.url.endswith("/image")):
        route.fulfill(response=answer)
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")
    assert page.evaluate(OWN) == []
