"""Links from real mails: to sign in, to accept an invitation, to set a new password (interface, part 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from teamchat.testing import ADMIN, PASSWORD

Serve = Callable[..., Any]
Visit = Callable[..., Page]
MAIL = {"backend": "files"}
BEA = "bea@example.org"
BAD = "This link doesn’t work any more"


def at_home(page: Page) -> None:
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def has_no_secret(page: Page) -> bool:
    """Whether the address tells nothing that was in the link."""
    return "?" not in page.url and "token" not in page.url


@pytest.mark.slow
def test_a_magic_link_signs_in_once(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "magic-link", "isInviteRequired": True}, email=MAIL)
    page = visit(server.base)
    expect(page.get_by_text("No password needed.")).to_be_visible()
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Email me a link").click()
    expect(page.get_by_role("heading", name="Check your mail")).to_be_visible()
    expect(page.get_by_text(f"If {ADMIN} can sign in here")).to_be_visible()

    first = server.mailed(ADMIN)
    page.get_by_role("button", name="Send another link").click()
    expect(page.get_by_text("Only the newest one works.")).to_be_visible()
    link = server.mailed(ADMIN, 2)
    assert link != first

    other = visit(link)
    expect(other.get_by_text(f"You’re about to sign in as {ADMIN}.")).to_be_visible()
    assert has_no_secret(other)
    other.get_by_role("button", name="Sign in").click()
    at_home(other)

    for spent in (first, link):
        late = visit(spent)
        late.get_by_role("button", name="Sign in").click()
        expect(late.get_by_role("alert").filter(has_text=BAD)).to_be_visible()
        expect(late.get_by_label("Email")).to_have_value(ADMIN)
        late.get_by_role("button", name="Email me a link").click()
        expect(late.get_by_role("heading", name="Check your mail")).to_be_visible()


@pytest.mark.slow
def test_a_link_ends_no_session_before_its_button_is_pressed(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "magic-link", "isInviteRequired": False}, email=MAIL)

    def mailed(email: str) -> str:
        server.post("/auth/login", {"email": email})
        return str(server.mailed(email))

    page = visit(mailed(ADMIN))
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    tab = page.context.new_page()
    tab.goto(f"{server.base}/?token=x")
    expect(tab.get_by_role("button", name="Email me a link")).to_be_visible()
    tab.goto(mailed(BEA))
    expect(tab.get_by_text(f"You’re about to sign in as {BEA}.")).to_be_visible()
    tab.reload()
    at_home(tab)
    at_home(page)
    tab.goto(f"{server.mailed(BEA)}#")
    tab.get_by_role("button", name="Sign in").click()
    at_home(tab)
    expect(tab.get_by_role("button", name="bea")).to_be_visible()
    expect(page.get_by_role("button", name="bea")).to_be_visible()


def test_who_has_no_account_is_told_the_same(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "magic-link", "isInviteRequired": True}, email=MAIL)
    page = visit(server.base)
    page.get_by_label("Email").fill("nobody@example.org")
    page.get_by_role("button", name="Email me a link").click()
    expect(page.get_by_role("heading", name="Check your mail")).to_be_visible()
    page.get_by_role("button", name="Use another email").click()
    expect(page.get_by_label("Email")).to_have_value("")


@pytest.mark.slow
def test_an_invitation_leads_to_a_password_and_in(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True}, email=MAIL)
    server.post("/users/add", {"email": BEA}, server.admin_token())
    link = server.mailed(BEA)
    page = visit(link)
    expect(page.get_by_role("heading", name="Welcome!")).to_be_visible()
    assert has_no_secret(page)
    expect(page.get_by_label("Email")).to_have_value(BEA)
    expect(page.get_by_label("Email")).not_to_be_editable()
    expect(page.get_by_label("New password")).to_be_focused()
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("Repeat the password").fill(PASSWORD + "!")
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_label("Repeat the password")).to_have_accessible_description(
        "The two passwords differ."
    )
    page.get_by_label("Repeat the password").fill(PASSWORD)
    page.keyboard.press("Enter")
    at_home(page)

    late = visit(link)
    for label in ("New password", "Repeat the password"):
        late.get_by_label(label).fill("another password")
    late.get_by_role("button", name="Set password and sign in").click()
    expect(late.get_by_role("alert")).to_contain_text("This invitation doesn’t work any more.")


@pytest.mark.slow
def test_a_forgotten_password_is_replaced_by_a_link(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True}, email=MAIL)
    page = visit(server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Forgot your password?").click()
    expect(page.get_by_label("Email")).to_have_value(ADMIN)
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_text(f"If there is an account for {ADMIN}")).to_be_visible()

    link = server.mailed(ADMIN)
    other = visit(link)
    expect(other.get_by_role("heading", name="A new password")).to_be_visible()
    for label in ("New password", "Repeat the password"):
        other.get_by_label(label).fill("quite another password")
    other.get_by_role("button", name="Set password and sign in").click()
    at_home(other)

    page.get_by_role("button", name="Back to sign-in").click()
    page.get_by_label("Password", exact=True).fill("quite another password")
    page.get_by_role("button", name="Sign in").click()
    at_home(page)

    late = visit(link)
    for label in ("New password", "Repeat the password"):
        late.get_by_label(label).fill("yet another password")
    late.get_by_role("button", name="Set password and sign in").click()
    expect(late.get_by_role("alert").filter(has_text=BAD)).to_be_visible()
    expect(late.get_by_role("button", name="Send the link")).to_be_visible()


@pytest.mark.slow
def test_a_link_is_followed_though_somebody_is_signed_in(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True}, email=MAIL)
    page = visit(server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    server.post("/users/add", {"email": BEA}, server.admin_token())
    page.goto(server.mailed(BEA))
    for label in ("New password", "Repeat the password"):
        page.get_by_label(label).fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    at_home(page)
    expect(page.get_by_role("button", name="bea")).to_be_visible()
