"""The client in every engine it is tested in: Chromium, Firefox and WebKit do the same things.

A browser that isn't on this machine is skipped, with the reason. What only one engine gets wrong has its test
here too, for the next engine may get it wrong as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from teamchat.testing import ADMIN

from .engines import ENGINES, Browser, Page, Started
from .engines.chromium import Chromium
from .engines.page import BACKSPACE, CONTROL, ENTER, ESCAPE, SHIFT, UP

GRACE = "grace@example.org"
PICTURE = Path(__file__).parent.parent / "teamchat_web" / "client" / "icons" / "icon-192.png"
WRITING = "main > .composer textarea"
EDITING = "article .composer textarea"
# How much of a field's text is cut off, in CSS pixels, and how high it is.
CUT_OFF = "((field) => Math.max(0, field.scrollHeight - field.clientHeight))(document.querySelector('{}'))"
HEIGHT = "document.querySelector('{}').clientHeight"
# A server that is killed, and a page that is left, cut what is on its way; each browser has its words for it.
LOST = (
    "Failed to load resource",
    "Failed to fetch",
    "error loading dynamically imported module",
    "Importing a module script failed",
    "network connection was lost",
    "Could not connect",
)

Serve = Callable[..., Any]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(engine, id=engine.name, marks=pytest.mark.slow if issubclass(engine, Started) else ())
        for engine in ENGINES
    ],
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Each browser in turn."""
    kind: type[Browser] = request.param
    if reason := kind.missing():
        pytest.skip(reason)
    if issubclass(kind, Started):
        with kind.started(tmp_path_factory.mktemp(kind.name)) as running:
            yield running
    else:  # There is one Playwright in a process: that of the tests in Chromium alone.
        yield Chromium(request.getfixturevalue("browser"))


@pytest.fixture
def enter(engine: Browser) -> Iterator[Callable[..., Page]]:
    """Open the chat as somebody, and fail for what the page said was wrong."""
    before = len(engine.wrong())

    def go(server: Any, email: str = ADMIN, place: str = "") -> Page:
        page = engine.page(f"{server.base}/?access_token={server.token(email)}{place}")
        page.there(WRITING)
        return page

    yield go
    assert [line for line in engine.wrong()[before:] if not any(known in line for known in LOST)] == []


def channel(server: Any) -> str:
    with server.client(server.token()) as client:
        return str(client.get("/channels").json()["channels"][0]["id"])


def test_people_sign_in_talk_and_send_an_image(serve: Serve, engine: Browser) -> None:
    server = serve()
    token = server.token(GRACE)
    page = engine.page(server.base)
    assert page.evaluate("globalThis.TEAMCHAT_TOO_OLD ?? null") is None
    page.write("input[name=email]", ADMIN)
    page.until("document.documentElement.clientWidth === innerWidth")  # no scroll bar beside it
    page.write(WRITING, "Hello *from* here")
    page.sees("Hello from here")

    with server.client(token) as client:
        [message] = client.get(f"/channels/{channel(server)}/messages").json()["messages"]
    assert message["content"] == "Hello *from* here"
    server.post(f"/channels/{channel(server)}/messages", {"content": "Hello from elsewhere"}, token)
    page.sees("Hello from elsewhere")

    server.post(f"/messages/{message['id']}/thread", {"content": "A first reply"}, token)
    page.click("button.thread-link")
    page.write(".thread textarea", "A second one")
    page.until("document.querySelectorAll('.thread .timeline article:not(.pending)').length >= 2")
    page.click(".thread .bar button")

    page.choose("main input[type=file]", PICTURE)
    page.until("document.querySelector('.preview img')?.naturalWidth > 0")
    page.write(WRITING, "A picture")
    page.until("document.querySelector('article:not(.pending) .images img')?.naturalWidth === 192")
    page.reload()
    for text in ("Hello from here", "Hello from elsewhere", "A picture", "2 replies"):
        page.sees(text)
    page.click(".images button")
    page.until("document.querySelector('dialog[open] img')?.naturalWidth === 192")
    page.type(ESCAPE)
    page.gone("dialog")
    assert engine.wrong() == []


def test_a_field_is_as_high_as_its_text(serve: Serve, enter: Callable[..., Page]) -> None:
    page = enter(serve())
    page.focused(WRITING)
    one = page.until(HEIGHT.format(WRITING))
    assert one >= 20
    assert page.evaluate(CUT_OFF.format(WRITING)) <= 1
    page.type("one")
    page.type(SHIFT + ENTER)
    page.type("two")
    page.until(f"{HEIGHT.format(WRITING)} > {one}")
    assert page.evaluate(CUT_OFF.format(WRITING)) <= 1
    page.reload()
    page.there(WRITING)
    page.until(f"{HEIGHT.format(WRITING)} > {one}")  # A draft of two lines.
    assert page.evaluate(CUT_OFF.format(WRITING)) <= 1
    page.write(WRITING, "")
    page.until(f"{HEIGHT.format(WRITING)} === {one}")


