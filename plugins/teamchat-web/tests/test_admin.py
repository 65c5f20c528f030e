"""What administrators change, as they do it in a browser, and as others see it at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from teamchat.testing import ADMIN, PASSWORD

Serve = Callable[..., Any]
Visit = Callable[..., Page]
BEA = "bea@example.org"


def enter(page: Page, email: str = ADMIN, password: str | None = None) -> None:
    page.get_by_label("Email").fill(email)
    if password is not None:
        page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()


def administration(page: Page, section: str) -> Locator:
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    dialog = page.get_by_role("dialog", name="Administration")
    dialog.get_by_role("button", name=section, exact=True).click()
    expect(dialog.get_by_role("heading", name=section, exact=True)).to_be_visible()
    return dialog


@pytest.mark.slow
def test_without_mail_a_person_is_added_with_a_password_and_gets_another(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True})
    page = visit(server.base)
    enter(page, password=PASSWORD)
    dialog = administration(page, "People")
    dialog.get_by_label("Email").fill(BEA)
    dialog.get_by_role("button", name="Add a person").click()
    password = dialog.get_by_label("Password", exact=True)
    expect(password).to_be_focused()
    password.fill("her first password")
    dialog.get_by_role("button", name="Add a person").click()
    expect(dialog.get_by_role("status").filter(has_text=f"{BEA} is added.")).to_be_visible()
    rows = dialog.get_by_role("list", name="People").get_by_role("listitem")
    expect(rows.filter(has_text=BEA)).to_be_visible()
    expect(rows.filter(has_text=ADMIN)).to_contain_text("Administrator")
    expect(dialog.get_by_label("Email")).to_have_value("")

    dialog.get_by_label("Email").fill(BEA)
    password.fill("her first password")
    dialog.get_by_role("button", name="Add a person").click()
    expect(dialog.get_by_label("Email")).to_have_accessible_description(
        "There is an account with this email already."
    )

    bea = visit(server.base)
    enter(bea, BEA, "her first password")
    dialog.get_by_role("button", name="Set a password for bea").click()
    asked = page.get_by_role("dialog", name="A new password for bea")
    asked.get_by_label("Password", exact=True).fill("short")
    asked.get_by_role("button", name="Set password").click()
    expect(asked.get_by_label("Password", exact=True)).to_have_attribute("aria-invalid", "true")
    asked.get_by_label("Password", exact=True).fill("her second password")
    asked.get_by_role("button", name="Set password").click()
    expect(dialog.get_by_role("status").filter(has_text="bea has a new password.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Set a password for bea")).to_be_focused()
    expect(bea.get_by_text("Your session has ended")).to_be_visible()
    enter(bea, BEA, "her second password")


@pytest.mark.slow
def test_with_mail_a_person_is_invited(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True}, email={"backend": "files"})
    page = visit(server.base)
    enter(page, password=PASSWORD)
    dialog = administration(page, "People")
    expect(dialog.get_by_label("Password", exact=True)).to_have_count(0)
    dialog.get_by_label("Email").fill(BEA)
    dialog.get_by_label("Role").select_option("Administrator")
    dialog.get_by_role("button", name="Add a person").click()
    expect(dialog.get_by_role("status").filter(has_text="gets an invitation by mail.")).to_be_visible()
    rows = dialog.get_by_role("listitem")
    expect(rows.filter(has_text=BEA)).to_contain_text("Administrator")
    assert "mode=setup" in server.mailed(BEA)


@pytest.mark.slow
def test_a_person_is_removed_after_a_question(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True})
    body = {"email": BEA, "password": "her first password"}
    server.post("/users/add", body, server.admin_token())
    page, bea = visit(server.base), visit(server.base)
    enter(page, password=PASSWORD)
    enter(bea, BEA, "her first password")
    dialog = administration(page, "People")
    expect(dialog.get_by_role("button", name="Remove Ada")).to_have_count(0)
    remove = dialog.get_by_role("button", name="Remove bea")
    remove.click()
    asked = page.get_by_role("dialog", name="Remove bea?")
    asked.get_by_role("button", name="Cancel").click()
    expect(remove).to_be_focused()
    remove.click()
    asked.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog.get_by_role("status").filter(has_text="bea is removed.")).to_be_visible()
    expect(dialog.get_by_text(BEA)).to_have_count(0)
    expect(bea.get_by_text("Your session has ended")).to_be_visible()


@pytest.mark.slow
def test_a_person_is_deactivated_and_activated_again(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True})
    body = {"email": BEA, "password": "her first password"}
    server.post("/users/add", body, server.admin_token())
    page, bea = visit(server.base), visit(server.base)
    enter(page, password=PASSWORD)
    enter(bea, BEA, "her first password")
    dialog = administration(page, "People")
    expect(dialog.get_by_role("button", name="Deactivate Ada")).to_have_count(0)
    dialog.get_by_role("button", name="Deactivate bea").click()
    page.get_by_role("dialog", name="Deactivate bea?").get_by_role("button", name="Deactivate").click()
    expect(dialog.get_by_role("status").filter(has_text="bea is deactivated.")).to_be_visible()
    row = dialog.get_by_role("listitem").filter(has_text=BEA)
    expect(row).to_contain_text("Deactivated")
    expect(bea.get_by_text("Your session has ended")).to_be_visible()
    bea.get_by_label("Email").fill(BEA)
    bea.get_by_label("Password", exact=True).fill("her first password")
    bea.get_by_role("button", name="Sign in").click()
    expect(bea.get_by_text("The email or the password is wrong.")).to_be_visible()

    row.get_by_role("button", name="bea", exact=True).click()
    card = page.get_by_role("dialog", name="bea", exact=True)
    expect(card).to_contain_text("Deactivated")
    expect(card.get_by_role("button", name="Message")).to_have_count(0)
    page.keyboard.press("Escape")

    dialog.get_by_role("button", name="Activate bea").click()
    expect(dialog.get_by_role("status").filter(has_text="bea can sign in again.")).to_be_visible()
    expect(row).not_to_contain_text("Deactivated")
    enter(bea, BEA, "her first password")


@pytest.mark.slow
def test_channels_are_added_renamed_and_removed_for_everybody(serve: Serve, visit: Visit) -> None:
    server = serve()
    page, bea = visit(server.base), visit(server.base)
    enter(page)
    enter(bea, BEA)
    dialog = administration(page, "Channels")
    name = dialog.get_by_label("Name", exact=True)
    name.fill("general")
    dialog.get_by_role("button", name="Add a channel").click()
    expect(name).to_have_accessible_description("There is a channel of this name already.")
    name.fill("Tea")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status").filter(has_text="#Tea is added.")).to_be_visible()
    places = bea.get_by_role("navigation")
    expect(places.get_by_role("link", name="Tea")).to_be_visible()

    dialog.get_by_role("button", name="Rename Tea").click()
    asked = page.get_by_role("dialog", name="Rename #Tea")
    page.keyboard.type("Coffee")
    page.keyboard.press("Enter")
    expect(asked).to_have_count(0)
    expect(places.get_by_role("link", name="Coffee")).to_be_visible()
    expect(dialog.get_by_role("button", name="Rename Coffee")).to_be_focused()

    places.get_by_role("link", name="Coffee").click()
    dialog.get_by_role("button", name="Remove Coffee").click()
    page.get_by_role("dialog", name="Remove #Coffee?").get_by_role(
        "button", name="Remove", exact=True
    ).click()
    expect(dialog.get_by_role("button", name="Remove Coffee")).to_have_count(0)
    expect(places.get_by_role("link", name="Coffee")).to_have_count(0)
    expect(bea.get_by_role("heading", name="#Coffee was deleted")).to_be_visible()


@pytest.mark.slow
def test_a_new_webhooks_token_is_shown_once_and_its_command_posts(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = visit(server.base, permissions=["clipboard-read", "clipboard-write"])
    enter(page)
    dialog = administration(page, "Webhooks")
    expect(dialog.get_by_text("There are no webhooks yet.")).to_be_visible()
    dialog.get_by_label("Name of the bot").fill("Build; echo '$(id)'")
    dialog.get_by_label("Channel").select_option("#General")
    dialog.get_by_role("button", name="Add a webhook").click()

    made = page.get_by_role("dialog", name="is ready")
    token = made.get_by_role("region", name="Token").inner_text()
    assert len(token) == 64
    made.get_by_role("button", name="Copy: Token").click()
    expect(made.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == token
    command = made.get_by_role("region", name="Try it").inner_text()
    done = subprocess.run(["sh", "-c", f"{command} --silent"], capture_output=True, check=True, timeout=30)
    assert b'"isBot":true' in done.stdout
    ways_out: list[Callable[[], None]] = [
        lambda: page.mouse.click(5, 5),
        lambda: page.keyboard.press("Escape"),
        lambda: page.keyboard.press("Escape"),  # Browsers close a dialog by the second one, whatever it says.
        lambda: made.get_by_role("button", name="Close", exact=True).click(),
    ]
    for leave in ways_out:
        leave()
        assert made.get_by_role("region", name="Token").inner_text() == token
    expect(made.get_by_role("alert")).to_contain_text("Keep it first")
    made.get_by_role("button", name="I have kept the token").click()
    expect(made).to_have_count(0)
    expect(page.locator("html")).not_to_contain_text(token)

    row = dialog.get_by_role("listitem").filter(has_text="Build")
    expect(row).to_contain_text("posts into #General")
    row.get_by_role("button", name="Remove Build").click()
    page.get_by_role("dialog", name="Remove").last.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog.get_by_text("There are no webhooks yet.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("log").get_by_text("Hello from a webhook")).to_be_visible()


@pytest.mark.slow
def test_the_name_of_the_server_changes_for_everybody(serve: Serve, visit: Visit) -> None:
    server = serve()
    page, bea = visit(server.base), visit(server.base)
    enter(page)
    enter(bea, BEA)
    dialog = administration(page, "Server")
    dialog.get_by_label("Name of the server").fill("Tearoom")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(bea.get_by_role("button", name="Tearoom")).to_be_visible()


def test_who_is_no_administrator_is_not_offered_any_of_it(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base)
    enter(page, BEA)
    page.locator("button.server").click()
    expect(page.get_by_role("menuitem", name="Settings")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Administration")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("section", ["People", "Channels", "Webhooks"])
def test_a_list_that_can_not_be_loaded_says_so(serve: Serve, visit: Visit, section: str) -> None:
    page = visit(serve().base)
    enter(page)
    for path in ("/users", "/channels", "/webhooks"):
        page.route(f"**{path}", lambda route: route.abort())
    dialog = administration(page, section)
    expect(dialog.get_by_role("alert")).to_contain_text("The server can’t be reached.")


@pytest.mark.slow
def test_l4_the_audit_log_is_read_page_by_page_and_by_kind(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True})
    signed_in = server.post("/auth/password-login", {"email": ADMIN, "password": PASSWORD})
    for number in range(55):
        server.post("/users/add", {"email": f"user{number}@example.org"}, signed_in["accessToken"])
    page = visit(server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill("a guess")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("aria-invalid", "true")
    enter(page, password=PASSWORD)

    dialog = administration(page, "Audit log")
    entries = dialog.get_by_role("list", name="Audit log").get_by_role("listitem")
    expect(entries.first).to_contain_text("session.create")
    expect(entries).to_have_count(50)
    dialog.get_by_role("button", name="Show older entries").click()
    expect(entries.filter(has_text="user0")).to_have_count(1)
    expect(dialog.get_by_role("button", name="Show older entries")).to_be_hidden()
    dialog.get_by_label("Of what").select_option("Sign-ins")
    expect(entries.filter(has_text="user.create")).to_have_count(0)
    expect(entries.filter(has_text="session.fail")).to_contain_text("Nobody who is known")
    dialog.get_by_label("Of what").select_option("Webhooks")
    expect(entries).to_have_text(["There are no entries."])
