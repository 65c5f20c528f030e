"""What notifies one: the rule by levels, mutes and quiet hours, and the settings in which they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

Enter = Callable[..., Page]
House = Any

# Says of a message of Grace, in a place of a kind, what a notification shows of it; null for none.
RULE = """async ([state, chosen, message, parentId]) => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const { notifies } = await import(root + "model/notifying.js");
  const capabilities = chosen ? { "notification-levels": {}, mentions: {} } : {};
  const unread = {
    state: () => state,
    isMuted: () => Boolean(state.isMuted),
  };
  const model = {
    capabilities,
    me: { id: "ada" },
    unread,
    api: { send: async () => chosen },
    on: () => {},
    isMention: ({ names }) => Boolean(names),
  };
  const said = { author: { id: "grace" }, ...message };
  const place = { id: "1", kind: "channel" };
  return notifies(model, { message: said, place, parentId, calls: Boolean(message.names) });
}"""
WITHIN = """async ([hours, now]) => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const { isWithin } = await import(root + "model/notifying.js");
  return isWithin(hours, now);
}"""
LATER = 4102444800000
NOW = datetime.now(UTC)
ALWAYS = {
    "tz": "UTC",
    "days": [1, 2, 3, 4, 5, 6, 7],
    "from": f"{NOW - timedelta(hours=1):%H:%M}",
    "to": f"{NOW + timedelta(hours=9):%H:%M}",
}


@pytest.fixture(scope="module")
def page(browser: Browser, standing: Any) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(standing.base)
    yield page
    context.close()


CHANNEL, GROUP, DIRECT = ({"kind": kind} for kind in ("channel", "group", "direct"))
NAMED: dict[str, Any] = {"names": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "chosen", "message", "parent", "shown"),
    [
        (CHANNEL, {}, {}, None, None),
        (CHANNEL, {}, NAMED, None, "full"),
        (GROUP, {}, {}, None, "full"),
        (DIRECT, {}, {}, None, "full"),
        (CHANNEL, {"defaults": {"channel": "all"}}, {}, None, "full"),
        (DIRECT, {"defaults": {"direct": "mentions"}}, {}, None, None),
        (CHANNEL | {"level": "default"}, {"defaults": {"channel": "nothing"}}, NAMED, None, None),
        (CHANNEL | {"level": "all"}, {"defaults": {"channel": "nothing"}}, {}, None, "full"),
        (CHANNEL | {"level": "nothing"}, {}, NAMED, None, None),
        (DIRECT | {"isMuted": True}, {}, NAMED, None, None),
        (CHANNEL, {}, {"mentions": ["@here"]}, None, "full"),
        (CHANNEL | {"ignoreChannelMentions": True}, {}, {"mentions": ["@here"]}, None, None),
        (CHANNEL, {}, {}, "parent", "full"),
        (CHANNEL, {"defaults": {"thread": "mentions"}}, {}, "parent", None),
        (CHANNEL | {"level": "nothing"}, {}, NAMED, "parent", None),
        (DIRECT, {"pausedUntil": LATER}, {}, None, None),
        (DIRECT, {"pausedUntil": 1}, {}, None, "full"),
        (DIRECT, {"quietHours": ALWAYS}, {}, None, None),
        (DIRECT, {"quietHours": ALWAYS, "urgentFrom": ["grace"]}, {}, None, "full"),
        (CHANNEL | {"level": "all"}, {"quietHours": ALWAYS, "urgentFrom": ["grace"]}, {}, None, None),
        (CHANNEL, {"quietHours": ALWAYS, "urgentFrom": ["grace"]}, NAMED, None, None),
        (
            CHANNEL,
            {"quietHours": ALWAYS, "urgentFrom": ["grace"]},
            NAMED | {"mentions": ["ada"]},
            None,
            "full",
        ),
        (CHANNEL, {"quietHours": ALWAYS, "urgentFrom": ["bob"]}, NAMED | {"mentions": ["ada"]}, None, None),
        (DIRECT, {"preview": "sender"}, {}, None, "sender"),
        (DIRECT, {"preview": "none"}, {}, None, "none"),
        (CHANNEL, None, NAMED, None, "full"),  # A server without levels.
        (CHANNEL, None, {}, None, None),
    ],
)
def test_a_message_notifies_by_what_was_chosen(
    page: Page, state: Any, chosen: Any, message: Any, parent: str | None, shown: str | None
) -> None:
    assert page.evaluate(RULE, [state, chosen, message, parent]) == shown


@pytest.mark.parametrize(
    ("hours", "at", "is_within"),
    [  # The 22nd of June 2026 is a Monday.
        ({"tz": "UTC", "days": [1], "from": "09:00", "to": "17:00"}, (22, 9, 0), True),
        ({"tz": "UTC", "days": [1], "from": "09:00", "to": "17:00"}, (22, 17, 0), False),
        ({"tz": "UTC", "days": [2], "from": "09:00", "to": "17:00"}, (22, 12, 0), False),
        ({"tz": "UTC", "days": [1], "from": "22:00", "to": "07:00"}, (22, 23, 0), True),
        ({"tz": "UTC", "days": [1], "from": "22:00", "to": "07:00"}, (23, 6, 59), True),
        ({"tz": "UTC", "days": [1], "from": "22:00", "to": "07:00"}, (23, 22, 0), False),
        ({"tz": "UTC", "days": [7], "from": "22:00", "to": "07:00"}, (22, 1, 0), True),
        ({"tz": "Asia/Tokyo", "days": [1], "from": "09:00", "to": "17:00"}, (22, 0, 30), True),
        ({"tz": "Asia/Tokyo", "days": [1], "from": "09:00", "to": "17:00"}, (22, 9, 30), False),
    ],
)
def test_quiet_hours_are_in_their_time_zone_and_may_pass_midnight(
    page: Page, hours: Any, at: tuple[int, int, int], is_within: bool
) -> None:
    now = datetime(2026, 6, *at, tzinfo=UTC).timestamp() * 1000
    assert page.evaluate(WITHIN, [hours, now]) is is_within


@pytest.mark.slow
def test_what_notifies_is_chosen_in_the_settings_and_mistakes_are_said(house: House, enter: Enter) -> None:
    page = enter(house.server, place=f"#/channel/{house.general}", timezone_id="Europe/Berlin")
    expect(page.get_by_role("button", name="Options for this place")).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("button", name="Notifications").click()
    dialog.get_by_label("In channels").select_option("Everything")
    expect(dialog.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    dialog.get_by_label("Notifications show").select_option(label="Who wrote")
    words = dialog.get_by_label("Words that count as mentions")
    words.fill("deploy, x")
    save = dialog.get_by_role("button", name="Save")
    save.first.click()
    expect(words).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_text("“x” can’t be one: words have 2 to 64 characters.")).to_be_visible()
    words.fill("deploy, invoice")
    save.first.click()
    dialog.get_by_role("checkbox", name="Mon").check()
    dialog.get_by_label("To", exact=True).fill("19:00")
    save.last.click()
    expect(dialog.get_by_text("They can’t begin and end at the same time.")).to_be_visible()
    dialog.get_by_label("To", exact=True).fill("07:30")
    with page.expect_response("**/me/notifications") as answered:
        save.last.click()
    assert answered.value.ok
    chosen = house.ask("ada", "GET", "/me/notifications")
    assert chosen["defaults"]["channel"] == "all"
    assert chosen["preview"] == "sender"
    assert chosen["keywords"] == ["deploy", "invoice"]
    assert chosen["quietHours"] == {"tz": "Europe/Berlin", "days": [1], "from": "19:00", "to": "07:30"}


COUNTED = """(ids) => ids.map((id) => bench.model.unread.mentionCount(id))"""


@pytest.mark.slow
def test_keywords_and_what_names_everybody_count_as_the_server_counts_them(
    house: House, bench: Callable[..., Any]
) -> None:
    quiet = house.public("quiet")
    house.post(f"/channels/{quiet}/join", {}, by="grace")
    house.put("/me/notifications", {"keywords": ["deploy"]})
    house.put(f"/me/places/{quiet}/notifications", {"ignoreChannelMentions": True})
    parent = house.say(house.general, "what a day")
    one = bench(house.server)
    places = [house.general, quiet]
    house.say(house.general, "they deploy tomorrow", by="grace")
    house.say(house.general, "@channel lunch", by="grace")
    house.say(quiet, "@channel tea", by="grace")
    edited = house.say(quiet, "nothing", by="grace")
    house.put(f"/messages/{edited}", {"content": "a deploy"}, by="grace")
    house.post(f"/messages/{parent}/thread", {"content": "@channel, a reply"}, by="grace")
    house.post(f"/messages/{parent}/thread", {"content": "who will deploy?"}, by="grace")
    one.until("(id) => bench.model.unread.count(id) === 2", parent)
    places_told = {state["placeId"]: state for state in house.ask("ada", "GET", "/me/places")["places"]}
    [thread] = house.ask("ada", "GET", "/me/threads")["threads"]
    assert thread["state"]["mentionCount"] == 2
    badge = house.ask("ada", "GET", "/me/places")["badge"]
    one.until("(badge) => bench.model.unread.total().mentions === badge", badge)
    said = [places_told[place]["mentionCount"] for place in places] + [2]
    one.until(
        f"([ids, said]) => JSON.stringify(({COUNTED})(ids)) === JSON.stringify(said)",
        [[*places, parent], said],
    )
