"""Pages served without TLS from another machine: no locks, no service worker, no clipboard, no subtle crypto.

Browsers take every loopback address for safe, so what such a page would lack is taken away before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from teamchat.testing import ADMIN, PASSWORD

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]

BARE = """
for (const name of ["locks", "serviceWorker", "clipboard", "storage", "setAppBadge", "clearAppBadge"]) {
  delete Navigator.prototype[name];
}
for (const name of ["randomUUID", "subtle"]) delete Crypto.prototype[name];
delete globalThis.caches;
Object.defineProperty(globalThis, "isSecureContext", { value: false });
"""
KEPT = "JSON.parse(localStorage['teamchat/session'])"
LEFT = """[navigator.locks, navigator.serviceWorker, crypto.randomUUID, crypto.subtle, globalThis.caches]
  .filter((one) => one !== undefined).length"""


def bare(visit: Visit, base: str) -> Page:
    """Open the client where the context is not secure."""
    page = visit("about:blank")
    page.context.add_init_script(BARE)
    page.goto(base)
    assert page.evaluate(LEFT) == 0
    return page


def say(page: Page, text: str) -> None:
    page.get_by_label("Write to #General").fill(text)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").filter(has_text=text)).to_be_visible()
    expect(page.locator("article.pending")).to_have_count(0)


def test_people_sign_in_post_reload_and_hear_each_other(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = bare(visit, server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    say(page, "in plain words")
    page.reload()
    expect(page.get_by_role("article").filter(has_text="in plain words")).to_be_visible()

    tab = page.context.new_page()
    tab.goto(server.base)
    say(tab, "from another tab")
    expect(page.get_by_role("article").filter(has_text="from another tab")).to_be_visible()
    token = server.token("grace@example.org")
    with server.client(token) as grace:
        channel = grace.get("/channels").json()["channels"][0]["id"]
        grace.post(f"/channels/{channel}/messages", json={"content": "from elsewhere"}).raise_for_status()
    for one in (page, tab):
        expect(one.get_by_role("article")).to_have_count(3)
        expect(one.get_by_role("article").last).to_contain_text("from elsewhere")


def test_a_session_is_renewed_by_both_of_two_tabs(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "jwtExpirySeconds": 4})
    page = bare(visit, server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    say(page, "before")
    tab = page.context.new_page()
    tab.goto(server.base)
    expect(tab.get_by_role("article")).to_have_count(1)
    for number in range(2):
        before = page.evaluate(KEPT)
        page.wait_for_function(f"() => Date.now() > {KEPT}.refreshAt")
        for one, name in ((page, "one"), (tab, "other")):
            one.get_by_label("Write to #General").fill(f"{name} {number}")
        for one in (page, tab):
            one.get_by_role("button", name="Send").click()
        for one in (page, tab):
            expect(one.get_by_role("article")).to_have_count(3 + 2 * number)
            expect(one.locator("article.pending")).to_have_count(0)
        assert page.evaluate(KEPT)["refreshToken"] != before["refreshToken"]


def test_a_token_that_can_not_be_copied_is_marked_instead(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = bare(visit, f"{server.base}/?access_token={server.token()}")
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    page.get_by_role("button", name="Webhooks", exact=True).click()
    page.get_by_label("Name of the bot").fill("Build")
    page.get_by_role("button", name="Add a webhook").click()
    made = page.get_by_role("dialog", name="is ready")
    made.get_by_role("button", name="Copy: Token").click()
    expect(made.get_by_role("status").filter(has_text="Selected for copying")).to_have_count(1)
    assert page.evaluate("getSelection().toString()") == made.get_by_role("region", name="Token").inner_text()
