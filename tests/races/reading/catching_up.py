"""What people read of places and of their feed, what they ask of both, and what they choose to be told."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import httpx2
import trio

from tests.races.reading.device import Device
from tests.races.reading.feed import AHEAD
from tests.races.reading.game import KEYWORDS, Game
from tests.races.reading.judge import Change, Look
from tests.races.reading.site import User


async def read_together(game: Game, device: Device, place: str, chance: Random) -> None:
    """Read a place in the moment in which somebody else does."""
    other = chance.choice(game.devices)
    async with trio.open_nursery() as nursery:
        for one in (device, other):
            nursery.start_soon(read, game, one, place, Random(chance.random()))


async def read(game: Game, device: Device, place: str, chance: Random) -> None:
    known = device.generation(place)
    generation = chance.choice([None, known, None if known is None else max(0, known - 1)])
    position = game.position(place, chance)
    body = {"position": position} | ({} if generation is None else {"generation": generation})
    await _move(game, device, place, "read", body, position, generation)


async def mark(game: Game, device: Device, place: str, chance: Random) -> None:
    position = game.position(place, chance)
    await _move(game, device, place, "unread", {"from": position}, position, None)


async def _move(
    game: Game, device: Device, place: str, kind: str, body: Any, position: str, generation: int | None
) -> None:
    start = game.site.tick()
    answer = await game.site.ask(device.user, "PUT", f"/me/places/{place}/{kind}", body)
    end, told = game.site.tick(), answer.json()
    change = Change(start, end, kind, position, generation, answer.status_code, told.get("changed"))
    game.note(device.user, place, change)
    if answer.status_code == 200:
        game.note(device.user, place, Look(start, end, told["state"], is_listed=False, answers=change))


async def read_all(game: Game, device: Device, place: str, chance: Random) -> None:
    positions = {one: game.position(one, chance) for one in game.places}
    start = game.site.tick()
    answer = await game.site.ask(device.user, "PUT", "/me/read", {"positions": positions})
    end, count = game.site.tick(), answer.json().get("changed")
    is_changed = False if count == 0 else None
    for one, position in positions.items():
        change = Change(start, end, "read", position, None, answer.status_code, is_changed, is_of_many=True)
        game.note(device.user, one, change)


async def look(game: Game, device: Device, place: str, chance: Random) -> None:
    """Ask for all places."""
    start = game.site.tick()
    answer = await game.site.ask(device.user, "GET", "/me/places")
    overview(game, device.user, start, answer, is_whole=True)


async def ask(game: Game, device: Device, place: str, chance: Random) -> None:
    """Ask for what has changed since the device was told last."""
    start, answer = await device.ask()
    overview(game, device.user, start, answer, is_whole=False)


def overview(game: Game, user: User, start: int, answer: httpx2.Response, *, is_whole: bool) -> None:
    """Note what was told of all places, or of those that have changed."""
    if answer.status_code != 200:
        return
    told, end = answer.json(), game.site.tick()
    states = {one["placeId"]: one for one in told["places"]}
    is_plain = is_whole and not told["threads"]["mentionCount"]
    if is_plain and told["badge"] != badge(told["places"], []):
        game.wrong.append(f"the badge of {user.name} is {told['badge']}, of {told['places']}")
    for place in game.places:
        if is_whole or place in states or place in told["left"]:
            game.note(user, place, Look(start, end, states.get(place), as_of=int(told["asOf"])))


async def state(game: Game, device: Device, place: str, chance: Random) -> None:
    """Ask for one place."""
    start = game.site.tick()
    answer = await game.site.ask(device.user, "GET", f"/me/places/{place}")
    end, told = game.site.tick(), answer.json()
    if answer.status_code == 200:
        look = Look(start, end, told["state"], is_listed=False, as_of=int(told["asOf"]))
        game.note(device.user, place, look)
    elif answer.status_code == 404:
        game.note(device.user, place, Look(start, end, None, is_listed=False))


async def choose(game: Game, device: Device, place: str, chance: Random) -> None:
    """Mute a place or not, choose a level, or have what is for everybody not count."""
    levels = ("default", "all", "mentions", "nothing")
    body: dict[str, Any] = chance.choice(
        [
            {"isMuted": chance.random() < 0.6},
            {"level": chance.choice(levels)},
            {"ignoreChannelMentions": chance.random() < 0.6},
        ]
    )
    await game.site.ask(device.user, "PUT", f"/me/places/{place}/notifications", body)


async def listen(game: Game, device: Device, place: str, chance: Random) -> None:
    """Choose keywords, or the level of all channels."""
    body: dict[str, Any] = {"keywords": [one for one in KEYWORDS if chance.random() < 0.5]}
    if chance.random() < 0.3:
        body = {"defaults": {"channel": chance.choice(["all", "mentions", "nothing"])}}
    await game.site.ask(device.user, "PUT", "/me/notifications", body)


async def feed(game: Game, device: Device, place: str, chance: Random) -> None:
    answer = await game.site.ask(device.user, "GET", "/me/activity?limit=200")
    if answer.status_code == 200:
        told = answer.json()
        device.items = [one["id"] for one in told["items"]]
        known = sum(one > max(game.feed_of(device.user).reads, default="") for one in device.items)
        if told["unreadCount"] < known:
            game.wrong.append(f"{told['unreadCount']} items of {device.user.name} are unread, not {known}")


async def read_feed(game: Game, device: Device, place: str, chance: Random) -> None:
    position = chance.choice(device.items) if device.items and chance.random() < 0.9 else AHEAD
    # Noted before: from when it is sent on it may be read.
    game.feed_of(device.user).reads.append(position)
    await game.site.ask(device.user, "PUT", "/me/activity/read", {"position": position})


def badge(places: Sequence[dict[str, Any]], threads: Sequence[dict[str, Any]]) -> int:
    """Return the number of what is unread, of all places and of the followed threads (D-9)."""
    muted = {one["placeId"] for one in places if one["isMuted"]}
    named = [one for one in threads if one["mentionCount"]]
    number = sum(one["placeId"] not in muted for one in named)
    for place in places:
        in_threads = sum(one["mentionCount"] for one in named if one["placeId"] == place["placeId"])
        if place["isMuted"]:
            continue
        if place["kind"] in ("direct", "group"):
            number += place["unreadCount"]
        else:
            number += place["mentionCount"] - in_threads
    return int(number)
