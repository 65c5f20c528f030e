"""Who is there and who types in the web client, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

Enter = Callable[..., Page]
GRACE = "grace@example.org"
PATIENT = 60_000  # milliseconds: a server tells nothing in its first ten seconds


def field(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("textbox").first


def note(page: Page) -> Locator:
    return page.get_by_role("main").locator(".composer-note")


def name(page: Page, who: str) -> Locator:
    return page.get_by_role("main").get_by_role("article").get_by_role("button", name=who).first


@pytest.mark.slow
def test_who_is_there_and_types_is_seen_by_the_other(talk: Any, enter: Enter, accessible: Any) -> None:
    talk.say(talk.grace, "Good morning!")
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    expect(name(ada, "grace")).to_have_attribute("data-presence", "online", timeout=PATIENT)
    expect(name(ada, "grace")).to_have_attribute("title", "online")
    field(grace).press_sequentially("Well then", delay=50)
    expect(note(ada)).to_have_text("grace is typing …", timeout=PATIENT)
    accessible(ada)
    field(grace).fill("")
    expect(note(ada)).to_have_count(0)
    assert not grace.locator(".composer-note").count(), "nobody is told of themselves"


@pytest.mark.slow
def test_one_chooses_what_others_are_told(talk: Any, enter: Enter) -> None:
    talk.say(talk.grace, "Good morning!")
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    expect(name(ada, "grace")).to_have_attribute("data-presence", "online", timeout=PATIENT)
    grace.get_by_role("button", name="Settings").click()
    grace.get_by_role("dialog").get_by_text("Presence", exact=True).click()
    grace.get_by_label("Status").select_option("offline")
    grace.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(name(ada, "grace")).to_have_attribute("data-presence", re.compile("offline"), timeout=PATIENT)
