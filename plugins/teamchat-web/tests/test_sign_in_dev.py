"""Signing in where an email is all it takes (interface, part 5 rule 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from teamchat.testing import ADMIN

Serve = Callable[..., Any]
Visit = Callable[..., Page]


@pytest.mark.slow
def test_an_email_alone_signs_in_and_out_again(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_label("Email")).to_be_focused()
    page.keyboard.type(ADMIN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()

    page.reload()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Account").click()
    expect(page.get_by_role("dialog")).to_contain_text(ADMIN)
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="You’re signed out.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Email")).to_be_visible()


@pytest.mark.slow
def test_what_is_no_email_is_told_beside_its_field(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base)
    email = page.get_by_label("Email")
    page.get_by_role("button", name="Sign in").click()
    expect(email).to_have_accessible_description("Please fill this in.")
    email.fill("ada")
    expect(email).to_have_accessible_description("")
    page.get_by_role("button", name="Sign in").click()
    expect(email).to_have_accessible_description("This doesn’t look like an email address.")
    expect(email).to_have_attribute("aria-invalid", "true")
    expect(email).to_be_focused()


@pytest.mark.slow
def test_who_is_not_invited_is_told_so(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth={"isInviteRequired": True}).base)
    page.get_by_label("Email").fill("nobody@example.org")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Email")).to_have_accessible_description(
        "There is no account with this email, and this server is by invitation only."
    )


@pytest.mark.slow
def test_german_browsers_are_spoken_to_in_german(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base, locale="de-AT")
    expect(page.get_by_role("heading", name="Anmelden")).to_be_visible()
    expect(page).to_have_title("Anmelden · Teamchat")
    assert page.evaluate("document.documentElement.lang") == "de"
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_label("E-Mail")).to_have_accessible_description("Hier fehlt noch etwas.")


@pytest.mark.slow
def test_a_server_that_cannot_be_reached_is_told_and_what_was_typed_stays(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = visit(server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.context.set_offline(True)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The server can’t be reached.")
    expect(page.get_by_label("Email")).to_have_value(ADMIN)
    page.context.set_offline(False)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


@pytest.mark.slow
def test_a_closed_door_tells_the_seconds_until_it_opens(serve: Serve, visit: Visit) -> None:
    page = visit(serve(server={"rateLimit": {"attempts": 60, "windowSeconds": 4}}).base)
    page.get_by_label("Email").fill(ADMIN)
    page.evaluate("Promise.all(Array.from({ length: 80 }, () => fetch('config.json')))")
    page.get_by_role("button", name="Sign in").click()
    alert = page.get_by_text("Too many attempts. Try again in")
    expect(alert).to_be_visible()
    expect(alert).to_be_hidden()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def test_the_page_is_no_larger_than_the_window(serve: Serve, visit: Visit) -> None:
    """Were it larger by one pixel, browsers whose scroll bars take room would show one."""
    server = serve()
    page = visit(server.base, viewport={"width": 1280, "height": 800})
    size = """() => document.documentElement.scrollWidth === 1280
      && document.documentElement.scrollHeight === 800"""
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.wait_for_function(size)
    page.goto(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    page.wait_for_function(size)
