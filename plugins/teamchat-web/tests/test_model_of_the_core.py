"""What is unread at a server of the core, which keeps no read states: the page counts itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from .unread import Other, state, threads

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]


def test_threads_are_known_over_visits_and_tabs_where_the_server_keeps_none(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one = bench(server, is_core=True)
    two = one.tab(is_core=True)
    other = Other(server)
    asked, named, neither = (other.post(text)["id"] for text in ("a question", "a monologue", "not for Ada"))
    server.post(f"/messages/{asked}/thread", {"content": "my answer"}, server.token())
    for tab in (one, two):
        tab.until("bench.model.threads.sorted().length === 1")
    other.reply(neither, "nothing")
    other.reply(named, "what does @Ada say?")
    for tab in (one, two):
        tab.until("bench.model.threads.unreadCount() === 1")
        assert threads(tab) == [named, asked]
    other.reply(asked, "thank you")
    for tab in (one, two):
        tab.until("bench.model.threads.unreadCount() === 2")
        assert threads(tab) == [asked, named]
    one.run("(id) => bench.model.unread.markRead(id)", asked)
    one.until("bench.model.threads.unreadCount() === 1")
    assert threads(one) == [named, asked]
    one.page.reload()
    one.open(is_core=True)
    assert set(threads(one)) == {named, asked}
    # Whoever was named takes part from then on.
    other.reply(named, "well?")
    one.until("bench.model.threads.unreadCount() === 1")
    kept = "JSON.stringify(Object.entries(localStorage).filter(([name]) => name.includes('/thread/')))"
    assert named in one.run(kept)
    assert "Ada" not in one.run(kept)
    with server.client(other.token) as client:
        assert client.delete(f"/messages/{named}").is_success
    one.until("bench.model.threads.unreadCount() === 0")
    assert threads(one) == [asked]


def test_the_threads_from_before_are_found_in_the_pages_of_a_server_of_the_core(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    other = Other(server)
    asked, alien = other.post("a question")["id"], other.post("not for Ada")["id"]
    other.reply(alien, "a monologue")
    server.post(f"/messages/{asked}/thread", {"content": "my answer"}, server.token())
    server.post("/channels", {"name": "a place before it"}, server.token())
    one = bench(server, is_core=True)
    assert threads(one) == []
    one.run(
        """async () => {
          const { findThreads } = await bench.load("model/catch_up.js");
          await findThreads(bench.model, new AbortController().signal);
        }"""
    )
    assert threads(one) == [asked]


def test_a_server_of_the_core_is_not_asked_and_the_page_counts_what_comes(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    other = Other(server)
    other.post("long ago")
    one = bench(server, is_core=True)
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    message = other.post("@Ada?")["id"]
    other.post("hello")
    one.until("bench.model.unread.total().unread === 2")
    assert state(one) == [2, 1, {"unread": 2, "mentions": 1}]
    other.delete(f"/messages/{message}")
    one.until("bench.model.unread.total().unread === 1")
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert state(one) == [0, 0, {"unread": 0, "mentions": 0}]
    other.post("once more")
    one.until("bench.model.unread.total().unread === 1")
    # Writing reads what stands before it.
    one.post("an answer")
    one.until("bench.model.unread.total().unread === 0")
    assert not [url for url in asked if "/me/" in url]


def test_a_server_of_the_core_is_read_page_by_page_after_too_long(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server, is_core=True)
    other = Other(server)
    other.post("seen")
    one.until("bench.model.unread.newest.id")
    one.run("bench.model.unread.markRead(bench.place.id)")
    one.page.context.set_offline(True)
    one.until("bench.model.connection === 'offline'")
    other.post("meanwhile")
    one.page.route("**/events?*", lambda route: route.continue_(url=lost(route.request.url)), times=1)
    one.page.context.set_offline(False)
    one.until("bench.model.unread.count(bench.place.id) === 1")


def lost(url: str) -> str:
    """A stream's address with a position that this log never had."""
    return re.sub("lastEventId=[0-9]*", "lastEventId=999999", url)
