"""The client in every engine it is tested in: Chromium, Firefox and WebKit do the same things.

A browser that isn't on this machine is skipped, with the reason. What only one engine gets wrong has its test
here too, for the next engine may get it wrong as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from teamchat.testing import ADMIN

from .engines import ENGINES, Browser, Page, Started
from .engines.chromium import Chromium
from .engines.page import BACKSPACE, CONTROL, ENTER, ESCAPE, SHIFT, UP
from .rooms import Rooms, email

WITH_ALL_PARTS = True

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
        page.press("Sign in")  # Nobody has asked for the token there.
        page.there(WRITING)
        return page

    yield go
    assert [line for line in engine.wrong()[before:] if not any(known in line for known in LOST)] == []


def channel(server: Any) -> str:
    with server.client(server.token()) as client:
        return str(client.get("/channels").json()["channels"][0]["id"])


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_the_page_writes_is_undone_as_what_was_typed(serve: Serve, enter: Callable[..., Page]) -> None:
    page = enter(serve())
    page.focused(WRITING)
    value = f"document.querySelector('{WRITING}').value"
    page.until("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/formatting.js'))")
    page.type("so :rocke")
    page.until("document.querySelector('.completion:not([hidden])')?.textContent.includes(':rocket:')")
    page.type(ENTER)
    page.until(f"{value} === 'so 🚀 '")
    page.evaluate("document.execCommand('undo')")  # WebKit without windows has no key for it.
    page.until(f"{value} === 'so :rocke'")
    page.evaluate(f"document.querySelector('{WRITING}').select()")
    page.type(CONTROL + "b")
    page.until(f"{value} === '**so :rocke**'")
    page.type(CONTROL + "b")
    page.until(f"{value} === 'so :rocke'")
    page.evaluate(f"document.querySelector('{WRITING}').select()")
    page.type("- one")
    page.type(SHIFT + ENTER)
    page.until(f"{value} === '- one\\n- '")
    page.type(SHIFT + ENTER)
    page.until(f"{value} === '- one\\n'")


@pytest.mark.slow
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


@pytest.mark.slow
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


HEADING = "document.querySelector('h1')?.textContent.includes({})"
ROW = """[...document.querySelectorAll("dialog[open] .rows > li, dialog[open] [role=list] > li")]
  .some((one) => {}.every((text) => one.textContent.includes(text)))"""


def row(page: Page, *texts: str) -> None:
    """Wait until a line of the open dialog holds all these texts."""
    page.until(ROW.format(json.dumps(texts)))


@pytest.mark.slow
def test_channels_are_looked_through_made_private_and_public_and_filled_with_people(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    rooms = Rooms(serve())
    rooms.public("Coffee", topic="Beans")
    page = enter(rooms.server)
    page.click(".side-browse")
    page.press("Leave Coffee")
    page.press("Join Coffee")
    row(page, "Coffee", "Joined")
    page.type(ESCAPE)
    page.gone("dialog")

    page.press("Add a channel")
    page.focused("dialog[open] input[name=name]")
    page.type("Plans")
    page.tick("bea")
    page.press("Make the channel")
    page.gone("dialog")
    page.until(HEADING.format("'Plans'"))
    room = page.evaluate("location.hash.split('/').pop()")
    assert rooms.members(room) == {"ada": "manager", "bea": "member"}

    page.click(".header-people")
    page.press("Add people")
    page.tick("carl")
    page.press("Add")
    row(page, "carl")
    page.press("Make bea a manager")
    row(page, "bea", "Manager")
    page.press("Remove carl")
    page.press("Remove")
    page.until(f"!{ROW.format(json.dumps(['carl']))}")
    assert rooms.members(room) == {"ada": "manager", "bea": "manager"}

    page.press("Manage")
    for step, title in (("public", "Make it public"), ("private", "Make it private")):
        page.press(title)
        page.until("document.querySelectorAll('dialog[open]').length === 2")
        page.press(title)
        page.until("document.querySelectorAll('dialog[open]').length === 1")
        listed = {one["id"]: one["isPrivate"] for one in rooms.ask("ada", "GET", "/channels")["channels"]}
        assert listed[room] is (step == "private")
    page.press("Archive it")
    page.until("document.querySelectorAll('dialog[open]').length === 2")
    page.press("Archive it")
    page.there("dialog[open] ~ * .room-bar:not([hidden]), .room-bar:not([hidden])")
    page.press("Open it again")
    page.there(".room-bar[hidden]")
    page.press("Delete it")
    page.until("document.querySelectorAll('dialog[open]').length === 2")
    page.press("Delete it")
    page.gone("dialog")
    assert rooms.status("ada", "GET", f"/channels/{room}") == 404


@pytest.mark.slow
def test_a_group_is_opened_and_named_and_somebody_is_made_an_administrator(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    rooms = Rooms(serve())
    page = enter(rooms.server)
    page.press("Write to somebody")
    page.press("Write to several people")
    for name in ("bea", "carl"):
        page.tick(name)
    page.press("Write to them")
    page.gone("dialog")
    page.until(HEADING.format("'bea, carl'"))
    page.write(WRITING, "Only for you")
    page.sees("Only for you")
    room = page.evaluate("location.hash.split('/').pop()")
    picture = rooms.picture(room, by="carl")
    page.until("document.querySelector('article .images img')?.naturalWidth === 4")
    assert rooms.status("dora", "GET", picture) == 404

    page.click(".header-people")
    row(page, "bea")
    page.press("Give the group a name")
    page.focused("dialog[open] input[name=name]")
    page.type("Three" + ENTER)
    page.until(HEADING.format("'Three'"))
    assert set(rooms.members(room).values()) == {"manager"}
    page.type(ESCAPE)
    page.gone("dialog")

    page.click("button.server")
    page.press("Administration")
    page.press("Make bea an administrator")
    page.press("Make administrator")
    row(page, "bea@", "Administrator")
    assert rooms.ask("bea", "GET", "/me")["user"]["isAdmin"]


@pytest.mark.slow
def test_what_another_device_reads_or_marks_as_unread_is_so_here(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    server = serve()
    ada, grace = server.token(), server.token(GRACE)
    other = server.post("/channels", {"name": "other"}, ada)["channel"]["id"]
    page = enter(server, place=f"#/channel/{channel(server)}")
    page.there("[aria-label='Options for this place']")
    message = server.post(f"/channels/{other}/messages", {"content": "hello"}, grace)["message"]["id"]
    shown = f"document.querySelector('.side-link[href=\"#/channel/{other}\"] .badge')?.textContent ?? ''"
    page.until(f"({shown}) === '1'")
    with server.client(ada) as client:
        client.put(f"/me/places/{other}/read", json={"position": message}).raise_for_status()
        page.until(f"({shown}) === ''")
        client.put(f"/me/places/{other}/unread", json={"from": message}).raise_for_status()
        page.until(f"({shown}) === '1'")
        page.click(f'.side-link[href="#/channel/{other}"]')
        page.until(f"({shown}) === ''")
        page.click(f'.side-link[href="#/channel/{channel(server)}"]')
        for _ in range(100):
            if client.get(f"/me/places/{other}").json()["state"]["unreadCount"] == 0:
                break
            page.until("true")
        assert client.get(f"/me/places/{other}").json()["state"]["unreadCount"] == 0


@pytest.mark.slow
def test_a_mention_is_drawn_where_it_stands_behind_emoji(serve: Serve, enter: Callable[..., Page]) -> None:
    rooms = Rooms(serve())
    before = "👋 👨‍👩‍👧‍👦 🇩🇪 "  # One, seven and two code points, of more UTF-16 units.
    rooms.say(rooms.general, f"{before}@Ada, lunch?", "bea")
    page = enter(rooms.server)
    page.until("document.querySelector('article .mention-me')?.textContent === '@Ada'")
    rooms.put("/users/me", {"userName": "Augusta"})
    text = json.dumps(f"{before}@Augusta, lunch?")
    page.until(f"document.querySelector('article .message-body').textContent.includes({text})")


HITS = (
    "[...document.querySelectorAll('dialog[open] .search-hit .search-words')].map((one) => one.textContent)"
)


@pytest.mark.slow
def test_who_is_removed_from_a_private_channel_sees_its_hits_go_and_finds_nothing_more(
    serve: Serve, enter: Callable[..., Page]
) -> None:
    """B-2, X-3: while the dialog shows what was found there, and from then on."""
    rooms = Rooms(serve())
    plans = rooms.private("Plans", "bea")
    rooms.say(plans, "the hidden cheese")
    rooms.say(rooms.general, "cheese for all")
    page = enter(rooms.server, email("bea"))
    page.press("Search messages")
    page.write(".search-field", "cheese")
    page.until(f"{HITS}.length === 2")
    rooms.remove(plans, "bea")
    page.until(f"{HITS}.join() === 'cheese for all'")
    page.until("!document.documentElement.textContent.includes('the hidden cheese')")
    status = "document.querySelector('dialog[open] .search-status').textContent"
    for query in ("hidden", f"in:{plans} cheese"):
        find(page, query)
        page.until(f"{HITS}.length === 0 && {status} === 'Nothing was found that you can see.'")
        find(page, "cheese")
        page.until(f"{HITS}.join() === 'cheese for all'")


def find(page: Page, query: str) -> None:
    """Search for something else in the dialog that is open."""
    page.evaluate("document.querySelector('.search-field').select()")
    page.write(".search-field", query)
