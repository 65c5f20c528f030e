"""What is wrong with a game: every user's read state in every place must be explained by some order."""

from __future__ import annotations

from collections.abc import Sequence

from tests.races.reading.judge import FOREVER, Happened, Track
from tests.races.reading.model import EDITED, GONE, NEW, course
from tests.races.reading.play import Game

_OF_A_CHANNEL = {"UPDATE_CHANNEL", "DELETE_CHANNEL"}
_OF_MEMBERS = {"CHANNEL_MEMBERS_ADDED", "CHANNEL_MEMBER_REMOVED"}


async def judge(game: Game) -> list[str]:
    """Return what is wrong with a game: what differed at rest, and what no order explains."""
    log = _timed(game, await game.site.log(game.start))
    wrong = list(game.wrong)
    told = {event.payload["id"] for event in log if event.kind in NEW}
    lost = [about for kind, about, _, _ in game.asked if kind in NEW and about not in told]
    if lost:
        wrong.append(f"acknowledged, and in no log: {lost}")
    for place_id, place in game.places.items():
        events = [event for event in log if _is_about(event, place_id)]
        places = course(place, [(event.kind, event.payload) for event in events])
        for user in game.users:
            track = Track(user.id, events, places, game.items.get((user.id, place_id), []))
            if (unexplained := track.explained()) is not None:
                wrong.append(f"{user.name} in {place_id}: {unexplained}")
    return wrong


def _is_about(event: Happened, place: str) -> bool:
    told = event.payload
    if event.kind in NEW | EDITED | GONE | _OF_MEMBERS:
        return place in (told.get("channelId"), told.get("conversationId"))
    return event.kind == "REMOVE_USER" or (event.kind in _OF_A_CHANNEL and told["id"] == place)


def _timed(game: Game, log: Sequence[Happened]) -> list[Happened]:
    """Say of each event when it was asked for, where it is known who has."""
    asked: dict[str, tuple[int, int]] = {}
    for kind, about, start, end in game.asked:
        first, last = asked.get(_key(kind, about), (start, end))
        asked[_key(kind, about)] = (min(first, start), max(last, end))
    removed = {event.payload["id"] for event in log if event.kind == "REMOVE_USER"}
    timed = []
    for event in log:
        start, end = asked.get(_key(event.kind, _about(event, removed)), (0, FOREVER))
        if event.kind in NEW:
            event.payload["named"] = game.named.get(event.payload["id"], ())
        timed.append(event._replace(start=start, end=end))
    return timed


def _key(kind: str, about: str) -> str:
    return f"{'DELETE_MESSAGE' if kind in GONE else kind} {about}"


def _about(event: Happened, removed: set[str]) -> str:
    told = event.payload
    if event.kind not in _OF_MEMBERS:
        return "" if "reason" in told else str(told.get("id", ""))  # With a reason it was not deleted.
    users = [one["userId"] for one in told["members"]] if "members" in told else [told["userId"]]
    # Who was removed has left every channel, without having been asked to.
    return "" if removed & set(users) else told["channelId"] + "".join(users)
