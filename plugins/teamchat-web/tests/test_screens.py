"""The pictures of README and docs, of a conversation as a team might have it.

They are written into pytest's temporary directory; with TEAMCHAT_SCREENS set, into the directory it names::

    TEAMCHAT_SCREENS=docs/images pytest plugins/teamchat-web/tests/test_screens.py
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from teamchat.testing import ADMIN

WITH_ALL_PARTS = True

pytestmark = pytest.mark.slow

Serve = Callable[..., Any]
Visit = Callable[..., Page]

DESK = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1.5}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
CHART = """<body style="margin:0;font:500 15px system-ui;background:#fbfaf7;color:#2b2a27">
<div style="padding:24px 28px 16px"><b>Bookings by week</b><br>
<span style="color:#77736a">summer campaign</span>
<div style="display:flex;gap:14px;align-items:end;height:170px;margin-top:22px">BARS</div></div></body>"""
BAR = '<div style="flex:1;height:{}%;background:{};border-radius:6px 6px 2px 2px"></div>'
HEIGHTS = (22, 31, 28, 44, 52, 49, 68, 91)


class Team:
    """People of a small company, and what they say to each other."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def join(self, name: str, email: str) -> None:
        """Sign in and take a name."""
        answer = self.server.post("/auth/dev-login", {"email": email})
        self.tokens[name], self.ids[name] = answer["token"], answer["user"]["id"]
        self.ask("PUT", "/users/me", name, {"userName": name})

    def ask(self, method: str, path: str, name: str, body: Any = None) -> Any:
        with self.server.client(self.tokens[name]) as client:
            answer = client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def say(self, name: str, place: str, content: str, **more: Any) -> dict[str, Any]:
        """Post a message into a channel (its id) or a conversation (dm:…)."""
        kind = "conversations" if place.startswith("dm:") else "channels"
        body = {"content": content, **more}
        return dict(self.ask("POST", f"/{kind}/{place}/messages", name, body)["message"])

    def reply(self, name: str, message: dict[str, Any], content: str) -> dict[str, Any]:
        path = f"/messages/{message['id']}/thread"
        return dict(self.ask("POST", path, name, {"content": content})["reply"])

    def react(self, message: dict[str, Any], reaction: str, *names: str) -> None:
        for name in names:
            self.ask("POST", f"/messages/{message['id']}/reactions", name, {"reaction": reaction})


@dataclass
class Seeded:
    """A team that has talked: the channel to look at, the message with a thread, and places beside."""

    team: Team
    place: str
    shown: dict[str, Any]
    elsewhere: dict[str, str]


def seed(server: Any, picture: bytes) -> Seeded:
    """Let a team have talked."""
    team = Team(server)
    team.join("Mira Okafor", ADMIN)
    team.join("Jonas Lindqvist", "jonas@example.org")
    team.join("Priya Raman", "priya@example.org")
    team.join("Tomás Ferreira", "tomas@example.org")
    mira, jonas, priya, tomas = team.tokens
    team.ask("PUT", "/server/settings", mira, {"name": "Harbour Studio"})
    channels = {}
    for name in ("design", "launch", "random", "website"):
        channels[name] = team.ask("POST", "/channels", mira, {"name": name})["channel"]["id"]
    place = channels["launch"]

    team.say(tomas, place, "Morning all. The ferry pages are translated, Portuguese *and* German.")
    done = team.say(tomas, place, "Could somebody read the German once more before we go live?")
    team.react(done, "🙌", mira, priya)
    team.say(
        priya, place, "I'll do it over lunch. The timetable was off by an hour yesterday, fixed like this:"
    )
    team.say(
        priya,
        place,
        '```\nconst departure = new Intl.DateTimeFormat(locale, {\n  timeStyle: "short",\n'
        "  timeZone: harbour.timeZone, // was the visitor's\n});\n```",
    )
    upload = {"filename": "bookings.png", "image": base64.b64encode(picture).decode()}
    chart = team.ask("POST", f"/channels/{place}/messages/image", jonas, upload)["filename"]
    shown = team.say(
        jonas, place, "Bookings so far. **Twice last summer**, and it's only week eight.", images=[chart]
    )
    team.react(shown, "🎉", mira, priya, tomas)
    team.react(shown, "🚢", priya)
    team.reply(mira, shown, "That is wonderful. Which route is it?")
    team.reply(jonas, shown, "The islands, mostly. The night boat is nearly full in July.")
    team.reply(
        mira,
        shown,
        "Let's show it on the front page! @Priya Raman would you draft something? _Thursday_ is fine.",
    )
    hook = team.ask("POST", "/webhooks", mira, {"name": "Deploys", "channelId": place})["webhook"]
    said = {"content": "`website` 2026.11 is live on **staging** · 214 checks passed"}
    server.post(f"/webhooks/{hook['id']}/messages", said, hook["token"])
    last = team.say(
        priya, place, "@Mira Okafor staging is yours. I'd go live at 14:00, when the office is quiet."
    )
    team.react(last, "👍", jonas)

    team.say(jonas, channels["design"], "New drawings of the harbour are in the folder.")
    for other, words in ((priya, "Lunch at the pier?"), (tomas, "Thanks for the help yesterday!")):
        talk = team.ask("POST", "/conversations", other, {"targetUserId": team.ids[mira]})["conversation"][
            "id"
        ]
        team.say(other, talk, words)
    places = team.ask("GET", "/me/places", mira)["places"]
    seen = {one["placeId"]: one["lastMessageId"] for one in places if one["lastMessageId"]}
    team.ask("PUT", "/me/read", mira, {"positions": seen})
    return Seeded(team, place, shown, {"random": channels["random"], "talk": talk})


