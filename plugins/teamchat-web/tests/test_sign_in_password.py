"""Signing in with a password, registering, and the sessions that come of it (interface, part 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from teamchat.testing import ADMIN, PASSWORD

Serve = Callable[..., Any]
Visit = Callable[..., Page]
MODE = {"authMode": "password", "isInviteRequired": True}
OPEN = MODE | {"isInviteRequired": False}


def sign_in(page: Page, email: str = ADMIN, password: str = PASSWORD) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def at_home(page: Page) -> None:
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def settings(page: Page, section: str) -> None:
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=section, exact=True).click()


@pytest.mark.slow
def test_a_wrong_password_is_told_and_the_right_one_signs_in(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    sign_in(page, password="a wrong password")
    field = page.get_by_label("Password", exact=True)
    expect(field).to_have_accessible_description("The email or the password is wrong.")
    expect(field).to_be_focused()
    expect(page.get_by_label("Email")).to_have_value(ADMIN)
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    at_home(page)


@pytest.mark.slow
def test_password_managers_are_told_what_each_field_is(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=OPEN).base)
    expect(page.get_by_label("Email")).to_have_attribute("autocomplete", "username")
    field = page.get_by_label("Password", exact=True)
    expect(field).to_have_attribute("autocomplete", "current-password")
    expect(field).to_have_attribute("type", "password")
    page.get_by_role("button", name="Show password").click()
    expect(field).to_have_attribute("type", "text")
    page.get_by_role("button", name="Create an account").click()
    for label in ("New password", "Repeat the password"):
        expect(page.get_by_label(label)).to_have_attribute("autocomplete", "new-password")


@pytest.mark.slow
def test_without_mail_there_is_no_link_to_a_new_password(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    expect(page.get_by_text("An administrator can set a new one for you.")).to_be_visible()
    expect(page.get_by_role("button", name="Forgot your password?")).to_have_count(0)


@pytest.mark.slow
def test_where_invites_are_required_nobody_is_offered_to_register(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_role("button", name="Create an account")).to_have_count(0)


def test_registering_makes_an_account_and_signs_in(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=OPEN).base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Create an account").click()
    expect(page.get_by_label("Email")).to_have_value(ADMIN)
    password, again = page.get_by_label("New password"), page.get_by_label("Repeat the password")
    create = page.get_by_role("button", name="Create an account")
    password.fill("short")
    create.click()
    expect(password).to_have_accessible_description("At least 8 characters At least 8 characters, please.")
    password.fill("long enough")
    again.fill("long enouhg")
    create.click()
    expect(again).to_have_accessible_description("The two passwords differ.")
    again.fill("long enough")
    create.click()
    expect(page.get_by_label("Email")).to_have_accessible_description(
        "There is an account with this email already."
    )
    page.get_by_label("Email").fill("bea@example.org")
    create.click()
    at_home(page)
    expect(page.get_by_role("button", name="bea")).to_be_visible()


@pytest.mark.slow
def test_too_many_wrong_passwords_are_answered_with_the_seconds_to_wait(serve: Serve, visit: Visit) -> None:
    limit = {"rateLimit": {"attempts": 2, "windowSeconds": 300}}
    page = visit(serve(auth=MODE | limit).base)
    for _ in range(2):
        sign_in(page, password="a wrong password")
        expect(page.get_by_label("Password", exact=True)).to_have_attribute("aria-invalid", "true")
    sign_in(page, password="a wrong password")
    told = page.get_by_text("Too many attempts. Try again in 2")
    expect(told).to_be_visible()
    before = told.inner_text()
    expect(told).not_to_have_text(before)  # it counts


@pytest.mark.slow
def test_the_list_of_sessions_ends_the_others(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MODE)
    pages = [visit(server.base) for _ in range(3)]
    for page in pages:
        sign_in(page)
        at_home(page)
    one, two, three = pages
    settings(one, "Signed in on")
    rows = one.get_by_role("list", name="Signed in on").get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="This device")).to_have_count(1)
    expect(rows.first).to_contain_text("Chrome on Linux")
    expect(rows.first).to_contain_text("127.0.0.1")

    rows.first.get_by_role("button", name="Sign out Chrome on Linux").click()
    expect(rows).to_have_count(2)
    expect(one.get_by_role("status").filter(has_text="That session is signed out.")).to_be_visible()
    # The newest session is the first in the list.
    expect(three.get_by_text("Your session has ended, here or from another device.")).to_be_visible()
    expect(three.get_by_label("Email")).to_be_visible()
    expect(two.get_by_role("heading", name="General", level=1)).to_be_visible()

    one.get_by_role("button", name="Sign out everywhere else").click()
    expect(rows).to_have_count(1)
    expect(one.get_by_text("1 other session is signed out.")).to_be_visible()
    expect(one.get_by_role("button", name="Sign out everywhere else")).to_be_hidden()
    expect(two.get_by_text("Your session has ended, here or from another device.")).to_be_visible()
    one.keyboard.press("Escape")
    at_home(one)


@pytest.mark.slow
def test_a_session_that_ended_while_the_page_was_closed_leads_back_to_sign_in(
    serve: Serve, visit: Visit
) -> None:
    server = serve(auth=MODE)
    page = visit(server.base)
    sign_in(page)
    at_home(page)
    kept = page.context.storage_state()
    page.context.close()
    with server.client(server.admin_token()) as admin:
        assert admin.delete("/auth/sessions").json()["revoked"] == 2
    again = visit(server.base, storage_state=kept)
    expect(again.get_by_text("Your session has ended")).to_be_visible()
    sign_in(again)
    at_home(again)


@pytest.mark.slow
def test_tokens_are_renewed_before_they_expire(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MODE)
    page = visit("about:blank")
    page.clock.install()
    page.goto(server.base)
    sign_in(page)
    at_home(page)
    # Asked by the settings or, before them, by a stream that opens anew: whichever comes first.
    with page.expect_response("**/auth/refresh") as renewed:
        page.clock.fast_forward("14:45")
        settings(page, "Signed in on")
    assert renewed.value.status == 200
    expect(page.get_by_role("listitem").filter(has_text="This device")).to_be_visible()


@pytest.mark.slow
def test_leaving_the_server_is_for_good(serve: Serve, visit: Visit) -> None:
    server = serve(auth=OPEN)
    server.post("/auth/register", {"email": "bea@example.org", "password": PASSWORD})
    page = visit(server.base)
    sign_in(page, "bea@example.org")
    at_home(page)
    settings(page, "Account")
    page.get_by_role("button", name="Leave the server").click()
    asked = page.get_by_role("dialog", name="Leave the server?")
    expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
    asked.get_by_role("button", name="Leave the server").click()
    expect(page.get_by_text("You have left the server.")).to_be_visible()
    sign_in(page, "bea@example.org")
    expect(page.get_by_text("The email or the password is wrong.")).to_be_visible()


def test_the_last_administrator_is_told_why_they_cannot_leave(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    sign_in(page)
    settings(page, "Account")
    page.get_by_role("button", name="Leave the server").click()
    asked = page.get_by_role("dialog", name="Leave the server?")
    asked.get_by_role("button", name="Leave the server").click()
    expect(asked.get_by_role("alert")).to_contain_text("You’re the only administrator.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Leave the server")).to_be_focused()
    page.keyboard.press("Escape")
    at_home(page)


def test_name_theme_and_language_are_ones_own(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base, color_scheme="light")
    sign_in(page)
    settings(page, "Profile")
    name = page.get_by_label("Your name")
    name.fill("Ada Lovelace")
    form = page.locator("form").filter(has=name)
    form.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    page.get_by_label("Theme").select_option("Dark")
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    page.get_by_label("Language").select_option("Deutsch")
    expect(page.get_by_role("button", name="Einstellungen", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    expect(page.get_by_role("button", name="Ada Lovelace")).to_be_visible()


@pytest.mark.slow
def test_notifications_are_turned_on_by_a_press_and_off_again(serve: Serve, visit: Visit) -> None:
    page = visit("about:blank")
    page.add_init_script("Object.defineProperty(Notification, 'permission', { value: 'granted' });")
    page.goto(serve(auth=MODE).base)
    sign_in(page)
    at_home(page)
    for is_on in (True, False):
        settings(page, "Notifications")
        box = page.get_by_role("checkbox", name="Show notifications on this device")
        expect(box).to_be_checked(checked=not is_on)
        box.set_checked(is_on)
        page.keyboard.press("Escape")
        page.reload()
        at_home(page)
    settings(page, "Notifications")
    expect(box).not_to_be_checked()


def test_a_browser_that_blocks_notifications_is_said_to(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    page.evaluate("() => { Object.defineProperty(Notification, 'permission', { value: 'denied' }); }")
    sign_in(page)
    settings(page, "Notifications")
    expect(page.get_by_text("Notifications are blocked.")).to_be_visible()
