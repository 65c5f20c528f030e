"""What is copied out of messages: a text with its marks, and what stands in a block of code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
UntilLoaded = Callable[[Page, str], None]

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
CODE = "a = 1\nb = 2"
SAID = f"**Look** at this:\n```python\n{CODE}\n```"
WITHOUT_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_the_text_of_a_message_is_copied_with_its_marks(talk: Any, enter: Enter) -> None:
    talk.say(talk.grace, SAID)
    page = enter(talk.server, **CLIPBOARD)
    message(page, "Look").hover()
    page.get_by_role("button", name="Copy the text").click()
    expect(page.get_by_text("Text copied").first).to_be_visible()
    assert copied(page) == SAID


@pytest.mark.slow
def test_it_is_copied_by_a_key_and_shown_where_the_page_may_not_copy(talk: Any, enter: Enter) -> None:
    talk.say(talk.grace, SAID)
    page = enter(talk.server)
    expect(message(page, "Look")).to_be_visible()
    page.evaluate(WITHOUT_CLIPBOARD)
    for _ in range(2):
        page.keyboard.press("Shift+Tab")  # Past the button for images.
    page.keyboard.press("c")
    expect(page.get_by_role("dialog", name="Text of the message")).to_contain_text("**Look** at this:")


@pytest.mark.slow
def test_what_stands_in_a_block_of_code_is_copied(
    talk: Any, enter: Enter, until_loaded: UntilLoaded, accessible: Callable[[Page], None]
) -> None:
    talk.say(talk.grace, SAID)
    page = enter(talk.server, **CLIPBOARD)
    until_loaded(page, "/view/code_blocks.js")
    block, button = page.locator(".message-body pre"), page.get_by_role("button", name="Copy the code")
    expect(button).to_have_count(0)
    block.hover()
    button.click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    assert copied(page) == CODE
    accessible(page)
    with talk.server.client(talk.grace) as client:
        [said] = client.get(f"/channels/{talk.general}/messages").json()["messages"]
        assert client.put(f"/messages/{said['id']}", json={"content": "```\nnew\n```"}).is_success
    expect(block).to_have_text("new")
    block.hover()
    button.click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()) === 'new'")


@pytest.mark.slow
def test_the_button_is_reached_by_keys_and_is_no_part_of_what_is_read_out(
    talk: Any, enter: Enter, until_loaded: UntilLoaded
) -> None:
    talk.say(talk.grace, SAID)
    page = enter(talk.server, **CLIPBOARD)
    until_loaded(page, "/view/code_blocks.js")
    page.locator("article").focus()
    expect(page.locator("article")).to_have_accessible_name(
        re.compile(r"^grace \S+ Look at this: a = 1 b = 2$")
    )
    page.locator(".message-body pre").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Copy the code")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied").first).to_be_visible()
    assert copied(page) == CODE
