"""Long timelines: history grows upward under what is read, and ten thousand messages stay light."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from benchmarks import web_client

GRACE = "grace@example.org"
MANY = 10_000
PAGE = web_client.PAGE
FILLED = 1000  # messages at most that have elements
Serve = Callable[..., Any]
Enter = Callable[..., Page]
Visit = Callable[..., Page]

# The first message whose top is in view, and where it stands.
FIRST_SEEN = """() => {
  const { top } = document.querySelector("main .timeline").getBoundingClientRect();
  for (const one of document.querySelectorAll("main article")) {
    const at = one.getBoundingClientRect().top - top;
    if (at >= 0) return { id: one.dataset.id, at };
  }
}"""
WHERE = """(id) => document.querySelector(`main article[data-id="${id}"]`).getBoundingClientRect().top
  - document.querySelector("main .timeline").getBoundingClientRect().top"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# How many messages there are, from now on, whenever that changes.
COUNTS = """() => {
  const list = document.querySelector("main .chunks");
  const count = () => window.counts.push(list.querySelectorAll(".entry").length);
  window.counts = [];
  new MutationObserver(count).observe(list, { childList: true, subtree: true });
}"""
SCROLL = "(top) => { document.querySelector('main .timeline').scrollTop = top; }"
TO_TOP = """async () => {
  const scroller = document.querySelector("main .timeline");
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const frames = [];
  const jumps = [];
  let last = await frame();
  while (scroller.scrollTop > 0) {
    const line = scroller.getBoundingClientRect().top;
    const held = document.elementFromPoint(innerWidth / 2, line + 300)?.closest("article");
    const before = held?.getBoundingClientRect().top;
    const step = Math.min(600, scroller.scrollTop);
    scroller.scrollTop -= step;
    const now = await frame();
    frames.push(now - last);
    last = now;
    if (held) jumps.push(Math.abs(held.getBoundingClientRect().top - before - step));
  }
  return { frames, jumps };
}"""


def channel_id(server: Any) -> str:
    with server.client(server.token()) as client:
        return str(client.get("/channels").json()["channels"][0]["id"])


def fill(server: Any, count: int) -> None:
    token, place = server.token(GRACE), channel_id(server)
    with server.client(token) as client:
        for number in range(count):
            text = f"Message {number}" + "\n\nwith more to say" * (number % 4)
            client.post(f"/channels/{place}/messages", json={"content": text}).raise_for_status()


def read_all(server: Any) -> None:
    """Have Ada read the channel to its end, elsewhere."""
    place = channel_id(server)
    with server.client(server.token()) as client:
        last = client.get(f"/me/places/{place}").json()["state"]["lastMessageId"]
        client.put(f"/me/places/{place}/read", json={"position": last}).raise_for_status()


@pytest.mark.slow
def test_history_grows_without_moving_what_is_read(serve: Serve, enter: Enter) -> None:
    server = serve()
    fill(server, 130)
    page = enter(server)
    expect(page.locator("article")).to_have_count(50)
    expect(page.locator("article").last).to_be_in_viewport()

    for loaded in (100, 130):
        page.evaluate(SCROLL, 700)
        seen = page.evaluate(FIRST_SEEN)
        expect(page.locator(".entry")).to_have_count(loaded)
        page.evaluate(DRAWN)
        assert abs(page.evaluate(WHERE, seen["id"]) - seen["at"]) <= 2
    page.evaluate(SCROLL, 0)
    expect(page.locator("main")).to_contain_text("This is the beginning of #General.")
    texts = page.locator("article .message-body > p:first-child").all_text_contents()
    assert texts[:50] == [f"Message {number}" for number in range(50)]
    page.get_by_role("button", name="Newest messages").click()
    texts = page.locator("article .message-body > p:first-child").all_text_contents()
    assert texts[-50:] == [f"Message {number}" for number in range(80, 130)]
    expect(page.locator(".entry")).to_have_count(130)


