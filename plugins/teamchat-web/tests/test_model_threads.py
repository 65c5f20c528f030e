"""What is unread in threads, and how it counts in the badge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .unread import Other

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]


def counts(one: Any, parent: str) -> list[int]:
    """How many messages of the channel, and how many replies of the thread, are unread."""
    told = "(id) => [bench.model.unread.count(bench.place.id), bench.model.unread.count(id)]"
    return list(one.run(told, parent))


def badge_at_the_server(server: Any) -> int:
    with server.client(server.token()) as client:
        return int(client.get("/me/places").json()["badge"])


def mentions_at_the_server(server: Any) -> int:
    with server.client(server.token()) as client:
        return sum(one["mentionCount"] for one in client.get("/me/places").json()["places"])


def test_replies_count_for_those_who_take_part_until_the_thread_is_read(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one, third = bench(server), bench(server, "third@example.org")
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")
    third.until("bench.timeline.items[0]?.id")
    third.run("bench.model.unread.markRead(bench.place.id)")
    other = Other(server)
    other.reply(parent, "an answer")
    one.until("bench.model.threads.unreadCount() === 1")
    assert one.run("bench.model.unread.total().mentions") == 0  # It names nobody.
    assert counts(one, parent) == [0, 1]
    third.until("bench.timeline.items[0].threadMeta?.replyCount === 1")
    assert third.run("bench.model.unread.total().unread") == 0
    # Who opens the channel has not seen the reply: it may hang from a message far up.
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert counts(one, parent) == [0, 1]
    one.run("(id) => bench.model.unread.markRead(id)", parent)
    assert counts(one, parent) == [0, 0]


def test_an_answer_to_ones_own_question_counts_though_the_question_was_not_loaded(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one = bench(server)
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")
    server.post("/channels", {"name": "a place before it"}, server.token())
    one.page.reload()
    one.open()
    assert one.run("bench.channel.name") == "a place before it"
    Other(server).reply(parent, "an answer")
    one.until("(id) => bench.model.unread.count(id) === 1", parent)
    one.until("bench.heard.some(({ message, calls }) => calls && message.content === 'an answer')")
    assert one.run("bench.model.unread.total()") == {"unread": 1, "mentions": 0}, "nobody is named (D-9)"


def test_a_thread_that_calls_is_one_in_the_badge_as_at_the_server(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")

    def settles(badge: int) -> None:
        one.until(f"bench.model.unread.total().mentions === {badge}")
        assert badge_at_the_server(server) == badge
        one.until(f"bench.model.unread.mentionCount(bench.place.id) === {mentions_at_the_server(server)}")
        one.until(f"bench.model.unread.total().mentions === {badge}")

    first = other.reply(parent, "@Ada, an answer")
    settles(1)
    other.reply(parent, "and @Ada, another")
    settles(1)
    other.post("@Ada, have you seen it?")
    settles(2)
    third = other.reply(parent, "no name")
    other.edit(f"/messages/{parent}/thread/{third['id']}", "but @Ada is named")
    one.until("(id) => bench.model.unread.mentionCount(id) === 3", parent)
    settles(2)
    other.edit(f"/messages/{parent}/thread/{first['id']}", "nobody")
    one.until("(id) => bench.model.unread.mentionCount(id) === 2", parent)
    settles(2)
    one.run("(id) => bench.model.unread.markRead(id)", parent)
    settles(1)
    other.reply(parent, "@Ada?")
    settles(2)
    one.run("bench.model.readStates.notify(bench.place.id, { isMuted: true })")
    settles(0)


def test_a_mention_in_a_thread_that_one_left_is_in_the_badge_until_the_thread_is_shown(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one, phone = bench(server), bench(server)
    other = Other(server)
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")

    def settles(badge: int) -> None:
        for device in (one, phone):
            device.until(f"bench.model.unread.total().mentions === {badge}")
        assert badge_at_the_server(server) == badge

    other.reply(parent, "an answer")
    one.until("(id) => bench.model.threads.has(id)", parent)
    one.run("(id) => bench.model.threadStates.follow(id, false)", parent)
    phone.until("(id) => bench.model.unread.state(id)?.following === false", parent)
    other.reply(parent, "@Ada, and this one?")
    settles(1)
    last = other.reply(parent, "nothing for you")
    other.edit(f"/messages/{parent}/thread/{last['id']}", "for @Ada after all")
    settles(2)
    one.page.reload()  # It knows of the thread no more.
    one.open()
    settles(2)
    shown = "(id, last) => bench.model.unread.markRead(id, last, bench.place.id)"
    one.page.evaluate(f"([id, last]) => ({shown})(id, last)", [parent, last["id"]])
    settles(0)


@pytest.mark.slow
def test_after_too_long_a_thread_hangs_from_its_message_as_it_is_now(talk: Any, bench: OpenBench) -> None:
    parent = talk.say(talk.ada, "As it is")
    talk.reply(talk.grace, parent, "An answer")
    one = bench(talk.server)
    one.until("bench.contents().length === 1")
    open_thread = """async (id) => {
      bench.ending = new AbortController();
      bench.thread = bench.model.thread(id, bench.place);
      bench.thread.on("reset", () => {}, bench.ending.signal); // A view would.
      await bench.thread.load();
    }"""
    resync = "bench.model.stream.emit('event', { id: '', type: 'RESYNC', payload: {} })"
    one.run(open_thread, parent)
    for leave in ("bench", "bench.ending.abort()"):
        one.until("bench.thread.parent?.content === 'As it is'")
        one.run("(id) => bench.model.update(id, { content: 'As it was' })", parent)
        one.until("bench.thread.parent.content === 'As it was'")
        one.run(f"void ({leave}, {resync})")
        one.until("bench.contents().join() === 'As it is'")
    one.run(open_thread, parent)
    one.until("bench.thread.parent?.content === 'As it is'")
