"""Writing: what keys and pastes do to a text, and that all of it is undone as what was typed."""

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


def select(field: Locator, start: int, end: int) -> None:
    field.evaluate("(field, [start, end]) => field.setSelectionRange(start, end)", [start, end])


def selected(field: Locator) -> str:
    return str(field.evaluate("(field) => field.value.slice(field.selectionStart, field.selectionEnd)"))


def paste(field: Locator, text: str) -> None:
    field.evaluate(
        """(field, text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
          if (field.dispatchEvent(paste)) document.execCommand("insertText", false, text);
        }""",
        text,
    )


@pytest.fixture
def formatted(field: Locator, until_loaded: Callable[[Page, str], None]) -> Locator:
    until_loaded(field.page, "/view/formatting.js")
    return field


@pytest.mark.parametrize(
    ("key", "marked"),
    [
        ("Control+b", "some **words** here"),
        ("Control+i", "some _words_ here"),
        ("Control+Shift+x", "some ~~words~~ here"),
        ("Control+Shift+c", "some `words` here"),
    ],
)
def test_a_key_marks_what_is_selected_and_takes_the_marks_away(
    formatted: Locator, key: str, marked: str
) -> None:
    formatted.fill("some words here")
    select(formatted, 4, 11)  # with the spaces around it
    formatted.press(key)
    expect(formatted).to_have_value(marked)
    assert selected(formatted) == "words"
    formatted.press(key)
    expect(formatted).to_have_value("some words here")
    assert selected(formatted) == "words"
    formatted.press(key)
    select(formatted, 5, marked.index(" here"))
    formatted.press(key)
    expect(formatted).to_have_value("some words here")
    undo(formatted)
    expect(formatted).to_have_value(marked)


def test_where_nothing_is_selected_the_cursor_stands_between_the_marks(formatted: Locator) -> None:
    formatted.press_sequentially("so ")
    formatted.press("Control+b")
    formatted.press_sequentially("loud")
    expect(formatted).to_have_value("so **loud**")
    formatted.fill("**loud**")
    select(formatted, 2, 6)
    formatted.press("Control+i")
    expect(formatted).to_have_value("**_loud_**")


def test_several_lines_of_code_are_a_block(formatted: Locator) -> None:
    formatted.fill("see a = 1\nb = 2")
    select(formatted, 4, 15)
    formatted.press("Control+Shift+c")
    expect(formatted).to_have_value("see \n```\na = 1\nb = 2\n```")


def test_an_address_pasted_over_words_links_them(formatted: Locator) -> None:
    formatted.fill("read the docs first")
    select(formatted, 5, 13)
    paste(formatted, "https://example.org/a_(b)?c=1\n")
    expect(formatted).to_have_value("read [the docs](https://example.org/a_%28b%29?c=1) first")
    undo(formatted)
    expect(formatted).to_have_value("read the docs first")
    formatted.fill("in `the code`")
    select(formatted, 4, 12)
    paste(formatted, "https://example.org/")
    expect(formatted).to_have_value("in `https://example.org/`")
    formatted.fill("https://example.com/")
    select(formatted, 0, 20)
    paste(formatted, "https://example.org/")
    expect(formatted).to_have_value("https://example.org/")
    formatted.fill("words")
    select(formatted, 0, 5)
    paste(formatted, "more words")
    expect(formatted).to_have_value("more words")


def test_a_new_line_goes_on_with_a_list_or_a_quote_until_one_is_left_empty(formatted: Locator) -> None:
    def lines(*all_of_them: str) -> str:
        formatted.fill("")
        for line in all_of_them:
            formatted.press_sequentially(line)
            formatted.press("Shift+Enter")
        return formatted.input_value()

    assert lines("- one", "two") == "- one\n- two\n- "
    assert lines("  9) nine", "ten") == "  9) nine\n  10) ten\n  11) "
    assert lines("> said", "") == "> said\n"
    assert lines("- one", "", "after") == "- one\nafter\n"
    assert lines("-not", "**bold**", "2.5 ways") == "-not\n**bold**\n2.5 ways\n"
    assert lines("```", "- code") == "```\n- code\n"


def test_an_edit_is_formatted_too(formatted: Locator) -> None:
    formatted.fill("words")
    formatted.press("Enter")
    expect(formatted.page.locator("article:not(.pending)")).to_have_count(1)
    formatted.press("ArrowUp")
    editing = formatted.page.get_by_label("Edit the message")
    editing.press("Control+a")
    editing.press("Control+b")
    expect(editing).to_have_value("**words**")
    editing.press("Enter")
    expect(formatted.page.locator("article strong", has_text="words")).to_be_visible()
