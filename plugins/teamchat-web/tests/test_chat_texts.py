"""Texts as people read and hear them: their direction, what is said of a message, where headings stand."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

GRACE = "grace@example.org"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAADCAIAAAA7ljmRAAAADklEQVR4nGP4jwQYcHIAu4cj3ZP55DwAAAAASUVORK5CYII="
)
Serve = Callable[..., Any]
Enter = Callable[..., Page]

NAME_OF = """(main) => main.querySelector("article").getAttribute("aria-labelledby").split(" ")
  .map((id) => document.getElementById(id)?.textContent).filter(Boolean).join(" ")"""
# Of the message that was folded.
HEIGHT = "document.querySelector('main article').getBoundingClientRect().height"
# The contrast of what lies over a white picture with its own ground.
CONTRAST = """(node) => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const look = getComputedStyle(node);
  const [r, g, b, alpha = 1] = parts(look.backgroundColor);
  const ground = [r, g, b].map((part) => part * alpha + 255 * (1 - alpha));
  const light = ([...rgb]) => {
    const [x, y, z] = rgb.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const [low, high] = [light(ground), light(parts(look.color).slice(0, 3))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
FITS = "(one) => one.scrollWidth <= one.clientWidth"


def path_of(server: Any) -> str:
    with server.client(server.token()) as client:
        [channel] = client.get("/channels").json()["channels"]
    return f"/channels/{channel['id']}/messages"


def test_texts_and_names_go_the_way_of_their_words(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token(GRACE)
    with server.client(token) as client:
        assert client.put("/users/me", json={"userName": "דנה"}).is_success
    path = path_of(server)
    for content in ("שלום לכולם, https://a.example/", "> ציטוט", "plain words", "```\nקוד\n```"):
        server.post(path, {"content": content}, token)
    page = enter(server)
    body = page.locator(".message-body > *")
    expect(body).to_have_count(4)
    for at, way in enumerate(["rtl", "rtl", "ltr", "ltr"]):
        expect(body.nth(at)).to_have_css("direction", way)
    expect(page.locator(".message-body blockquote")).to_have_css("border-right-width", "3px")
    expect(page.locator("article .name").first).to_have_css("direction", "rtl")
    expect(page.get_by_role("textbox")).to_have_attribute("dir", "auto")


def test_long_names_lie_over_nothing_beside_them(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token()
    room = server.post("/channels", {"name": "customer_success_" * 4}, token)["channel"]["id"]
    parent = server.post(f"/channels/{room}/messages", {"content": "Look"}, token)["message"]["id"]
    page = enter(server, place=f"#/channel/{room}/thread/{parent}")
    heading = page.get_by_role("complementary").get_by_role("heading", name="Thread", exact=True)
    expect(heading).to_be_visible()
    assert heading.evaluate(FITS)
    page.evaluate("(room) => { location.hash = `#/channel/${room}`; }", room)
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("main").get_by_role("button", name="who is here").click()
    heading = page.get_by_role("dialog").get_by_role("heading", name="#customer_success_")
    expect(heading).to_be_visible()
    assert heading.evaluate(FITS)


ENDS_BEFORE = """(line, [first, second]) => {
  const boxOf = (name) => line.querySelector(name).getBoundingClientRect();
  return boxOf(first).right <= boxOf(second).left;
}"""


def test_in_lists_times_stand_behind_names_that_are_read_from_right_to_left(
    serve: Serve, enter: Enter
) -> None:
    server = serve()
    ada, dana = server.token(), server.token(GRACE)
    with server.client(dana) as client:
        assert client.put("/users/me", json={"userName": "דנה"}).is_success
    path = f"/channels/{server.post('/channels', {'name': 'חדר'}, ada)['channel']['id']}/messages"
    parent = server.post(path, {"content": "Is anybody there?"}, ada)["message"]["id"]
    server.post(f"/messages/{parent}/thread", {"content": "Yes"}, dana)
    server.post(path, {"content": "@Ada"}, dana)
    page = enter(server, place="#/threads")
    reply = page.locator(".reply-line")
    expect(reply).to_contain_text("Yes")
    assert reply.evaluate(ENDS_BEFORE, ["strong", "time"])
    page.evaluate("location.hash = '#/activity'")
    mention = page.get_by_role("link", name="mentioned you in #חדר")
    expect(mention).to_be_visible()
    assert mention.evaluate(ENDS_BEFORE, [".activity-head", "time"])


def test_a_messages_label_tells_of_images_reactions_and_replies(serve: Serve, enter: Enter) -> None:
    server = serve()
    token, other = server.token(), server.token(GRACE)
    path = path_of(server)
    upload = {"filename": "a.png", "image": base64.b64encode(PNG).decode()}
    names = [server.post(f"{path}/image", upload, token)["filename"] for _ in range(2)]
    message = server.post(path, {"content": "Look", "images": names}, token)["message"]["id"]
    server.post(f"/messages/{message}/reactions", {"reaction": "👍"}, other)
    server.post(f"/messages/{message}/thread", {"content": "Seen"}, other)
    page = enter(server)
    article = page.get_by_role("article").filter(has_text="Look")
    expect(article.get_by_role("button", name="1 reply")).to_be_visible()
    expect(article).to_have_accessible_name(re.compile(r"2 images\. Reactions: 👍 1\. 1 reply$"))
    words = re.sub(r"\s+", " ", page.locator("main").evaluate(NAME_OF))
    assert words.endswith("Look 2 images. Reactions: 👍 1. 1 reply"), words


@pytest.mark.slow
def test_headings_follow_each_other_without_a_gap(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token()
    path = path_of(server)
    parent = server.post(path, {"content": "Look"}, token)["message"]["id"]
    server.post(f"/messages/{parent}/thread", {"content": "Seen"}, token)
    page = enter(server, place=f"#/channel/{path.split('/')[2]}/thread/{parent}")
    expect(page.get_by_role("complementary").get_by_text("Seen")).to_be_visible()
    expect(page.locator("main").get_by_role("heading", level=2).first).to_be_visible()
    levels = page.locator("h1, h2, h3").evaluate_all("(all) => all.map((one) => Number(one.localName[1]))")
    main = (
        page.locator("main")
        .locator("h1, h2, h3")
        .evaluate_all("(all) => all.map((one) => Number(one.localName[1]))")
    )
    assert main[0] == 1
    assert set(main) == {1, 2}
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


@pytest.mark.slow
def test_what_is_read_out_is_words_and_no_marks(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server)
    expect(page.get_by_role("textbox")).to_be_visible()
    content = "**Look** at `this`:\n- *one*\n- [two](https://a.example/)"
    server.post(path_of(server), {"content": content}, server.token(GRACE))
    said = page.locator("[role=status][aria-live=polite] p")
    expect(said).to_have_js_property("textContent", "grace: Look at this:\none\ntwo")


@pytest.mark.slow
def test_code_in_the_history_is_a_tab_stop_in_the_message_at_hand_alone(serve: Serve, enter: Enter) -> None:
    server = serve()
    for number in range(4):
        server.post(path_of(server), {"content": f"```\ncode {number}\n```"}, server.token(GRACE))
    page = enter(server)
    expect(page.locator("pre")).to_have_count(4)
    for at, stop in enumerate([-1, -1, -1, 0]):
        expect(page.locator("pre").nth(at)).to_have_js_property("tabIndex", stop)
    page.get_by_role("article").last.focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("article").nth(2)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("pre").nth(2)).to_be_focused()


@pytest.mark.slow
def test_what_lies_over_a_bright_picture_can_be_seen(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token()
    path = path_of(server)
    upload = {"filename": "a.png", "image": base64.b64encode(PNG).decode()}
    names = [server.post(f"{path}/image", upload, token)["filename"] for _ in range(2)]
    server.post(path, {"content": "Look", "images": names}, token)
    page = enter(server)
    page.get_by_role("log").get_by_role("button", name="Image 1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("img")).to_be_visible()
    shown = dialog.locator("button, .bar p")
    expect(shown).to_have_count(6)
    for one in shown.all():
        assert one.evaluate(CONTRAST) > 4.5, one.evaluate("(node) => node.outerHTML")


@pytest.mark.slow
def test_a_long_message_is_folded_until_it_is_unfolded_by_keys(serve: Serve, enter: Enter) -> None:
    server = serve()
    token = server.token(GRACE)
    path = path_of(server)
    content = "\n".join(f"line {number}" for number in range(300)) + "\nhttps://a.example/"
    message = server.post(path, {"content": content}, token)["message"]["id"]
    server.post(path, {"content": "short"}, token)
    page = enter(server)
    article = page.get_by_role("article").filter(has_text="line 299")
    expect(page.get_by_role("button", name="Show more")).to_have_count(1)
    page.wait_for_function(HEIGHT + " < 450")
    page.get_by_role("article").last.focus()
    page.keyboard.press("ArrowUp")
    expect(article).to_be_focused()
    more = article.get_by_role("button", name="Show more")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.focus()
    page.keyboard.press("Enter")
    less = article.get_by_role("button", name="Show less")
    expect(less).to_be_focused()
    page.wait_for_function(HEIGHT + " > 3000")
    server.post(f"/messages/{message}/reactions", {"reaction": "👍"}, token)
    expect(article.get_by_role("button", name="👍, 1 person")).to_be_visible()
    expect(less).to_have_attribute("aria-expanded", "true")
    less.click()
    expect(article.get_by_role("button", name="Show more")).to_be_in_viewport()
    article.get_by_role("link").focus()
    expect(less).to_be_visible()


@pytest.mark.slow
def test_a_text_that_is_too_long_is_refused_before_it_is_sent(serve: Serve, enter: Enter) -> None:
    server = serve(chat={"maxMessageLength": 8})
    page = enter(server, locale="de-DE")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method) if request.method == "POST" else None)
    field = page.get_by_role("textbox")
    field.fill("🎉🎉🎉🎉🎉🎉🎉🎉")  # Sixteen units of UTF-16, eight characters.
    expect(page.get_by_role("button", name="Senden")).to_be_enabled()
    field.press_sequentially("ab")
    note = page.get_by_text("2 Zeichen zu viel. Eine Nachricht fasst höchstens 8.")
    expect(note).to_be_visible()
    expect(field).to_have_accessible_description("2 Zeichen zu viel. Eine Nachricht fasst höchstens 8.")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Senden")).to_be_disabled()
    field.press("Enter")
    expect(field).to_have_value("🎉🎉🎉🎉🎉🎉🎉🎉ab")
    assert asked == []
    field.press("Backspace")
    field.press("Backspace")
    expect(note).to_have_count(0)
    field.press("Enter")
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.locator("article.pending, article.failed")).to_have_count(0)
