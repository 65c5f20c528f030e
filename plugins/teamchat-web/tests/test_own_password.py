"""One's own password: changing it, and having to where an administrator set it (decision D-43)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from teamchat.testing import ADMIN, PASSWORD

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]
MODE = {"authMode": "password", "isInviteRequired": True}
MUST = MODE | {"mustChangeSetPasswords": True}
BEA = "bea@example.org"
GIVEN = "what the admin gave her"
OWN = "a password of her own"
DUE = "Choose a password of your own"


def sign_in(page: Page, email: str = ADMIN, password: str = PASSWORD) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def at_home(page: Page) -> None:
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def due(page: Page) -> None:
    expect(page.get_by_role("heading", name=DUE)).to_be_visible()


def own_password(page: Page) -> Locator:
    """Open the part of the settings that changes one's password."""
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("button", name="Password", exact=True).click()
    expect(dialog.get_by_role("heading", name="Password")).to_be_visible()
    return dialog


def change(place: Page | Locator, present: str | None, new: str, again: str | None = None) -> None:
    if present is not None:
        place.get_by_label("Present password").fill(present)
    place.get_by_label("New password").fill(new)
    place.get_by_label("Repeat the password").fill(new if again is None else again)
    place.get_by_role("button", name="Change password").click()


def given(server: Any) -> None:
    """Add somebody with a password that an administrator chose."""
    server.post("/users/add", {"email": BEA, "password": GIVEN}, server.admin_token())


def test_a_password_is_changed_and_other_sessions_end(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MODE)
    page, other = visit(server.base), visit(server.base)
    for one in (page, other):
        sign_in(one)
        at_home(one)
    dialog = own_password(page)
    expect(dialog.get_by_text("You’re signed out everywhere else")).to_be_visible()
    change(dialog, "not the present one", OWN)
    present = dialog.get_by_label("Present password")
    expect(present).to_have_accessible_description("This isn’t your present password.")
    expect(present).to_be_focused()
    change(dialog, PASSWORD, "short")
    new = dialog.get_by_label("New password")
    expect(new).to_have_accessible_description("At least 8 characters At least 8 characters, please.")
    change(dialog, PASSWORD, OWN, again="another")
    expect(dialog.get_by_label("Repeat the password")).to_have_accessible_description(
        "The two passwords differ."
    )
    change(dialog, PASSWORD, PASSWORD)
    expect(new).to_have_accessible_description(
        "At least 8 characters That’s the one you have. Choose another."
    )
    change(dialog, PASSWORD, OWN)
    expect(dialog.get_by_role("status").filter(has_text="Your password is changed.")).to_be_visible()
    expect(present).to_have_value("")
    expect(other.get_by_text("Your session has ended, here or from another device.")).to_be_visible()
    page.reload()
    at_home(page)
    sign_in(other, password=OWN)
    at_home(other)


def test_a_wrong_present_password_is_asked_about_once(serve: Serve, visit: Visit) -> None:
    page = visit(serve(auth=MODE).base)
    sign_in(page)
    at_home(page)
    asked: list[str] = []
    page.on("request", lambda request: request.url.endswith("/auth/password") and asked.append(request.url))
    dialog = own_password(page)
    change(dialog, "not the present one", OWN)
    expect(dialog.get_by_label("Present password")).to_have_attribute("aria-invalid", "true")
    assert len(asked) == 1  # each counts against the limit


def test_an_access_token_that_ended_early_is_renewed_to_change_the_password(
    serve: Serve, visit: Visit
) -> None:
    page = visit(serve(auth=MODE).base)
    sign_in(page)
    at_home(page)
    dialog = own_password(page)
    refused: list[str] = []

    def refuse_the_first(route: Any) -> None:
        refused.append(route.request.url)
        if len(refused) < 3:  # the change, and the question whose token this is
            route.fulfill(status=401, json={"error": "The access token is not valid."})
        else:
            route.continue_()

    page.route("**/auth/password", refuse_the_first)
    page.route("**/auth/me", refuse_the_first)
    change(dialog, PASSWORD, OWN)
    expect(dialog.get_by_role("status").filter(has_text="Your password is changed.")).to_be_visible()