@pytest.mark.slow
def test_history_that_was_read_before_the_stream_began_stays(serve: Serve, visit: Visit) -> None:
    server = serve()
    fill(server, 130)
    streams: list[Route] = []
    page = visit("about:blank")
    page.route("**/events?*", lambda route: streams.append(route))
    page.goto(f"{server.base}/?access_token={server.token()}")
    expect(page.locator("article")).to_have_count(50)
    page.evaluate(SCROLL, 700)
    expect(page.locator(".entry")).to_have_count(100)
    page.evaluate(DRAWN)
    page.evaluate(COUNTS)
    seen = page.evaluate(FIRST_SEEN)
    fill(server, 1)
    streams[0].continue_()
    expect(page.locator(".entry")).to_have_count(131)  # two pages reach back to one message less
    page.evaluate(DRAWN)
    assert abs(page.evaluate(WHERE, seen["id"]) - seen["at"]) <= 2
    assert min(page.evaluate("window.counts")) >= 100


@pytest.mark.slow
def test_what_was_posted_between_the_first_page_and_the_stream_is_there(
    serve: Serve, visit: Visit, until_loaded: Callable[[Page, str], None]
) -> None:
    server = serve()
    token, path = server.token(GRACE), f"/channels/{channel_id(server)}/messages"
    pages: list[Route] = []
    streams: list[Route] = []
    page = visit("about:blank")
    page.route("**/events?*", lambda route: streams.append(route))
    page.route("**/messages?*", lambda route: pages.append(route), times=1)
    page.goto(f"{server.base}/?access_token={server.token()}")
    while not (pages and streams):
        page.wait_for_timeout(20)
    old = pages[0].fetch()
    server.post(path, {"content": "just now"}, token)
    streams[0].continue_()
    until_loaded(page, "/catch_up.js")  # The stream has begun.
    pages[0].fulfill(response=old)
    expect(page.get_by_role("article")).to_contain_text("just now")


@pytest.mark.slow
def test_new_messages_leave_who_reads_history_alone(serve: Serve, enter: Enter) -> None:
    server = serve()
    fill(server, 60)
    read_all(server)
    page, grace = enter(server), enter(server, GRACE)
    expect(page.locator("article").last).to_be_in_viewport()
    expect(page.locator(".pill")).to_be_hidden()
    page.evaluate(SCROLL, 1000)
    expect(page.locator(".pill")).to_have_text("Newest messages")
    expect(page.locator("article")).to_have_count(60)
    page.evaluate(DRAWN)
    seen = page.evaluate(FIRST_SEEN)
    for text in ("First", "Second"):
        grace.get_by_label("Write to #General").fill(text)
        grace.keyboard.press("Enter")
    expect(page.locator(".pill")).to_have_text("2 new messages")
    assert abs(page.evaluate(WHERE, seen["id"]) - seen["at"]) <= 1
    expect(page.get_by_role("link", name="General")).to_have_accessible_name(re.compile("2 unread"))
    page.locator(".pill").click()
    expect(page.locator("article").last).to_be_in_viewport()
    expect(page.locator(".pill")).to_be_hidden()
    expect(page.get_by_role("link", name="General")).to_have_accessible_name("General")


def answer(route: Route) -> None:
    """Answer a page of a conversation of `MANY` messages."""
    web_client.answer(route, MANY)


def renderer_memory(browser: Browser) -> int:
    """What the largest renderer alone holds, in bytes, once what is garbage was collected."""
    page = browser.contexts[-1].pages[-1]
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    rollups = [Path(f"/proc/{one['id']}/smaps_rollup") for one in processes if one["type"] == "renderer"]
    sizes = [re.findall(r"Private_\w+: +(\d+) kB", rollup.read_text()) for rollup in rollups]
    return max(sum(map(int, each)) for each in sizes) * 1024


