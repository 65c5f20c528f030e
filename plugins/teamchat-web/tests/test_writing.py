"""Writing: what the page writes for somebody is undone as what they typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

Enter = Callable[..., Page]


@pytest.fixture
def field(talk: Any, enter: Enter) -> Locator:
    page = enter(talk.server)
    field = page.get_by_role("textbox", name="Write to #General")
    expect(field).to_be_focused()
    return field


def undo(field: Locator) -> None:
    field.press("Control+z")


def undo_all(field: Locator) -> None:
    for _ in range(5):  # How much goes at a time is the browser's to say.
        undo(field)


def test_a_mention_and_what_stands_before_it_can_be_undone(field: Locator) -> None:
    field.press_sequentially("ask @gra")
    expect(field.page.get_by_role("option", name="grace")).to_be_visible()
    field.press("Enter")
    expect(field).to_have_value("ask @grace ")
    undo(field)
    expect(field).to_have_value("ask @gra")
    field.press_sequentially("c")
    expect(field).to_have_value("ask @grac")
    undo_all(field)
    expect(field).to_have_value("")


def test_an_emoji_that_was_filled_in_can_be_undone(field: Locator) -> None:
    field.press_sequentially("done :tada:")
    expect(field).to_have_value("done 🎉")
    undo(field)
    expect(field).to_have_value("done :tada:")
    undo_all(field)
    expect(field).to_have_value("")


def test_an_emoji_that_was_picked_can_be_undone(field: Locator) -> None:
    field.press_sequentially("so ")
    field.page.get_by_role("button", name="Insert an emoji").click()
    field.page.get_by_label("Search emoji").fill("rocket")
    field.page.keyboard.press("Enter")
    expect(field).to_have_value("so 🚀")
    undo(field)
    expect(field).to_have_value("so ")
    undo_all(field)
    expect(field).to_have_value("")
