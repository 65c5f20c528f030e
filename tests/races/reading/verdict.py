"""What is wrong with a game: every user's read state in every place must be explained by some order."""

from __future__ import annotations

from collections.abc import Sequence

from tests.races.reading import feed
from tests.races.reading.game import Game
from tests.races.reading.judge import FOREVER, Happened, Track
from tests.races.reading.place import (
    CHOSEN,
    EDITED,
    GONE,
    NEW,
    REACTED,
    REPLIED,
    UNREACTED,
    UNREPLIED,
    Words,
    course,
)

_OF_A_CHANNEL = {"UPDATE_CHANNEL", "DELETE_CHANNEL"}
_OF_MEMBERS = {"CHANNEL_MEMBERS_ADDED", "CHANNEL_MEMBER_REMOVED"}


async def judge(game: Game) -> list[str]:
    """Return what is wrong with a game: what differed at rest, and what no order explains."""
    log = _timed(game, await game.site.log(game.start))
    wrong = list(game.wrong)
    told = {_about(event, set()) for event in log if event.kind in NEW or event.kind == REPLIED}
    lost = [
        about for kind, about, _, _ in game.asked if (kind in NEW or kind == REPLIED) and about not in told
    ]
    if lost:
        wrong.append(f"acknowledged, and in no log: {lost}")
    tracks: dict[tuple[str, str], Track] = {}
    for place_id, place in game.places.items():
        events = [
            event._replace(payload=event.payload | {"here": place_id})
            for event in log
            if _is_about(game, event, place_id)
        ]
        places = course(place, [(event.kind, event.payload) for event in events])
        for user in game.users:
            track = Track(user.id, events, places, game.items.get((user.id, place_id), []))
            tracks[user.id, place_id] = track
            if (unexplained := track.explained()) is not None:
                wrong.append(f"{user.name} in {place_id}: {unexplained}")
    if not wrong:
        for user in game.users:
            own = {place: track for (id_, place), track in tracks.items() if id_ == user.id}
            wrong += feed.judge(user.id, own, game.feeds.get(user.id), game.said)
    return wrong


def _is_about(game: Game, event: Happened, place: str) -> bool:
    told, kind = event.payload, event.kind
    if kind in NEW | EDITED | GONE | _OF_MEMBERS or kind in (REPLIED, UNREPLIED):
        return place in (told.get("channelId"), told.get("conversationId"))
    if kind in (REACTED, UNREACTED):
        return game.places_of.get(told["messageId"]) == place
    return kind in ("REMOVE_USER", CHOSEN) or (kind in _OF_A_CHANNEL and told["id"] == place)


def _timed(game: Game, log: Sequence[Happened]) -> list[Happened]:
    """Say of each event when it was asked for, where it is known who has, and what was said."""
    asked: dict[str, tuple[int, int]] = {}
    for kind, about, start, end in game.asked:
        first, last = asked.get(_key(kind, about), (start, end))
        asked[_key(kind, about)] = (min(first, start), max(last, end))
    removed = {event.payload["id"] for event in log if event.kind == "REMOVE_USER"}
    texts = {id_: list(said) for id_, said in game.said.items()}
    timed = []
    for event in log:
        about = _about(event, removed)
        start, end = asked.get(_key(event.kind, about), (0, FOREVER))
        if event.kind in NEW | EDITED or event.kind == REPLIED:
            event.payload["words"] = texts[about].pop(0) if texts.get(about) else Words()
        if event.kind == CHOSEN:
            event.payload["userId"] = event.for_whom
        timed.append(event._replace(start=start, end=end))
    return timed


def _key(kind: str, about: str) -> str:
    return f"{'DELETE_MESSAGE' if kind in GONE or kind == UNREPLIED else kind} {about}"


def _about(event: Happened, removed: set[str]) -> str:
    told = event.payload
    if event.kind == REPLIED:
        return str(told["reply"]["id"])
    if event.kind not in _OF_MEMBERS:
        return "" if "reason" in told else str(told.get("id", ""))  # With a reason it was not deleted.
    users = [one["userId"] for one in told["members"]] if "members" in told else [told["userId"]]
    # Who was removed has left every channel, without having been asked to.
    return "" if removed & set(users) else told["channelId"] + "".join(users)
