"""The first minute: what an empty server says to its admin, and to somebody new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from teamchat.testing import ADMIN, PASSWORD

from .rooms import Rooms

WITH_ALL_PARTS = True

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]
Enter = Callable[..., Page]
UntilLoaded = Callable[[Page, str], None]
GRACE = "grace@example.org"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def greeting(page: Page) -> Locator:
    return page.get_by_role("region", name="Welcome")


def done(page: Page) -> Locator:
    return greeting(page).get_by_role("listitem").filter(has_text="(done)")


def test_an_empty_server_leads_its_admin_through_the_first_steps(serve: Serve, enter: Enter) -> None:
    server = serve(auth={"isInviteRequired": True})
    page = enter(server, greeted=False)
    steps = greeting(page).get_by_role("listitem")
    expect(steps).to_have_count(4)
    expect(done(page)).to_have_count(0)

    greeting(page).get_by_role("button", name="Name the server").click()
    dialog = page.get_by_role("dialog", name="Administration")
    dialog.get_by_label("Name of the server").fill("Tearoom")
    dialog.get_by_role("button", name="Save").click()
    expect(done(page)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(greeting(page).get_by_role("button", name="Name the server")).to_be_focused()

    greeting(page).get_by_role("button", name="Invite people").click()
    asked = page.get_by_role("dialog", name="Invite people")
    expect(asked.get_by_role("region", name="The address of this server")).to_have_text(f"{server.base}/")
    asked.get_by_role("button", name="Add people").click()
    dialog.get_by_label("Email").fill(GRACE)
    dialog.get_by_role("button", name="Add a person").click()
    expect(done(page)).to_have_count(2)
    page.keyboard.press("Escape")

    greeting(page).get_by_role("button", name="Make channels").click()
    dialog.get_by_role("textbox", name="Name").fill("builds")
    dialog.get_by_role("button", name="Add a channel").click()
    expect(done(page)).to_have_count(3)
    page.keyboard.press("Escape")

    greeting(page).get_by_role("button", name="Bring in a bot").click()
    dialog.get_by_label("Name of the bot").fill("Deploys")
    dialog.get_by_role("button", name="Add a webhook").click()
    page.get_by_role("button", name="I have kept the token").click()
    expect(greeting(page)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("main textarea")).to_be_visible()
    expect(greeting(page)).to_have_count(0)


def test_a_greeting_that_was_dismissed_stays_away_after_signing_in_anew(
    serve: Serve, enter: Enter, until_loaded: UntilLoaded
) -> None:
    page = enter(serve(), greeted=False)
    greeting(page).get_by_role("button", name="Don’t show this again").click()
    expect(greeting(page)).to_have_count(0)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Account", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("main textarea")).to_be_visible()
    page.reload()
    expect(page.locator("main textarea")).to_be_visible()
    until_loaded(page, "/view/later.js")  # It is what greets.
    expect(greeting(page)).to_have_count(0)


@pytest.mark.parametrize(
    ("auth", "mail", "said"),
    [
        ({"authMode": "password", "isInviteRequired": False}, None, "can make an account and join"),
        ({"authMode": "password", "isInviteRequired": True}, None, "Add people with a first password"),
        ({"authMode": "password", "isInviteRequired": True}, "files", "each gets an invitation by mail"),
        ({"authMode": "dev", "isInviteRequired": True}, None, "Then they sign in at this address."),
    ],
    ids=["open", "passwords", "mail", "no passwords"],
)
def test_how_people_are_invited_is_what_the_server_can(
    serve: Serve, visit: Visit, auth: dict[str, Any], mail: str | None, said: str
) -> None:
    server = serve(auth=auth, **({"email": {"backend": mail}} if mail else {}))
    page = visit(server.base, greeted=False)
    page.get_by_label("Email").fill(ADMIN)
    if auth["authMode"] == "password":
        page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    greeting(page).get_by_role("button", name="Invite people").click()
    expect(page.get_by_role("dialog", name="Invite people").get_by_text(said)).to_be_visible()


def test_somebody_new_is_told_where_things_are(serve: Serve, enter: Enter) -> None:
    server = serve()
    server.post("/channels", {"name": "builds"}, server.token())
    page = enter(server, GRACE, greeted=False)
    expect(greeting(page).get_by_role("listitem")).to_have_count(3)
    expect(greeting(page).get_by_text("Ctrl K")).to_be_visible()
    greeting(page).get_by_role("button", name="Choose your name").click()
    page.get_by_label("Your name").fill("Grace Hopper")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(done(page)).to_have_count(1)
    page.keyboard.press("Escape")
    greeting(page).get_by_role("link", name="builds").click()
    expect(page.get_by_role("heading", name="builds", level=1)).to_be_visible()
    greeting(page).get_by_role("button", name="Find people").click()
    page.get_by_role("option", name="Ada").click()
    expect(page.get_by_role("heading", name="Ada", level=1)).to_be_visible()
    expect(done(page)).to_have_count(2)
    greeting(page).get_by_role("button", name="Jump anywhere").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(greeting(page)).to_have_count(0)


def test_a_phone_is_told_of_no_keys(serve: Serve, enter: Enter) -> None:
    page = enter(serve(), GRACE, greeted=False, **PHONE)
    expect(greeting(page).get_by_role("button", name="Jump anywhere")).to_contain_text("by a few letters")
    expect(greeting(page).get_by_text("Ctrl K")).to_have_count(0)


def test_a_server_where_many_are_greets_no_admin(serve: Serve, enter: Enter) -> None:
    server = serve()
    for number in range(5):
        server.token(f"person{number}@example.org")
    page = enter(server, greeted=False)
    for _ in range(300):
        loaded = asked(page)
        if {"later.js", "keep.js"} <= loaded:
            break
        page.wait_for_timeout(50)
    assert {"later.js", "keep.js"} <= loaded
    assert "greeting.js" not in loaded
    expect(greeting(page)).to_have_count(0)


def asked(page: Page) -> set[str]:
    """The names of the files that a page has asked for."""
    urls = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    return {url.rpartition("/")[2] for url in urls}


def test_who_is_new_comes_to_the_channel_that_everybody_was_in_first(serve: Serve, visit: Visit) -> None:
    server = serve()
    rooms = Rooms(server)
    rooms.public("announcements", isDefault=True)
    page = visit(server.base)
    page.get_by_label("Email").fill(GRACE)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    # One glass leads to all places; in the head there is one on phones, where the sidebar is away.
    expect(page.get_by_role("button", name="Jump to")).to_have_count(1)
    page.set_viewport_size(PHONE["viewport"])
    expect(page.locator("#main").get_by_role("button", name="Jump to")).to_be_visible()
