"""What is unread, over visits and tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teamchat.testing import ADMIN

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]


class Other:
    """Somebody else."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.token = server.token("grace@example.org")
        with server.client(self.token) as client:
            self.channel = client.get("/channels").json()["channels"][0]["id"]

    def post(self, content: str) -> Any:
        path = f"/channels/{self.channel}/messages"
        return self.server.post(path, {"content": content}, self.token)["message"]


def state(one: Any) -> list[Any]:
    return list(
        one.run(
            """() => {
              const { unread } = bench.model;
              const { id } = bench.place;
              return [unread.count(id), unread.mentionCount(id), unread.firstUnread(id), unread.total()];
            }"""
        )
    )


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
    first = other.post("hello")
    other.post("@Ada, are you there?")
    one.until("bench.model.unread.total().unread === 2")
    assert state(one) == [2, 1, first["id"], {"unread": 2, "mentions": 1}]
    assert set(one.run("bench.changes")) == {other.channel}
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert state(one) == [0, 0, None, {"unread": 0, "mentions": 0}]


def test_what_came_while_nobody_was_here_counts_at_the_next_visit(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    other.post("read")
    one.until("bench.model.unread.total().unread === 1")
    one.run("bench.model.unread.markRead(bench.place.id)")
    first = other.post("not read")
    one.until("bench.model.unread.total().unread === 1")
    one.page.goto(f"{server.base}/health")
    other.post("came meanwhile")
    one.page.goto(server.base)
    one.open()
    one.until("bench.model.unread.total().unread === 2")
    assert state(one)[:3] == [2, 0, first["id"]]


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


def test_replies_count_for_those_who_take_part(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, third = bench(server), bench(server, "third@example.org")
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")
    third.until("bench.timeline.items[0]?.id")
    third.run("bench.model.unread.markRead(bench.place.id)")
    other = Other(server)
    server.post(f"/messages/{parent}/thread", {"content": "an answer"}, other.token)
    one.until("bench.model.unread.total().unread === 1")
    assert one.run("(id) => bench.model.unread.count(id)", parent) == 1
    third.until("bench.timeline.items[0].threadMeta?.replyCount === 1")
    assert third.run("bench.model.unread.total().unread") == 0
    # The place is read; the thread is not, until it is.
    one.run("bench.model.unread.markRead(bench.place.id)")
    assert one.run(
        "(id) => [bench.model.unread.count(bench.place.id), bench.model.unread.count(id)]", parent
    ) == [
        0,
        1,
    ]
    one.run("(id) => bench.model.unread.markRead(id)", parent)
    assert one.run("(id) => bench.model.unread.count(id)", parent) == 0


def test_a_deleted_message_is_not_unread(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    message = other.post("oops")
    one.until("bench.model.unread.total().unread === 1")
    with server.client(other.token) as client:
        assert client.delete(f"/messages/{message['id']}").is_success
    one.until("bench.model.unread.total().unread === 0")


def test_a_first_visit_has_nothing_to_read_and_what_is_kept_is_one_users(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    other = Other(server)
    other.post("long ago")
    one = bench(server)
    assert state(one)[0] == 0
    other.post("now")
    one.until("bench.model.unread.total().unread === 1")
    kept = "Object.keys(localStorage).filter((name) => name.endsWith('/unread'))"
    one.until(f"{kept}.length > 0")
    names = one.run(kept)
    assert names == [f"bench/{one.run('bench.model.me.id')}/unread"]
    assert ADMIN not in names[0]
