"""Every slot that a part of the client may fill, and all that it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.in_the_client import message, palette

from .extensions import REFERENCE, Bring

WITH_ALL_PARTS = True

Enter = Callable[..., Page]

EVERY_SLOT = """
export default function (teamchat) {
  const { t, element } = teamchat;
  globalThis.given = teamchat;
  globalThis.heard = [];
  let count = 0;
  teamchat.addIcon("star", "M12 3v18M3 12h18");
  const tool = (label, run) => ({ icon: "star", label, run });
  teamchat.messageTools.add({
    ...tool(({ content }) => t("star", { words: content }), ({ id }, anchor) => {
      heard.push(["message", teamchat.messages.find(id).content, anchor.localName]);
      teamchat.messages.update(id, { stars: 1 });
    }),
    keys: ["s"],
    keyHelp: t("key"),
    isFor: ({ content }) => content !== "plain",
  });
  teamchat.messageMarks.add({ icon: "star", label: ({ stars }) => stars && t("stars", { count: stars }) });
  teamchat.composer.add(tool(t("insert"), ({ place, parentId, text, insert }) => {
    heard.push(["composer", place.kind, Boolean(parentId), text()]);
    insert("*");
  }));
  const side = teamchat.sidebar.add({
    ...tool(t("side"), () => { count += 1; side(); }),
    count: () => count,
  });
  teamchat.roomHeader.add({
    ...tool(({ title }) => t("room", { title }), (room, button) => {
      heard.push(["room", room.title, button.localName]);
      teamchat.menu(button, [{ icon: "star", label: t("choice"), run: () => heard.push(["chosen"]) }]);
    }),
    count: () => 7,
  });
  teamchat.settings.add({
    icon: "star",
    label: t("settings"),
    make: (dialog) => teamchat.form({
      fields: [teamchat.field({ name: "word", label: t("word"), value: teamchat.kept.get("word", "") })],
      action: t("keep"),
      send: ({ word }) => { teamchat.kept.set("word", word); dialog.say(t("kept")); },
    }),
  });
  teamchat.administration.add({
    icon: "star",
    label: t("admin"),
    make: ({ signal }) => {
      const list = teamchat.list({ label: t("admin"), none: t("none") });
      list.draw([teamchat.row({ id: "1", title: teamchat.me.userName })]);
      return [element("p", {}, t("admin_lead")), list.node];
    },
  });
  teamchat.palette.add(tool((room) => t("act", { title: room?.title ?? "nowhere" }), (room) => {
    heard.push(["palette", room.id]);
  }));
  teamchat.on("NEW_CHANNEL", ({ name }) => heard.push(["channel", name]));
  teamchat.onRoom((room) => heard.push(["onRoom", room?.title ?? null]));
  teamchat.load(() => heard.push(["load"]));
}
"""
WORDS = {
    "star": "Star {words}", "key": "Star it", "stars": {"one": "{count} star", "other": "{count} stars"},
    "insert": "Insert a star", "side": "Stars", "room": "Stars of {title}", "choice": "The one choice",
    "settings": "Star settings", "word": "Word", "keep": "Keep", "kept": "Kept it", "admin": "Star admin",
    "none": "None", "admin_lead": "All stars", "act": "Look for stars in {title}",
}  # fmt: skip
GERMAN = {"side": "Sterne"}


@pytest.fixture
def starry(bring: Bring) -> None:
    bring(
        "org.example.stars",
        EVERY_SLOT,
        **{"strings/en.json": json.dumps(WORDS), "strings/de.json": json.dumps(GERMAN)},
    )


def heard(page: Page) -> list[Any]:
    return list(page.evaluate("heard"))


def began(page: Page) -> None:
    page.wait_for_function("() => globalThis.given && heard.some(([what]) => what === 'load')")


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_a_message_has_tools_and_marks_of_capabilities(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "shiny")
    talk.say(talk.ada, "plain")
    page = enter(talk.server)
    began(page)
    message(page, "plain").hover()
    expect(message(page, "plain").get_by_role("button", name="Edit")).to_be_visible()
    expect(page.get_by_role("button", name="Star plain")).to_have_count(0)
    message(page, "shiny").hover()
    tool = page.get_by_role("button", name="Star shiny")
    expect(tool).to_have_attribute("title", "Star shiny (S)")
    tool.click()
    expect(message(page, "shiny")).to_contain_text("1 star")
    expect(message(page, "shiny")).to_have_accessible_name(re.compile("1 star"))
    assert ["message", "shiny", "button"] in heard(page)
    # By its key.
    message(page, "shiny").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.get_by_role("main").get_by_role("textbox").focus()
    page.keyboard.press("Shift+Tab")
    message(page, "plain").focus()
    page.keyboard.press("ArrowUp")
    expect(message(page, "shiny")).to_be_focused()
    page.keyboard.press("s")
    page.wait_for_function("() => heard.filter(([what]) => what === 'message').length === 2")
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Edit the message")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="General", level=1).click()
    page.get_by_role("button", name="Settings", exact=True).focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog").locator("dt", has_text="Star it")).to_be_visible()


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_composer_sidebar_head_and_palette_have_tools_of_capabilities(talk: Any, enter: Enter) -> None:
    parent = talk.say(talk.ada, "shiny")
    other = talk.channel("random")
    page = enter(talk.server)
    began(page)
    field = page.get_by_role("main").get_by_role("textbox")
    field.fill("ab")
    field.evaluate("(field) => field.setSelectionRange(1, 1)")
    page.get_by_role("main").get_by_role("button", name="Insert a star").click()
    expect(field).to_have_value("a*b")
    expect(field).to_be_focused()
    assert ["composer", "channel", False, "ab"] in heard(page)
    side = page.get_by_role("navigation").get_by_role("button", name="Stars")
    side.focus()
    side.press("Enter")
    expect(side).to_be_focused()
    expect(side).to_contain_text("1 unread")
    head = page.get_by_role("button", name="Stars of General")
    expect(head).to_have_text("7")
    head.click()
    page.get_by_role("menuitem", name="The one choice").click()
    assert heard(page)[-2:] == [["room", "General", "button"], ["chosen"]]
    palette(page, "Look for").first.click()
    assert heard(page)[-1] == ["palette", talk.general]
    # Another room, and a thread with a composer of its own.
    page.get_by_role("link", name="random").click()
    expect(page.get_by_role("button", name="Stars of random")).to_be_visible()
    assert heard(page)[-1] == ["onRoom", "random"]
    page.evaluate("([id, channelId]) => given.messages.open({ id, channelId })", [parent, talk.general])
    expect(message(page, "shiny")).to_be_focused()
    page.evaluate("(id) => { location.hash += `/thread/${given.messages.find(id).id}`; }", parent)
    thread = page.get_by_role("complementary")
    thread.get_by_role("button", name="Insert a star").click()
    assert heard(page)[-1] == ["composer", "channel", True, ""]
    page.evaluate("(id) => given.go({ kind: 'channel', id })", other)
    expect(page.get_by_role("heading", name="random", level=1)).to_be_visible()


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_settings_and_administration_have_sections_of_capabilities(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    began(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Star settings").click()
    dialog.get_by_label("Word").fill("kept")
    dialog.get_by_role("button", name="Keep").click()
    expect(dialog.get_by_role("status")).to_have_text("Kept it")
    page.keyboard.press("Escape")
    assert page.evaluate("given.kept.get('word')") == "kept"
    palette(page, "Administration").first.click()
    dialog.get_by_role("button", name="Star admin").click()
    expect(dialog.get_by_role("list", name="Star admin")).to_contain_text("Ada")


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_words_a_language_lacks_are_english(talk: Any, enter: Enter) -> None:
    page = enter(talk.server, locale="de-DE")
    began(page)
    expect(page.get_by_role("navigation").get_by_role("button", name="Sterne")).to_be_visible()
    expect(page.get_by_role("button", name="Stars of General")).to_be_visible()
    assert page.evaluate("given.language") == "de"
    assert page.evaluate("given.t('stars', { count: 2 })") == "2 stars"


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_events_come_by_their_type_and_what_was_missed_is_read_anew(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    began(page)
    talk.channel("random")
    page.wait_for_function("() => heard.some(([what, name]) => what === 'channel' && name === 'random')")
    loads = "heard.filter(([what]) => what === 'load').length"
    assert page.evaluate(loads) == 1
    # A position that this log never had is what one is that it no longer reaches back to.
    page.route(
        "**/events?*", lambda route: route.continue_(url=f"{talk.server.base}/events?lastEventId=999999999")
    )
    page.evaluate("() => { dispatchEvent(new Event('offline')); }")
    page.wait_for_function(f"() => {loads} === 2")


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_requests_are_the_users_with_typed_errors_and_keys(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    began(page)
    posted = page.evaluate(
        """async (id) => {
          const { api } = given;
          const key = api.newKey();
          const post = () => api.post(api.path`/channels/${id}/messages`, { content: "once" }, { key });
          return [(await post()).message.id, (await post()).message.id];
        }""",
        talk.general,
    )
    assert posted[0] == posted[1]
    refused = page.evaluate("""async () => {
      const { api, ApiError, words } = given;
      try {
        await api.put(api.path`/channels/${"a/b"}`, { name: "x" });
      } catch (error) {
        return [error instanceof ApiError, error.status, error.isPassing, words(error)];
      }
    }""")
    assert refused == [True, 404, False, refused[3]]
    assert refused[3]
    page.route("**/users", lambda route: route.abort())
    assert page.evaluate("given.api.get('/users').catch((error) => error instanceof given.Unreachable)")


@pytest.mark.slow
@pytest.mark.usefixtures("starry")
def test_all_that_a_part_is_given_stands_in_the_reference(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    began(page)
    given = page.evaluate("""() => {
      const nested = (name) => Object.keys(given[name]).map((key) => `${name}.${key}`);
      return [...Object.keys(given), ...nested("api"), ...nested("messages")];
    }""")
    told = re.findall(r"^\| `([\w.]+)", REFERENCE.read_text().partition("## The slots")[2], re.MULTILINE)
    assert sorted({*given} - {"api", "messages"}) == sorted(told)
