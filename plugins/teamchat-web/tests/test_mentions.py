"""Mentions in the web client: drawn where they stand, and sent as they were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from .rooms import Rooms, email

Enter = Callable[..., Page]
BEFORE = "👋 👨‍👩‍👧‍👦 🇩🇪 "  # One, seven and two code points, of more UTF-16 units.


@pytest.fixture(scope="module")
def page(browser: Browser, standing: Any) -> Iterator[Page]:
    """A page in which `drawn(text, words)` renders with an entity for each of these parts of the text."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(standing.base)
    page.evaluate(
        """async () => {
          const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
          const { render } = await import(root + "lib/markdown.js");
          const { element } = await import(root + "lib/dom.js");
          const draw = ({ id }) => (id === "unknown" ? null : element("bdi", {}, id));
          window.drawn = (text, entities) => {
            const box = document.createElement("div");
            box.append(render(text, { names: new Map([["bob", "3"]]), entities, draw }));
            return box.innerHTML.replace(/ dir="[a-z]+"/g, "");
          };
        }"""
    )
    yield page
    context.close()


def entities(text: str, *parts: str) -> list[dict[str, Any]]:
    """An entity for each part of a text, in their order: its id is what stands there in capitals."""
    found, at = [], 0
    for part in parts:
        at = text.index(part, at)
        found.append({"type": "user", "offset": at, "length": len(part), "id": part[1:].upper()})
        at += len(part)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "parts", "markup"),
    [
        ("hello @ada!", ["@ada"], "<p>hello <bdi>ADA</bdi>!</p>"),
        (f"{BEFORE}@ada", ["@ada"], f"<p>{BEFORE}<bdi>ADA</bdi></p>"),
        ("@bob and @ada", ["@ada"], "<p>@bob and <bdi>ADA</bdi></p>"),
        ("@ada, @ada", ["@ada", "@ada"], "<p><bdi>ADA</bdi>, <bdi>ADA</bdi></p>"),
        ("see #general", ["#general"], "<p>see <bdi>GENERAL</bdi></p>"),
        ("**to @ada** _@bob_", ["@ada"], "<p><strong>to <bdi>ADA</bdi></strong> <em>@bob</em></p>"),
        ("> # @bob\n> @ada", ["@ada"], "<blockquote><p># @bob<br><bdi>ADA</bdi></p></blockquote>"),
        ("- @bob\n- x\n  @ada", ["@ada"], "<ul><li>@bob</li><li>x<br><bdi>ADA</bdi></li></ul>"),
        ("1. @ada\n2. @b", ["@ada", "@b"], '<ol start="1"><li><bdi>ADA</bdi></li><li><bdi>B</bdi></li></ol>'),
        ("`@ada` @ada", ["@ada"], "<p><code>@ada</code> @ada</p>"),
        ("`@bob` @ada", ["@ada"], "<p><code>@bob</code> <bdi>ADA</bdi></p>"),
        (
            "```@x\n@y\n``` @z\n@ada",
            ["@ada"],
            '<pre tabindex="0"><code>@y</code></pre><p><bdi>ADA</bdi></p>',
        ),
        ("a\r\n\r\n@bob\r\n@ada", ["@ada"], "<p>a</p><p>@bob<br><bdi>ADA</bdi></p>"),
        ("www.a.de/@b @ada", ["@ada"], None),
        ("@unknown @ada", ["@unknown", "@ada"], None),
        ("@Anna Müller-X", ["@Anna Müller"], "<p><bdi>ANNA MÜLLER</bdi>-X</p>"),
    ],
)
def test_a_mention_stands_where_its_entity_says(
    page: Page, text: str, parts: list[str], markup: str | None
) -> None:
    given = entities(text, *parts)
    if parts[0] == "@unknown":
        given[0]["id"] = "unknown"
    got = page.evaluate("([text, entities]) => drawn(text, entities)", [text, given])
    if markup is None:
        assert got.count("<bdi>") == 1
        assert got.endswith(" <bdi>ADA</bdi></p>")
    else:
        assert got == markup


def test_an_entity_that_does_not_fit_the_text_is_left_out(page: Page) -> None:
    for offset, length in ((99, 4), (0, 3), (3, 99)):
        entity = {"type": "user", "offset": offset, "length": length, "id": "ADA"}
        assert "@ada" in page.evaluate("(given) => drawn('hi @ada', [given])", entity) or (
            offset,
            length,
        ) == (3, 99)


@pytest.fixture
def rooms(serve: Callable[..., Any]) -> Rooms:
    return Rooms(serve(), ("bea", "carl"))


