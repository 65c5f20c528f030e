"""The stream and what it feeds: nothing is missed, nothing comes twice, and one tab holds it for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]

GRACE = "grace@example.org"
# Puts the stream where this log never was.
LOSE_PLACE = """() => {
  const key = Object.keys(localStorage).find((name) => name.endsWith("/stream"));
  localStorage[key] = JSON.stringify({ id: "987654321", at: Date.now() });
}"""


class Grace:
    """Somebody else, who talks to the server without a browser."""

    def __init__(self, server: Any, email: str = GRACE) -> None:
        self.server = server
        self.token = server.token(email)
        with server.client(self.token) as client:
            self.channel = client.get("/channels").json()["channels"][0]["id"]
            self.id = client.get("/auth/me").json()["user"]["id"]

    def post(self, content: str) -> str:
        return str(self.server.post(self.at, {"content": content}, self.token)["message"]["id"])

    @property
    def at(self) -> str:
        return f"/channels/{self.channel}/messages"

    def reply(self, parent: str, content: str) -> str:
        answer = self.server.post(f"/messages/{parent}/thread", {"content": content}, self.token)
        return str(answer["reply"]["id"])

    def call(self, method: str, path: str, body: Any = None) -> Any:
        with self.server.client(self.token) as client:
            answer = client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()


def requests_of(bench: Any, part: str) -> list[str]:
    seen: list[str] = []
    bench.page.context.on("request", lambda one: seen.append(one.url) if part in one.url else None)
    return seen


@pytest.mark.slow
def test_what_others_do_arrives(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    one.until("bench.model.users.size === 2")
    message = grace.post("hello")
    one.until("bench.contents().includes('hello')")
    grace.call("PUT", f"/messages/{message}", {"content": "hello, all"})
    one.until("bench.contents()[0] === 'hello, all' && bench.timeline.items[0].updatedAt")
    grace.call("POST", f"/messages/{message}/reactions", {"reaction": "👍"})
    one.until("bench.timeline.items[0].reactions['👍']?.length === 1")
    grace.call("DELETE", f"/messages/{message}/reactions", {"reaction": "👍"})
    one.until("!('👍' in bench.timeline.items[0].reactions)")
    reply = grace.reply(message, "and a reply")
    one.until("bench.timeline.items[0].threadMeta?.replyCount === 1")
    assert one.contents() == ["hello, all"]
    grace.call("DELETE", f"/messages/{message}/thread/{reply}")
    one.until("!bench.timeline.items[0].threadMeta")
    grace.call("PUT", "/users/me", {"userName": "Grace H."})
    one.until("bench.model.names().has('grace h.')")
    grace.call("DELETE", f"/messages/{message}")
    one.until("bench.contents().length === 0")
    grace.call("POST", "/conversations", {"targetUserId": one.run("bench.model.me.id")})
    one.until("bench.model.sortedDirect()[0]?.title === 'Grace H.'")
    grace.call("POST", "/users/exit")
    one.until("bench.model.users.size === 1")
    assert one.run("(id) => bench.model.userName(id)", grace.id) == "Grace H."


def test_ones_own_changes_show_once(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    one.post("words")
    one.until("bench.timeline.items[0]?.id")
    one.run("bench.model.toggleReaction(bench.timeline.items[0], '🎉')")
    assert one.run("bench.timeline.items[0].reactions['🎉'].length") == 1
    one.run("bench.model.toggleReaction(bench.timeline.items[0], '🎉')")
    assert one.run("bench.timeline.items[0].reactions") == {}
    one.run("bench.model.edit(bench.timeline.items[0], { content: 'better words' })")
    assert one.contents() == ["better words"]
    one.run("bench.model.remove(bench.timeline.items[0])")
    assert one.contents() == []
    one.run(
        """async () => {
          const { Administration } = await bench.load("api/administration.js");
          bench.api = new Administration(bench.api);
        }"""
    )
    channel = one.run("bench.api.addChannel('Second').then(({ id }) => id)")
    one.until("bench.model.channels.size === 2")
    one.run("(id) => bench.api.renameChannel(id, 'Other')", channel)
    one.until("bench.model.sortedChannels()[1].name === 'Other'")
    one.run("(id) => bench.api.removeChannel(id)", channel)
    one.until("bench.model.channels.size === 1")
    one.run("bench.api.setServerName('Harbour')")
    one.until("bench.model.serverName === 'Harbour'")


@pytest.mark.slow
def test_after_the_servers_death_the_stream_goes_on_where_it_was(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    first = grace.post("one")
    one.until("bench.contents().length === 1")
    pages = requests_of(one, "/messages?")
    server.kill()
    one.until("bench.model.connection !== 'online'")
    server.restart()
    grace.call("DELETE", f"/messages/{first}")
    for text in ("two", "three"):
        grace.post(text)
    one.until("bench.model.connection === 'online'")
    one.until("bench.contents().length === 2")
    assert one.contents() == ["two", "three"]
    assert not pages


def test_what_happened_without_a_network_comes_with_it(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    one.page.context.set_offline(True)
    one.until("bench.model.connection === 'offline'")
    grace.post("while you were out")
    one.page.context.set_offline(False)
    one.until("bench.contents().includes('while you were out')")
    one.until("bench.model.connection === 'online'")


@pytest.mark.slow
def test_a_client_that_was_away_too_long_loads_anew_and_counts(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    grace.post("seen")
    one.until("bench.contents().length === 1")
    one.run("bench.model.unread.markRead(bench.place.id)")
    one.page.reload()
    grace.post("not seen")
    grace.call("PUT", "/users/me", {"userName": "Amazing"})
    # A position this log never had is what a position it no longer reaches back to is: RESYNC.
    one.run(LOSE_PLACE)
    one.open()
    one.until("bench.contents().length === 2")
    one.until("bench.model.unread.count(bench.place.id) === 1")
    one.until("bench.model.names().has('amazing')")
    # And then it goes on from where the log is.
    grace.post("live again")
    one.until("bench.contents().length === 3 && bench.model.unread.count(bench.place.id) === 2")
    assert one.run("Number(bench.model.stream.lastEventId) < 1000")


@pytest.mark.slow
def test_two_tabs_share_one_stream_and_the_second_takes_it_over(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    streams = requests_of(one, "/events?")
    two = one.tab()
    grace.post("for both")
    for tab in (one, two):
        tab.until("bench.contents().join() === 'for both'")
    assert streams == []
    assert [tab.run("bench.model.stream.isLeader") for tab in (one, two)] == [True, False]
    assert two.run("bench.model.connection") == "online"
    one.page.close()
    grace.post("for one")
    two.until("bench.contents().length === 2")
    assert two.contents() == ["for both", "for one"]
    assert len(streams) == 1
    # It resumed from what it had seen; nothing was asked for from the beginning.
    assert not streams[0].endswith("lastEventId=")


@pytest.mark.slow
def test_a_server_that_has_had_enough_is_left_alone_for_as_long_as_it_says(
    serve: Serve, visit: Callable[..., Any]
) -> None:
    server = serve()
    page = visit("about:blank")
    asked: list[float] = []

    def refuse_once(route: Any) -> None:
        asked.append(time.monotonic())
        headers = {"Retry-After": "2", "Content-Type": "application/json"}
        answer = {"status": 429, "headers": headers, "body": '{"error": "Too many requests."}'}
        route.fulfill(**answer) if len(asked) == 1 else route.continue_()

    page.route("**/events?*", refuse_once)
    page.goto(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_label("Write to #General")).to_be_visible()
    Grace(server).post("at last")
    expect(page.get_by_role("article")).to_contain_text("at last")
    assert asked[1] - asked[0] >= 2


def test_a_tab_that_comes_late_misses_nothing(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    two = one.tab()
    two.page.evaluate("bench.model.stop()")
    for number in range(5):
        grace.post(f"{number}")
    one.until("bench.contents().length === 5")
    two.page.reload()
    two.open()
    two.until("bench.contents().length === 5")
    two.until("bench.model.unread.count(bench.place.id) === 5")
    grace.post("5")
    two.until("bench.contents().length === 6")


@pytest.mark.slow
def test_pages_of_a_long_channel_join_without_gap_or_repeat(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    grace = Grace(server)
    for number in range(120):
        grace.post(f"{number}")
    one = bench(server)
    assert one.contents() == [f"{number}" for number in range(70, 120)]
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url) if "before=" in request.url else None)
    one.run("Promise.all([bench.timeline.loadOlder(), bench.timeline.loadOlder()])")
    grace.post("120")
    one.until("bench.contents().length === 101")
    one.run("bench.timeline.loadOlder()")
    assert one.contents() == [f"{number}" for number in range(121)]
    assert one.run("[bench.timeline.hasOlder, bench.timeline.error]") == [False, None]
    assert len(asked) == 2, "the page that two want is asked for once"


@pytest.mark.slow
def test_what_happens_while_a_page_loads_is_not_lost(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    grace = Grace(server)
    gone = grace.post("soon gone")
    one.until("bench.contents().length === 1")

    def late(route: Any) -> None:
        answer = route.fetch()
        grace.call("DELETE", f"/messages/{gone}")
        grace.post("just now")
        until_seen.append(answer)
        one.page.wait_for_timeout(300)
        route.fulfill(response=answer)

    until_seen: list[Any] = []
    one.page.route("**/messages?limit=50", late)
    one.run("bench.timeline.reload()")
    assert until_seen
    one.until("bench.contents().join() === 'just now'")


@pytest.mark.slow
def test_what_is_read_anew_and_has_not_changed_is_the_same_object(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    grace = Grace(server)
    grace.post("as it was")
    other = grace.post("before")
    one = bench(server)
    one.run("() => { bench.before = bench.timeline.items; bench.model.stop(); }")
    grace.call("PUT", f"/messages/{other}", {"content": "after"})
    one.run("bench.timeline.reload()")
    assert one.contents() == ["as it was", "after"]
    assert one.run("bench.timeline.items.map((item, at) => item === bench.before[at])") == [True, False]


@pytest.mark.slow
def test_messages_of_others_are_told_live_and_ones_own_are_not(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    one.post("mine")
    one.until("bench.timeline.items[0]?.id")
    grace = Grace(server)
    grace.post("theirs")
    heard = one.until("bench.heard.length && bench.heard")
    assert [(told["message"]["content"], told["place"]["kind"]) for told in heard] == [("theirs", "channel")]
