"""LEVELS: what notifies one (extension D-9, capability notification-levels).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from teamchat.read_state.conformance import KNOWN, STATE
from teamchat_conformance.checks.places import make_private, make_public, one_of
from teamchat_conformance.checks.steps import at, soon, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.events import EventType
from teamchat_conformance.expect import array, integer, optional, require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_LEVEL = one_of("all", "mentions", "nothing")
SETTINGS: dict[str, Any] = {
    "defaults": {"channel": _LEVEL, "group": _LEVEL, "direct": _LEVEL, "thread": _LEVEL},
    "keywords": array(text),
    "quietHours": optional({"tz": text, "from": text, "to": text, "days": array(integer)}),
    "pausedUntil": optional(integer),
    "preview": one_of("full", "sender", "none"),
}
_ALL = "/me/notifications"
_ONE = "/me/places/:placeId/notifications"
_OF_PLACE = ("placeId", "level", "isMuted", "mutedUntil", "ignoreChannelMentions")
_TOLD = {**dict.fromkeys(SETTINGS), "urgentFrom": None, "sharePresence": None, "shareTyping": None}

area = Area(
    "LEVELS",
    "What notifies one",
    capability="notification-levels",
    endpoints=(
        Endpoint("GET", _ALL, known=_TOLD),
        Endpoint("PUT", _ALL, known=_TOLD),
        Endpoint("PUT", _ONE, known={"state": KNOWN}),
    ),
    events=(
        EventType(
            "NOTIFICATION_SETTINGS",
            "EVENT",
            {},
            f"PUT {_ALL}",
            also={*_TOLD, *_OF_PLACE},
            area="LEVELS",
        ),
    ),
)
_DEFAULTS = (
    "Defaults: channels `mentions`, groups and direct `all`, followed threads `all`; per user, per place."
)
_EVENT = "| NOTIFICATION_SETTINGS | what GET /me/notifications gives, or placeId and its fields | yes |"
_PLACE = (
    "level (`default`, `all`, `mentions`, `nothing`), isMuted, mutedUntil (or null), ignoreChannelMentions"
)
_MUTED = "Muted: counts are told, but not in `badge`, and nothing notifies."
for _id, _spec, _text, _words in (
    ("LEVELS-EVENT-01", "D", "NOTIFICATION_SETTINGS is an object", _EVENT),
    ("LEVELS-SET-01", "D-9", "GET /me/notifications tells levels, keywords, quiet hours and more", _DEFAULTS),
    ("LEVELS-SET-02", "J-4", "PUT changes the fields that it names", "changes the fields named"),
    (
        "LEVELS-SET-03",
        "E-7",
        "More than 20 keywords, or one of less than 2 or more than 64 characters, is 400",
        "Keywords: ≤ 20 of 2–64 characters per user",
    ),
    (
        "LEVELS-SET-04",
        "J-4",
        "Quiet hours may pass midnight, and what is no time or no zone is 400",
        "`quietHours` {`tz`: IANA name, `days`: 1–7 (ISO), `from`, `to`: `HH:MM`, may pass midnight}",
    ),
    (
        "LEVELS-SET-05",
        "D-10",
        "What is as it was is told nobody",
        "`PUT` with the value it has changes nothing and sends nothing.",
    ),
    (
        "LEVELS-SET-06",
        "J-4",
        "A pause and who comes through it are kept, and more than 20 people are refused",
        "(`urgentFrom`: ≤ 20 user ids)",
    ),
    ("LEVELS-PLACE-01", "D-9", "What is chosen for a place stands in its read state", _PLACE),
    ("LEVELS-PLACE-02", "D-9", "A level that there is not is 400, and changes nothing", _PLACE),
    ("LEVELS-MUTE-01", "D-9", "What is muted is counted, and not in the badge", _MUTED),
    (
        "LEVELS-MUTE-02",
        "D",
        "What is muted until a time is so no longer then",
        "isMuted, mutedUntil (or null)",
    ),
    ("LEVELS-TOLD-01", "D", "One's own devices are told, and nobody else", _EVENT),
    (
        "LEVELS-HIDE-01",
        "X-3",
        "Nothing is chosen for what one does not see (404), nor for what is not there",
        "The answer equals that for an id nobody ever had",
    ),
):
    area.required(_id, _spec, _text, words=[_words])
area.monitor("LEVELS-EVENT-01")


async def _settings(who: Actor) -> dict[str, Any]:
    return dict((await who.get(_ALL)).shape(SETTINGS))


async def _choose(who: Actor, **settings: Any) -> dict[str, Any]:
    return dict((await who.put(_ALL, settings)).shape(SETTINGS))


async def _for_place(who: Actor, place: str, **choice: Any) -> dict[str, Any]:
    answer = await who.put(at("me", "places", place, "notifications"), choice)
    return dict(answer.shape({"state": STATE})["state"])


async def _state(who: Actor, place: str) -> dict[str, Any]:
    return dict((await who.get(at("me", "places", place))).shape({"state": STATE})["state"])


@area.scenario(*(f"LEVELS-SET-{number:02}" for number in range(1, 6)), "LEVELS-TOLD-01")
async def what_notifies_is_chosen(run: Run) -> None:
    """Choose levels, keywords and quiet hours as a new user, and what can't be, while others listen."""
    who = await run.new_user()
    with run.verdict("LEVELS-SET-01"):
        before = await _settings(who)
        levels = before["defaults"]
        require(
            [levels[kind] for kind in ("channel", "group", "direct", "thread")]
            == ["mentions", "all", "all", "all"],
            f"the defaults are {levels}",
        )
        require(before["keywords"] == [] and before["quietHours"] is None, "something is chosen already")
    async with run.listen(who) as own, run.listen(run.w) as other:
        with run.verdict("LEVELS-SET-02"):
            changed = await _choose(who, defaults={"channel": "all"}, keywords=["deploy", "lunch"])
            require(changed["defaults"] == {**levels, "channel": "all"}, "other levels have changed")
            require(changed["keywords"] == ["deploy", "lunch"], f"the keywords are {changed['keywords']}")
            both = await _choose(who, defaults={"thread": "mentions"})
            wanted = {**levels, "channel": "all", "thread": "mentions"}
            require(both["defaults"] == wanted, "what was chosen before is lost")
            changed = await _choose(who, defaults={"thread": "all"})
            again = await _choose(who, preview="sender")
            require(again == {**changed, "preview": "sender"}, "more has changed than was named")
            require(await _settings(who) == again, "what is read is not what was answered")
        with run.verdict("LEVELS-TOLD-01"):
            event = await own.expect("NOTIFICATION_SETTINGS", preview="sender")
            require(event.payload.get("keywords") == ["deploy", "lunch"], "it does not tell the keywords")
            await run.fence(own, other)
            require(not other.since(0, "NOTIFICATION_SETTINGS"), "somebody else was told")
        with run.verdict("LEVELS-SET-05"):
            heard = len(own.since(0, "NOTIFICATION_SETTINGS"))
            await _choose(who, preview="sender", keywords=["deploy", "lunch"])
            await run.fence(own)
            require(len(own.since(0, "NOTIFICATION_SETTINGS")) == heard, "NOTIFICATION_SETTINGS was sent")
    with run.verdict("LEVELS-SET-03"):
        for wrong in (["x"], ["x" * 65], [f"word {number}" for number in range(21)]):
            (await who.put(_ALL, {"keywords": wrong})).error(400)
        require((await _settings(who))["keywords"] == ["deploy", "lunch"], "it was refused, and has changed")
        most = [f"{number:02}" + "x" * 62 for number in range(20)]
        require((await _choose(who, keywords=most))["keywords"] == most, "20 of 64 characters are not kept")
    with run.verdict("LEVELS-SET-04"):
        hours = {"tz": "Europe/Berlin", "days": [1, 2, 3, 4, 5], "from": "22:00", "to": "06:30"}
        require((await _choose(who, quietHours=hours))["quietHours"] == hours, "they are kept otherwise")
        for wrong_hours in (
            {**hours, "tz": "Europe/Atlantis"},
            {**hours, "days": [0]},
            {**hours, "from": "25:00"},
        ):
            (await who.put(_ALL, {"quietHours": wrong_hours})).error(400)
        require((await _choose(who, quietHours=None))["quietHours"] is None, "they can't be taken away")


