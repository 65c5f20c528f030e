"""What is read on one device or tab is read on all, also after a time without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from teamchat.testing import ADMIN

from .unread import Other, counted_by_the_server, state

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]


def test_reading_in_one_tab_reads_in_all(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    two = one.tab()
    other = Other(server)
    other.post("hello")
    for tab in (one, two):
        tab.until("bench.model.unread.total().unread === 1")
    two.run("bench.model.unread.markRead(bench.place.id)")
    one.until("bench.model.unread.total().unread === 0")
    other.post("again")
    for tab in (one, two):
        tab.until("bench.model.unread.total().unread === 1")


def test_a_place_is_told_as_read_at_once_and_then_every_five_seconds_or_when_it_is_left(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one = bench(server)
    told: list[str] = []
    one.page.on("request", lambda request: told.append(request.url) if request.method == "PUT" else None)
    other = Other(server)
    for number in range(1, 4):
        other.post(f"{number}")
        one.until("bench.model.unread.total().unread === 1")
        one.run("bench.model.unread.markRead(bench.place.id)")
    one.page.wait_for_timeout(300)  # Whatever else would be sent is sent by then.
    assert len(told) == 1
    assert counted_by_the_server(server, server.token()) == {other.channel: 2}
    one.run("bench.model.unread.emit('left', { id: bench.place.id })")
    one.until("bench.model.unread.state(bench.place.id).unreadCount === 0")
    assert len(told) == 2
    assert counted_by_the_server(server, server.token()) == {}


def test_what_is_in_a_badge_is_told_as_read_within_a_second(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    place = server.post("/conversations", {"targetUserId": one.run("bench.model.me.id")}, other.token)
    id_ = place["conversation"]["id"]
    for device in (one, phone):
        device.until("(id) => bench.model.unread.state(id)", id_)
    timer = """() => {
      const set = window.setTimeout;
      window.waits = [];
      window.setTimeout = (what, ms, ...rest) => (window.waits.push(ms), set(what, ms, ...rest));
    }"""
    one.run(timer)
    # The first one is told at once: those that come after it within five seconds are not put off for so long.
    for number in range(1, 5):
        server.post(f"/conversations/{id_}/messages", {"content": f"{number}"}, other.token)
        one.until("bench.model.unread.total().mentions === 1")
        phone.until("bench.model.unread.total().mentions === 1")
        one.run("window.waits.length = 0")
        one.run("(id) => bench.model.unread.markRead(id)", id_)
        assert one.run("Math.max(...window.waits)") <= 500
        phone.until("bench.model.unread.total().mentions === 0")


def test_what_was_read_without_a_network_is_told_with_it(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    other.post("hello")
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 1")
    one.page.context.set_offline(True)
    one.until("bench.model.connection === 'offline'")
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert state(one)[0] == 0
    other.post("meanwhile")
    phone.until("bench.model.unread.total().unread === 2")
    one.page.context.set_offline(False)
    one.until("bench.model.unread.total().unread === 1")
    phone.until("bench.model.unread.total().unread === 1")


def test_what_another_device_did_during_a_break_is_known_after_it(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    first = other.post("hello")["id"]
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 1")
    one.page.context.set_offline(True)
    one.until("bench.model.connection === 'offline'")
    phone.run("bench.model.unread.markRead(bench.place.id)")
    phone.until("bench.model.unread.state(bench.place.id).unreadCount === 0")
    one.page.context.set_offline(False)
    one.until("bench.model.unread.total().unread === 0")
    one.page.context.set_offline(True)
    one.until("bench.model.connection === 'offline'")
    phone.run("(id) => bench.model.readStates.markUnread(bench.place.id, id)", first)
    phone.until("bench.model.unread.total().unread === 1")
    one.page.context.set_offline(False)
    one.until("bench.model.unread.state(bench.place.id).isMarkedUnread")
    assert state(one)[0] == 1


def test_a_message_that_is_marked_as_unread_is_so_on_all_devices(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    _, second, _ = (other.post(f"{number}")["id"] for number in range(3))
    phone.until("bench.model.unread.total().unread === 3")
    phone.run("bench.model.unread.markRead(bench.place.id)")
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 0")
    one.run("(id) => bench.model.readStates.markUnread(bench.place.id, id)", second)
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 2")
        assert device.run("(id) => bench.model.unread.has(bench.place.id, id)", second)
    one.run("bench.model.readStates.markAllRead()")
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 0")
        device.until("!bench.model.unread.state(bench.place.id).isMarkedUnread")


def test_nothing_of_what_was_read_is_kept_in_the_browser(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    Other(server).post("now")
    one.until("bench.model.unread.total().unread === 1")
    one.run("bench.model.unread.markRead(bench.place.id)")
    one.page.reload()
    names = one.run("Object.keys(localStorage)")
    assert not [name for name in names if name.endswith("/unread") or "/read/" in name]
    assert ADMIN not in " ".join(names)
