"""Dialogs of parts of the client, and the news and notices over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .extensions import Bring

WITH_ALL_PARTS = True

Serve = Callable[..., Any]
Enter = Callable[..., Page]
SHORT = """export default (teamchat) => {
  teamchat.sidebar.add({ label: "Who", run() {
    const list = teamchat.list({ label: "Names", none: "Nobody" });
    list.draw([teamchat.row({ id: "1", title: "Ada" })]);
    const form = teamchat.form({
      fields: [teamchat.field({ name: "word", label: "Word" })],
      action: "Give",
      send: () => dialog.say("Given already"),
    });
    const body = teamchat.element("div", { class: "dialog-body" }, list.node, form);
    const dialog = teamchat.dialog({ title: "Who" }, body);
  } });
};"""


@pytest.mark.slow
def test_what_stands_in_a_short_dialog_is_apart_and_news_cover_no_button(
    bring: Bring, serve: Serve, enter: Enter
) -> None:
    bring("org.example.short", SHORT)
    page = enter(serve())
    page.get_by_role("navigation").get_by_role("button", name="Who").click()
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Give")
    button.click()
    expect(dialog.get_by_role("status")).to_have_text("Given already")
    news, shown = dialog.get_by_role("status").bounding_box(), button.bounding_box()
    listed, asked = dialog.get_by_role("list").bounding_box(), dialog.locator("form").bounding_box()
    assert news
    assert shown
    assert listed
    assert asked
    assert news["y"] > shown["y"] + shown["height"]
    assert news["y"] + news["height"] <= page.evaluate("innerHeight")
    assert asked["y"] - (listed["y"] + listed["height"]) >= 16


NOTICE_OVER_A_DIALOG = """export default (teamchat) => {
  const { element, dialog, toast } = teamchat;
  const say = (text, run) => () => toast(text, { action: { label: text, run } });
  teamchat.roomHeader.add({ label: "Begin", run() {
    const more = say("Second", () => {});
    const press = element("button", { on: { click: say("First", more) } }, "Press");
    dialog({ title: "Dialog" }, press);
  } });
};"""


@pytest.mark.slow
def test_a_notice_over_a_dialog_is_pressed_there_and_stays_when_it_closes(
    bring: Bring, serve: Serve, loose: Any
) -> None:
    bring("org.example.notice", NOTICE_OVER_A_DIALOG)
    server = serve()
    page, _ = loose(f"{server.base}/?access_token={server.token()}")
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("button", name="Press", exact=True).click()
    page.get_by_role("button", name="First", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("button", name="Second", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Second", exact=True).click()
    expect(page.get_by_role("button", name="Second", exact=True)).to_have_count(0)
