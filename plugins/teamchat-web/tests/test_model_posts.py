"""What a person wrote arrives, once, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Route

Serve = Callable[..., Any]
OpenBench = Callable[..., Any]


def stored(server: Any) -> list[str]:
    """The texts the server has in its first channel."""
    token = server.token()
    with server.client(token) as client:
        channel = client.get("/channels").json()["channels"][0]["id"]
        messages = client.get(f"/channels/{channel}/messages", params={"limit": 200}).json()["messages"]
    return [message["content"] for message in messages]


@pytest.mark.slow
def test_a_post_shows_at_once_and_becomes_the_message(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    state = one.run(
        """() => {
          bench.changes = [];
          for (const type of ["added", "removed", "changed"]) {
            bench.timeline.on(type, ({ item }) => bench.changes.push([type, item.id ?? "pending"]));
          }
          const { state, author } = bench.model.post(bench.place, { content: "hello" });
          return [state, author.userName, bench.contents()];
        }"""
    )
    assert state == ["sending", "Ada", ["hello"]]
    one.until("bench.timeline.items.every((item) => item.id)")
    assert one.contents() == ["hello"] == stored(server)
    changes = one.run("bench.changes")
    assert [kind for kind, who in changes if who != "pending" and kind == "added"] == ["added"]
    assert ["removed", "pending"] in changes


@pytest.mark.slow
def test_posts_survive_the_servers_death_and_a_reload_and_are_sent_once(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve()
    one = bench(server)
    one.post("before")
    one.until("bench.timeline.items.every((item) => item.id)")
    server.kill()
    for text in ("first", "second", "third"):
        one.post(text)
    one.until("bench.timeline.items.some((item) => item.state === 'waiting')")
    one.until("bench.model.connection !== 'online'")
    server.restart()
    # The page is loaded anew while posts are still waiting.
    one.page.reload()
    one.open()
    assert one.contents() == ["before", "first", "second", "third"]
    one.until("bench.timeline.items.every((item) => item.id)")
    assert stored(server) == ["before", "first", "second", "third"] == one.contents()
    one.until("bench.kept.keys('post/').length === 0")


@pytest.mark.slow
def test_an_answer_lost_on_the_way_does_not_double_a_message(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    lost = []

    def lose(route: Route) -> None:
        if route.request.method != "POST" or lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort("connectionreset")

    one.page.route("**/messages", lose)
    one.post("only once")
    one.until("bench.timeline.items.length && bench.timeline.items.every((item) => item.id)")
    one.until("bench.kept.keys('post/').length === 0")
    assert lost == [200]
    assert one.contents() == ["only once"] == stored(server)


def test_an_event_that_overtakes_the_answer_shows_the_message_once(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append((route, route.fetch()))
        else:
            route.continue_()

    one.page.route("**/messages", hold)
    one.post("early")
    one.until("bench.timeline.items.some((item) => item.id)")
    assert one.contents() == ["early"]
    assert len(one.run("bench.kept.keys('post/')")) == 1
    route, response = held[0]
    route.fulfill(response=response)
    one.until("bench.kept.keys('post/').length === 0")
    assert one.contents() == ["early"] == stored(server)


@pytest.mark.slow
def test_the_same_words_from_elsewhere_do_not_take_a_posts_place(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one, other = bench(server), bench(server)

    def hold(route: Route) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
        else:
            route.continue_()

    held: list[Route] = []
    one.page.route("**/messages", hold)
    one.post("ok")
    one.until("bench.timeline.items.length === 1")
    other.post("ok")
    one.until("bench.timeline.items.some((item) => item.id)")
    while not held:
        one.page.wait_for_timeout(20)
    held[0].abort()  # It never reached the server, so it has to be sent again.
    one.until("bench.timeline.items.length === 2 && bench.timeline.items.every((item) => item.id)")
    assert stored(server) == ["ok", "ok"]


@pytest.mark.slow
def test_a_refused_post_says_why_lets_others_pass_and_can_be_tried_again_or_dropped(
    serve: Serve, bench: OpenBench
) -> None:
    server = serve(
        chat={"maxMessageLength": 10, "initialUser": {"userName": "Ada", "email": "admin@localhost"}}
    )
    one = bench(server)
    one.post("much too long for this server")
    one.post("short")
    failed = one.until("bench.timeline.items.find((item) => item.state === 'failed')")
    assert "10" in failed["error"]
    one.until("bench.contents().includes('short') && bench.timeline.items[0].id")
    one.run("(id) => bench.model.outbox.retry(id)", failed["localId"])
    one.until("bench.timeline.items.find((item) => item.localId)?.state === 'failed'")
    one.run("(id) => bench.model.outbox.discard(id)", failed["localId"])
    assert one.contents() == ["short"] == stored(server)
    one.page.reload()
    one.open()
    assert one.contents() == ["short"]


@pytest.mark.slow
def test_posts_of_two_tabs_are_sent_once_and_seen_in_both(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    two = one.tab()
    server.kill()
    one.post("from one")
    one.until("bench.timeline.items[0]?.state === 'waiting'")
    two.post("from two")
    two.until("bench.timeline.items.length === 2")
    one.until("bench.timeline.items.length === 2")
    server.restart()
    for tab in (one, two):
        tab.until("bench.timeline.items.length === 2 && bench.timeline.items.every((item) => item.id)")
        assert tab.contents() == ["from one", "from two"]
    assert stored(server) == ["from one", "from two"]


@pytest.mark.slow
def test_pictures_survive_a_reload_and_get_a_thumbnail(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    one.page.route("**/messages/image", lambda route: route.abort())
    one.run(
        """async () => {
          const canvas = new OffscreenCanvas(1000, 750);
          const context = canvas.getContext("2d");
          const pixels = context.createImageData(1000, 750);
          for (let at = 0; at < pixels.data.length; at++) pixels.data[at] = Math.random() * 256;
          context.putImageData(pixels, 0, 0);
          const blob = await canvas.convertToBlob({ type: "image/png" });
          const file = new File([blob], "holiday.png", { type: "image/png" });
          bench.model.post(bench.place, { content: "", files: [file] });
        }"""
    )
    one.until("bench.timeline.items[0]?.state === 'waiting'")
    one.page.unroute("**/messages/image")
    one.page.reload()
    one.open()
    one.until("bench.timeline.items[0]?.images?.length === 1")
    sizes = one.run(
        """async () => {
          const measure = async (options) => {
            const [{ images: [name], place }] = bench.timeline.items;
            const address = await bench.model.pictures.url(place, name, options);
            const blob = await bench.api.image(place, name, options);
            const { width, height } = await createImageBitmap(blob);
            return [address.startsWith("blob:"), width, height];
          };
          return [await measure({}), await measure({ thumb: true })];
        }"""
    )
    assert sizes == [[True, 1000, 750], [True, 640, 480]]


@pytest.mark.slow
def test_a_file_that_is_no_picture_is_refused_in_words(serve: Serve, bench: OpenBench) -> None:
    one = bench(serve())
    one.run(
        """() => {
          const file = new File(["words"], "notes.txt", { type: "text/plain" });
          bench.model.post(bench.place, { content: "see this", files: [file] });
        }"""
    )
    failed = one.until("bench.timeline.items.find((item) => item.state === 'failed')")
    assert "JPEG" in failed["error"]


@pytest.mark.slow
def test_replies_wait_and_arrive_like_messages(serve: Serve, bench: OpenBench) -> None:
    server = serve()
    one = bench(server)
    one.post("parent")
    parent = one.until("bench.timeline.items[0]?.id")
    one.run(
        "(id) => { bench.thread = bench.model.thread(id, bench.place); return bench.thread.load(); }", parent
    )
    one.until("bench.thread.parent?.content === 'parent'")
    server.kill()
    one.run("(id) => { bench.model.post(bench.place, { content: 'reply', parentId: id }); }", parent)
    one.until("bench.thread.items[0]?.state === 'waiting'")
    server.restart()
    one.until("bench.thread.items[0]?.id")
    one.until("bench.timeline.items[0].threadMeta?.replyCount === 1")
    assert one.run("bench.thread.parent.threadMeta.replyCount") == 1
    assert one.run("bench.thread.items.map((item) => [item.content, item.parentId])") == [["reply", parent]]
