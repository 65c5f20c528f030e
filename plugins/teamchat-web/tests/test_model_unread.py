"""What is unread, over visits, devices and tabs: the server counts; on a server of the core the page does."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from teamchat.testing import ADMIN

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

    def delete(self, path: str) -> None:
        with self.server.client(self.token) as client:
            assert client.delete(path).is_success


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
              return [unread.count(id), unread.mentionCount(id), unread.total()];
            }"""
        )
    )


def counted_by_the_server(server: Any, token: str) -> dict[str, int]:
    with server.client(token) as client:
        places = client.get("/me/places").json()["places"]
    return {one["placeId"]: one["unreadCount"] for one in places if one["unreadCount"]}


def badge_at_the_server(server: Any) -> int:
    with server.client(server.token()) as client:
        return int(client.get("/me/places").json()["badge"])


def mentions_at_the_server(server: Any) -> int:
    with server.client(server.token()) as client:
        return sum(one["mentionCount"] for one in client.get("/me/places").json()["places"])


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