@area.scenario("LEVELS-SET-06", "LEVELS-MUTE-02")
async def quiet_for_a_while(run: Run) -> None:
    """Pause but for one's people, and mute a conversation for two seconds."""
    who = await run.new_user(name="who wants some quiet")
    with run.verdict("LEVELS-SET-06"):
        paused = {"pausedUntil": int(time() * 1000) + 3_600_000, "urgentFrom": [run.v.user_id]}
        require(paused.items() <= (await _choose(who, **paused)).items(), "they are kept otherwise")
        require(paused.items() <= (await _settings(who)).items(), "what is read is another")
        many = [f"{unknown(run)}{number}" for number in range(21)]
        (await who.put(_ALL, {"urgentFrom": many})).error(400, accept=(404,))
        require((await _choose(who, pausedUntil=None))["pausedUntil"] is None, "the pause can't be ended")
    with run.verdict("LEVELS-MUTE-02"):
        place = await run.conversation(run.u, who)
        until = int(time() * 1000) + 2_000
        muted = await _for_place(who, place, isMuted=True, mutedUntil=until)
        require((muted["isMuted"], muted["mutedUntil"]) in ((True, until), (False, None)), f"it is {muted}")

        async def is_loud() -> bool:
            return (await _state(who, place))["isMuted"] is False

        await soon(is_loud, run.wait(20), "its time is over, and it is muted still")