@pytest.mark.slow
def test_mentions_follow_a_rename_and_stand_after_emoji(rooms: Rooms, enter: Enter) -> None:
    place = f"#/channel/{rooms.general}"
    rooms.say(rooms.general, f"{BEFORE}@Bea, lunch?", "carl")
    page, bea = enter(rooms.server, place=place), enter(rooms.server, email("bea"), place)
    mention = page.get_by_role("article").filter(has_text="lunch?").locator(".mention")
    expect(mention).to_have_text("@bea")
    expect(page.locator(".mention-me")).to_have_count(0)
    expect(bea.locator("article.mentions-me .mention-me")).to_have_text("@bea")
    rooms.put("/users/me", {"userName": "Beatrice"}, "bea")
    expect(mention).to_have_text("@Beatrice")
    page.reload()
    expect(page.locator(".message-body").filter(has_text="lunch?")).to_have_text(f"{BEFORE}@Beatrice, lunch?")
    mention.click()
    expect(page.get_by_role("dialog")).to_contain_text("Beatrice")


@pytest.mark.slow
def test_an_edit_takes_the_mention_away(rooms: Rooms, enter: Enter) -> None:
    page = enter(rooms.server, place=f"#/channel/{rooms.general}")
    said = rooms.say(rooms.general, "@ada and @bea", "carl")
    expect(page.locator("article .mention")).to_have_count(2)
    rooms.put(f"/messages/{said}", {"content": "@bea alone"}, "carl")
    expect(page.locator("article .mention")).to_have_text(["@bea"])
    expect(page.locator("article.mentions-me")).to_have_count(0)


def test_wide_mentions_stand_out(rooms: Rooms, enter: Enter) -> None:
    page = enter(rooms.server, place=f"#/channel/{rooms.general}")
    rooms.say(rooms.general, "@channel lunch", "ada")
    expect(page.locator("article.mentions-me .mention-me")).to_have_text("@channel")


def field(page: Page) -> Any:
    return page.get_by_role("textbox")


def write(page: Page, text: str) -> None:
    field(page).focus()
    page.keyboard.insert_text(text)


def choose(page: Page, asked: str, name: str) -> None:
    """Type a sign and the beginning of a name, and take what is offered by the keys."""
    field(page).focus()
    page.keyboard.type(asked)
    expect(page.get_by_role("option").filter(has_text=name).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("option")).to_have_count(0)


def last(rooms: Rooms) -> dict[str, Any]:
    return dict(rooms.ask("ada", "GET", f"/channels/{rooms.general}/messages")["messages"][-1])


def sent(page: Page, rooms: Rooms) -> dict[str, Any]:
    """Send what was written, and return the message as the server has it."""
    count = page.get_by_role("article").count()
    field(page).press("Enter")
    expect(page.get_by_role("article")).to_have_count(count + 1)
    expect(page.locator("article.pending")).to_have_count(0)
    return last(rooms)


