"""The second factor in the web client, in a browser: set up, asked for, and wanted by the server."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import apsw
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from teamchat_second_factor import totp

from teamchat.storage.sqlite import DATABASE_NAME
from teamchat.testing import ADMIN, PASSWORD, Provider

_oauth = import_module("plugins.teamchat-web.tests.test_sign_in_oauth")
idp, custom = _oauth.idp, _oauth.custom

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]
LEAVE = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
MODE = {"authMode": "password", "isInviteRequired": True}


class Phone:
    """An app with a secret; it waits for a code that was not shown yet, as a person does."""

    def __init__(self, secret: str) -> None:
        self._secret = base64.b32decode(secret.replace(" ", ""))
        self._last = 0

    def code(self) -> str:
        # One step ahead is good, too: so nobody waits for more than the first half minute that is over.
        step = max(self._last + 1, totp.step_at(int(time.time() * 1000)) - 1)
        self._last = step
        return totp.code_at(self._secret, step)


def sign_in(page: Page) -> None:
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def at_home(page: Page) -> None:
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def section(page: Page) -> Locator:
    """Open the settings at the second factors."""
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("button", name="Second factor", exact=True).click()
    return dialog


def a_while_passes(server: Any) -> None:
    """Have all sessions been begun ten minutes earlier."""
    connection = apsw.Connection(str(server.directory / "data" / DATABASE_NAME))
    connection.set_busy_timeout(5_000)
    connection.execute("update sessions set created_at = created_at - 600000")
    connection.close()


def with_oidc(route: Route) -> None:
    """Answer as a server whose provider wants to be signed out of, too."""
    answer = route.fetch()
    said = answer.json()
    said["capabilities"]["oidc"] = {"version": 1}
    route.fulfill(response=answer, json=said)


def set_up(place: Page | Locator) -> tuple[Phone, list[str]]:
    """Go through the steps; return the app and the recovery codes."""
    place.get_by_role("button", name="Set up an app").click()
    expect(place.get_by_role("img", name="QR code")).to_be_visible()
    phone = Phone(place.get_by_role("region", name="Key").inner_text())
    field = place.get_by_label("Code", exact=True)
    field.fill("12345")
    place.get_by_role("button", name="Confirm").click()
    expect(field).to_have_accessible_description(re.compile("This code is wrong"))
    field.fill(phone.code())
    place.get_by_role("button", name="Confirm").click()
    codes = place.get_by_role("region", name="Recovery codes").inner_text().split()
    assert len(codes) == 10
    return phone, codes


def test_it_is_set_up_asked_for_and_taken_away(serve: Serve, visit: Visit, accessible: Any) -> None:
    server = serve(auth=MODE)
    page = visit(server.base)
    sign_in(page)
    at_home(page)
    dialog = section(page)
    expect(dialog.get_by_text("You have none.")).to_be_visible()
    phone, codes = set_up(dialog)
    accessible(page)
    dialog.get_by_role("button", name="I have kept them").click()
    expect(dialog.get_by_text("You have 10 recovery codes left.")).to_be_visible()

    other = visit(server.base)
    sign_in(other)
    expect(other.get_by_role("heading", name="Enter a code")).to_be_visible()
    accessible(other)
    field = other.get_by_label("Code", exact=True)
    expect(field).to_be_focused()
    field.fill("123 456")
    other.get_by_role("button", name="Sign in").click()
    expect(field).to_have_accessible_description(re.compile("This code is wrong"))
    field.fill(phone.code())
    other.get_by_role("button", name="Sign in").click()
    at_home(other)

    third = visit(server.base)
    sign_in(third)
    third.get_by_label("Code", exact=True).fill(codes[0].upper())
    third.get_by_role("button", name="Sign in").click()
    at_home(third)

    dialog.get_by_role("button", name=re.compile("Remove the app")).click()
    expect(dialog.get_by_text("You have none.")).to_be_visible()
    fourth = visit(server.base)
    sign_in(fourth)
    at_home(fourth)


def test_where_the_server_wants_one_it_is_set_up_before_anything_is_seen(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MODE | {"secondFactor": "all"})
    page = visit(server.base)
    sign_in(page)
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    set_up(page)
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
    page.get_by_role("button", name="I have kept them").click()
    at_home(page)
    dialog = section(page)
    expect(dialog.get_by_text("You have 10 recovery codes left.")).to_be_visible()
    expect(dialog.get_by_role("button", name=re.compile("Remove the app"))).to_have_count(0)


def test_a_while_after_signing_in_it_takes_the_password_or_signing_in_anew(
    serve: Serve, visit: Visit, accessible: Any
) -> None:
    server = serve(auth=MODE)
    page = visit(server.base)
    sign_in(page)
    at_home(page)
    page.get_by_role("textbox").fill("half a thought")
    a_while_passes(server)
    dialog = section(page)
    dialog.get_by_role("button", name="Set up an app").click()
    password = dialog.get_by_label("Password", exact=True)
    password.fill("not the password")
    dialog.get_by_role("button", name="Set up an app").click()
    expect(password).to_have_accessible_description(re.compile("The password is wrong"))
    accessible(page)
    dialog.get_by_role("button", name="Sign in anew").click()
    expect(page.get_by_text("Please sign in anew")).to_be_visible()
    sign_in(page)
    expect(dialog.get_by_text("You have none.")).to_be_visible()
    set_up(dialog)
    dialog.get_by_role("button", name="I have kept them").click()
    a_while_passes(server)
    dialog.get_by_role("button", name="Set up an app").click()
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    code = dialog.get_by_label("Code", exact=True)
    code.fill("123456")
    dialog.get_by_role("button", name="Set up an app").click()
    expect(code).to_have_accessible_description(re.compile("This code is wrong"))
    expect(code).to_be_focused()
    page.reload()
    at_home(page)
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox")).to_have_value("half a thought")


def test_who_has_no_password_signs_in_anew_at_their_provider_and_comes_back(
    serve: Serve, visit: Visit, idp: Provider
) -> None:
    server = serve(oauth={"custom": [custom(idp)]})
    page = visit(server.base)
    page.route("**/capabilities", with_oidc)
    page.route("**/auth/oauth/logout", lambda route: route.fulfill(json={"logoutUrl": f"{server.base}/"}))
    page.get_by_role("link", name="Continue with Acme").click()
    at_home(page)
    a_while_passes(server)
    dialog = section(page)
    dialog.get_by_role("button", name="Set up an app").click()
    expect(dialog.get_by_text("It is a while since you signed in.")).to_be_visible()
    expect(dialog.get_by_label("Password", exact=True)).to_have_count(0)
    with page.expect_navigation():  # To where the provider's session ends, and back.
        dialog.get_by_role("button", name="Sign in anew").click()
    page.get_by_role("link", name="Continue with Acme").click()
    set_up(dialog)


def test_what_one_person_wanted_to_come_back_to_opens_for_nobody_else(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = visit(f"{server.base}/?access_token={server.token()}")
    at_home(page)
    a_while_passes(server)
    dialog = section(page)
    dialog.get_by_role("button", name="Set up an app").click()
    dialog.get_by_role("button", name="Sign in anew").click()
    page.get_by_label("Email").fill("grace@example.org")
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    page.wait_for_function("() => !sessionStorage.getItem('teamchat/anew')")
    page.wait_for_timeout(300)  # In which it would have opened.
    expect(dialog).to_have_count(0)


def test_recovery_codes_stay_until_they_are_said_to_be_kept(
    serve: Serve, visit: Visit, accessible: Any
) -> None:
    server = serve()
    page = visit(f"{server.base}/?access_token={server.token()}")
    at_home(page)
    dialog = section(page)
    _, codes = set_up(dialog)
    ways_out: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Escape"),
        lambda: page.keyboard.press("Escape"),  # Browsers close a dialog by the second one, whatever it says.
        lambda: page.mouse.click(5, 5),
        lambda: dialog.get_by_role("button", name="Close", exact=True).click(),
        lambda: dialog.get_by_role("button", name="Profile", exact=True).click(),
        lambda: dialog.get_by_role("button", name="Second factor", exact=True).click(),
        lambda: dialog.get_by_role("button", name=re.compile("Remove the app")).click(),
    ]
    for leave in ways_out:
        leave()
        assert dialog.get_by_role("region", name="Recovery codes").inner_text().split() == codes
    expect(dialog.get_by_role("alert")).to_contain_text("Keep these codes first")
    kept = dialog.get_by_role("button", name="I have kept them")
    expect(kept).to_be_focused()
    accessible(page)
    assert page.evaluate(LEAVE), "the browser asks"
    kept.click()
    assert not page.evaluate(LEAVE)
    expect(dialog.get_by_text("You have 10 recovery codes left.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