@area.scenario("LEVELS-PLACE-01", "LEVELS-PLACE-02", "LEVELS-MUTE-01", "LEVELS-TOLD-01")
async def a_place_is_muted(run: Run) -> None:
    """Choose for a channel, and mute a direct conversation in which something is unread."""
    place = (
        str((await make_public(run, run.v))["id"])
        if run.announced.version("membership")
        else await run.channel()
    )
    async with run.listen(run.v) as own:
        with run.verdict("LEVELS-PLACE-01"):
            chosen = await _for_place(run.v, place, level="nothing", ignoreChannelMentions=True)
            require(chosen["level"] == "nothing", f"the level is {chosen['level']}")
            require(await _state(run.v, place) == chosen, "what is read is not what was answered")
            back = await _for_place(run.v, place, level="default", ignoreChannelMentions=False)
            require(back["level"] == "default", "default can't be chosen again")
        with run.verdict("LEVELS-TOLD-01"):
            event = await own.expect("NOTIFICATION_SETTINGS", placeId=place, level="nothing")
            require(event.payload.get("ignoreChannelMentions") is True, "it does not tell all of it")
    with run.verdict("LEVELS-PLACE-02"):
        (await run.v.put(at("me", "places", place, "notifications"), {"level": "loud"})).error(400)
        require((await _state(run.v, place))["level"] == "default", "it was refused, and has changed")
    with run.verdict("LEVELS-MUTE-01"):
        direct = await run.conversation(run.u, run.v)
        await run.direct(run.u, direct)
        before = (await run.v.get("/me/places")).ok()["badge"]
        muted = await _for_place(run.v, direct, isMuted=True)
        require(muted["isMuted"] is True and muted["mutedUntil"] is None, f"it is {muted}")
        require(muted["unreadCount"] >= 1, "what is muted is not counted")
        after = (await run.v.get("/me/places")).ok()["badge"]
        require(before - after == muted["unreadCount"], "the badge still has what is muted, or less")
        loud = await _for_place(run.v, direct, isMuted=False)
        require(loud["isMuted"] is False, "it is muted still")


@area.scenario("LEVELS-HIDE-01")
async def nothing_is_chosen_for_what_is_not_seen(run: Run) -> None:
    """Choose for a place that is not there, and for a private channel of others."""
    hidden = [unknown(run)]
    if run.announced.version("private-channels"):
        hidden.append(str((await make_private(run, run.a, run.u))["id"]))
    with run.verdict("LEVELS-HIDE-01"):
        for place in hidden:
            target = at("me", "places", place, "notifications")
            (await run.w.put(target, {"level": "all"})).error(404)
