"""What is unread, over visits: messages of others, until they are read, deleted or out of one's sight."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from .unread import Other, counted_by_the_server, state, threads

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]

# Puts the stream where this log never was.
LOSE_PLACE = """() => {
  const [name] = Object.keys(localStorage).filter((key) => key.endsWith("/stream"));
  localStorage[name] = JSON.stringify({ id: "999999", at: Date.now() });
}"""
# What the client counts, by place, without places of which nothing is unread.
COUNTED = """() => {
  const { unread } = bench.model;
  const all = unread.lists().filter((id) => unread.state(id)).map((id) => [id, unread.count(id)]);
  return Object.fromEntries(all.filter(([, count]) => count));
}"""


def test_messages_of_others_count_until_they_are_read(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    one.run(
        """() => {
          bench.changes = [];
          bench.model.unread.on("changed", ({ placeId }) => bench.changes.push(placeId));
        }"""
    )
    one.post("my own")
    other = Other(server)
    other.post("hello")
    other.post("@Ada, are you there?")
    one.until("bench.model.unread.total().unread === 2")
    assert state(one) == [2, 1, {"unread": 2, "mentions": 1}]
    assert set(one.run("bench.changes")) == {other.channel}
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert state(one) == [0, 0, {"unread": 0, "mentions": 0}]


def test_what_came_while_nobody_was_here_counts_on_every_device(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    other.post("read")
    for device in (one, phone):
        device.until("bench.model.unread.total().unread === 1")
    one.run("bench.model.unread.markRead(bench.place.id)")
    phone.until("bench.model.unread.total().unread === 0")
    for device in (one, phone):
        device.page.goto(f"{server.base}/health")
    other.post("came meanwhile")
    for device in (one, phone, bench(server)):
        if device.page.url.endswith("/health"):
            device.page.goto(server.base)
            device.open()
        device.until("bench.model.unread.count(bench.place.id) === 1")
    assert "read/" not in one.run("Object.keys(localStorage).join()")


def test_joining_begins_and_leaving_ends_with_nothing_unread(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    admin = server.token()
    other = Other(server)
    body = {"name": "by invitation", "isDefault": False}
    room = server.post("/channels", body, admin)["channel"]["id"]
    one = bench(server, "third@example.org")
    server.post(f"/channels/{room}/messages", {"content": "before"}, admin)
    one.run("async (id) => bench.api.send('POST', `/channels/${id}/join`)", room)
    one.until("(id) => bench.model.unread.state(id)", room)
    assert one.run("(id) => bench.model.unread.count(id)", room) == 0
    server.post(f"/channels/{room}/messages", {"content": "after"}, admin)
    one.until("(id) => bench.model.unread.count(id) === 1", room)
    one.run("async (id) => bench.api.send('POST', `/channels/${id}/leave`)", room)
    one.until("(id) => !bench.model.unread.state(id)", room)
    other.post("hello")
    one.until("bench.model.unread.total().unread === 1")


def test_client_and_server_agree_whatever_happens(serve: Serve, bench: OpenBench) -> None:
    """Several people and devices do what they like, in an order that is told when it fails."""
    server = serve()
    seed = random.randrange(1_000_000)
    chance = random.Random(seed)
    devices = [bench(server), bench(server)]
    me = devices[0].run("bench.model.me.id")
    others = [Other(server), Other(server)]
    others[1].channel = server.post("/channels", {"name": "second"}, server.token())["channel"]["id"]
    direct = server.post("/conversations", {"targetUserId": me}, others[0].token)["conversation"]["id"]
    said: list[tuple[str, str]] = []

    def post() -> None:
        other = chance.choice(others)
        said.append((other.channel, other.post("hello")["id"]))

    def write_direct() -> None:
        path = f"/conversations/{direct}/messages"
        made = server.post(path, {"content": "psst"}, others[0].token)["message"]["id"]
        said.append((direct, made))

    def delete() -> None:
        if said:
            place, message = said.pop(chance.randrange(len(said)))
            path = (
                f"/messages/{message}" if place != direct else f"/conversations/{direct}/messages/{message}"
            )
            others[0].delete(path)

    def read() -> None:
        place = chance.choice([others[0].channel, others[1].channel, direct])
        chance.choice(devices).run("(id) => bench.model.unread.markRead(id)", place)

    def leave() -> None:
        chance.choice(devices).run(
            "bench.model.unread.lists().map((id) => bench.model.unread.emit('left', { id }))"
        )

    def mark() -> None:
        if said:
            chance.choice(devices).run(
                "([id, from]) => bench.model.readStates.markUnread(id, from)", list(chance.choice(said))
            )

    for _ in range(6):
        for _ in range(12):
            chance.choice([post, post, post, write_direct, delete, read, leave, mark])()
        for device in devices:
            device.run("bench.model.unread.lists().map((id) => bench.model.unread.emit('left', { id }))")
        for device in devices:
            for _ in range(100):
                truth = counted_by_the_server(server, server.token())
                if (counted := device.run(COUNTED)) == truth:
                    break
                device.page.wait_for_timeout(50)
            else:
                raise AssertionError(f"seed {seed}: {counted} is not {truth}")


def test_direct_messages_are_for_you(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    me = one.run("bench.model.me.id")
    place = server.post("/conversations", {"targetUserId": me}, other.token)["conversation"]["id"]
    server.post(f"/conversations/{place}/messages", {"content": "psst"}, other.token)
    one.until("bench.model.unread.total().mentions === 1")
    assert one.run("(id) => bench.model.unread.count(id)", place) == 1
    assert one.run("(id) => bench.model.place(id).title", place) == "grace"


def test_an_edit_that_names_somebody_calls_them(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    message = other.post("what do you say?")
    parent = other.post("a thread")["id"]
    reply = other.reply(parent, "well, well")
    one.until("bench.model.unread.total().unread === 2")
    other.edit(f"/messages/{message['id']}", "what do you say, @Ada?")
    one.until("bench.model.unread.total().mentions === 1")
    other.edit(f"/messages/{parent}/thread/{reply['id']}", "well, @Ada, well")
    one.until("bench.model.unread.total().mentions === 2")
    one.until("bench.heard.filter(({ calls }) => calls).length === 2")
    one.until("(id) => bench.model.unread.count(id) === 1", parent)
    other.edit(f"/messages/{message['id']}", "what do you say, everybody?")
    one.until("bench.model.unread.total().mentions === 1")
    # What was read stays read.
    one.run("bench.model.unread.markRead(bench.place.id)")
    one.run("(id) => bench.model.unread.markRead(id)", parent)
    one.until("bench.model.unread.total().mentions === 0")
    other.edit(f"/messages/{message['id']}", "@Ada?")
    one.until("bench.contents()[0] === '@Ada?'")
    assert one.run("bench.model.unread.count(bench.place.id)") == 0


def test_an_edit_counts_without_anything_being_fetched_for_it(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    message = other.post("what do you say?")
    one.until("bench.model.unread.total().unread === 1")
    # From here on the page gets what the server says, and no more of the program.
    one.page.route("**/client/**", lambda route: route.abort())
    other.edit(f"/messages/{message['id']}", "what do you say, @Ada?")
    one.until("bench.model.unread.total().mentions === 1")
    other.edit(f"/messages/{message['id']}", "what do you say, everybody?")
    one.until("bench.model.unread.total().mentions === 0")


def test_a_deleted_message_is_not_unread(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    message = other.post("oops")
    one.until("bench.model.unread.total().unread === 1")
    with server.client(other.token) as client:
        assert client.delete(f"/messages/{message['id']}").is_success
    one.until("bench.model.unread.total().unread === 0")


def test_what_was_deleted_while_nobody_was_here_is_not_unread(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    gone = server.post("/channels", {"name": "soon gone"}, server.token())["channel"]["id"]
    one = bench(server)
    other = Other(server)
    other.channel = gone
    parent = server.post(f"/channels/{gone}/messages", {"content": "mine"}, server.token())["message"]["id"]
    other.post("hello")
    other.reply(parent, "an answer")
    one.until("bench.model.unread.total().unread === 2")
    one.page.reload()
    with server.client(server.token()) as client:
        assert client.delete(f"/channels/{gone}").is_success
    one.run(LOSE_PLACE)
    one.open()
    one.until("bench.model.unread.total().unread === 0")
    assert threads(one) == []


def test_after_too_long_the_server_says_what_is_unread(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    for number in range(60):
        other.post(f"{number}")
    one.until("bench.model.unread.count(bench.place.id) === 60")
    one.page.reload()
    other.post("meanwhile")
    one.run(LOSE_PLACE)
    one.open()
    one.until("bench.model.unread.count(bench.place.id) === 61")
