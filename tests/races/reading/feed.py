"""Whether what somebody's feed holds at rest is what happened to them (extension E-9).

Where it is open whether something belongs there (what was for everybody before somebody came, or where it is
not known when they did), it may be there or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.races.reading.judge import Track
from tests.races.reading.place import Place, Words
from tests.races.reading.state import State

AHEAD = "f" * 32
"""A position after every item."""
Item = tuple[str, str, str]
"""Kind, place and message of an item; being added has no message."""


@dataclass
class Feed:
    """What somebody's devices asked of their feed: positions that were read, and what it held at rest."""

    reads: list[str] = field(default_factory=list)
    at_rest: list[dict[str, Any]] = field(default_factory=list)
    unread_at_rest: list[dict[str, Any]] = field(default_factory=list)


class _Holds(NamedTuple):
    """What a feed must hold, and what it may hold besides."""

    required: set[Item]
    optional: set[Item]


def judge(
    user: str, tracks: Mapping[str, Track], feed: Feed | None, said: Mapping[str, Sequence[Words]]
) -> list[str]:
    """Return what is wrong with somebody's feed. `tracks` are explained, by their places."""
    if feed is None or not feed.at_rest:
        return []
    wrong = _wrong(user, tracks, feed, said, _holds(user, tracks, {id_: [] for id_ in tracks}))
    if wrong:
        # Other orders explain what was told, too: somebody may have followed a thread from elsewhere on.
        others = {id_: list(track.others()) for id_, track in tracks.items()}
        wrong = _wrong(user, tracks, feed, said, _holds(user, tracks, others))
    return wrong


def _holds(user: str, tracks: Mapping[str, Track], others: Mapping[str, Sequence[State]]) -> _Holds:
    """Return what a feed holds after whatever order: what it must by all of them, and may by some."""
    holds = _Holds(set(), set())
    for id_, track in tracks.items():
        all_held = [dict(_items(user, id_, track.places[-1], one)) for one in (track.last, *others[id_])]
        for item in set().union(*all_held):
            is_required = all(one.get(item) for one in all_held)
            (holds.required if is_required else holds.optional).add(item)
    return holds


def _wrong(
    user: str, tracks: Mapping[str, Track], feed: Feed, said: Mapping[str, Sequence[Words]], holds: _Holds
) -> list[str]:
    wrong: list[str] = []
    for told, unread in zip(feed.at_rest, feed.unread_at_rest, strict=True):
        items = [one for one in told["items"] if one["placeId"] in tracks]
        found = [(one["kind"], one["placeId"], one.get("message", {}).get("id", "")) for one in items]
        if len(set(found)) != len(found):
            wrong.append(f"the feed of {user} holds something twice: {found}")
        if missing := holds.required - set(found):
            wrong.append(f"the feed of {user} has not {sorted(missing)}")
        if more := set(found) - holds.required - holds.optional:
            wrong.append(f"the feed of {user} has {sorted(more)} besides")
        ids = [one["id"] for one in told["items"]]
        if ids != sorted(ids, reverse=True):
            wrong.append(f"the feed of {user} is out of order")
        if [one["id"] for one in unread["items"]] != ids[: told["unreadCount"]]:
            wrong.append(f"what is unread in the feed of {user} is not its newest {told['unreadCount']}")
        wrong += _read(user, tracks, feed, told, said)
    return wrong


def _read(
    user: str,
    tracks: Mapping[str, Track],
    feed: Feed,
    told: Mapping[str, Any],
    said: Mapping[str, Sequence[Words]],
) -> list[str]:
    """Return what is wrong with what is unread: what was shown on either device is read on both."""
    at_most = max(feed.reads, default="")
    steady = [one["id"] for one in told["items"] if _was_always_there(user, tracks, one, said)]
    at_least = max((one for one in steady if one in feed.reads), default="")
    ids = [one["id"] for one in told["items"]]
    between = sum(one > at_most for one in ids), sum(one > at_least for one in ids)
    if between[0] <= told["unreadCount"] <= between[1]:
        return []
    return [f"in the feed of {user} {told['unreadCount']} are unread, not {between}"]


def _was_always_there(
    user: str, tracks: Mapping[str, Track], item: Mapping[str, Any], said: Mapping[str, Sequence[Words]]
) -> bool:
    """Whether an item could be read ever since there was its message."""
    track = tracks.get(item["placeId"])
    if item["kind"] != "mention" or track is None or not all(one.has(user) for one in track.places):
        return False
    return len(said.get(item["message"]["id"], ())) == 1


def _items(user: str, id_: str, place: Place, state: State) -> Iterator[tuple[Item, bool]]:
    if not place.sees(user):
        return
    seen = set(place.visible(user))
    own = {one for one in place.mentions(user) if (_parent(place, one) or one) in seen}
    for message in own:
        yield ("mention", id_, message), True
    for message in place.wide(user) - own:
        parent = _parent(place, message)
        if parent is not None and parent in seen and _concerns(state, parent, message):
            yield ("mention", id_, message), True
        elif parent is None and message in seen and place.has(user):
            came = place.came_at(user)
            yield ("mention", id_, message), came is not None and came < message
    for message, reply in place.replies.items():
        is_told = message in own or message in place.wide(user) or reply.author == user
        if not is_told and reply.parent in seen and _concerns(state, reply.parent, message):
            yield ("reply", id_, message), True
    for message, reactions in place.reactions.items():
        author = place.there.get(message) or (
            place.replies[message].author if message in place.replies else ""
        )
        is_seen = (_parent(place, message) or message) in seen
        others = {by for by, _ in reactions} - {user}
        if author == user and is_seen and others:
            # Of who is no user any more nothing is kept in feeds, though their reactions stay.
            yield ("reaction", id_, message), bool(others & place.everyone)
    if user in place.members and place.kind != "direct":
        by = place.added_by.get(user, user)
        if by != user or user not in place.came:
            yield ("added", id_, ""), by != user and user in place.came


def _parent(place: Place, message: str) -> str | None:
    return place.replies[message].parent if message in place.replies else None


def _concerns(state: State, parent: str, reply: str) -> bool:
    """Whether somebody follows a thread, and did as a reply came."""
    thread = state.thread(parent)
    return thread is not None and thread.is_following and thread.since < reply
