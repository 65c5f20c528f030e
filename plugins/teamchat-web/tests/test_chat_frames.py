"""How often the screen is drawn while a lot happens: once per frame, and only what has changed.

Frames come when a test lets them (Playwright's clock), so what is counted depends on no machine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

WITH_ALL_PARTS = True

pytestmark = pytest.mark.slow

GRACE = "grace@example.org"
MANY = 10
FRAME_MS = 17
Serve = Callable[..., Any]
Visit = Callable[..., Page]

# What the stream has brought, before anything is made of it.
HEAR = """() => {
  window.heard = 0;
  const decode = TextDecoder.prototype.decode;
  TextDecoder.prototype.decode = function (...given) {
    const text = decode.apply(this, given);
    window.heard += text.split('"NEW_MESSAGE"').length - 1;
    return text;
  };
}"""
# Each batch of changes in a part of the page, as the texts of what came into it.
OBSERVE = """() => {
  window.drawn = { timeline: [], sidebar: [], title: [] };
  const parts = { timeline: "main .timeline", sidebar: "#sidebar .side-scroll", title: "title" };
  for (const [part, selector] of Object.entries(parts)) {
    new MutationObserver((records) => drawn[part].push(
      records.flatMap(({ addedNodes }) => [...addedNodes].map((node) => node.textContent)),
    )).observe(document.querySelector(selector), { childList: true, characterData: true, subtree: true });
  }
}"""


def test_what_comes_between_two_frames_is_drawn_once(serve: Serve, visit: Visit) -> None:
    server = serve()
    token = server.token(GRACE)
    with server.client(token) as client:
        [general] = client.get("/channels").json()["channels"]
    random = server.post("/channels", {"name": "random"}, server.token())["channel"]
    page = visit("about:blank")
    page.clock.install()
    page.goto(f"{server.base}/?access_token={server.token()}#/channel/{general['id']}")
    expect(page.get_by_label("Write to #General")).to_be_focused()
    expect(page.get_by_role("link", name="random")).to_be_visible()
    page.evaluate(HEAR)
    server.post(f"/channels/{general['id']}/messages", {"content": "The stream is there"}, token)
    expect(page.locator("article")).to_have_count(1)
    expect(page).to_have_title("#General · teamchat")
    for later in ("All channels", "Activity", "Search messages"):  # What comes after the first view.
        expect(page.locator("#sidebar").get_by_text(later, exact=True)).to_be_visible()

    page.clock.pause_at(datetime.now() + timedelta(seconds=2))
    page.evaluate(OBSERVE)
    for number in range(MANY):
        server.post(f"/channels/{general['id']}/messages", {"content": f"Message {number}"}, token)
        server.post(f"/channels/{random['id']}/messages", {"content": f"Elsewhere {number}"}, token)
    page.wait_for_function("(all) => window.heard === all", arg=2 * MANY + 1, polling=20)
    assert page.evaluate("drawn") == {"timeline": [], "sidebar": [], "title": []}

    page.clock.run_for(FRAME_MS)
    drawn = page.evaluate("drawn")
    assert {part: len(batches) for part, batches in drawn.items()} == {
        "timeline": 1,
        "sidebar": 1,
        "title": 1,
    }
    assert [text[:6] for text in drawn["sidebar"][0]] == ["random"]
    page.clock.resume()
    expect(page.locator("article")).to_have_count(MANY + 1)
    expect(page.get_by_role("link", name="random")).to_have_accessible_name(f"random {MANY} unread")
    expect(page).to_have_title("• #General · teamchat")
