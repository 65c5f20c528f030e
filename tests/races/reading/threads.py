"""What people read of threads, which of them they follow, and what they ask of them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.races.reading.device import Device
from tests.races.reading.game import Game
from tests.races.reading.judge import Change, Look
from tests.races.reading.site import User


async def follow(game: Game, device: Device, place: str, chance: Random) -> None:
    if parent := game.parent(place, chance):
        kind = chance.choice(["follow", "forsake"])
        await move_thread(game, device, place, parent, kind, {"following": kind == "follow"})


async def read(game: Game, device: Device, place: str, chance: Random) -> None:
    if parent := game.parent(place, chance):
        generation = chance.choice([None, None, 0, 1])
        body = {"position": game.position(place, chance)}
        body |= {} if generation is None else {"generation": generation}
        await move_thread(game, device, place, parent, "read", body)


async def mark(game: Game, device: Device, place: str, chance: Random) -> None:
    if parent := game.parent(place, chance):
        await move_thread(game, device, place, parent, "unread", {"from": game.position(place, chance)})


async def move_thread(
    game: Game, device: Device, place: str, parent: str, kind: str, body: dict[str, Any]
) -> None:
    path = f"/me/threads/{parent}" + (f"/{kind}" if kind in ("read", "unread") else "")
    start = game.site.tick()
    answer = await game.site.ask(device.user, "PUT", path, body)
    end, told = game.site.tick(), answer.json()
    position = str(body.get("position", body.get("from", "")))
    is_changed = told.get("changed") if answer.status_code == 200 else None
    change = Change(
        *(start, end, kind, position, body.get("generation"), answer.status_code, is_changed),
        parent=parent,
    )
    game.note(device.user, place, change)
    if answer.status_code == 200:
        game.note(device.user, place, Look(start, end, told["state"], answers=change, parent=parent))


async def ask(game: Game, device: Device, place: str, chance: Random) -> None:
    await list_threads(game, device.user, are_unread=chance.random() < 0.5)


async def list_threads(game: Game, user: User, *, are_unread: bool) -> list[dict[str, Any]]:
    """List the threads that somebody follows, and note what was told; return their states."""
    start = game.site.tick()
    path = f"/me/threads?limit=200&filter={'unread' if are_unread else 'all'}"
    answer = await game.site.ask(user, "GET", path)
    if answer.status_code != 200:
        return []
    told, end = answer.json(), game.site.tick()
    states = [one["state"] for one in told["threads"]]
    for place in game.places:
        own = {one["messageId"]: one for one in states if one["placeId"] == place}
        as_of = int(told["asOf"])
        game.note(user, place, Look(start, end, None, as_of=as_of, threads=own, are_unread=are_unread))
    return states
