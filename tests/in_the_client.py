"""Where a page of the web client shows what a test looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def message(page: Page, text: str, within: Literal["main", "complementary", "dialog"] = "main") -> Locator:
    """Find the messages that have this text: in the room, in the thread beside it, or in a dialog."""
    return page.get_by_role(within).get_by_role("article").filter(has_text=text)


def palette(page: Page, query: str) -> Locator:
    """Open the palette, and return what it offers for this."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(query)
    return page.get_by_role("option")
