"""What was begun and not sent: drafts and unfinished edits, over a change of the place; phones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

GRACE = "grace@example.org"
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
Serve = Callable[..., Any]
Enter = Callable[..., Page]


def with_random(server: Any) -> Any:
    server.post("/channels", {"name": "random"}, server.token())
    return server


def say(page: Page, text: str, name: str = "General") -> None:
    page.get_by_label(f"Write to #{name}").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator("main article:not(.pending)").filter(has_text=text)).to_have_count(1)


@pytest.mark.slow
def test_a_place_with_a_draft_is_marked(serve: Serve, enter: Enter) -> None:
    page = enter(with_random(serve()))
    general, random = page.get_by_role("link", name="General"), page.get_by_role("link", name="random")
    say(page, "First")
    page.get_by_label("Write to #General").fill("Not yet")
    expect(general).to_have_accessible_name("General")
    random.click()
    expect(general).to_have_accessible_name("General Draft")
    expect(general).to_contain_text("✎")
    page.reload()
    expect(general).to_have_accessible_name("General Draft")
    general.click()
    expect(page.get_by_label("Write to #General")).to_have_value("Not yet")
    page.get_by_label("Write to #General").fill("")
    page.locator("main article").hover()
    page.get_by_role("button", name="Reply in a thread").click()
    page.get_by_label("Reply", exact=True).fill("A reply to be")
    random.click()
    expect(general).to_have_accessible_name("General Draft")
    page.go_back()
    expect(page.get_by_label("Reply", exact=True)).to_have_value("A reply to be")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reply", exact=True)).to_have_value("")
    random.click()
    expect(general).to_have_accessible_name("General")


@pytest.mark.slow
def test_an_unfinished_edit_survives_a_change_of_the_place(serve: Serve, enter: Enter) -> None:
    page = enter(with_random(serve()))
    general, random = page.get_by_role("link", name="General"), page.get_by_role("link", name="random")
    say(page, "First words")
    page.keyboard.press("ArrowUp")
    field = page.get_by_label("Edit the message")
    field.fill("Better words")
    random.click()
    expect(field).to_have_count(0)
    expect(general).to_have_accessible_name("General Draft")
    general.click()
    expect(field).to_have_value("Better words")
    expect(page.get_by_label("Write to #General")).to_be_focused()
    page.reload()
    expect(field).to_have_value("Better words")
    field.focus()
    page.keyboard.press("Enter")
    expect(page.locator("article")).to_contain_text("Better words (edited)")
    expect(field).to_have_count(0)
    page.keyboard.press("ArrowUp")
    field.fill("Worse words")
    page.keyboard.press("Escape")
    random.click()
    expect(page.get_by_role("heading", name="random", level=1)).to_be_visible()
    expect(general).to_have_accessible_name("General")
    general.click()
    expect(page.locator("article")).to_contain_text("Better words (edited)")
    expect(field).to_have_count(0)


@pytest.mark.slow
def test_an_unfinished_edit_survives_a_look_at_older_messages(talk: Any, enter: Enter) -> None:
    random = talk.channel("random")
    older, *_ = [talk.say(talk.ada, f"number {at}") for at in range(60)]
    page = enter(talk.server)
    expect(page.locator("main article").filter(has_text="number 59")).to_be_visible()
    page.keyboard.press("ArrowUp")
    field = page.get_by_label("Edit the message")
    field.fill("Better words")
    page.evaluate(f"location.hash = '#/channel/{random}'")
    expect(page.get_by_label("Write to #random")).to_be_visible()
    page.evaluate(f"location.hash = '#/messages/{older}'")
    expect(page.locator("main article").filter(has_text="number 0")).to_be_focused()
    page.get_by_role("button", name="Newest messages").click()
    expect(field).to_have_value("Better words")


@pytest.mark.slow
def test_a_message_that_was_read_anew_while_it_was_edited_is_drawn_as_it_is_then(
    serve: Serve, visit: Enter
) -> None:
    """After a sleep that is too long for the stream all is read anew, and each message is another object."""
    page = visit(serve().base)
    drawn = """async () => {
      const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
      const { Chunks } = await import(root + "view/chunks.js");
      const draw = ({ content }) => [Object.assign(document.createElement("p"), { textContent: content })];
      const chunks = new Chunks(draw);
      const known = { id: "1", content: "before" };
      chunks.sync([known], new Map());
      chunks.locked = "1";
      const anew = { ...known };
      chunks.sync([anew], new Map());
      anew.content = "after"; // It is saved.
      const isLeftAlone = chunks.list.textContent === "before";
      chunks.locked = null;
      chunks.sync([anew], new Map([["1", true]]));
      return [isLeftAlone, chunks.list.textContent];
    }"""
    assert page.evaluate(drawn) == [True, "after"]


@pytest.mark.slow
def test_the_edit_of_a_message_that_is_gone_is_forgotten(serve: Serve, enter: Enter) -> None:
    server = with_random(serve())
    page = enter(server)
    general, random = page.get_by_role("link", name="General"), page.get_by_role("link", name="random")
    say(page, "Soon gone")
    message = page.locator("article").get_attribute("data-id")
    page.keyboard.press("ArrowUp")
    page.get_by_label("Edit the message").fill("Never said")
    random.click()
    expect(general).to_have_accessible_name("General Draft")
    with server.client(server.token()) as client:
        client.delete(f"/messages/{message}").raise_for_status()
    general.click()
    expect(page.get_by_label("Write to #General")).to_be_visible()
    expect(page.locator("article")).to_have_count(0)
    random.click()
    expect(general).to_have_accessible_name("General")


def test_on_a_phone_enter_makes_a_line_and_a_button_sends(serve: Serve, enter: Enter) -> None:
    page = enter(serve(), **PHONE)
    field = page.get_by_label("Write to #General")
    expect(field).to_have_attribute("enterkeyhint", "enter")
    field.tap()
    page.keyboard.type("One")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(field).to_have_value("One\ntwo")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("article:not(.pending)")).to_have_text(re.compile("One\\s*two"))
    expect(field).to_be_focused()
    page.keyboard.type("three")
    page.keyboard.press("Control+Enter")
    expect(page.locator("article:not(.pending)")).to_have_count(2)


@pytest.mark.slow
def test_on_a_phone_back_closes_the_drawer(serve: Serve, enter: Enter) -> None:
    page = enter(with_random(serve()), **PHONE)
    opener = page.get_by_role("button", name="Open the sidebar")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("General")
    opener.tap()
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.go_back()
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(heading).to_have_text("General")

    opener.tap()
    page.get_by_role("link", name="random").tap()
    expect(heading).to_have_text("random")
    expect(opener).to_have_attribute("aria-expanded", "false")
    page.go_back()
    expect(heading).to_have_text("General")
    expect(opener).to_have_attribute("aria-expanded", "false")

    before = page.evaluate("() => history.length")
    for _ in range(2):
        opener.tap()
        page.touchscreen.tap(380, 300)
        expect(opener).to_have_attribute("aria-expanded", "false")
        page.wait_for_function("() => !history.state?.drawer")
    assert page.evaluate("() => history.length") <= before + 1