def test_a_message_is_edited_in_a_field_that_shows_it(serve: Serve, enter: Callable[..., Page]) -> None:
    page = enter(serve())
    page.write(WRITING, "First and last")
    page.sees("First and last")
    page.type(UP)
    page.focused(EDITING)
    assert page.evaluate(HEIGHT.format(EDITING)) >= 20
    assert page.evaluate(CUT_OFF.format(EDITING)) <= 1
    assert page.evaluate(f"document.querySelector('{EDITING}').value") == "First and last"
    page.type(BACKSPACE * 4 + "least" + ENTER)
    page.sees("First and least (edited)")
    page.focused(WRITING)


def test_dialogs_open_by_keys_and_close_with_escape(serve: Serve, enter: Callable[..., Page]) -> None:
    page = enter(serve())
    page.focused(WRITING)
    page.type(CONTROL + "k")
    page.focused("[role=combobox]")
    page.type(ESCAPE)
    page.gone("dialog")
    page.focused(WRITING)
    page.click(".side-foot .icon-button")
    page.until("document.querySelector('dialog[open]')?.getBoundingClientRect().height > 100")
    page.type(ESCAPE)
    page.gone("dialog")
    page.click(".server")
    page.there("[role=menu]")
    page.type(ESCAPE)
    page.gone("[role=menu]")


def test_escape_closes_the_emoji_picker_that_a_search_is_typed_into(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    page = enter(serve())
    page.focused(WRITING)
    page.click(".composer [aria-label=Emoji], .composer .icon-button[aria-label*=moji]")
    page.focused(".picker input")
    page.type("rocket")
    page.until("document.querySelectorAll('.picker .group button').length > 0")
    page.type(ESCAPE)
    page.gone(".picker")
    page.focused(WRITING)


def test_emoji_are_typed_by_short_names_and_found_by_keys_in_a_tone_of_ones_own(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    page = enter(serve())
    page.focused(WRITING)
    page.type("Done :tada:")
    page.until(f"document.querySelector('{WRITING}').value === 'Done 🎉'")
    page.type(" :rocke")
    page.until("document.querySelector('.completion:not([hidden])')?.textContent.includes(':rocket:')")
    page.type(ENTER)
    page.until(f"document.querySelector('{WRITING}').value === 'Done 🎉 🚀 '")
    page.click(".composer .icon-button[aria-label*=emoji]")
    page.focused(".picker input")
    page.click(".picker [role=radio]:nth-child(4)")
    page.click(".picker [role=tab]:nth-child(2)")
    page.until("document.querySelector('.picker .group button').textContent === '👋🏽'")
    page.write(".picker input", "wave")
    page.gone(".picker")
    page.focused(WRITING)
    page.type(" `:tada:`" + ENTER)
    page.sees("Done 🎉 🚀 👋🏽 :tada:")


def test_what_is_written_while_the_server_is_away_comes_when_it_is_back(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    server = serve()
    page = enter(server)
    page.write(WRITING, "Before")
    page.sees("Before")
    server.kill()
    page.write(WRITING, "In between")
    page.there("article.pending")
    server.restart()
    page.sees("In between")
    path = f"/channels/{channel(server)}/messages"
    server.post(path, {"content": "Heard again"}, server.token(GRACE))
    page.sees("Heard again")
    assert page.evaluate("document.querySelectorAll('main article').length") == 3


def test_an_answer_waits_in_the_list_of_threads_until_it_is_read(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    server = serve()
    path = f"/channels/{channel(server)}/messages"
    message = server.post(path, {"content": "Where do we meet?"}, server.token())["message"]
    page = enter(server)
    page.sees("Where do we meet?")
    server.post(f"/messages/{message['id']}/thread", {"content": "On the terrace"}, server.token(GRACE))
    page.until("document.querySelector('a[href=\"#/threads\"] .badge')?.textContent === '1'")
    page.click('a[href="#/threads"]')
    page.until("document.querySelector('.thread-card.unread')?.textContent.includes('On the terrace')")
    page.click(".thread-card")
    page.until("document.querySelector('.thread')?.textContent.includes('On the terrace')")
    page.until("!document.querySelector('.thread-card.unread, a[href=\"#/threads\"] .badge')")
