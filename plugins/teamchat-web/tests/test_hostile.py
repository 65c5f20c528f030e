"""What people write stays text: names, messages, pictures and file names that try to be more.

Each attempt would call `alert`, leave a mark in the page or load something; the page's policy would report
what it had to stop.  Nothing of that happens, which the fixture `visit` holds every page to.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from teamchat.testing import ADMIN

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>window.pwned = 1</script>"
QUOTES = "\"'><svg onload=alert(2)>"
MESSAGES = [
    IMAGE,
    SCRIPT,
    f"**{IMAGE}** _{SCRIPT}_ ~~{QUOTES}~~",
    f"`{IMAGE}`",
    f"```\n{SCRIPT}\n```",
    f"> {QUOTES}",
    f"- {IMAGE}\n1. {SCRIPT}",
    "[press](javascript:alert(3)) [press](JaVaScRiPt:alert(4)) [press](java\tscript:alert(6))",
    "[press](data:text/html,<script>alert(5)</script>) [press]( javascript:alert(7))",
    "[press](vbscript:msgbox(8)) [press](blob:x) [press](file:///)",
    "javascript:alert(9) https://example.org/\"onmouseover=alert(10) <https://example.org/'onclick=alert(11)>",
    '[x](https://example.org/" onmouseover="alert(12)) [](https://example.org)',
    "{{constructor.constructor('alert(13)')()}} ${alert(14)} &lt;img src=x onerror=alert(15)&gt;",
    "@<b>Ada</b> @Ada<img src=x onerror=alert(16)>",
    "\u202egpj.exe \u2066evil\u2069",
    "a" * 16_000,
    "**" * 4000 + "[" * 3000 + "`" * 1000,
]
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="200" height="100" onload="alert(17)"><script>window.pwned = 1; alert(18)</script>
<rect width="200" height="100" fill="teal"/><foreignObject width="200" height="100">
<body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="alert(19)"/>
<iframe src="javascript:parent.pwned=1"></iframe></body></foreignObject>
<image href="http://127.0.0.2:9/leak.png"/>
<a xlink:href="javascript:alert(20)"><text y="20">press</text></a></svg>"""
MARKS = """() => {
  const all = [...document.querySelectorAll("body *")];
  const listens = (one) => [...one.attributes].some(({ name }) => /^on/i.test(name));
  const leads = (one) => one.matches("a[href]") && !/^(https?|mailto|blob):$/.test(one.protocol);
  const loads = (one) => one.matches("script, iframe, object, embed, base, meta, link");
  const bad = all.filter((one) => listens(one) || leads(one) || loads(one));
  return { pwned: window.pwned ?? null, bad: bad.map((one) => one.outerHTML) };
}"""


