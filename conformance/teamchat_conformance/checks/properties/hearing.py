"""What observers heard of a program, beside what the model says they were to hear.

It is looked at after two fences, and only events about things of the program count;
those about things that went with another are the server's own affair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.properties._area import ODD
from teamchat_conformance.checks.properties.comparing import Found, meta_differs
from teamchat_conformance.checks.steps import at, items, messages_at
from teamchat_conformance.events import BY_NAME, subject
from teamchat_conformance.model import Fold, Told
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.checks.properties.playing import Player, Program

Key = tuple[str, str]
"""The type of an event, and what it is about: an id, and for a reaction its word and who gave it too."""

_MOST = 200


async def everything(player: Player) -> Found:
    """Look through all that was heard since the program began."""
    found = Found()
    for name, observer in player.observers.items():
        events = observer.events[player.program.marks[name] :]
        found += _leaks(player, name, observer, events)
        try:
            found += list(_heard(player, name, events))
        except ODD as error:
            found.append(("PROP-EVT-02", f"{name} heard an event of another form than expected ({error!r})"))
    try:
        found += await _folded(player, "V")
    except (Miss, *ODD) as error:
        found.append(("PROP-EVT-01", str(error)))
    return found


def key_of(event: Event) -> Key:
    """Return what an event is and what it is about."""
    payload: dict[str, Any] = event.payload
    if "messageId" in payload:
        return event.type, f"{payload['messageId']} {payload['reaction']} {payload['userId']}"
    about = subject("NEW_THREAD_REPLY", payload) if "reply" in payload else str(payload.get("id", ""))
    return event.type, about


def _wanted_key(program: Program, told: Told) -> Key:
    if isinstance(told.about, str):
        return told.kind, program.actors[told.about].user_id
    about = program.ids[told.about]
    return told.kind, f"{about} {told.word} {program.actors[told.by].user_id}" if told.by else about


def _heard(player: Player, name: str, events: list[Event]) -> Iterator[tuple[str, str]]:
    """Compare what one observer heard with what was to be heard: how often, and in which order."""
    program = player.program
    player.looked.update(["PROP-EVT-02", "PROP-EVT-03"])
    entitled = [one for one in program.told if one.audience is None or name in one.audience]
    wanted = [_wanted_key(program, one) for one in entitled]
    own = [event for event in events if _is_own(program, event)]
    got = [key for key in map(key_of, own) if key in wanted or not _went_along(program, key)]
    missing, extra = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    if missing or extra:
        yield "PROP-EVT-02", f"{name} did not hear {_shown(missing)}, and heard beyond that {_shown(extra)}"
        return
    if _by_thing(got) != _by_thing(wanted):
        yield "PROP-EVT-03", f"{name} heard of one thing in another order than that of the steps: {got}"
    metas = {_wanted_key(program, one): one.replies for one in entitled if one.replies is not None}
    for event in own:
        if (writers := metas.get(key_of(event))) is not None:
            player.looked["PROP-EVT-06"] += 1
            if wrong := meta_differs(program, event.payload.get("threadMeta"), writers):
                yield "PROP-EVT-06", f"{event.type} to {name}: {wrong}"


def _is_own(program: Program, event: Event) -> bool:
    """Return whether an event is about something this program made, or holds something it made.

    Events of capabilities are none of the core's, and are looked at by their own areas.
    """
    if event.type not in BY_NAME:
        return False
    own = set(program.ids.values()) | {program.actors[n].user_id for n in program.actors if n not in "ABUVW"}
    if not isinstance(event.payload, dict) or event.type == "CONNECTED":
        return False
    about = key_of(event)[1].partition(" ")[0]
    return about in own or event.payload.get("channelId") in own


def _went_along(program: Program, key: Key) -> bool:
    """Return whether an event says that something is gone that went with a channel or a message."""
    kind, about = key
    dead = {program.ids[handle] for handle, one in program.world.things.items() if not one.is_alive}
    return kind.startswith("DELETE_") and about.partition(" ")[0] in dead


def _by_thing(keys: list[Key]) -> dict[str, list[str]]:
    by_thing = defaultdict(list)
    for kind, about in keys:
        by_thing[about].append(kind)
    return by_thing


def _shown(keys: Counter[Key]) -> str:
    return ", ".join(f"{kind} {about} ({number})" for (kind, about), number in keys.items()) or "nothing"


def _leaks(player: Player, name: str, observer: Observer, events: list[Event]) -> Iterator[tuple[str, str]]:
    for text, pair in player.program.said:
        player.looked["PROP-EVT-04"] += 1
        if name in pair:
            continue
        for event in events:
            if text in event.data:
                yield (
                    "PROP-EVT-04",
                    f"{event.type} told {observer.name} what {' and '.join(sorted(pair))} said",
                )


async def _folded(player: Player, name: str) -> Found:
    """Fold one observer's events, and compare the state they make with what is read."""
    program = player.program
    channels = [program.ids[handle] for handle in program.world.of("channel")]
    folded, read = Fold(set(channels)), Fold(set(channels))
    for event in player.observers[name].events[program.marks[name] :]:
        if isinstance(event.payload, dict):
            folded.take(event.type, event.payload)
    for channel in channels:
        await load(read, program.actors[name], channel)
    player.looked["PROP-EVT-01"] += 1
    if folded.state() != read.state():
        return [("PROP-EVT-01", f"{name}'s events make {folded.state()}, and what is read is {read.state()}")]
    return []


async def load(fold: Fold, actor: Any, channel: str) -> None:
    """Read a channel and its threads into a fold."""
    messages = await items(actor, messages_at(channel, limit=_MOST), "messages")
    with_thread = [one["id"] for one in messages if (one.get("threadMeta") or {}).get("replyCount")]
    threads = {
        id: await items(actor, at("messages", id, "thread", limit=_MOST), "replies") for id in with_thread
    }
    fold.load(messages, threads)