def go_on(seeded: Seeded, page: Page) -> None:
    """Let others write elsewhere, so that there is something unread."""
    team, elsewhere = seeded.team, seeded.elsewhere
    team.say("Priya Raman", elsewhere["random"], "Who took the good teapot?")
    team.say("Tomás Ferreira", elsewhere["talk"], "Could you look at the German once more?")
    team.say("Tomás Ferreira", elsewhere["talk"], "Only the ferry pages.")
    page.locator(".toast").get_by_role("button", name="Close").click()  # the offer of notifications
    expect(page.locator(".side-list:not(.side-top) .side-link.unread")).to_have_count(2)
    expect(page.get_by_role("link", name="Tomás Ferreira")).to_contain_text("2")


@pytest.fixture(scope="module")
def picture(browser: Browser) -> bytes:
    """A chart, drawn by the browser."""
    page = browser.new_page(viewport={"width": 400, "height": 278}, device_scale_factor=2)
    bars = "".join(BAR.format(height, "#0b6b66" if height > 60 else "#8cc5bf") for height in HEIGHTS)
    page.set_content(CHART.replace("BARS", bars))
    drawn = page.screenshot()
    page.close()
    return drawn


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pictures go."""
    asked = os.environ.get("TEAMCHAT_SCREENS")
    made = Path(asked) if asked else tmp_path_factory.mktemp("screens")
    made.mkdir(parents=True, exist_ok=True)
    return made


def shoot(page: Page, file: Path, options: dict[str, Any]) -> None:
    """Write a picture once everything in it is there, and hold it to its size."""
    expect(page.locator("img:not([src])")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => document.activeElement.blur())")
    page.mouse.move(0, 0)
    page.screenshot(path=file, animations="disabled")
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    scale = options["device_scale_factor"]
    assert (width, height) == tuple(int(options["viewport"][side] * scale) for side in ("width", "height"))


def enter(page: Page, place: str, thread: dict[str, Any] | None = None) -> None:
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("General")
    end = f"/thread/{thread['id']}" if thread else ""
    page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{place}{end}")
    expect(page.get_by_role("heading", name="launch", level=1)).to_be_visible()
    expect(page.get_by_role("log").get_by_text("staging is yours")).to_be_visible()
    expect(page.locator("img").first).to_have_js_property("complete", True)
    for part in ("members", "Options for this place"):
        expect(page.get_by_role("button", name=part)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chat_on_a_desk(serve: Serve, visit: Visit, picture: bytes, directory: Path, theme: str) -> None:
    server = serve()
    seeded = seed(server, picture)
    page = visit(server.base, color_scheme=theme, **DESK)
    enter(page, seeded.place, seeded.shown)
    expect(page.get_by_text("would you draft something?")).to_be_visible()
    go_on(seeded, page)
    shoot(page, directory / f"chat-{theme}.png", DESK)


def test_the_chat_on_a_phone(serve: Serve, visit: Visit, picture: bytes, directory: Path) -> None:
    server = serve()
    page = visit(server.base, color_scheme="light", **PHONE)
    enter(page, seed(server, picture).place)
    shoot(page, directory / "chat-phone.png", PHONE)


def test_the_sign_in(serve: Serve, visit: Visit, directory: Path) -> None:
    server = serve(auth={"authMode": "password", "isInviteRequired": False}, email={"backend": "files"})
    page = visit(server.base, color_scheme="light", **DESK)
    page.get_by_label("Email").fill("mira@example.org")
    page.get_by_label("Password", exact=True).fill("a long enough password")
    shoot(page, directory / "sign-in.png", DESK)
