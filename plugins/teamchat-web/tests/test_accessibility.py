"""Every screen and every dialog, held to axe-core's rules: light and dark, on a desk and on a phone.

Nothing at all may be found, whatever its impact.  The script of axe comes with its package; it runs in an
evaluation of the test's own, past the page's policy.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from teamchat.testing import ADMIN, PASSWORD

from .rooms import Rooms

WITH_ALL_PARTS = True

Serve = Callable[..., Any]
Visit = Callable[..., Page]

DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
NARROW = {"viewport": {"width": 320, "height": 640}, "is_mobile": True, "has_touch": True}
LOOKS = {
    "light": DESK | {"color_scheme": "light"},
    "dark": DESK | {"color_scheme": "dark"},
    "dark phone": PHONE | {"color_scheme": "dark"},
    "narrow": NARROW | {"color_scheme": "light"},
    "more contrast": DESK | {"color_scheme": "light", "contrast": "more"},
}
AXE = Axe()
RULES = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
RULES["runOnly"].append("best-practice")


@pytest.fixture(
    params=["light", *(pytest.param(name, marks=pytest.mark.slow) for name in LOOKS if name != "light")]
)
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How the page is looked at."""
    look: dict[str, Any] = LOOKS[request.param]
    return look


class Examiner:
    """Looks at what a page shows, and remembers what is wrong with it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: list[str] = []
        self.seen: list[str] = []

    def examine(self, screen: str) -> None:
        """Run axe, and see that nothing is wider than the window."""
        self.seen.append(screen)
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.axe_script)
        for violation in self.page.evaluate("(rules) => axe.run(rules)", RULES)["violations"]:
            nodes = "; ".join(node["html"][:160] for node in violation["nodes"][:4])
            self.found.append(f"{screen}: {violation['id']} ({violation['impact']}): {nodes}")
        if self.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            self.found.append(f"{screen}: the page is wider than the window")

    def nothing(self) -> None:
        """Fail if anything was found on any screen."""
        if self.found:
            pytest.fail("\n".join(self.found), pytrace=False)


@pytest.mark.slow
def test_the_screens_of_sign_in(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    server = serve(auth=auth, email={"backend": "files"})
    page = visit(server.base, **look)
    seen = Examiner(page)
    expect(page.get_by_label("Email")).to_be_visible()
    seen.examine("password")
    page.get_by_role("button", name="Sign in").click()
    seen.examine("password with problems")
    page.get_by_role("button", name="Create an account").click()
    seen.examine("register")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Forgot your password?").click()
    seen.examine("forgotten password")
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("heading", name="Check your mail")).to_be_visible()
    seen.examine("check your mail")
    page.goto(f"{server.base}/?token=none&email={ADMIN}&mode=setup")
    expect(page.get_by_label("New password")).to_be_visible()
    seen.examine("invitation")
    page.goto("about:blank")
    page.goto(f"{server.base}/?oauth_error=user_not_found")
    expect(page.get_by_role("alert").first).to_be_visible()
    seen.examine("a failure at a provider")
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill("wrong password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("aria-invalid", "true")
    seen.examine("a wrong password")
    seen.nothing()


@pytest.mark.slow
def test_the_screens_of_magic_links(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    server = serve(auth={"authMode": "magic-link"}, email={"backend": "files"})
    page = visit(server.base, **look)
    seen = Examiner(page)
    page.get_by_label("Email").fill(ADMIN)
    seen.examine("magic link")
    page.get_by_role("button", name="Email me a link").click()
    expect(page.get_by_role("heading", name="Check your mail")).to_be_visible()
    seen.examine("check your mail")
    page.goto(f"{server.base}/?token=none&email={ADMIN}")
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    seen.examine("landing")
    seen.nothing()


@pytest.mark.slow
def test_settings_and_administration(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True})
    token = server.admin_token()
    server.post("/users/add", {"email": "bea@example.org", "password": PASSWORD}, token)
    page = visit(server.base, **look)
    seen = Examiner(page)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1, name="General")).to_be_visible()
    seen.examine("an empty channel")

    menu(page, "Settings")
    dialog = page.get_by_role("dialog", name="Settings")
    for section in ("Profile", "Notifications", "Signed in on", "Password", "Account"):
        dialog.get_by_role("button", name=section, exact=True).click()
        expect(dialog.get_by_role("heading", name=section, exact=True)).to_be_visible()
        seen.examine(f"settings, {section}")
    dialog.get_by_role("button", name="Leave the server").click()
    seen.examine("a question")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    menu(page, "Administration")
    dialog = page.get_by_role("dialog", name="Administration")
    for section in ("People", "Channels", "Webhooks", "Server"):
        dialog.get_by_role("button", name=section, exact=True).click()
        expect(dialog.get_by_role("heading", name=section, exact=True)).to_be_visible()
        expect(
            dialog.get_by_role("list").or_(dialog.get_by_label("Name of the server")).first
        ).to_be_visible()
        seen.examine(f"administration, {section}")
    dialog.get_by_role("button", name="People", exact=True).click()
    dialog.get_by_role("button", name="Set a password for bea").click()
    seen.examine("a new password")
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Webhooks", exact=True).click()
    dialog.get_by_label("Name of the bot").fill("Deploys")
    dialog.get_by_role("button", name="Add a webhook").click()
    expect(page.get_by_role("region", name="Token")).to_be_visible()
    seen.examine("the token of a webhook")
    seen.nothing()


@pytest.mark.slow
def test_the_first_minute(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    server = serve()
    for email, screen in ((ADMIN, "an empty server"), ("bea@example.org", "somebody new")):
        page = visit(f"{server.base}/?access_token={server.token(email)}", greeted=False, **look)
        seen = Examiner(page)
        expect(page.get_by_role("region", name="Welcome")).to_be_visible()
        seen.examine(screen)
        if email == ADMIN:
            page.get_by_role("button", name="Invite people").click()
            expect(page.get_by_role("dialog", name="Invite people")).to_be_visible()
            seen.examine("inviting people")
        seen.nothing()


@pytest.mark.slow
def test_a_password_that_must_be_changed(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": True, "mustChangeSetPasswords": True})
    server.post("/users/add", {"email": "bea@example.org", "password": PASSWORD}, server.admin_token())
    page = visit(server.base, **look)
    seen = Examiner(page)
    page.get_by_label("Email").fill("bea@example.org")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Choose a password of your own")).to_be_visible()
    seen.examine("a password that must be changed")
    page.reload()
    expect(page.get_by_label("Present password")).to_be_visible()
    page.get_by_role("button", name="Change password").click()
    seen.examine("the same, with problems")
    seen.nothing()


def test_rooms_of_ones_own(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    rooms = Rooms(serve())
    money = rooms.private("Money", "bea", topic="What we spend, and what on")
    tea, old, group = rooms.public("Tea", by="ada"), rooms.public("Old"), rooms.group("bea", "carl")
    rooms.private("Hidden", "carl", by="bea")
    rooms.delete(f"/channels/{tea}/members/{rooms.ids['ada']}")
    rooms.post(f"/channels/{old}/archive", {})
    base = rooms.server.base
    page = visit(f"{base}/?access_token={rooms.tokens['ada']}#/channel/{money}", **look)
    seen = Examiner(page)
    page.get_by_role("button", name="who is here").click()
    dialog = page.get_by_role("dialog", name="Money")
    expect(dialog.get_by_role("listitem").filter(has_text="bea")).to_be_visible()
    seen.examine("members")
    dialog.get_by_role("button", name="Add people").click()
    seen.examine("adding people")
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="About", exact=True).click()
    seen.examine("about a room")
    dialog.get_by_role("button", name="Manage", exact=True).click()
    seen.examine("managing a channel")
    dialog.get_by_role("button", name="Make it public").click()
    seen.examine("making it public")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.goto(f"{base}/#/channel/{old}")
    expect(page.get_by_role("region", name="About writing here")).to_contain_text("archived")
    seen.examine("an archived channel")
    page.goto(f"{base}/#/channel/{tea}")
    expect(page.get_by_role("region", name="About writing here")).to_contain_text("looking at")
    seen.examine("a channel one is not in")
    page.get_by_role("button", name="who is here").click()
    dialog = page.get_by_role("dialog", name="#Tea")
    dialog.get_by_role("button", name="Manage", exact=True).click()
    dialog.get_by_role("button", name="Make it private").click()
    page.get_by_role("radio", name="You, and those you choose").check()
    seen.examine("making it private")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.goto(f"{base}/#/channel/{group}")
    page.get_by_role("button", name="3 members: who is here").click()
    page.get_by_role("button", name="Give the group a name").click()
    seen.examine("a group gets a name")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")

    menu(page, "All channels")
    expect(page.get_by_role("dialog", name="All channels").get_by_role("listitem").first).to_be_visible()
    seen.examine("all channels")
    page.keyboard.press("Escape")
    menu(page, "Administration")
    dialog = page.get_by_role("dialog", name="Administration")
    dialog.get_by_role("button", name="Channels", exact=True).click()
    dialog.get_by_role("button", name="Enter Hidden").click()
    seen.examine("entering a private channel")
    page.keyboard.press("Escape")
    seen.examine("administration, private channels")
    seen.nothing()


@pytest.mark.slow
def test_making_rooms(serve: Serve, visit: Visit, look: dict[str, Any]) -> None:
    rooms = Rooms(serve())
    secret = rooms.private("Secret", "bea")
    page = visit(f"{rooms.server.base}/?access_token={rooms.tokens['bea']}#/channel/{secret}", **look)
    seen = Examiner(page)
    expect(page.get_by_label("Write to #Secret")).to_be_visible()
    page.wait_for_function("() => Object.keys(localStorage).some((key) => key.endsWith('/may'))")
    for name, dialog in (("Add a channel", "New channel"), ("Write to several", "New direct message")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill(name)
        seen.examine(f"the palette, {name}")
        page.get_by_role("option", name=name).click()
        opened = page.get_by_role("dialog", name=dialog)
        opened.get_by_role("checkbox").first.check()
        seen.examine(dialog)
        page.keyboard.press("Escape")
    rooms.delete(f"/channels/{secret}/members/{rooms.ids['bea']}")
    expect(page.get_by_role("heading", name="You are no longer in this channel")).to_be_visible()
    seen.examine("a channel that was lost")
    seen.nothing()


@pytest.mark.slow
def test_the_chat(serve: Serve, visit: Visit, look: dict[str, Any], picture: bytes) -> None:
    server = serve()
    place, parent = conversation(server, picture)
    page = visit(server.base, **look)
    seen = Examiner(page)
    page.get_by_label("Email").fill(ADMIN)
    seen.examine("dev")
    page.get_by_role("button", name="Sign in").click()
    log = page.get_by_role("log")
    expect(log.get_by_text("the last message")).to_be_visible()
    expect(log.locator("img").first).to_have_js_property("complete", True)
    seen.examine("a channel")
    if not look.get("is_mobile"):
        log.get_by_text("the last message").hover()
        seen.examine("a channel, with the tools of a message")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    seen.examine("the palette")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Insert an emoji").click()
    expect(page.get_by_label("Search emoji")).to_be_focused()
    seen.examine("the emoji")
    page.get_by_role("tab", name="Flags").click()
    page.get_by_role("radio", name="Dark skin", exact=True).click()
    seen.examine("a group of emoji, and a skin tone")
    page.get_by_label("Search emoji").fill("rocket")
    seen.examine("emoji that were found")
    page.keyboard.press("Escape")
    page.get_by_role("textbox").first.fill("@")
    seen.examine("suggestions")
    page.get_by_role("textbox").first.fill(":ta")
    expect(page.get_by_role("option").filter(has_text=":taco:")).to_be_visible()
    seen.examine("suggestions of emoji")
    page.get_by_role("textbox").first.fill("")
    log.get_by_role("button", name="Image 1").click()
    expect(page.get_by_role("dialog").locator("img")).to_be_visible()
    seen.examine("a picture")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    seen.examine("keyboard shortcuts")
    page.keyboard.press("Escape")
    if look.get("is_mobile"):
        page.get_by_role("button", name="Open the sidebar").click()
        expect(page.get_by_role("navigation")).to_be_visible()
        seen.examine("the sidebar")
        page.keyboard.press("Escape")
    else:
        page.locator("button.server").click()
        seen.examine("the menu")
        page.keyboard.press("Escape")
    log.get_by_role("button", name="bea", exact=True).first.click()
    expect(page.get_by_role("dialog", name="bea")).to_be_visible()
    seen.examine("the card of a person")
    page.keyboard.press("Escape")
    page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{place}/thread/{parent}")
    expect(page.get_by_text("a reply to it")).to_be_visible()
    seen.examine("a thread")
    other = server.token("bea@example.org")
    server.post(f"/messages/{parent}/thread", {"content": "another reply"}, other)
    page.evaluate("(hash) => { location.hash = hash; }", "#/threads")
    expect(page.get_by_role("list", name="Threads").get_by_text("another reply")).to_be_visible()
    seen.examine("the list of threads")
    page.get_by_role("list", name="Threads").get_by_role("link").click()
    expect(page.get_by_role("complementary").get_by_text("another reply")).to_be_visible()
    seen.examine("a thread beside the list")
    page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{place}/thread/none")
    expect(page.get_by_role("heading", name="This thread was deleted")).to_be_visible()
    seen.examine("no thread")
    page.evaluate("() => { location.hash = '#/channel/none'; }")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    seen.examine("no channel")
    for number in range(30):
        server.post("/channels", {"name": f"project {number}"}, server.token())
    far = server.post("/channels", {"name": "zebra"}, server.token())["channel"]["id"]
    server.post(f"/channels/{far}/messages", {"content": "@Ada!"}, other)
    if look.get("is_mobile"):
        page.get_by_role("button", name="Open the sidebar").click()
    expect(page.get_by_role("button", name="More for you")).to_be_visible()
    seen.examine("more beyond the sidebar's edge")
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.wait_for_function("!navigator.onLine")
    seen.examine("without a network")
    seen.nothing()


def menu(page: Page, item: str) -> None:
    """Choose from the menu of the server, which stands in the drawer on a phone."""
    drawer = page.get_by_role("button", name="Open the sidebar")
    if drawer.is_visible() and drawer.get_attribute("aria-expanded") == "false":
        drawer.click()
    page.locator("button.server").click()
    page.get_by_role("menuitem", name=item).click()


def conversation(server: Any, picture: bytes) -> tuple[str, str]:
    """Post one of each kind of message; return the ids of the channel and of a message with a thread."""
    token, other = server.token(), server.token("bea@example.org")
    with server.client(token) as client:
        [channel] = client.get("/channels").json()["channels"]
    path = f"/channels/{channel['id']}/messages"
    upload = {"filename": "a.png", "image": base64.b64encode(picture).decode()}
    name = server.post(f"{path}/image", upload, other)["filename"]
    parent = server.post(path, {"content": "a picture", "images": [name]}, other)["message"]["id"]
    server.post(f"/messages/{parent}/thread", {"content": "a reply to it"}, token)
    server.post(f"/messages/{parent}/reactions", {"reaction": "👍"}, token)
    server.post(f"/messages/{parent}/reactions", {"reaction": "🎉"}, other)
    texts = (
        "**bold** _italic_ ~~gone~~ `code` https://example.org/",
        "> a quote\n\n- a list\n- of two\n\n1. and\n2. numbers",
        "```\n" + "a long line of code " * 12 + "\n```",
        "@Ada look! 🎉",
        "🎉🎉",
    )
    for text in texts:
        server.post(path, {"content": text}, other)
    server.post(path, {"content": "one of my own"}, token)
    hook = server.post("/webhooks", {"name": "Deploys", "channelId": channel["id"]}, token)["webhook"]
    server.post(f"/webhooks/{hook['id']}/messages", {"content": "done"}, hook["token"])
    server.post(path, {"content": "the last message"}, other)
    return channel["id"], parent


@pytest.fixture(scope="module")
def picture(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A picture, drawn by the browser."""
    page = browser.new_page(viewport={"width": 480, "height": 320})
    page.set_content("<body style='background: teal'>")
    file = Path(tmp_path_factory.mktemp("picture")) / "picture.png"
    drawn = page.screenshot(path=file)
    page.close()
    return drawn
