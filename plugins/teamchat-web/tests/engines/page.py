"""What every engine gives: pages, and what a person does in one.

An engine implements five things; the rest is made of them here, so a test says the same in each.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

Found = TypeVar("Found")

# What can be pressed in the topmost dialog, or without one in the page, by what it is called.
PRESS = """((name) => {
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
  const all = [...top.querySelectorAll("button, [role=option], [role=menuitem]")];
  const words = (each) => (each.getAttribute("aria-label") ?? each.textContent).trim();
  const isIt = (each) => each.role === "option" ? words(each).startsWith(name) : words(each) === name;
  const one = all.find((each) => each.getClientRects().length && isIt(each));
  one?.click();
  return Boolean(one);
})"""
# Ticks the box beside somebody's name in the topmost dialog.
TICK = """((name) => {
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
  const all = [...top.querySelectorAll("label.check")];
  const box = all.find((one) => one.querySelector("bdi")?.textContent === name)?.querySelector("input");
  if (box && !box.checked) box.click();
  return Boolean(box?.checked);
})"""

DEADLINE = 60.0  # seconds
PAUSE = 0.05  # seconds between two looks at something that is awaited

# Keys without a character, by the code points of WebDriver (section 17.4.2).
CONTROL, SHIFT, ENTER, ESCAPE, UP, BACKSPACE = "\ue009", "\ue008", "\ue007", "\ue00c", "\ue013", "\ue003"
MODIFIERS = {CONTROL, SHIFT}


class Browser(ABC):
    """A running browser without a window."""

    name: ClassVar[str]

    @staticmethod
    @abstractmethod
    def missing() -> str | None:
        """What of this engine isn't on this machine; None if all is."""

    @abstractmethod
    def page(self, url: str) -> Page:
        """Open an address in a page that shares nothing with others, and wait until it has loaded."""

    @abstractmethod
    def wrong(self) -> list[str]:
        """The errors that its pages told of so far."""


class Started(Browser):
    """A browser that is run for its tests."""

    @classmethod
    @abstractmethod
    @contextmanager
    def started(cls, home: Path) -> Iterator[Started]:
        """Run it with its profile in `home`."""


class Page(ABC):
    """A page, and what a person does in it."""

    @abstractmethod
    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, awaited if it is a promise; it must be one JSON can hold."""

    @abstractmethod
    def type(self, keys: str) -> None:
        """Press keys one after another. A modifier is held until the end."""

    @abstractmethod
    def choose(self, selector: str, file: Path) -> None:
        """Give a file to a field for files."""

    @abstractmethod
    def reload(self) -> None: ...

    @abstractmethod
    def screenshot(self) -> bytes:
        """A picture of what is seen, as PNG."""

    def until(self, expression: str) -> Any:
        """Evaluate until the value is true, and return it."""
        return wait_for(lambda: self.evaluate(expression), expression)

    def sees(self, text: str) -> None:
        """Wait until a message holds a text and is no longer on its way."""
        self.until(f"""[...document.querySelectorAll("article:not(.pending)")]
          .some((article) => article.textContent.includes({json.dumps(text)}))""")

    def there(self, selector: str) -> None:
        """Wait until a selector finds something."""
        self.until(f"Boolean({query(selector)})")

    def gone(self, selector: str) -> None:
        """Wait until a selector finds nothing."""
        self.until(f"!{query(selector)}")

    def click(self, selector: str) -> None:
        """Press the first of what a selector finds."""
        self.until(f"(() => {{ const one = {query(selector)}; one?.click(); return Boolean(one); }})()")

    def press(self, name: str) -> None:
        """Press what is called so in the topmost dialog, or in the page if none is open."""
        self.until(f"{PRESS}({json.dumps(name)})")

    def tick(self, name: str) -> None:
        """Choose a person in the topmost dialog."""
        self.until(f"{TICK}({json.dumps(name)})")

    def focused(self, selector: str) -> None:
        """Wait until the first of what a selector finds has the focus."""
        self.until(f"document.hasFocus() && Boolean({query(selector)}?.matches(':focus'))")

    def write(self, selector: str, text: str) -> None:
        """Type a text into a field, and Enter."""
        self.until(
            f"(() => {{ {query(selector)}?.focus(); return document.hasFocus() && "
            f"Boolean({query(selector)}?.matches(':focus')); }})()"
        )
        self.type(text + ENTER)


def query(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"


def key_actions(keys: str) -> list[dict[str, Any]]:
    """The same as WebDriver's actions, which BiDi took over."""
    held = [key for key in keys if key in MODIFIERS]
    actions = [
        {"type": kind, "value": key}
        for key in keys
        for kind in (("keyDown",) if key in held else ("keyDown", "keyUp"))
    ]
    actions += [{"type": "keyUp", "value": key} for key in held]
    return [{"type": "key", "id": "keyboard", "actions": actions}]


def wait_for(look: Callable[[], Found], what: str) -> Found:
    """Look until something true is found, and return it."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(PAUSE)
    raise AssertionError(f"never came: {what}")
