"""A connection that comes and goes: nothing is missing afterwards, and nothing is there twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

GRACE = "grace@example.org"
RECONNECTED_MS = 60_000
Serve = Callable[..., Any]
Enter = Callable[..., Page]


def write(page: Page, text: str) -> None:
    page.get_by_label("Write to #General").fill(text)
    page.keyboard.press("Enter")


def bodies(page: Page) -> list[str]:
    return page.locator("main article .message-body").all_inner_texts()


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_dies(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    write(ada, "one")
    write(grace, "two")
    for page in (ada, grace):
        expect(page.locator("article:not(.pending)")).to_have_count(2)
    server.kill()

    write(ada, "three")
    write(ada, "four")
    expect(ada.locator("article.pending")).to_have_count(2)
    expect(ada.get_by_role("status").filter(has_text="No connection")).to_be_visible()
    expect(ada.locator("article", has_text="four")).to_contain_text("Sent when there is a connection")
    server.restart()
    for page in (ada, grace):
        expect(page.locator("article:not(.pending)")).to_have_count(4, timeout=RECONNECTED_MS)
        assert bodies(page) == ["one", "two", "three", "four"]
    expect(ada.get_by_role("status").filter(has_text="No connection")).to_have_count(0)
    write(grace, "five")
    expect(ada.locator("article", has_text="five")).to_be_visible()
    ada.reload()
    expect(ada.locator("article")).to_have_count(5)
    assert bodies(ada) == ["one", "two", "three", "four", "five"]


@pytest.mark.slow
def test_what_is_written_offline_is_kept_over_a_reload_and_sent_once(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada = enter(server)
    expect(ada.get_by_label("Write to #General")).to_be_visible()
    ada.context.route("**/channels/*/messages", lambda route: route.abort())
    write(ada, "Written on a train")
    expect(ada.locator("article.pending")).to_contain_text("Sent when there is a connection")
    ada.reload()
    expect(ada.locator("article.pending")).to_contain_text("Written on a train")
    ada.context.unroute("**/channels/*/messages")
    expect(ada.locator("article:not(.pending)")).to_have_count(1, timeout=RECONNECTED_MS)
    assert bodies(ada) == ["Written on a train"]


def without_limit(route: Route) -> None:
    """Answer as a server does that doesn't tell how much it takes."""
    told = route.fetch().text()
    route.fulfill(body=told.replace("MAX_MESSAGE_LENGTH", "UNKNOWN"), content_type="text/javascript")


def test_what_the_server_refuses_says_why_and_can_be_discarded(serve: Serve, enter: Enter) -> None:
    server = serve(chat={"maxMessageLength": 20})
    ada = enter(server)
    ada.context.route("**/config.js", without_limit)
    ada.reload()
    write(ada, "This is longer than twenty characters")
    failed = ada.locator("article.failed")
    expect(failed).to_contain_text(re.compile("Not sent"))
    expect(failed.get_by_role("button", name="Try again")).to_be_visible()
    failed.get_by_role("button", name="Discard").click()
    expect(failed).to_have_count(0)
    write(ada, "Short")
    expect(ada.locator("article:not(.pending)")).to_have_count(1)
