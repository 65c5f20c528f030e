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


# A tab that says what it shows; `sits` is whether somebody is at it.
TAB = """async () => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const { Showing } = await import(root + "extensions/presence/showing.js");
  Object.assign(window, { said: [], sits: false });
  document.hasFocus = () => sits;
  const put = async (_, { isActive }) => said.push(isActive);
  const api = { newKey: () => crypto.randomUUID(), path: String.raw, put };
  const signal = new AbortController().signal;
  new Showing({ api, me: { id: "ada" }, signal }, () => []).connected("1");
}"""


def tab(page: Page) -> Page:
    page.clock.install()
    page.evaluate(TAB)
    page.clock.run_for(1000)
    return page


def said(page: Page) -> list[bool]:
    found: list[bool] = page.evaluate("said.splice(0)")
    return found


def next_said(page: Page) -> list[bool]:
    """Let half a minute pass at most, until something is said: another tab may have to be heard first."""
    for _ in range(100):
        page.clock.run_for(300)
        if found := said(page):
            return found
    return []


def test_that_one_is_there_is_repeated_and_that_one_is_not_is_said_once(
    visit: Callable[..., Page], standing: Any
) -> None:
    page = tab(visit(standing.base))
    assert said(page) == [False]
    page.clock.run_for(300_000)
    assert said(page) == []
    page.evaluate("sits = true; dispatchEvent(new Event('focus'))")
    page.clock.run_for(1000)
    assert said(page) == [True]
    page.clock.run_for(100_000)
    assert said(page) == [True], "what is said holds for 90 seconds"
    page.clock.run_for(600_000)
    assert said(page) == [False], "nobody has moved for two minutes"


def test_a_tab_that_is_closed_is_not_sat_at_any_more(visit: Callable[..., Page], standing: Any) -> None:
    page = tab(visit(standing.base))
    other = page.context.new_page()
    other.goto(standing.base)
    tab(other)
    other.evaluate("sits = true; dispatchEvent(new Event('focus'))")
    other.clock.run_for(1000)
    assert said(other)[-1] is True
    page.clock.run_for(70_000)
    assert said(page) == [False, True]
    other.goto("about:blank")
    assert next_said(page) == [False]


def field(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("textbox").first


def note(page: Page) -> Locator:
    return page.get_by_role("main").locator(".composer-note")


def name(page: Page, who: str) -> Locator:
    return page.get_by_role("main").get_by_role("article").get_by_role("button", name=who).first


@pytest.mark.slow
def test_who_is_there_and_types_is_seen_by_the_other(talk: Any, enter: Enter, accessible: Any) -> None:
    talk.say(talk.grace, "Good morning, this is @grace!")
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    expect(name(ada, "grace")).to_have_attribute("data-presence", "online", timeout=PATIENT)
    expect(name(ada, "grace")).to_have_attribute("title", "online")
    expect(ada.locator(".mention")).to_be_visible()
    expect(ada.locator(".mention[data-presence]")).to_have_count(0)
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