def meant(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The type and id of each entity, with what stands where it says."""
    text = message["content"]
    found = message.get("entities", [])
    return [(one["type"], one["id"], text[one["offset"] : one["offset"] + one["length"]]) for one in found]


@pytest.fixture
def ada(rooms: Rooms, enter: Enter) -> Page:
    """The page of Ada, once it knows what the server offers."""
    page = enter(rooms.server, place=f"#/channel/{rooms.general}")
    expect(page.get_by_role("button", name="All channels")).to_be_visible()
    return page


@pytest.mark.slow
def test_who_wrote_here_last_is_offered_first(serve: Callable[..., Any], enter: Enter) -> None:
    rooms = Rooms(serve(), ("bea", "bert", "beth", "albert", "abe", "joe-beth"))
    for by in ("beth", "abe", "bert"):
        rooms.say(rooms.general, f"{by} was here", by=by)
    rooms.say(rooms.general, "so was I")
    page = enter(rooms.server)
    expect(page.get_by_role("log")).to_contain_text("so was I")
    options = page.get_by_role("option")
    field(page).press_sequentially("@")
    expect(options.locator("bdi")).to_have_text(["bert", "abe", "beth", "Ada", "albert", "bea", "joe-beth"])
    field(page).press_sequentially("be")
    expect(options.locator("bdi")).to_have_text(["bert", "beth", "bea", "joe-beth", "abe", "albert"])


def test_who_was_chosen_is_sent_wherever_the_text_moves(rooms: Rooms, ada: Page) -> None:
    bea = ("user", rooms.ids["bea"], "@bea")
    choose(ada, "@be", "bea")
    write(ada, "and ")
    choose(ada, "#gen", "General")
    ada.keyboard.press("Home")
    ada.keyboard.insert_text(BEFORE + ":tada: @carl ")
    message = sent(ada, rooms)
    assert message["content"] == f"{BEFORE}🎉 @carl @bea and #General"
    assert meant(message) == [
        ("user", rooms.ids["carl"], "@carl"),
        bea,
        ("channel", rooms.general, "#General"),
    ]
    expect(ada.locator("article").last.locator("a.mention")).to_have_text("#General")


@pytest.mark.slow
def test_a_name_that_is_changed_means_nobody(rooms: Rooms, ada: Page) -> None:
    choose(ada, "@be", "bea")
    ada.keyboard.press("Backspace")
    ada.keyboard.insert_text("trice ")
    choose(ada, "#gen", "General")
    assert meant(sent(ada, rooms)) == [("channel", rooms.general, "#General")]


@pytest.mark.slow
def test_who_was_chosen_is_kept_with_the_draft(rooms: Rooms, ada: Page) -> None:
    choose(ada, "#gen", "General")
    write(ada, "is here")
    for _ in range(2):
        ada.reload()
        expect(field(ada)).to_have_value("#General is here")
    ada.wait_for_function("document.querySelector('main textarea').ariaHasPopup === 'listbox'")
    assert meant(sent(ada, rooms)) == [("channel", rooms.general, "#General")]


@pytest.mark.slow
def test_an_edit_keeps_who_was_chosen(rooms: Rooms, ada: Page) -> None:
    choose(ada, "#gen", "General")
    sent(ada, rooms)
    field(ada).press("ArrowUp")
    edited = ada.locator("article textarea")
    expect(edited).to_be_focused()
    ada.wait_for_function("document.querySelector('article textarea').ariaHasPopup === 'listbox'")
    ada.keyboard.press("Home")
    ada.keyboard.insert_text("👋 ")
    ada.keyboard.press("Enter")
    expect(ada.locator("article .message-body")).to_have_text("👋 #General (edited)")
    assert meant(last(rooms)) == [("channel", rooms.general, "#General")]


@pytest.mark.slow
def test_the_author_is_told_who_does_not_see_it(
    rooms: Rooms, enter: Enter, until_loaded: Callable[[Page, str], None]
) -> None:
    room = rooms.private("Quiet", "carl")
    page = enter(rooms.server, place=f"#/channel/{room}")
    expect(page.get_by_role("heading", name="Quiet", level=1)).to_be_visible()
    until_loaded(page, "/rooms/begin.js")  # Who tells of it came before that.
    write(page, "@bea, @carl: hello")
    field(page).press("Enter")
    expect(page.get_by_text("bea does not see this channel.").first).to_be_visible()


@pytest.mark.slow
def test_what_was_chosen_is_sent_once_there_is_a_network(rooms: Rooms, ada: Page) -> None:
    choose(ada, "#gen", "General")
    ada.context.set_offline(True)
    field(ada).press("Enter")
    expect(ada.locator("article.pending a.mention")).to_have_text("#General")
    ada.context.set_offline(False)
    expect(ada.locator("article.pending")).to_have_count(0)
    assert meant(last(rooms)) == [("channel", rooms.general, "#General")]


@pytest.mark.slow
def test_everybody_named_by_hand_stays_text_where_that_is_not_allowed_and_chosen_is_refused(
    serve: Callable[..., Any], enter: Enter
) -> None:
    """``chat.wideMentions`` leaves it to managers, and bea is none (extension E-5)."""
    server = serve(chat={"wideMentions": "managers"})
    rooms = Rooms(server)
    page = enter(server, email("bea"), f"#/channel/{rooms.general}")
    expect(page.get_by_role("button", name="All channels")).to_be_visible()
    statuses: list[int] = []

    def note(response: Any) -> None:
        if response.request.method == "POST" and response.url.endswith("/messages"):
            statuses.append(response.status)

    page.on("response", note)
    # Somebody is chosen besides, so that the page says what is meant: the server refuses, and is asked again.
    choose(page, "@car", "carl")
    write(page, "and @channel: hello")
    message = sent(page, rooms)
    assert statuses == [403, 200]
    assert message["content"] == "@carl and @channel: hello"
    assert meant(message) == [("user", rooms.ids["carl"], "@carl")]
    # What was chosen is not left out unasked: it waits with what the server said of it.
    choose(page, "@chan", "@channel")
    field(page).press("Enter")
    expect(page.locator("article.pending")).to_contain_text("You may not mention everybody here.")
    assert statuses == [403, 200, 403]
    assert last(rooms)["id"] == message["id"]