def test_too_many_wrong_present_passwords_are_answered_with_the_seconds_to_wait(
    serve: Serve, visit: Visit
) -> None:
    limit = {"rateLimit": {"attempts": 1, "windowSeconds": 300}}
    page = visit(serve(auth=MODE | limit).base)
    sign_in(page)
    at_home(page)
    dialog = own_password(page)
    change(dialog, "not the present one", OWN)
    expect(dialog.get_by_label("Present password")).to_have_attribute("aria-invalid", "true")
    change(dialog, PASSWORD, OWN)
    expect(dialog.get_by_text("Too many attempts. Try again in 2")).to_be_visible()


def test_where_no_password_signs_in_there_is_none_to_change(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    at_home(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog.get_by_role("button", name="Account")).to_be_visible()
    expect(dialog.get_by_role("button", name="Password", exact=True)).to_have_count(0)


def test_a_password_that_an_admin_set_is_changed_before_anything_else(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MUST)
    given(server)
    page = visit(server.base)
    sign_in(page, BEA, GIVEN)
    due(page)
    # It was typed a moment ago, so it is not asked for again.
    expect(page.get_by_label("Present password")).to_have_count(0)
    expect(page.get_by_label("New password")).to_be_focused()
    change(page, None, GIVEN)
    expect(page.get_by_label("New password")).to_have_attribute("aria-invalid", "true")
    change(page, None, OWN)
    at_home(page)
    page.reload()
    at_home(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Account", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    sign_in(page, BEA, OWN)
    at_home(page)


def test_a_reload_and_another_tab_lead_to_the_same_question(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MUST)
    given(server)
    page = visit(server.base)
    sign_in(page, BEA, GIVEN)
    due(page)
    page.reload()
    due(page)
    tab = page.context.new_page()
    tab.goto(server.base)
    due(tab)
    change(tab, "not what the admin gave", OWN)
    expect(tab.get_by_label("Present password")).to_have_accessible_description(
        "This isn’t your present password."
    )
    change(tab, GIVEN, OWN)
    at_home(tab)
    at_home(page)


def test_who_must_change_their_password_may_sign_out_instead(serve: Serve, visit: Visit) -> None:
    server = serve(auth=MUST)
    given(server)
    page = visit(server.base)
    sign_in(page, BEA, GIVEN)
    due(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You’re signed out.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Password", exact=True)).to_be_visible()


def test_a_session_that_comes_to_be_due_later_is_led_there_too(serve: Serve, visit: Visit) -> None:
    """The server says so with a 403 where a page believed that all was well."""
    server = serve(auth=MUST)
    given(server)
    page = visit(server.base)
    sign_in(page, BEA, GIVEN)
    due(page)
    # A page that does not know, such as one of an older version.
    page.evaluate("""() => {
      const { mustChangePassword, ...tokens } = JSON.parse(localStorage["teamchat/session"]);
      localStorage["teamchat/session"] = JSON.stringify(tokens);
    }""")
    page.reload()
    due(page)
    change(page, GIVEN, OWN)
    at_home(page)


@pytest.mark.parametrize("must", [True, False])
def test_an_admin_is_told_what_becomes_of_a_password_they_set(serve: Serve, visit: Visit, must: bool) -> None:
    server = serve(auth=MUST if must else MODE)
    given(server)
    page = visit(server.base)
    sign_in(page)
    at_home(page)
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    dialog = page.get_by_role("dialog", name="Administration")
    said = "They have to choose another when they sign in with it."
    expect(dialog.get_by_label("Password", exact=True)).to_be_visible()
    expect(dialog.get_by_text(said)).to_have_count(1 if must else 0)
    dialog.get_by_role("button", name="Set a password for bea").click()
    asked = page.get_by_role("dialog", name="A new password for bea")
    expect(asked.get_by_label("Password", exact=True)).to_be_visible()
    expect(asked.get_by_text(said)).to_have_count(1 if must else 0)


def test_links_that_prove_an_address_tell_that_earlier_access_has_ended(serve: Serve, visit: Visit) -> None:
    """Decision D-40: a link to a new password, on an account that somebody registered without a proof."""
    mail = {"backend": "files"}
    server = serve(auth={"authMode": "password", "isInviteRequired": False}, email=mail)
    server.post("/auth/register", {"email": BEA, "password": PASSWORD})
    server.post("/auth/request-password-reset", {"email": BEA})
    page = visit(server.mailed(BEA))
    for label in ("New password", "Repeat the password"):
        page.get_by_label(label).fill(OWN)
    page.get_by_role("button", name="Set password and sign in").click()
    at_home(page)
    expect(page.locator(".toast", has_text="Its earlier sessions and password have ended.")).to_be_visible()
