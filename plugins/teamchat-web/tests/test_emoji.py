"""Emoji: typed by short names, completed, found in the picker by words and by keys, in a skin tone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from teamchat_web.site import CLIENT

Serve = Callable[..., Any]
Enter = Callable[..., Page]

SET = "**/emoji/*.js"
TABLES = {path.stem: path.read_text().split("`")[1].split("\n") for path in (CLIENT / "emoji").glob("*.js")}
LINES = [line for line in TABLES["set"] if not line.startswith("= ")]
MOST_BUTTONS = 450  # of the largest group, and what stands beside it


def field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Write to #General")


def sent(server: Any) -> list[str]:
    """The texts the server has, in their order."""
    with server.client(server.token()) as client:
        channel = client.get("/channels").json()["channels"][0]["id"]
        messages = client.get(f"/channels/{channel}/messages").json()["messages"]
    return [message["content"] for message in messages]


def wait_until_sent(page: Page, count: int) -> None:
    expect(page.locator("main article:not(.pending)")).to_have_count(count)


def pick(page: Page) -> Locator:
    """Open the picker."""
    page.get_by_role("button", name="Insert an emoji").click()
    picker = page.get_by_role("dialog", name="Emoji")
    expect(page.get_by_label("Search emoji")).to_be_focused()
    return picker


def found(picker: Locator, words: str) -> list[str]:
    """What a search finds, in its order."""
    picker.get_by_label("Search emoji").fill(words)
    expect(picker.get_by_role("heading", name="Found")).to_be_visible()
    return picker.locator(".group button").all_text_contents()


@pytest.mark.slow
def test_a_short_name_typed_whole_becomes_its_emoji_in_the_field(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server)
    field(page).press_sequentially("Done :tada:")
    expect(field(page)).to_have_value("Done 🎉")
    field(page).press_sequentially(":+1: at 10:30:45, :de: and :nothing:")
    expect(field(page)).to_have_value("Done 🎉👍 at 10:30:45, 🇩🇪 and :nothing:")
    field(page).press("Enter")
    wait_until_sent(page, 1)
    assert sent(server) == ["Done 🎉👍 at 10:30:45, 🇩🇪 and :nothing:"]


@pytest.mark.slow
def test_a_short_name_sent_before_the_set_is_there_arrives_as_its_emoji_and_in_its_order(
    serve: Serve, enter: Enter
) -> None:
    server = serve()
    page = enter(server)
    held: list[Route] = []
    is_held = True
    page.route(SET, lambda route: held.append(route) if is_held else route.continue_())
    field(page).press_sequentially(":tada: and **:rocket:**, (:heart:)")
    field(page).press("Enter")
    field(page).fill("the next")
    field(page).press("Enter")
    expect(page.locator("main article.pending")).to_have_count(2)
    is_held = False
    for route in held:
        route.continue_()
    wait_until_sent(page, 2)
    assert sent(server) == ["🎉 and **🚀**, (❤️)", "the next"]


@pytest.mark.slow
@pytest.mark.parametrize("late", ["**/view/completion.js", SET])
def test_a_short_name_typed_before_its_module_is_there_becomes_its_emoji_while_more_is_typed(
    late: str, serve: Serve, enter: Enter
) -> None:
    page = enter(serve())
    held: list[Route] = []
    is_held = True
    page.route(late, lambda route: held.append(route) if is_held else route.continue_())
    field(page).press_sequentially(":wave: `:tada:` :rocket: and")
    while not held:
        page.wait_for_timeout(20)
    expect(field(page)).to_have_value(":wave: `:tada:` :rocket: and")
    is_held = False
    for route in held:
        route.continue_()
    expect(field(page)).to_have_value("👋 `:tada:` 🚀 and")
    field(page).press_sequentially(" on")
    expect(field(page)).to_have_value("👋 `:tada:` 🚀 and on")


@pytest.mark.slow
def test_what_was_sent_is_not_completed_in_the_empty_field(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    held: list[Route] = []
    is_held = True
    page.route(SET, lambda route: held.append(route) if is_held else route.continue_())
    for count, text in enumerate((":tada:", "so :ta"), 1):
        field(page).press_sequentially(text)
        while not held:
            page.wait_for_timeout(20)
        field(page).press("Enter")
        expect(page.locator("main article")).to_have_count(count)
    is_held = False
    for route in held:
        route.continue_()
    wait_until_sent(page, 2)
    expect(field(page)).to_have_value("")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_hidden()


@pytest.mark.slow
def test_a_short_name_stays_text_in_code(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server)
    texts = (
        ("`a :tada: b` :tada:", "`a :tada: b` 🎉"),
        ("it`s done :tada:", "it`s done 🎉"),
        ("> ``x ` :tada:`` :tada:", "> ``x ` :tada:`` 🎉"),
    )
    for count, (text, wanted) in enumerate(texts, 1):
        field(page).press_sequentially(text)
        field(page).press("Enter")
        wait_until_sent(page, count)
        assert sent(server)[-1] == wanted
    field(page).press_sequentially("```")
    for line in (":tada: is", "```", "this: :tada:"):
        field(page).press("Shift+Enter")
        field(page).press_sequentially(line)
    expect(field(page)).to_have_value("```\n:tada: is\n```\nthis: 🎉")
    field(page).press("Enter")
    wait_until_sent(page, 4)
    assert sent(server)[-1] == "```\n:tada: is\n```\nthis: 🎉"


@pytest.mark.slow
def test_nothing_is_suggested_in_code_where_enter_makes_a_line(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    field(page).press_sequentially(":ta")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
    field(page).fill("")
    field(page).press_sequentially("`:ta")
    field(page).press_sequentially("d :ta")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_hidden()


@pytest.mark.slow
def test_a_short_name_is_completed_while_it_is_typed(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    field(page).press_sequentially("so :ta")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options).to_have_count(7)
    expect(options.first).to_contain_text(":taco:")  # the shortest that begins so
    expect(options.filter(has_text="party popper")).to_contain_text(":tada:")
    field(page).press_sequentially("d")
    expect(options.first).to_contain_text(":tada:")
    expect(options.first).to_have_attribute("aria-selected", "true")
    field(page).press("Enter")
    expect(field(page)).to_have_value("so 🎉 ")


@pytest.mark.slow
def test_an_edited_message_gets_its_emoji_too(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server)
    field(page).fill("Done")
    field(page).press("Enter")
    wait_until_sent(page, 1)
    field(page).press("ArrowUp")
    editing = page.get_by_label("Edit the message")
    editing.fill("Done, :rocket: as was said")
    editing.press("Enter")
    expect(page.locator("main article")).to_contain_text("Done, 🚀 as was said")
    assert sent(server) == ["Done, 🚀 as was said"]


@pytest.mark.slow
def test_the_set_is_loaded_when_it_is_first_wanted(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    field(page).fill("Hello @")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
    field(page).fill("")
    page.wait_for_load_state("load")
    assert not [url for url in asked if "/emoji/" in url]
    field(page).press_sequentially("Hello :ta")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
    assert {url.rpartition("/")[2] for url in asked if "/emoji/" in url} == {"set.js", "en.js"}


@pytest.mark.slow
def test_the_set_is_kept_once_it_was_used_and_not_before(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server, service_workers="allow")
    kept = """async (part) => {
      await navigator.serviceWorker.ready;
      const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
      const all = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
      return all.filter(({ url }) => url.includes(part)).length;
    }"""
    assert page.evaluate(kept, "/view/picker.js") == 1
    assert page.evaluate(kept, "/emoji/") == 0
    page.reload()
    page.wait_for_function("navigator.serviceWorker.controller")
    pick(page)
    page.keyboard.press("Escape")
    page.wait_for_function(f"({kept})('/emoji/').then((count) => count === 2)")
    server.kill()
    page.reload()
    assert found(pick(page), "rocket")[0] == "🚀"


@pytest.mark.slow
def test_a_picker_whose_emoji_cannot_be_had_says_so(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    page.route(SET, lambda route: route.fulfill(status=404))
    page.get_by_role("button", name="Insert an emoji").click()
    expect(page.get_by_role("region", name="Notices").get_by_text("part of the page")).to_be_visible()
    field(page).press_sequentially("a :tada: b")
    field(page).press("Enter")
    expect(page.locator("main article:not(.pending)")).to_contain_text("a :tada: b")


@pytest.mark.slow
def test_the_picker_finds_by_short_name_then_by_beginning_then_by_words(serve: Serve, enter: Enter) -> None:
    picker = pick(enter(serve()))
    assert found(picker, "tada") == ["🎉"]
    assert found(picker, ":tada:") == ["🎉"]
    hearts = found(picker, "heart")
    assert hearts[0] == "❤️"  # its short name
    assert hearts.index("💟") < hearts.index("🥰")  # heart_decoration begins so; 🥰 has the word
    assert found(picker, "red heart")[0] == "❤️"
    assert "🐱" in found(picker, "face cat")
    assert found(picker, "germany") == ["🇩🇪"]
    assert found(picker, "de")[0] == "🇩🇪"
    assert "🥦" in found(picker, "occol")  # within a word, when nothing begins so
    picker.get_by_label("Search emoji").fill("no such thing")
    expect(picker.get_by_text("Nothing found")).to_be_visible()


def test_the_picker_finds_german_words_and_english_ones_in_german(serve: Serve, enter: Enter) -> None:
    page = enter(serve(), locale="de-DE")
    page.get_by_role("button", name="Emoji einfügen").click()
    picker = page.get_by_role("dialog", name="Emoji")
    for words, emoji in (("rakete", "🚀"), ("tada", "🎉"), ("Österreich", "🇦🇹"), ("hund", "🐕")):
        picker.get_by_role("searchbox").fill(words)
        expect(picker.locator(".group button").first).to_have_text(emoji)


@pytest.mark.slow
def test_the_picker_shows_a_group_at_a_time_flags_among_them(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    picker = pick(page)
    expect(picker.get_by_role("heading", name="Recently used")).to_be_visible()
    tabs = picker.get_by_role("tab")
    expect(tabs).to_have_count(9)
    buttons = 0
    for tab in tabs.all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        name = str(tab.get_attribute("aria-label"))
        expect(picker.get_by_role("tabpanel", name=name)).to_be_visible()
        assert picker.locator("button").count() < MOST_BUTTONS
        buttons += picker.locator(".group").last.locator("button").count()
    assert buttons > 1700  # All that this browser knows.
    expect(picker.get_by_role("button", name="flag: Germany")).to_be_visible()
    assert len(found(picker, "a")) <= 150
    picker.get_by_label("Search emoji").fill("")
    picker.get_by_role("button", name="flag: Germany").click()
    expect(field(page)).to_have_value("🇩🇪")
    expect(field(page)).to_be_focused()


@pytest.mark.slow
def test_the_picker_is_used_by_keys(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    picker = pick(page)
    buttons = picker.locator(".group button")
    page.keyboard.press("ArrowDown")
    expect(buttons.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    second = picker.locator(".group").nth(1).locator("button")
    expect(second.nth(1)).to_be_focused()  # the row of recent ones is the only one of its group
    columns = second.evaluate_all("(all) => all.filter((one) => one.offsetTop === all[0].offsetTop).length")
    page.keyboard.press("ArrowDown")
    expect(second.nth(1 + columns)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Search emoji")).to_be_focused()
    page.keyboard.press("Tab")
    expect(picker.get_by_role("tab", selected=True)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(picker.get_by_role("tab", name="Flags")).to_be_focused()
    page.keyboard.press("Tab")
    expect(buttons.first).to_be_focused()
    page.keyboard.press("Tab")
    expect(picker.get_by_role("radio", name="No skin tone")).to_be_focused()
    page.keyboard.press("Escape")
    expect(picker).to_have_count(0)
    expect(page.get_by_role("button", name="Insert an emoji")).to_be_focused()

    pick(page)
    page.keyboard.type("rocket")
    expect(buttons.first).to_have_text("🚀")
    page.keyboard.press("Enter")
    expect(field(page)).to_have_value("🚀")
    expect(field(page)).to_be_focused()


@pytest.mark.slow
def test_a_skin_tone_is_chosen_once_and_used_everywhere(serve: Serve, enter: Enter) -> None:
    server = serve()
    page = enter(server)
    picker = pick(page)
    picker.get_by_role("radio", name="Medium skin", exact=True).click()
    expect(picker.get_by_role("radio", checked=True)).to_have_accessible_name("Medium skin")
    page.reload()
    picker = pick(page)
    expect(picker.get_by_role("radio", checked=True)).to_have_accessible_name("Medium skin")
    assert found(picker, "wave")[0] == "👋🏽"
    assert found(picker, "rocket")[0] == "🚀"
    assert found(picker, "point_up")[0] == "☝🏽"
    assert found(picker, "woman_astronaut")[0] == "👩🏽‍🚀"
    assert found(picker, "people_holding_hands")[0] == "🧑🏽‍🤝‍🧑🏽"
    page.keyboard.press("Escape")
    field(page).press_sequentially(":wave: :thumbs")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options.first).to_contain_text("👍🏽")
    field(page).press("Enter")
    expect(field(page)).to_have_value("👋🏽 👍🏽 ")
    page.get_by_role("button", name="Insert an emoji").click()
    picker.get_by_role("radio", name="Medium skin", exact=True).press("ArrowRight")
    expect(picker.get_by_role("radio", checked=True)).to_have_accessible_name("Medium-dark skin")
    picker.get_by_role("radio", name="No skin tone").click()
    assert found(picker, "wave")[0] == "👋"


@pytest.mark.slow
def test_every_emoji_of_the_set_is_one_in_each_tone_it_has(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    wrong = page.evaluate(
        """async () => {
          const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
          const { emojiSet, toned, TONE_COUNT } = await import(`${root}lib/emoji.js`);
          const { groups } = await emojiSet();
          const known = /^\\p{RGI_Emoji}$/v;
          const tones = Array.from({ length: TONE_COUNT }, (_, tone) => tone);
          const all = groups.flatMap((group) => group.all);
          return all.flatMap((one) => tones.map((tone) => toned(one, tone))).filter((it) => !known.test(it));
        }"""
    )
    assert wrong == []


def test_the_tables_belong_together_and_name_each_emoji_once() -> None:
    assert set(TABLES) == {"set", "en", "de"}
    names = [name for line in LINES for name in line.split(" ")[1:]]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9_+-]+", name) for name in names)
    assert all(len(line.split(" ")) > 1 for line in LINES)
    assert sum(line.split(" ")[0].endswith("+") for line in LINES) > 300
    for language in ("en", "de"):
        assert len(TABLES[language]) == len(LINES)
        assert all(TABLES[language])


@pytest.mark.parametrize("name", TABLES)
def test_each_file_of_the_set_says_where_it_is_from_and_under_what_licence(name: str) -> None:
    heading = (CLIENT / "emoji" / f"{name}.js").read_text().split("export")[0]
    assert re.search(r"emojibase-data \d+\.\d+\.\d+, Copyright \(c\) .*\n// under the MIT license", heading)
    assert (CLIENT / "emoji" / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) 2017-2019")
