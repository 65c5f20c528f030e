"""Games of read states: users on several devices who post, delete, read and come and go, all at once.

An admin meanwhile lets people in and out, archives, converts and deletes, removes a user, and has retention
run; streams are cut anywhere.  What is chosen follows from a seed, how it interleaves from the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import trio

from tests.races.reading import administration, catching_up, talk, threads
from tests.races.reading.at_rest import ask_at_rest, settle, take_heard
from tests.races.reading.device import Device
from tests.races.reading.game import Game
from tests.races.reading.place import Place
from tests.races.reading.site import User
from tests.races.reading.state import BEGINNING

PEOPLE = ("bob", "eve", "max", "zoe")
DEVICES = 2
DEADLINE = 120.0
CUT = 0.4
"""How often a stream is cut when anybody does something; besides, each is cut after so many bytes."""
ACTS = {
    talk.post: 14,
    talk.reply: 8,
    talk.edit: 4,
    talk.delete: 7,
    catching_up.read: 10,
    catching_up.read_together: 5,
    catching_up.mark: 6,
    catching_up.read_all: 2,
    talk.join: 3,
    talk.leave: 2,
    catching_up.look: 3,
    catching_up.ask: 3,
    catching_up.state: 2,
    catching_up.choose: 3,
    catching_up.listen: 2,
    threads.follow: 3,
    threads.read: 5,
    threads.mark: 3,
    threads.ask: 3,
    talk.react: 3,
    talk.unreact: 2,
    catching_up.feed: 3,
    catching_up.read_feed: 2,
}
"""What people do, and how often."""
KEEPING = {
    administration.let_in: 5,
    administration.let_out: 4,
    administration.archive: 4,
    administration.default: 2,
    administration.privacy: 3,
    administration.convert: 0.5,
    administration.sweep: 0.6,
    administration.delete_channel: 0.5,
    administration.remove: 0.4,
}
"""What the admin does besides, and how often."""


async def play(game: Game) -> None:
    """Set up, let everybody do what they do, and wait until all streams have heard the end of it."""
    await _set_up(game)
    the_end = f"The End {game.seed} {game.users[1].id[-6:]}"
    async with trio.open_nursery() as listening:
        for device in game.devices:
            listening.start_soon(device.run, the_end)
        async with trio.open_nursery() as acting:
            for device in game.devices:
                acting.start_soon(_act, game, device, Random(game.chance.random()))
            acting.start_soon(_keep, game, Random(game.chance.random()))
        for device in game.devices:
            device.is_kept = True
        await game.site.ok(game.admin, "PUT", "/users/me", {"userName": the_end})
        for device in game.devices:
            await device.until_the_end()
        await settle(game)
        await ask_at_rest(game)
        listening.cancel_scope.cancel()
    await take_heard(game)


async def _set_up(game: Game) -> None:
    site, seed = game.site, game.seed
    names = ("ada", *PEOPLE)
    game.users = [await site.sign_in(f"{name}-{seed}-{site.tick()}@example.org") for name in names]
    admin, bob, eve, max_, zoe = game.users
    await site.ok(game.root, "PUT", f"/users/{admin.id}/role", {"role": "admin"})
    await _channel(game, "all", isDefault=True)
    await _channel(game, "plans", isDefault=False)
    await _channel(game, "few", members=[bob.id, eve.id])
    await _channel(game, "late", members=[zoe.id], historyFor="joiners")
    group = (await site.ok(bob, "POST", "/groups", {"userIds": [admin.id, eve.id]}))["channel"]
    _begin(game, group["id"], Place("group", is_private=True, for_joiners=True), [bob, admin, eve])
    for one, other in ((bob, eve), (max_, bob)):
        opened = await site.ok(one, "POST", "/conversations", {"targetUserId": other.id})
        _begin(game, opened["conversation"]["id"], Place("direct", is_private=True), [one, other])
    game.start = await site.last()
    game.devices = [
        Device(site, user, Random(game.chance.random())) for user in game.users for _ in range(DEVICES)
    ]


async def _channel(game: Game, name: str, **chosen: Any) -> None:
    members = [one for one in game.users if one.id in chosen.get("members", ())]
    path = "/private-channels" if "members" in chosen else "/channels"
    body = {"name": f"{name} {game.seed} {game.admin.id[-6:]}"} | chosen
    made = (await game.site.ok(game.admin, "POST", path, body))["channel"]
    place = Place(
        is_private="members" in chosen,
        is_default=chosen.get("isDefault", False),
        for_joiners="historyFor" in chosen,
    )
    _begin(game, made["id"], place, [game.admin, *members])


def _begin(game: Game, id_: str, place: Place, members: Sequence[User]) -> None:
    place.everyone = {user.id for user in game.users}
    place.members = {user.id for user in members}
    place.came = dict.fromkeys(place.members, BEGINNING)
    place.added_by = {user.id: maker.id for user in members if (maker := members[0]) is not user}
    game.places[id_] = place
    game.messages[id_] = []


async def _act(game: Game, device: Device, chance: Random) -> None:
    while game.left > 0 and not device.is_out:
        game.left -= 1
        [act] = chance.choices(list(ACTS), list(ACTS.values()))
        for _ in range(chance.randrange(4)):
            await trio.lowlevel.checkpoint()
        # As often as something is done: by turns of the event loop a slow server would have no time to
        # answer a device between two cuts, however long it is given.
        if chance.random() < CUT:
            chance.choice(game.devices).cut()
        await act(game, device, chance.choice(list(game.places)), chance)


async def _keep(game: Game, chance: Random) -> None:
    while game.left > 0:
        game.left -= 1
        [act] = chance.choices(list(KEEPING), list(KEEPING.values()))
        channels = [id_ for id_, place in game.places.items() if place.kind != "direct"]
        await act(game, chance.choice(channels), chance)