@pytest.mark.slow
def test_ten_thousand_messages_scroll_without_jumps(serve: Serve, enter: Enter, browser: Browser) -> None:
    """Nothing moves by itself, and memory is bounded; how long frames take is printed (pytest -s)."""
    server = serve()
    place = channel_id(server)
    page = enter(server)
    expect(page.get_by_label("Write to #General")).to_be_visible()
    other = server.post("/channels", {"name": "long"}, server.token())["channel"]["id"]
    assert other != place
    page.route(f"**/channels/{other}/messages?*", answer)
    page.get_by_role("link", name="long").click()
    articles, entries = page.locator("main article"), page.locator("main .entry")
    expect(articles).to_have_count(PAGE)
    for count in range(2 * PAGE, MANY + 1, PAGE):
        page.evaluate(SCROLL, 1000)
        expect(entries).to_have_count(count)
    assert renderer_memory(browser) <= 200 * 2**20
    page.get_by_role("button", name="Newest messages").click()
    expect(articles.last).to_be_in_viewport()
    assert page.locator(".chunk:not(.settled, .emptied)").count() == 0

    result = page.evaluate(TO_TOP)
    frames, jumps = sorted(result["frames"]), result["jumps"]
    print(
        f"\n{MANY} messages, {len(frames)} frames: median {frames[len(frames) // 2]:.1f} ms, "
        f"99th {frames[len(frames) * 99 // 100]:.1f} ms, longest {frames[-1]:.1f} ms; "
        f"largest jump {max(jumps):.1f} px"
    )
    assert max(jumps) <= 2
    expect(articles.first).to_be_in_viewport()
    assert entries.count() == MANY
    assert articles.count() <= FILLED
    texts = articles.locator(".message-body").all_text_contents()
    assert [int(text.split()[1]) for text in texts[:FILLED]] == list(range(len(texts)))


@pytest.mark.slow
def test_who_left_a_place_far_back_finds_its_end_again(serve: Serve, enter: Enter) -> None:
    server = serve()
    place = channel_id(server)
    other = server.post("/channels", {"name": "long"}, server.token())["channel"]["id"]
    page = enter(server, place=f"#/channel/{place}")
    expect(page.get_by_label("Write to #General")).to_be_visible()
    page.route(f"**/channels/{other}/messages?*", answer)
    page.get_by_role("link", name="long").click()
    entries = page.locator("main .entry")
    for count in range(PAGE, 10 * PAGE + 1, PAGE):
        expect(entries).to_have_count(count)
        page.evaluate(SCROLL, 1000)
    page.get_by_role("link", name="General").click()
    expect(entries).to_have_count(0)
    page.get_by_role("link", name="long").click()
    expect(entries).to_have_count(2 * PAGE)
    expect(page.locator("main article").last).to_be_in_viewport()
    page.evaluate(SCROLL, 1000)
    expect(entries).to_have_count(3 * PAGE)
    ids = page.locator("main article").evaluate_all(
        "(all) => all.map(({ dataset }) => parseInt(dataset.id, 16))"
    )
    assert ids == list(range(MANY - 3 * PAGE, MANY))[-len(ids) :]


@pytest.mark.slow
def test_keys_lead_through_messages_that_are_not_filled(serve: Serve, enter: Enter) -> None:
    server = serve()
    other = server.post("/channels", {"name": "long"}, server.token())["channel"]["id"]
    page = enter(server)
    expect(page.get_by_label("Write to #General")).to_be_visible()
    page.route(f"**/channels/{other}/messages?*", answer)
    page.get_by_role("link", name="long").click()
    entries, articles = page.locator("main .entry"), page.locator("main article")
    for count in range(PAGE, 16 * PAGE + 1, PAGE):
        expect(entries).to_have_count(count)
        page.evaluate(SCROLL, 1000)
    expect(page.locator("main .emptied").first).to_be_attached()
    page.get_by_role("button", name="Newest messages").click()
    articles.last.focus()
    oldest = entries.first.evaluate("(entry) => [entry.childElementCount, entry.getClientRects().length]")
    assert oldest == [0, 0]  # Ten thousand boxes cost each frame milliseconds, empty or not.
    focused, number = page.locator("main article:focus"), "({ dataset }) => parseInt(dataset.id, 16)"
    page.keyboard.press("Home")
    expect(focused).to_be_in_viewport()
    assert focused.evaluate(number) <= MANY - 16 * PAGE
    page.keyboard.press("End")
    expect(focused).to_be_in_viewport()
    assert focused.evaluate(number) == MANY - 1


