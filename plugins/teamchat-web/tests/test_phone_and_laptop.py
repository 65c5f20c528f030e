"""Phone and laptop side by side at work, on two workers: no badge is wrong for long, also after a sleep.

What a day brings is pressed into a minute (``TEAMCHAT_WORK`` says into how many seconds): others write and
mention, reply, edit and delete; one reads on either device, marks, mutes; the laptop sleeps, its lid closed,
its connection cut.  Again and again both badges are held to the server's.  How long one was wrong is told at
the end; it fails where a badge does not come right within `DEADLINE_SECONDS`.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.storages import storage_section

from .rooms import Rooms

pytestmark = pytest.mark.slow

WORK_SECONDS = float(os.environ.get("TEAMCHAT_WORK", "60"))
DEADLINE_SECONDS = 15.0
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
BADGED = """navigator.setAppBadge = async (count) => { window.badge = count; };
navigator.clearAppBadge = async () => { window.badge = 0; };"""
BADGE = "[window.badge ?? 0, Number(/^\\((\\d+)\\)/.exec(document.title)?.[1] ?? 0)]"


@dataclass
class Badge:
    """The badge of a device, and for how long it was wrong: `at_most` of that, and how often at all."""

    name: str
    page: Page
    wrong_since: float | None = None
    because: str = ""
    spans: list[tuple[float, str]] = field(default_factory=list)

    def look(self, truths: set[int], since: float, why: str) -> None:
        """Hold it to what the server said just before and after; it was right until `since` at least."""
        icon, title = self.page.evaluate(BADGE)
        now = time.monotonic()
        if icon in truths and title in truths:
            if self.wrong_since is not None:
                self.spans.append((now - self.wrong_since, self.because))
            self.wrong_since = None
        elif self.wrong_since is None:
            self.wrong_since, self.because = since, f"{icon} and {title} for {truths} after {why}"
        elif now - self.wrong_since > DEADLINE_SECONDS:
            raise AssertionError(f"{self.name}: {self.because}, still {icon} and {title}")


class Day:
    """Ada's work on two devices, and what her colleagues do meanwhile."""

    def __init__(self, rooms: Rooms, laptop: Page, phone: Page, seed: int) -> None:
        self.rooms, self.chance = rooms, Random(seed)
        self.laptop, self.phone = Badge("the laptop", laptop), Badge("the phone", phone)
        self.cdp: CDPSession = laptop.context.new_cdp_session(laptop)
        self.last = "nothing"
        self.sleeps_until: float | None = None
        self.slept = 0
        self.said: list[tuple[str, str, str]] = []  # by whom, where, the message
        ada = rooms.ids["ada"]
        self.places = [rooms.public("busy"), rooms.private("plans", "bea", "carl")]
        for name in ("bea", "carl"):
            rooms.post(f"/channels/{self.places[0]}/join", {}, by=name)
        opened = rooms.ask("bea", "POST", "/conversations", {"targetUserId": ada})
        self.direct = str(opened["conversation"]["id"])
        self.group = rooms.group("bea", "carl")

    def work(self, seconds: float) -> None:
        """Do one thing after another, and look at both badges all the while."""
        acts = [self.write, self.write, self.mention, self.mention, self.psst, self.psst, self.reply]
        acts += [self.edit, self.delete, self.open_on_laptop, self.open_on_laptop, self.open_on_phone]
        acts += [self.mark, self.mute]
        ends = time.monotonic() + seconds
        naps = [ends - seconds * part for part in (0.7, 0.3)]
        while (now := time.monotonic()) < ends:
            if naps and now > naps[0] and self.sleeps_until is None:
                naps.pop(0)
                self.sleep(min(8.0, seconds / 8))
            act = self.chance.choice(acts)
            self.last, began = act.__name__, time.monotonic()
            act()
            pause = self.chance.choice((0.0, 0.1, 0.5, 1.5))
            while time.monotonic() < began + pause or time.monotonic() - began < 0.05:
                self.look(began)
            self.look(began)
        if self.sleeps_until is not None:
            self.wake()
        until = time.monotonic() + DEADLINE_SECONDS
        while self.laptop.wrong_since or self.phone.wrong_since or time.monotonic() < until - 13:
            self.look(time.monotonic())

    def look(self, since: float) -> None:
        """Look at both, between two looks at the server's."""
        if self.sleeps_until is not None and time.monotonic() > self.sleeps_until:
            since = self.wake()
        first = self.truth()
        shown = [self.phone] if self.sleeps_until is not None else [self.phone, self.laptop]
        for device in shown:
            device.look({first, self.truth()}, since, self.last)

    def truth(self) -> int:
        return int(self.rooms.ask("ada", "GET", "/me/places")["badge"])

    # The laptop's lid.

    def sleep(self, seconds: float) -> None:
        self.laptop.page.context.set_offline(True)
        self.cdp.send("Page.setWebLifecycleState", {"state": "frozen"})
        self.sleeps_until = time.monotonic() + seconds
        self.laptop.wrong_since = None
        self.slept += 1

    def wake(self) -> float:
        self.cdp.send("Page.setWebLifecycleState", {"state": "active"})
        self.laptop.page.context.set_offline(False)
        self.sleeps_until, self.last = None, "waking up"
        return time.monotonic()

    # What others do.

    def place(self) -> str:
        return self.chance.choice([*self.places, *self.places, self.group])

    def other(self) -> str:
        return self.chance.choice(("bea", "carl"))

    def note(self, who: str, place: str, text: str) -> None:
        self.said.append((who, place, self.rooms.say(place, text, by=who)))

    def write(self) -> None:
        self.note(self.other(), self.place(), "nothing for anybody")

    def mention(self) -> None:
        self.note(self.other(), self.place(), self.chance.choice(("@ada, look", "@channel look")))

    def psst(self) -> None:
        path = f"/conversations/{self.direct}/messages"
        message = self.rooms.ask("bea", "POST", path, {"content": "psst"})["message"]["id"]
        self.said.append(("bea", self.direct, message))

    def reply(self) -> None:
        if parents := [(place, id_) for _, place, id_ in self.said[-6:] if place != self.direct]:
            _, parent = self.chance.choice(parents)
            text = self.chance.choice(("yes", "yes, @ada"))
            self.rooms.ask(self.other(), "POST", f"/messages/{parent}/thread", {"content": text})

    def edit(self) -> None:
        if self.said:
            who, _, message = self.chance.choice(self.said[-6:])
            text = self.chance.choice(("another text", "another text, @ada"))
            self.rooms.ask(who, "PUT", f"/messages/{message}", {"content": text})

    def delete(self) -> None:
        if self.said:
            who, _, message = self.said.pop(self.chance.randrange(len(self.said)))
            self.rooms.delete(f"/messages/{message}", by=who)

    # What Ada does.

    def open_on_laptop(self) -> None:
        if self.sleeps_until is None:
            self.open(self.laptop.page)

    def open_on_phone(self) -> None:
        self.open(self.phone.page)

    def open(self, page: Page) -> None:
        page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{self.anywhere()}")

    def anywhere(self) -> str:
        return self.chance.choice([*self.places, self.direct, self.group, self.rooms.general])

    def mark(self) -> None:
        if self.said:
            _, place, message = self.chance.choice(self.said[-6:])
            self.rooms.put(f"/me/places/{place}/unread", {"from": message})

    def mute(self) -> None:
        is_muted = self.chance.random() < 0.4
        self.rooms.put(f"/me/places/{self.place()}/notifications", {"isMuted": is_muted})


@pytest.mark.parametrize("seed", [1])
def test_no_badge_is_wrong_for_long_also_after_the_laptop_slept(
    serve: Callable[..., Any], enter: Callable[..., Page], tmp_path: Path, seed: int
) -> None:
    server = serve(server={"workers": 2}, storage=storage_section(tmp_path / "data"))
    rooms = Rooms(server)
    pages = []
    for options in ({}, PHONE):
        page = enter(server, place=f"#/channel/{rooms.general}", **options)
        expect(page.get_by_role("button", name="Options for this place")).to_be_visible()
        page.evaluate(BADGED)
        pages.append(page)
    day = Day(rooms, *pages, seed)
    day.work(WORK_SECONDS)
    assert day.slept == 2
    for device in (day.laptop, day.phone):
        longest = sorted(device.spans, reverse=True)[:5]
        lines = [f"{seconds:.2f} s: {re.sub(r'[{}]', '', because)}" for seconds, because in longest]
        print(
            f"{device.name}: {len(device.spans)} times behind the server, longest",
            *lines,
            sep="\n  ",
            file=sys.stderr,
        )
