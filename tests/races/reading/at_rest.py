"""When everybody is done: whether devices and the server agree, badges are sums, and all was heard of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trio

from tests.races.reading.catching_up import badge, overview
from tests.races.reading.device import Device
from tests.races.reading.game import Game
from tests.races.reading.judge import Look
from tests.races.reading.threads import list_threads, move_thread

LATEST = 10.0  # seconds; a signal may be 5 on its way (D-12)


async def settle(game: Game) -> None:
    """Wait until every device counts what the server does: at most for so long as signals may take."""
    last = trio.current_time() + LATEST
    for device in game.devices:
        difference = ""
        with trio.move_on_at(last):
            while not device.is_out:
                changed = device.changed
                if not (difference := await _difference(game, device)):
                    break
                await changed.wait()
        if difference:
            game.wrong.append(difference)


async def _difference(game: Game, device: Device) -> str:
    """Return in what a device and the server disagree now."""
    start = game.site.tick()
    answer = await game.site.ask(device.user, "GET", "/me/places")
    if answer.status_code == 401:
        return ""
    overview(game, device.user, start, answer, is_whole=True)
    names = ("position", "generation", "isMarkedUnread")
    told = {
        one["placeId"]: (one["unreadCount"], *(one[name] for name in names))
        for one in answer.json()["places"]
    }
    counted = {
        id_: (device.unread(id_), *(known.state[name] for name in names))
        for id_, known in device.places.items()
    }
    differing = {id_ for id_, _ in told.items() ^ counted.items()}
    if not differing:
        return ""
    both = [f"{id_}: {told.get(id_)}, not {counted.get(id_)}" for id_ in sorted(differing)]
    return f"at rest the server tells {device.user.name} of {'; '.join(both)}"


async def ask_at_rest(game: Game) -> None:
    """Ask each device for its threads and feed: what is counted over all places must be theirs."""
    for device in game.devices:
        user = device.user
        whole = await game.site.ask(user, "GET", "/me/places")
        if whole.status_code == 401:
            continue
        _, since = await device.ask()
        states = await list_threads(game, user, are_unread=True)
        await list_threads(game, user, are_unread=False)
        threads = {
            "unreadThreads": len(states),
            "mentionCount": sum(one["mentionCount"] for one in states),
        }
        number = badge(whole.json()["places"], states)
        for told in (whole.json(), since.json()):
            if told["threads"] != threads:
                game.wrong.append(f"{user.name} has the threads {told['threads']}, not {threads}")
            if told["badge"] != number:
                game.wrong.append(f"the badge of {user.name} is {told['badge']}, not {number}")
        await _read_at_rest(game, device, whole.json(), states)
        feed = game.feed_of(user)
        path = "/me/activity?limit=200"
        feed.at_rest.append((await game.site.ask(user, "GET", path)).json())
        feed.unread_at_rest.append((await game.site.ask(user, "GET", f"{path}&unread=true")).json())


async def _read_at_rest(
    game: Game, device: Device, before: dict[str, Any], threads: Sequence[dict[str, Any]]
) -> None:
    """Read a thread that mentions one: all devices hear of what its place counts then, or are told."""
    counted = {one["placeId"]: one["mentionCount"] for one in before["places"]}
    found = next((one for one in threads if one["mentionCount"] and one["placeId"] in counted), None)
    if found is None:
        return
    user, place = device.user, found["placeId"]
    await move_thread(game, device, place, found["messageId"], "read", {"position": "f" * 32})
    told = (await game.site.ok(user, "GET", f"/me/places?since={before['mark']}"))["places"]
    counts = {one["placeId"]: one["mentionCount"] for one in told}
    now = (await game.site.ok(user, "GET", f"/me/places/{place}"))["state"]["mentionCount"]
    if now != counted[place] - found["mentionCount"] or counts.get(place) != now:
        game.wrong.append(
            f"{user.name} has {now} mentions in {place} after {counted[place]}, and is told {counts}"
        )
    for other in game.devices:
        with trio.move_on_after(LATEST):
            while other.user is user and other.places[place].state["mentionCount"] != now:
                await other.changed.wait()
            continue
        game.wrong.append(f"{user.name} has not heard of {now} mentions in {place}")


async def take_heard(game: Game) -> None:
    """Take what READ_STATE and THREAD_STATE events told as what it was at that moment."""
    for device in game.devices:
        for when, told in device.heard:
            if told["placeId"] in game.places:
                look = Look(
                    *(0, when, told),
                    is_listed=False,
                    as_of=int(told["asOf"]),
                    parent=told.get("messageId", ""),
                )
                game.note(device.user, told["placeId"], look)
