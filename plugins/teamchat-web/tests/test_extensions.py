"""What capabilities bring to the client: how it is served, every slot, and parts that fail."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect
from teamchat_web import CLIENT, build

from teamchat.plugins import Plugins
from tests.chromium import CHROMIUM
from tests.docs.pages import DOCS, blocks

WITH_ALL_PARTS = True

REFERENCE = DOCS / "reference" / "client-extensions.md"
Bring = Callable[..., None]
Serve = Callable[..., Any]
Enter = Callable[..., Page]

OFFER = """
from teamchat import Capability, hookimpl

@hookimpl
def capabilities():
    return [Capability(name={name!r}, client="client")]
"""


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Have the next servers find a plugin with a capability and its part of the client."""
    # A server finds what stands in the directory that it is started in.
    monkeypatch.chdir(tmp_path)

    def make(name: str, main: str, **others: str) -> None:
        package = f"teamchat_{re.sub('[^a-z]', '_', name)}"
        files = {"__init__.py": OFFER.format(name=name), "client/main.js": main}
        files |= {f"client/{path}": text for path, text in others.items()}
        for path, text in files.items():
            file = tmp_path / package / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        known = tmp_path / f"{package}-1.dist-info"
        known.mkdir()
        (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (known / "entry_points.txt").write_text(f"[teamchat]\n{name} = {package}\n")

    return make


@pytest.fixture
def loose(browser: Browser) -> Iterator[Callable[[str], tuple[Page, list[str]]]]:
    """Open an address where errors and warnings are expected; they are collected."""
    contexts = []

    def go(url: str) -> tuple[Page, list[str]]:
        context = browser.new_context(locale="en-GB", reduced_motion="reduce", service_workers="block")
        contexts.append(context)
        said: list[str] = []

        def note(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                said.append(message.text)

        context.on("console", note)
        page = context.new_page()
        page.goto(url)
        return page, said

    yield go
    for context in contexts:
        context.close()


def message(page: Page, text: str) -> Locator:
    return page.get_by_role("main").get_by_role("article").filter(has_text=text)


def palette(page: Page, query: str) -> Locator:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(query)
    return page.get_by_role("option")


# How it is served.


def test_the_files_of_a_capability_stand_under_the_digest_with_the_clients_own(tmp_path: Path) -> None:
    folder = tmp_path / "client"
    (folder / "strings").mkdir(parents=True)
    main = "export default () => `a\n   b`; // kept as it is\n"
    given = {"main.js": main, "style.css": ".a { }\n", "strings/de.json": "{}", "strings/en.json": "{}"}
    for name, text in (given | {".hidden.js": "no", "notes.md": "no", "tool.py": "no"}).items():
        (folder / name).write_text(text)
    plain, site = build(CLIENT), build(CLIENT, [("polls", folder)])
    brought = {name for name in site.files if name.startswith("extensions/")}
    assert brought == {f"extensions/polls/{name}" for name in given}
    assert all(site.files[f"extensions/polls/{name}"].body.decode() == text for name, text in given.items())
    assert json.loads(plain.files["extensions.json"].body) == {}
    assert json.loads(site.files["extensions.json"].body) == {
        "polls": {"style": True, "strings": ["de", "en"]}
    }
    assert plain.digest != site.digest
    assert set(site.files) - set(plain.files) == brought
    assert b"extensions/polls/main.js" in site.pages["sw.js"].body


def test_a_server_serves_the_folders_of_what_is_on_and_no_others(bring: Bring, serve: Serve) -> None:
    bring("org.example.polls", "export default () => {};", **{"style.css": ".polls { color: red; }"})
    for name, is_on in (("on", True), ("off", False)):
        server = serve(name, plugins={"org.example.polls": {"enabled": is_on}})
        with httpx2.Client(base_url=server.base) as client:
            [digest] = set(re.findall(r"client/([0-9a-f]+)/", client.get("/").text))
            root = f"/client/{digest}"
            assert ("org.example.polls" in client.get(f"{root}/extensions.json").json()) == is_on
            for path, kind in (("main.js", "text/javascript"), ("style.css", "text/css")):
                answer = client.get(f"{root}/extensions/org.example.polls/{path}")
                assert answer.status_code == (200 if is_on else 404)
                if is_on:
                    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
                    assert answer.headers["content-type"].startswith(kind)
            for path in ("../__init__.py", "%2e%2e/__init__.py", "__init__.py", "client/main.js", ""):
                assert client.get(f"{root}/extensions/org.example.polls/{path}").status_code == 404


@pytest.mark.slow
def test_a_client_asks_for_nothing_of_what_the_server_lacks(bring: Bring, serve: Serve, enter: Enter) -> None:
    bring("org.example.polls", "export default () => {};")
    off = {"enabled": False}
    every = [
        "org.example.polls",
        *(name for name, offer in Plugins.load().capability_offers() if offer.client),
    ]
    page = enter(serve(plugins=dict.fromkeys(every, off)), "ada@example.org")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response("**/extensions.json"):
        page.reload()
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    of_capabilities = re.compile("[0-9a-f]/extensions/")
    assert not [url for url in asked if of_capabilities.search(url)]


# The slots.

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


@pytest.fixture
def waving(bring: Bring) -> None:
    [example] = blocks("reference/client-extensions.md", "js")
    bring("org.example.wave", example, **{"strings/en.json": '{"wave": "Wave", "waved": "Waved"}'})


@pytest.mark.slow
@pytest.mark.usefixtures("waving")
def test_the_example_of_the_reference_works(talk: Any, enter: Enter) -> None:
    talk.say(talk.ada, "mine")
    talk.say(talk.grace, "hers")
    page = enter(talk.server)
    message(page, "mine").hover()
    expect(message(page, "mine").get_by_role("button", name="Edit")).to_be_visible()
    message(page, "hers").hover()
    page.get_by_role("button", name="Wave").click()
    expect(message(page, "hers").get_by_role("button", name="👋, 1 person: Ada")).to_be_visible()
    expect(page.get_by_text("Waved")).to_have_count(1)
    message(page, "mine").hover()
    expect(page.get_by_role("button", name="Wave")).to_have_count(0)


@pytest.mark.slow
def test_the_test_of_the_reference_passes(
    bring: Bring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    [part] = blocks("reference/client-extensions.md", "js")
    [test] = blocks("reference/client-extensions.md", "python")
    bring("wave", part, **{"strings/en.json": '{"wave": "Wave", "waved": "Waved"}'})
    ours = f"launch(executable_path={CHROMIUM!r}, args=['--no-sandbox'])"
    (tmp_path / "test_wave.py").write_text(test.replace("launch()", ours))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "trio_mode=true", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


# What fails.

HARMLESS = "export default ({ sidebar }) => { sidebar.add({ label: 'Harmless', run() {} }); };"
FAILING = {
    "org.example.a-broken": "export default () => {",
    "org.example.b-nothing": "export const none = 1;",
    "org.example.c-throwing": "export default () => { throw new Error('thrown'); };",
    "org.example.d-late": "export default async () => { await null; throw new Error('late'); };",
    "org.example.e-hanging": "export default () => new Promise(() => {});",
    "org.example.g-bad-tools": """export default (teamchat) => {
      const fail = () => { throw new Error("failed"); };
      for (const slot of ["messageTools", "messageMarks", "composer", "sidebar", "roomHeader", "palette"]) {
        teamchat[slot].add({ label: fail, run() {} });
        teamchat[slot].add({ label: "Pressed", isFor: () => slot === "sidebar", run: fail });
      }
      teamchat.settings.add({ label: "Bad section", make: fail });
      teamchat.on("NEW_MESSAGE", fail);
      teamchat.onRoom(fail);
      teamchat.load(async () => fail());
    };""",
}


@pytest.mark.slow
def test_parts_that_fail_harm_nothing_else(bring: Bring, serve: Serve, loose: Any) -> None:
    for name, main in FAILING.items():
        bring(name, main)
    bring("org.example.z-harmless", HARMLESS)
    server = serve()
    page, said = loose(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_role("navigation").get_by_role("button", name="Harmless")).to_be_visible()
    page.get_by_role("navigation").get_by_role("button", name="Pressed").click()
    page.get_by_role("main").get_by_role("textbox").fill("hello")
    page.keyboard.press("Enter")
    expect(message(page, "hello")).to_be_visible()
    message(page, "hello").hover()
    expect(message(page, "hello").get_by_role("button", name="Edit")).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Bad section").click()
    page.get_by_role("dialog").get_by_role("button", name="Profile").click()
    expect(page.get_by_role("dialog").get_by_role("textbox").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette(page, "General").first).to_be_visible()
    for name in ("a-broken", "b-nothing", "c-throwing", "d-late", "g-bad-tools"):
        assert [text for text in said if f"org.example.{name}" in text], (name, said)
    assert not [text for text in said if "z-harmless" in text]


MISTAKEN = """export default ({ addIcon, messageTools, sidebar, t }) => {
  addIcon("drawn", "M12 3v18M3 12h18");
  const icons = ["drawn", "smile", undefined, "late", "late"];
  for (const icon of icons) sidebar.add({ icon, label: t("here"), run() {} });
  sidebar.add({ label: t("gone"), run() {} });
  sidebar.add({ label: t("gone"), run() {} });
  messageTools.add({ label: t("here"), keys: ["s", %s], run() { throw new Error("pressed"); } });
  addIcon("late", "M12 3v18M3 12h18");
};"""


@pytest.mark.slow
def test_mistakes_for_which_nothing_is_missing_are_told_once(bring: Bring, serve: Serve, loose: Any) -> None:
    [told] = re.findall(r"The client's own keys\s+(.*?) go first", REFERENCE.read_text(), re.DOTALL)
    own = re.findall(r"`(\S+)`", told)
    main = MISTAKEN % ", ".join(f'"{key}"' for key in own)
    bring("org.example.mistaken", main, **{"strings/en.json": '{"here": "Here"}'})
    server = serve()
    page, said = loose(f"{server.base}/?access_token={server.token()}")
    page.get_by_role("main").get_by_role("textbox").fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation").get_by_role("button", name="Here")).to_have_count(5)
    expect(page.get_by_role("navigation").get_by_role("button", name="gone")).to_have_count(2)
    part = "The part of org.example.mistaken in the client"
    assert sorted(text for text in said if "org.example" in text) == sorted(
        [
            f'{part} asks for the icon "late", which the client lacks and addIcon was not given before.',
            f'{part} has no words for "gone" in strings/en.json.',
            *(f"{part} can't have the key \"{key}\", which is the client's own." for key in own),
        ]
    )
    known = page.evaluate("""async () => {
      const { src } = document.querySelector("script[src$='/main.js']");
      return (await import(src.replace("main.js", "view/extensions/registry.js"))).OWN_KEYS;
    }""")
    assert sorted(known) == sorted(own)
    expect(message(page, "hello")).to_be_visible()
    page.keyboard.press("Shift+Tab")
    message(page, "hello").focus()
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Edit the message")).to_be_focused()


REFUSED = """export default (teamchat) => {
  const { api, element, dialog } = teamchat;
  const refused = (where) => () => api.get(api.path`/${where}`);
  const press = (where) => ({ label: where, text: where, icon: "star", act: refused(where) });
  teamchat.addIcon("star", "M12 3v18M3 12h18");
  teamchat.roomHeader.add({ label: "Rows", run() {
    const list = teamchat.list({ label: "Rows" });
    const fail = { label: "fail", text: "fail", act() { throw new Error("failed"); } };
    list.draw([teamchat.row({ id: "1", title: "row", actions: [press("row"), fail] })]);
    dialog({ title: "Rows" }, list.node);
  } });
  teamchat.roomHeader.add({ label: "Messages", run: async (room) => {
    const list = teamchat.messageList({ label: "Messages", actions: () => [press("message")] });
    list.draw((await api.get(api.path`/channels/${room.id}/messages`)).messages);
    dialog({ title: "Messages" }, list.node);
  } });
  teamchat.roomHeader.add({ label: "Menu", run(room, button) {
    teamchat.menu(button, [{ icon: "star", label: "choice", run: refused("menu") }]);
  } });
  teamchat.roomHeader.add({ label: "Notice", run() {
    teamchat.toast("Said", { action: { label: "undo", run: refused("notice") } });
  } });
};"""


@pytest.mark.slow
def test_what_the_server_refuses_is_told_whatever_was_pressed(bring: Bring, serve: Serve, loose: Any) -> None:
    bring("org.example.refused", REFUSED)
    server = serve()
    token = server.token()
    with server.client(token) as client:
        [channel] = client.get("/channels").json()["channels"]
    server.post(f"/channels/{channel['id']}/messages", {"content": "hello"}, token)
    page, said = loose(f"{server.base}/?access_token={token}")
    notices = page.get_by_role("region", name="Notices")
    refusals = notices.get_by_text("There is nothing at this address.")
    pressed = [("Rows", "button", "row"), ("Messages", "button", "message"), ("Menu", "menuitem", "choice")]
    for count, (opener, role, name) in enumerate([*pressed, ("Notice", "button", "undo")], 1):
        page.get_by_role("button", name=opener, exact=True).click()
        page.get_by_role(role, name=name, exact=True).click()
        expect(refusals).to_have_count(count)
        if opener == "Rows":
            page.get_by_role("button", name="fail").click()
        if opener in ("Rows", "Messages"):
            page.keyboard.press("Escape")
    assert [text for text in said if "org.example.refused" in text]


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


@pytest.mark.slow
def test_a_part_whose_files_are_missing_is_told_of_in_the_console_alone(
    bring: Bring, serve: Serve, loose: Any
) -> None:
    bring("org.example.gone", HARMLESS)
    bring("org.example.there", HARMLESS.replace("Harmless", "There"))
    server = serve()
    page, said = loose("about:blank")
    page.route("**/extensions/org.example.gone/main.js", lambda route: route.fulfill(status=404, body="{}"))
    page.goto(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_role("navigation").get_by_role("button", name="There")).to_be_visible()
    expect(page.get_by_text("couldn’t be loaded")).to_have_count(0)
    assert [text for text in said if "The part of org.example.gone in the client could not begin" in text]