class Attack:
    """A server at which everything that has a name or a text is hostile."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.admin = server.token()
        self.ask("PUT", "/users/me", {"userName": IMAGE})
        [channel] = self.ask("GET", "/channels")["channels"]
        self.channel = self.ask("PUT", f"/channels/{channel['id']}", {"name": QUOTES})["channel"]["id"]
        self.ask("PUT", "/server/settings", {"name": SCRIPT})
        hook = self.ask("POST", "/webhooks", {"name": IMAGE, "channelId": self.channel})["webhook"]
        path = f"/channels/{self.channel}/messages"
        for content in MESSAGES:
            self.ask("POST", path, {"content": content})
        self.server.post(f"/webhooks/{hook['id']}/messages", {"content": SCRIPT}, hook["token"])
        picture = {"filename": f"{QUOTES}.svg", "image": base64.b64encode(SVG).decode()}
        name = self.ask("POST", f"{path}/image", picture)["filename"]
        shown = self.ask("POST", path, {"content": IMAGE, "images": [name]})["message"]
        self.ask("POST", f"/messages/{shown['id']}/reactions", {"reaction": IMAGE})
        self.ask("POST", f"/messages/{shown['id']}/thread", {"content": QUOTES})

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        with self.server.client(self.admin) as client:
            answer = client.request(method, path, json=body)
        assert answer.is_success, (path, answer.text)
        return answer.json()


def enter(page: Page, email: str = ADMIN) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(QUOTES)


def unharmed(page: Page) -> None:
    """Nothing ran, and nothing that was written became an element or a link that does something."""
    assert page.evaluate(MARKS) == {"pwned": None, "bad": []}


@pytest.fixture
def page(serve: Serve, visit: Visit) -> Page:
    """The channel of an attack, as the admin sees it."""
    server = serve()
    Attack(server)
    page = visit(server.base)
    enter(page)
    return page


def test_names_and_messages_stay_text(page: Page) -> None:
    log = page.get_by_role("log")
    shown = log.get_by_role("article").filter(has=page.get_by_role("button", name="Image 1"))
    expect(shown.locator("strong").first).to_have_text(IMAGE)
    expect(shown.get_by_text(IMAGE, exact=True).last).to_be_visible()
    expect(log.get_by_text(SCRIPT, exact=True).first).to_be_attached()
    expect(page.locator("button.server")).to_contain_text(SCRIPT)
    expect(page.get_by_role("link", name=QUOTES)).to_be_visible()
    expect(shown.locator(f'button:has-text("{IMAGE}")').first).to_be_visible()
    unharmed(page)


def test_links_lead_to_web_pages_and_mail_alone(page: Page) -> None:
    shown = page.get_by_role("log").locator("a[href]")
    expect(shown.first).to_be_attached()
    links = shown.evaluate_all("all => all.map((a) => a.href)")
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in links)
    for link in page.get_by_role("log").locator("a[href]").all():
        assert set(str(link.get_attribute("rel")).split()) >= {"noopener", "noreferrer"}
    for text in page.get_by_role("log").get_by_text("press").all():
        text.click()
    unharmed(page)


def test_a_picture_is_a_picture_whatever_it_holds(page: Page) -> None:
    thumbnail = page.get_by_role("log").get_by_role("button", name="Image 1")
    expect(thumbnail.locator("img")).to_have_js_property("naturalWidth", 200)
    thumbnail.click()
    large = page.get_by_role("dialog").locator("img")
    expect(large).to_have_js_property("naturalWidth", 200)
    large.click()
    unharmed(page)


def test_the_address_of_a_picture_serves_it_in_a_sandbox(page: Page) -> None:
    """Decision D-31: so it does no harm as a page of its own either."""
    source = page.evaluate(
        """async () => {
          const { accessToken } = JSON.parse(localStorage.getItem("teamchat/session"));
          const send = (path) => fetch(path, { headers: { Authorization: `Bearer ${accessToken}` } });
          const [{ id }] = (await (await send("channels")).json()).channels;
          const { messages } = await (await send(`channels/${id}/messages`)).json();
          const name = messages.at(-1).images[0];
          const { headers } = await send(`channels/${id}/messages/image/${name}`);
          return [headers.get("Content-Security-Policy"), headers.get("X-Content-Type-Options")];
        }"""
    )
    assert "sandbox" in source[0]
    assert source[1] == "nosniff"


def test_threads_and_lists_stay_text(page: Page) -> None:
    page.get_by_role("button", name="1 reply").click()
    thread = page.get_by_role("complementary")
    expect(thread.get_by_text(QUOTES, exact=True).last).to_be_visible()
    unharmed(page)
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    dialog = page.get_by_role("dialog", name="Administration")
    expect(dialog.get_by_role("listitem").filter(has_text=IMAGE)).to_be_visible()
    dialog.get_by_role("button", name="Channels").click()
    expect(dialog.get_by_role("listitem").filter(has_text=QUOTES)).to_be_visible()
    dialog.get_by_role("listitem").get_by_role("button").last.click()
    expect(page.get_by_role("dialog").last).to_contain_text(QUOTES)
    unharmed(page)
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Webhooks").click()
    expect(dialog.get_by_role("listitem").filter(has_text=IMAGE)).to_be_visible()
    unharmed(page)


def test_another_person_is_as_safe(serve: Serve, visit: Visit) -> None:
    server = serve()
    attack = Attack(server)
    page = visit(server.base)
    enter(page, "bea@example.org")
    path = f"/channels/{attack.channel}/messages"
    attack.ask("POST", path, {"content": f"@bea {IMAGE}"})
    expect(page.get_by_role("log").get_by_text("@bea")).to_be_visible()
    me = attack.ask("GET", "/users")["users"][-1]["id"]
    talk = attack.ask("POST", "/conversations", {"targetUserId": me})["conversation"]["id"]
    attack.ask("POST", f"/conversations/{talk}/messages", {"content": SCRIPT})
    page.get_by_role("link", name=IMAGE).click()
    expect(page.get_by_role("heading", level=1, name=IMAGE)).to_be_visible()
    expect(page.get_by_role("log").get_by_text(SCRIPT, exact=True)).to_be_visible()
    unharmed(page)
