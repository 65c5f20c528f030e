"""The browser client of MikroChat 2 works with teamchat: whoever moves keeps it as long as they like.

It is not part of teamchat: `MIKROCHAT_CLIENT` names the directory with its `index.html` where it is at hand.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from teamchat.testing import PASSWORD

from .conftest import Running

CLIENT = os.environ.get("MIKROCHAT_CLIENT", "")
ADA, GRACE = "ada@example.org", "grace@example.org"
_WRITTEN_IN = "http://localhost:3000"
HER_PASSWORD = "another long passphrase"
pytestmark = pytest.mark.skipif(
    not CLIENT, reason="MIKROCHAT_CLIENT names no directory with MikroChat 2's client"
)


class _Files(SimpleHTTPRequestHandler):
    """The client's files, which say themselves where the server is: at port 3000 of this machine."""

    api = ""

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].lstrip("/")
        if not name.endswith(".js"):
            return super().do_GET()
        text = (Path(self.directory) / name).read_text("utf-8").replace(_WRITTEN_IN, self.api)
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def client(serve: Callable[..., Running]) -> Iterator[tuple[str, Running]]:
    """Serve the client at an origin of its own, and a teamchat that lets it in; yield its address."""
    files = type("Files", (_Files,), {})
    static = ThreadingHTTPServer(("127.0.0.1", 0), partial(files, directory=CLIENT))
    address = f"http://127.0.0.1:{static.server_address[1]}"
    server = serve(
        auth={"authMode": "password"},
        server={"allowedOrigins": [address]},
        chat={"initialUser": {"userName": "Ada", "email": ADA, "password": PASSWORD}},
    )
    files.api = server.base  # type: ignore[attr-defined]
    thread = threading.Thread(target=static.serve_forever)
    thread.start()
    yield address, server
    static.shutdown()
    thread.join()
    static.server_close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Open an address in a browser of its own, where every question is answered yes."""
    contexts = []

    def opened(url: str) -> Page:
        context = browser.new_context(service_workers="block")
        contexts.append(context)
        page = context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()


def sign_in(page: Page, email: str, password: str) -> None:
    page.locator("#auth-email").fill(email)
    page.locator("#auth-password").fill(password)
    page.locator("#login-btn").click()
    expect(page.locator("#messages-area")).to_be_visible()
    expect(page.locator(".channel-item.active")).to_be_visible()


def say(page: Page, text: str) -> None:
    page.locator("#message-input").fill(text)
    page.locator("#send-button").click()
    expect(message(page, text)).to_be_visible()


def message(page: Page, text: str) -> Any:
    return page.locator("#messages-area .message", has_text=text)


def test_people_are_added_talk_in_channels_threads_and_directly_and_leave(
    client: tuple[str, Running], open_page: Callable[[str], Page]
) -> None:
    address, _ = client
    ada = open_page(address)
    sign_in(ada, ADA, PASSWORD)

    # Administration: a user is added, and the server gets a name.
    ada.locator("#server-name").click()
    ada.locator("#add-email-input").fill(GRACE)
    ada.locator("#add-user-password-input").fill(HER_PASSWORD)
    ada.locator("#add-user-btn").click()
    expect(ada.locator("#users-list .user-item", has_text=GRACE)).to_be_visible()
    ada.locator("#server-name-input").fill("Harbour")
    ada.locator("#update-server-name-btn").click()
    expect(ada.locator("#server-name")).to_contain_text("Harbour")
    expect(ada.locator("#server-settings-modal")).to_be_hidden()

    # Channels.
    grace = open_page(address)
    sign_in(grace, GRACE, HER_PASSWORD)
    ada.locator("#add-channel-btn").click()
    ada.locator("#channel-name").fill("boats")
    ada.locator("#create-channel-submit").click()
    for page in (ada, grace):
        page.locator(".channel-item", has_text="boats").click()
        expect(page.locator("#current-channel-name")).to_have_text("boats")

    # Messages: posted, heard of, edited, reacted to, deleted.
    say(ada, "all hands")
    expect(message(grace, "all hands")).to_be_visible()
    say(grace, "ready")
    expect(message(ada, "ready")).to_be_visible()
    mine = message(ada, "all hands")
    mine.hover()
    mine.locator(".message-edit").click()
    ada.locator("#edit-message-input").fill("all hands on deck")
    ada.locator("#edit-message-submit").click()
    expect(message(grace, "all hands on deck")).to_be_visible()

    # Threads.
    theirs = message(ada, "ready")
    theirs.hover()
    theirs.locator(".start-thread").click()
    ada.locator("#thread-message-input").fill("for what?")
    ada.locator("#thread-send-button").click()
    expect(ada.locator("#thread-messages .thread-reply", has_text="for what?")).to_be_visible()
    expect(message(grace, "ready").locator(".thread-badge")).to_contain_text("1 reply")
    ada.locator("#close-thread-btn").click()

    mine = message(ada, "all hands on deck")
    mine.hover()
    mine.locator(".message-delete").click()
    expect(message(grace, "all hands on deck")).to_have_count(0)

    # Direct messages.
    grace.locator("#start-dm-btn").click()
    grace.locator(".dm-user-item", has_text=ADA).click()
    say(grace, "between us")
    ada.locator("#dm-list .dm-item").first.click()
    expect(message(ada, "between us")).to_be_visible()
    say(ada, "of course")
    expect(message(grace, "of course")).to_be_visible()

    # Administration again: who is removed is gone; and out.
    ada.locator("#server-name").click()
    ada.locator("#users-list .user-item", has_text=GRACE).locator(".remove-user").click()
    expect(ada.locator("#users-list .user-item", has_text=GRACE)).to_have_count(0)
    ada.locator("#close-server-settings-modal").click()
    ada.locator("#user-menu").click()
    ada.locator("#logout-btn").click()
    expect(ada.locator("#login-btn")).to_be_visible()


def test_what_was_said_is_there_after_a_reload(
    client: tuple[str, Running], open_page: Callable[[str], Page]
) -> None:
    address, _ = client
    page = open_page(address)
    sign_in(page, ADA, PASSWORD)
    say(page, "before the reload")
    page.reload()
    expect(message(page, "before the reload")).to_be_visible()