@pytest.mark.slow
def test_what_is_new_far_up_can_be_gone_to(serve: Serve, enter: Enter) -> None:
    server = serve()
    random = server.post("/channels", {"name": "random"}, server.token())["channel"]["id"]
    page = enter(server, place=f"#/channel/{random}")
    expect(page.get_by_role("heading", name="random", level=1)).to_be_visible()
    fill(server, 120)
    general = page.get_by_role("link", name="General")
    expect(general).to_have_accessible_name(re.compile("120 unread"))
    general.click()
    expect(page.locator("article").last).to_be_in_viewport()
    page.get_by_role("button", name="To the first unread message").click()
    first = page.locator("article").filter(has_text=re.compile("Message 0$"))
    expect(first).to_be_in_viewport()
    expect(page.locator(".new-line")).to_be_in_viewport()
    expect(page.get_by_role("button", name="To the first unread message")).to_have_count(0)


@pytest.mark.slow
def test_the_line_above_what_is_new_leaves_its_message_as_it_was_drawn(serve: Serve, visit: Visit) -> None:
    server = serve()
    fill(server, 2)
    page = visit("about:blank")
    asked: list[Route] = []
    page.route("**/me/places*", lambda route: asked.append(route))
    with page.expect_request("**/me/places*"):
        page.goto(f"{server.base}/?access_token={server.token()}")
    first = page.locator("main article").first
    expect(first).to_contain_text("Message 0")
    drawn = first.element_handle()
    for route in asked:
        route.continue_()
    page.unroute_all()
    expect(page.locator(".entry", has=page.locator(".new-line"))).to_contain_text("Message 0")
    assert drawn.evaluate("(article) => article.isConnected")


def test_a_page_that_stays_open_calls_yesterday_yesterday(
    talk: Any, enter: Enter, until_loaded: Callable[[Page, str], None]
) -> None:
    parent = talk.say(talk.ada, "One")
    talk.say(talk.ada, "Two")
    talk.reply(talk.ada, parent, "An answer")
    page = enter(talk.server)
    days = page.locator("main .day")
    expect(days).to_have_text(["Today"])
    until_loaded(page, "/view/new_day.js")
    page.clock.set_fixed_time(datetime.now() + timedelta(days=1))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(days).to_have_text(["Yesterday"])
    page.evaluate("location.hash = '#/threads'")
    reply = page.get_by_role("list", name="Threads").get_by_role("listitem")
    expect(reply).to_contain_text("Yesterday")
    page.clock.set_fixed_time(datetime.now() + timedelta(days=2))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(reply).not_to_contain_text("Yesterday")


def test_a_thread_tells_no_day_that_is_its_parents(serve: Serve, enter: Enter) -> None:
    server = serve()
    token, place = server.token(GRACE), channel_id(server)
    path = f"/channels/{place}/messages"
    parent = server.post(path, {"content": "A question"}, token)["message"]["id"]
    server.post(f"/messages/{parent}/thread", {"content": "An answer"}, token)
    page = enter(server)
    expect(page.locator("article")).to_have_count(1)
    held: list[Route] = []
    page.route("**/messages?*", lambda route: held.append(route))
    page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{place}/thread/{parent}")
    page.reload()
    panel = page.get_by_role("complementary")
    expect(panel.get_by_text("An answer")).to_be_visible()
    for route in held:
        route.continue_()
    expect(panel.get_by_text("A question")).to_be_visible()
    expect(panel.locator(".day")).to_have_text(["1 reply"])
