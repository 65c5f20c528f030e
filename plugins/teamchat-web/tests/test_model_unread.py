"""What is unread, over visits and tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from teamchat.testing import ADMIN

pytestmark = pytest.mark.slow

# Puts the stream where this log never was.
LOSE_PLACE = """() => {
  const [name] = Object.keys(localStorage).filter((key) => key.endsWith("/unread"));
  const kept = JSON.parse(localStorage[name]);
  localStorage[name] = JSON.stringify({ ...kept, lastEventId: "999999" });
}"""
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

    def reply(self, parent: str, content: str) -> Any:
        return self.server.post(f"/messages/{parent}/thread", {"content": content}, self.token)["reply"]

    def edit(self, path: str, content: str) -> None:
        with self.server.client(self.token) as client:
            assert client.put(path, json={"content": content}).is_success


def counts(one: Any, parent: str) -> list[int]:
    """How many messages of the channel, and how many replies of the thread, are unread."""
    told = "(id) => [bench.model.unread.count(bench.place.id), bench.model.unread.count(id)]"
    return list(one.run(told, parent))


def threads(one: Any) -> list[str]:
    return list(one.run("bench.model.threads.sorted().map(({ id }) => id)"))


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
    one.until("bench.model.unread.total().mentions === 1")
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
    assert one.run("bench.model.unread.total()") == {"unread": 1, "mentions": 1}


def test_the_threads_one_takes_part_in_are_known_over_visits_and_tabs(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    two = one.tab()
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
    two.run("(id) => bench.model.unread.markRead(id)", asked)
    one.until("bench.model.threads.unreadCount() === 1")
    assert threads(one) == [named, asked]
    one.page.reload()
    one.open()
    assert threads(one) == [named, asked]
    # Whoever was named takes part from then on.
    other.reply(named, "well?")
    one.until("bench.model.threads.unreadCount() === 2")
    kept = "JSON.stringify(Object.entries(localStorage).filter(([name]) => name.includes('/thread/')))"
    assert named in one.run(kept)
    assert "Ada" not in one.run(kept)
    with server.client(other.token) as client:
        assert client.delete(f"/messages/{named}").is_success
    one.until("bench.model.threads.unreadCount() === 0")
    assert threads(one) == [asked]


def test_the_threads_from_before_are_found_in_the_pages_that_are_read(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    other = Other(server)
    asked, alien = other.post("a question")["id"], other.post("not for Ada")["id"]
    other.reply(alien, "a monologue")
    server.post(f"/messages/{asked}/thread", {"content": "my answer"}, server.token())
    server.post("/channels", {"name": "a place before it"}, server.token())
    one = bench(server)
    assert threads(one) == []
    one.run(
        """async () => {
          const { findThreads } = await bench.load("model/catch_up.js");
          await findThreads(bench.model, new AbortController().signal);
        }"""
    )
    assert threads(one) == [asked]
    assert one.run("bench.model.unread.total().unread") == 0


def test_after_too_long_replies_in_known_threads_count_however_far_up_they_are(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one = bench(server)
    one.post("my question")
    parent = one.until("bench.timeline.items[0]?.id")
    other = Other(server)
    other.reply(parent, "an answer")
    one.until("bench.model.threads.unreadCount() === 1")
    for number in range(50):
        other.post(f"message {number}")
    one.until("bench.model.unread.count(bench.place.id) === 50")
    one.run("(id) => bench.model.unread.markRead(id)", parent)
    one.run("bench.model.unread.save()")
    one.page.reload()
    other.reply(parent, "another answer")
    one.run(LOSE_PLACE)
    one.open()
    one.until("(id) => bench.model.unread.count(id) === 1", parent)


def test_after_too_long_a_visit_in_which_nothing_was_said_counts_what_came_since(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    other = Other(server)
    other.post("long ago")
    one = bench(server)
    one.until("bench.model.unread.lastEventId")
    one.run("bench.model.unread.save()")
    one.page.reload()
    other.post("meanwhile")
    one.run(LOSE_PLACE)
    one.open()
    one.until("bench.model.unread.total().unread === 1")


def test_an_edit_that_names_somebody_calls_them(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    other = Other(server)
    message = other.post("what do you say?")
    parent = other.post("a thread")["id"]
    reply = other.reply(parent, "well, well")
    one.until("bench.model.unread.total().unread === 2")
    other.edit(f"/messages/{message['id']}", "what do you say, @Ada?")
    other.edit(f"/messages/{parent}/thread/{reply['id']}", "well, @Ada, well")
    one.until("bench.model.unread.total().mentions === 2")
    assert counts(one, parent) == [2, 1]
    assert one.run("bench.heard.filter(({ calls }) => calls).length") == 2
    other.edit(f"/messages/{message['id']}", "what do you say, everybody?")
    one.until("bench.model.unread.total().mentions === 1")
    # What was read stays read.
    one.run("bench.model.unread.markRead(bench.place.id)")
    other.edit(f"/messages/{message['id']}", "@Ada?")
    one.until("bench.contents()[0] === '@Ada?'")
    assert counts(one, parent) == [0, 1]


def test_a_mention_is_not_lost_behind_many_unread_messages(serve: Serve, bench: OpenBench) -> None:
    one = bench(serve())
    one.run(
        """() => {
          const { unread } = bench.model;
          const id = (number) => String(number).padStart(32, "0");
          for (let at = 1; at <= 700; at++) unread.add("place", { id: id(at) }, at === 600 || at === 3);
        }"""
    )
    told = "[u.count('place'), u.mentionCount('place'), Number(u.firstUnread('place'))]"
    assert one.run(f"(() => {{ const u = bench.model.unread; return {told}; }})()") == [500, 2, 1]
    one.run("bench.model.unread.markRead('place')")
    assert one.run("bench.model.unread.count('place')") == 0


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
    one.run("bench.model.unread.save()")
    one.page.reload()
    with server.client(server.token()) as client:
        assert client.delete(f"/channels/{gone}").is_success
    one.run(LOSE_PLACE)
    one.open()
    one.until("bench.model.unread.total().unread === 0")
    assert threads(one) == []


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
