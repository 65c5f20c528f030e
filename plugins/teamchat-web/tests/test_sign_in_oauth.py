"""Signing in at an identity provider: the browser really goes there and comes back (interface, part 5)."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio
from playwright.sync_api import Page, expect

from teamchat.testing import Provider, provider

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]
JANE = "jane@example.org"
REASONS = {
    "invalid_state": "Please begin again.",
    "access_denied": "you didn’t agree",
    "email_not_verified": "doesn’t vouch for your email",
    "user_not_found": "Ask an administrator to add you.",
    "rate_limited": "Please wait a few minutes.",
    "provider_error": "Please try again later.",
    "<img src=x onerror=alert(1)>": "Signing in with the provider failed.",
}


@pytest.fixture
def idp() -> Iterator[Provider]:
    """A provider on the loopback address, in a thread of its own."""
    started: queue.Queue[tuple[Provider, trio.lowlevel.TrioToken]] = queue.Queue()
    ending = trio.Event()

    async def run() -> None:
        async with provider() as running:
            started.put((running, trio.lowlevel.current_trio_token()))
            await ending.wait()

    thread = threading.Thread(target=trio.run, args=(run,))
    thread.start()
    running, token = started.get()
    yield running
    trio.from_thread.run_sync(ending.set, trio_token=token)
    thread.join()


def custom(idp: Provider, name: str = "Acme") -> dict[str, Any]:
    return {
        "id": name.lower(),
        "name": name,
        "clientId": idp.client_id,
        "clientSecret": idp.client_secret,
        "authorizationUrl": idp.authorization_url,
        "tokenUrl": idp.token_url,
        "userInfoUrl": idp.user_info_url,
    }


def at_home(page: Page) -> None:
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def test_who_came_without_a_password_is_offered_none_to_change(
    serve: Serve, visit: Visit, idp: Provider
) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    page = visit(serve(auth=auth, oauth={"custom": [custom(idp)]}).base)
    with page.expect_response(lambda answer: urlsplit(answer.url).path == "/me"):
        page.get_by_role("link", name="Continue with Acme").click()
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog.get_by_role("button", name="Account")).to_be_visible()
    expect(dialog.get_by_role("button", name="Password", exact=True)).to_have_count(0)


def test_a_button_for_each_provider_leads_there_and_back(serve: Serve, visit: Visit, idp: Provider) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    server = serve(auth=auth, oauth={"custom": [custom(idp), custom(idp, "Beta")]})
    page = visit(server.base, left=False)
    expect(page.get_by_role("link", name="Continue with Beta")).to_be_visible()
    page.get_by_role("link", name="Continue with Acme").click()
    at_home(page)
    assert idp.hits("/authorize") == 1
    expect(page).not_to_have_url(re.compile("token"))
    expect(page.get_by_role("button", name="jane")).to_be_visible()
    page.go_back()
    page.go_forward()
    expect(page).not_to_have_url(re.compile("token"))
    at_home(page)


def test_providers_stand_below_magic_links_too(serve: Serve, visit: Visit, idp: Provider) -> None:
    auth = {"authMode": "magic-link", "isInviteRequired": False}
    server = serve(auth=auth, email={"backend": "files"}, oauth={"custom": [custom(idp)]})
    page = visit(server.base)
    expect(page.get_by_role("button", name="Email me a link")).to_be_visible()
    page.get_by_role("link", name="Continue with Acme").click()
    at_home(page)


def test_who_is_not_invited_comes_back_to_words(serve: Serve, visit: Visit, idp: Provider) -> None:
    auth = {"authMode": "password", "isInviteRequired": True}
    page = visit(serve(auth=auth, oauth={"custom": [custom(idp)]}).base)
    page.get_by_role("link", name="Continue with Acme").click()
    expect(page.get_by_role("alert").filter(has_text=REASONS["user_not_found"])).to_be_visible()
    expect(page).not_to_have_url(re.compile("oauth_error"))


def test_who_does_not_agree_comes_back_to_words(serve: Serve, visit: Visit, idp: Provider) -> None:
    idp.denied = "access_denied"
    auth = {"authMode": "password", "isInviteRequired": False}
    page = visit(serve(auth=auth, oauth={"custom": [custom(idp)]}).base)
    page.get_by_role("link", name="Continue with Acme").click()
    expect(page.get_by_role("alert").filter(has_text=REASONS["access_denied"])).to_be_visible()
    idp.denied = None
    page.get_by_role("link", name="Continue with Acme").click()
    at_home(page)


def test_each_failure_is_told_in_words_and_never_in_those_of_the_address(serve: Serve, visit: Visit) -> None:
    base = serve(auth={"authMode": "password"}).base
    page = visit(base)
    for reason, said in REASONS.items():
        page.goto("about:blank")
        page.goto(f"{base}/?oauth_error={reason}")
        alert = page.get_by_role("alert").filter(has_text=said)
        expect(alert).to_be_visible()
        assert reason not in page.content()


def test_without_providers_no_button_shows(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth={"authMode": "password"}).base)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_text("Continue with")).to_have_count(0)


def test_providers_that_could_not_be_loaded_can_be_asked_for_again(
    serve: Serve, visit: Visit, idp: Provider
) -> None:
    server = serve(auth={"authMode": "password"}, oauth={"custom": [custom(idp)]})
    page = visit("about:blank")
    page.route("**/auth/oauth/providers", lambda route: route.abort())
    page.goto(server.base)
    expect(page.get_by_text("The ways to sign in couldn’t be loaded.")).to_be_visible()
    page.unroute("**/auth/oauth/providers")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="Continue with Acme")).to_be_visible()


def test_d40_who_finds_their_address_taken_before_is_told_once(
    serve: Serve, visit: Visit, idp: Provider
) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    server = serve(auth=auth, oauth={"custom": [custom(idp)]})
    server.post("/auth/register", {"email": JANE, "password": "the stranger's password"})
    page = visit(server.base, left=False)
    page.get_by_role("link", name="Continue with Acme").click()
    at_home(page)
    told = page.locator(".toast", has_text="Its earlier sessions and password have ended.")
    expect(told).to_be_visible()
    told.get_by_role("button", name="Close").click()
    expect(told).to_have_count(0)
    expect(page).not_to_have_url(re.compile("earlier_access_ended"))
    page.reload()
    at_home(page)
    expect(told).to_have_count(0)


def signed_in(visit: Visit, server: Any) -> Page:
    """Open a browser in which Jane is signed in, and which has left for no provider."""
    page = visit(server.base, left=False)
    page.get_by_role("textbox", name="Email").fill(JANE)
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    return page


def test_tokens_that_nobody_asked_for_take_nobodys_place_unseen(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = signed_in(visit, server)
    page.goto(f"{server.base}/?access_token={server.token('eve@example.org')}")
    expect(page.get_by_text("You’re about to sign in as eve@example.org.")).to_be_visible()
    expect(page).not_to_have_url(re.compile("token"))
    page.get_by_role("button", name=f"Stay signed in as {JANE}").click()
    at_home(page)
    expect(page.get_by_role("button", name="jane")).to_be_visible()
    page.goto(f"{server.base}/?access_token={server.token('eve@example.org')}")
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    expect(page.get_by_role("button", name="eve")).to_be_visible()


def test_whose_unasked_tokens_are_is_for_the_server_to_say(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = signed_in(visit, server)
    header, claims, _ = server.token(JANE).split(".")
    page.goto(f"{server.base}/?access_token={header}.{claims}.forged&refresh_token=eves")
    at_home(page)
    expect(page.get_by_role("button", name="jane")).to_be_visible()
    page = visit(f"{server.base}/?access_token={header}.{claims}.forged&refresh_token=eves", left=False)
    expect(page.get_by_role("alert").filter(has_text=REASONS["invalid_state"])).to_be_visible()
    page.goto(f"{server.base}/?access_token={server.token('eve@example.org')}")
    page.get_by_role("button", name="Use another email").click()
    expect(page.get_by_role("textbox", name="Email")).to_be_visible()


def test_a_provider_may_be_gone_to_in_another_tab(serve: Serve, visit: Visit, idp: Provider) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    page = visit(serve(auth=auth, oauth={"custom": [custom(idp)]}).base, left=False)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Continue with Acme").click(button="middle")
    at_home(opened.value)
    at_home(page)
