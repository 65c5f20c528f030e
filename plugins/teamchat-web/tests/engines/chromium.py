"""Chromium, by Playwright."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import playwright.sync_api as playwright

from .page import BACKSPACE, CONTROL, DEADLINE, ENTER, ESCAPE, MODIFIERS, SHIFT, UP, Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# The browser tells of every answer that is no success; a test that provokes one looks at the page itself.
EXPECTED = ("Failed to load resource: ", "Service Worker registration blocked by Playwright")
NAMES = {
    CONTROL: "Control",
    SHIFT: "Shift",
    ENTER: "Enter",
    ESCAPE: "Escape",
    UP: "ArrowUp",
    BACKSPACE: "Backspace",
}


class Chromium(Browser):
    name = "chromium"

    def __init__(self, browser: playwright.Browser) -> None:
        self._browser = browser
        self._wrong: list[str] = []

    @staticmethod
    def missing() -> str | None:
        return None if CHROMIUM else "there is no Chromium on this machine"

    def page(self, url: str) -> Page:
        context = self._browser.new_context(locale="en-GB")
        context.set_default_timeout(DEADLINE * 1000)
        context.on("console", self._console)
        context.on("weberror", lambda error: self._wrong.append(str(error.error)))
        page = context.new_page()
        page.goto(url)
        return _Page(page)

    def wrong(self) -> list[str]:
        return self._wrong

    def _console(self, message: playwright.ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED):
            self._wrong.append(message.text)


class _Page(Page):
    def __init__(self, page: playwright.Page) -> None:
        self._page = page

    def evaluate(self, expression: str) -> Any:
        return self._page.evaluate(f"() => {expression}")

    def type(self, keys: str) -> None:
        keyboard = self._page.keyboard
        for key in keys:
            keyboard.down(NAMES[key]) if key in MODIFIERS else keyboard.press(NAMES.get(key, key))
        for key in MODIFIERS.intersection(keys):
            keyboard.up(NAMES[key])

    def choose(self, selector: str, file: Path) -> None:
        self._page.set_input_files(selector, file)

    def reload(self) -> None:
        self._page.reload()

    def screenshot(self) -> bytes:
        return self._page.screenshot()
