"""One game: people who do things at the same time, chosen by a seed, at servers chosen by it too."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import trio

from teamchat.chat import membership
from tests.pictures import PNG
from tests.races.house import CURRENT, House, open_house
from tests.races.model import Operation, Room, State
from tests.races.streams import Reader
from tests.web.client import Client

DEADLINE = 120
HEARD_SECONDS = 60.0
"""How long a stream may take to hear the end of a game, before it counts as one that missed it."""
MEMBERS = 4
"""The first of the users, who are let into rooms and out of them, and stay; the others may leave for good."""
PEOPLE = {"ada": True, "bob": False, "eve": False, "carl": False, "dan": False}
THE_END = "the end"
SERVER = "the server"
REACTIONS = ("👍", "🎉")
WEIGHTS = {
    "post": 6,
    "reply": 4,
    "edit": 3,
    "delete": 3,
    "react": 4,
    "unreact": 2,
    "upload": 2,
    "page": 4,
    "open": 2,
    "members": 3,
    "rename": 1,
    "delete_channel": 0.4,
    "remove": 0.6,
    "exit": 0.3,
}


class Done(NamedTuple):
    """An operation that was answered. The log was at `began` at least before, at `ended` at most after."""

    operation: Operation
    began: int
    ended: int
    status: int
    told: Any
    server: int


class Game:
    """What is going on: who does what, what came of it, and what everybody heard."""

    def __init__(self, house: House, seed: int, most: int) -> None:
        self.house, self.seed = house, seed
        self.done: list[Done] = []
        self.readers: list[Reader] = []
        self.start = State()
        self.start_position = 0
        self.general = ""
        self._chance = Random(seed)
        self._left = most
        self._number = 0
        self._users: list[str] = []
        self._rooms: list[str] = []
        self._conversations: dict[str, set[str]] = {}
        self._messages: list[str] = []
        self._images: list[tuple[str, str]] = []
        self._keyed: list[Operation] = []

    async def run(self) -> None:
        """Set up, let everybody do what they do, and wait until all streams have heard the end of it."""
        await self._set_up()
        async with trio.open_nursery() as listening:
            for reader in self.readers:
                listening.start_soon(reader.run)
                await reader.connected()
            async with trio.open_nursery() as acting:
                for user in self._users:
                    acting.start_soon(self._act, user, Random(self._chance.random()))
                acting.start_soon(self._cut, Random(self._chance.random()))
            root = self._users[0]
            await self.ask(Operation(0, "post", root, self.general, THE_END))
            with trio.move_on_after(HEARD_SECONDS):
                for reader in self.readers:
                    await reader.until(THE_END)
            listening.cancel_scope.cancel()

    async def ask(self, operation: Operation, server: int = 0) -> Done:
        """Do something at a server and keep what came of it."""
        token = CURRENT.set(operation)
        began = self.house.record.begun()
        try:
            if operation.kind == "members":
                status, told = await self._change_members(operation, server), None
            else:
                client = Client(self.house.sites[server], self.house.tokens[operation.who])
                headers = [("idempotency-key", operation.key)] if operation.key else []
                answer = await client.call(*request_of(operation), headers=headers)
                status, told = answer.status, json.loads(answer.body)
        finally:
            CURRENT.reset(token)
        done = Done(operation, began, self.house.record.ended(), status, told, server)
        self.done.append(done)
        self._learn(done)
        return done

    async def _set_up(self) -> None:
        house = self.house
        self._users = [await house.user("root", is_admin=True)]
        self._users += [await house.user(name, is_admin=is_admin) for name, is_admin in PEOPLE.items()]
        root, *others = self._users
        admin = Client(house.sites[0], house.tokens[root])
        [general] = (await admin.ok("GET", "/channels"))["channels"]
        self.general = general["id"]
        made = [
            (await admin.ok("POST", "/channels", {"name": name}))["channel"] for name in ("busy", "secret")
        ]
        self._rooms = [one["id"] for one in made] * 2 + [self.general]
        members = {root, *others[:2]}
        async with house.apps[0].storage.write() as tx:
            await membership.change(tx, made[1]["id"], joined=sorted(others[:2]), is_private=True)
        self.start.users = dict.fromkeys(self._users[:2], True) | dict.fromkeys(self._users[2:], False)
        self.start.rooms = {one["id"]: Room(one["name"], members={root}) for one in [general, *made]}
        self.start.rooms[made[1]["id"]] = Room("secret", is_private=True, members=members)
        self.start_position = (await house.apps[0].storage.log_bounds())[1]
        self.readers = [Reader(house, user, Random(self._chance.random())) for user in self._users[:4]]

    async def _act(self, who: str, chance: Random) -> None:
        while self._left > 0:
            self._left -= 1
            operation = self._chosen(who, chance)
            again = chance.choice((2, 3)) if chance.random() < 0.2 else 1
            async with trio.open_nursery() as nursery:
                for _ in range(again):
                    nursery.start_soon(self._after_a_while, operation, chance)
                    operation = operation._replace(number=self._next())

    async def _after_a_while(self, operation: Operation, chance: Random) -> None:
        for _ in range(chance.randrange(5)):
            await trio.lowlevel.checkpoint()
        await self.ask(operation, chance.randrange(len(self.house.sites)))

    async def _cut(self, chance: Random) -> None:
        """Cut streams as long as anybody does anything."""
        while self._left > 0:
            for _ in range(chance.randrange(40)):
                await trio.lowlevel.checkpoint()
            chance.choice(self.readers).cut()

    def _chosen(self, who: str, chance: Random) -> Operation:
        kind = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        number, root = self._next(), self._users[0]
        room, text = self._room(who, chance), f"text {number}"
        if kind in ("rename", "delete_channel", "remove") and chance.random() < 0.7:
            who = root if kind == "remove" else chance.choice(self._users[:2])
        if kind == "exit":
            return Operation(number, kind, chance.choice(self._users[MEMBERS:]))
        if kind == "remove":
            others = [user for user in self._users[MEMBERS:] if user != who]
            return Operation(number, kind, who, chance.choice(others))
        if kind == "open":
            others = [user for user in self._users if user != who]
            return Operation(number, kind, who, chance.choice(others))
        if kind == "members":
            what = chance.choice(["in", "out", "in", "out", "close", "open"])
            value = what if what in ("close", "open") else f"{what} {chance.choice(self._users[1:MEMBERS])}"
            return Operation(number, kind, SERVER, chance.choice(self._rooms[:2]), value)
        if kind in ("post", "upload", "page"):
            return self._posted(Operation(number, kind, who, room, text if kind == "post" else ""), chance)
        if kind in ("rename", "delete_channel"):
            return Operation(number, kind, who, chance.choice(self._rooms[:2]), f"name {number}")
        if not self._messages:
            return self._posted(Operation(number, "post", who, room, text), chance)
        message = chance.choice(self._messages[-8:])
        value = chance.choice(REACTIONS) if kind in ("react", "unreact") else text
        return self._posted(Operation(number, kind, who, message, value), chance)

    def _room(self, who: str, chance: Random) -> str:
        """Return a channel, or a conversation: mostly one of one's own."""
        others = chance.random() < 0.2
        direct = [id_ for id_, pair in self._conversations.items() if others or who in pair]
        return chance.choice(direct if direct and chance.random() < 0.4 else self._rooms)

    def _posted(self, operation: Operation, chance: Random) -> Operation:
        """Give what is posted an idempotency key now and then, that was used before or not, or an image."""
        if operation.kind not in ("post", "reply"):
            return operation
        own = [one for one in self._keyed if one.who == operation.who]
        if own and chance.random() < 0.2:
            return chance.choice(own)._replace(number=operation.number)
        if self._images and operation.kind == "post" and chance.random() < 0.5:
            room, name = chance.choice(self._images)
            operation = operation._replace(target=room, images=(name,))
        if chance.random() < 0.4:
            operation = operation._replace(key=f"key {operation.number}")
            self._keyed.append(operation)
        return operation

    async def _change_members(self, operation: Operation, server: int) -> int:
        what, _, user = operation.value.partition(" ")
        async with self.house.apps[server].storage.write() as tx:
            rooms = await tx.fetch("select is_private from rooms where id = $1", operation.target)
            there = await tx.fetch(
                "select 1 from memberships where room_id = $1 and user_id = $2", operation.target, user
            )
            if not rooms:
                return 404
            is_so = bool(there) if user else bool(rooms[0][0])
            if is_so != (what in ("in", "close")):
                changes = {
                    "in": {"joined": [user]},
                    "out": {"left": [user]},
                    "close": {"is_private": True},
                    "open": {"is_private": False},
                }
                await membership.change(tx, operation.target, **changes[what])  # type: ignore[arg-type]
        return 200

    def _learn(self, done: Done) -> None:
        """Take up what was made, so that others use it."""
        if done.status != 200:
            return
        match done.operation.kind:
            case "post":
                self._messages.append(done.told["message"]["id"])
            case "reply":
                self._messages.append(done.told["reply"]["id"])
            case "upload":
                self._images.append((done.operation.target, done.told["filename"]))
            case "open":
                pair = {done.operation.who, done.operation.target}
                self._conversations[done.told["conversation"]["id"]] = pair

    def _next(self) -> int:
        self._number += 1
        return self._number


def request_of(operation: Operation) -> tuple[str, str, Any]:
    """Return method, path and body of an operation."""
    room = f"/{'conversations' if operation.target.startswith('dm:') else 'channels'}/{operation.target}"
    message = f"/messages/{operation.target}"
    said: dict[str, Any] = {"content": operation.value}
    if operation.images:
        said["images"] = list(operation.images)
    return {
        "post": ("POST", f"{room}/messages", said),
        "page": ("GET", f"{room}/messages?limit=200", None),
        "upload": ("POST", f"{room}/messages/image", {"filename": "a.png", "image": PNG}),
        "rename": ("PUT", room, {"name": operation.value}),
        "delete_channel": ("DELETE", room, None),
        "reply": ("POST", f"{message}/thread", said),
        "edit": ("PUT", message, said),
        "delete": ("DELETE", message, None),
        "react": ("POST", f"{message}/reactions", {"reaction": operation.value}),
        "unreact": ("DELETE", f"{message}/reactions", {"reaction": operation.value}),
        "remove": ("DELETE", f"/users/{operation.target}", None),
        "exit": ("POST", "/users/exit", None),
        "open": ("POST", "/conversations", {"targetUserId": operation.target}),
    }[operation.kind]


Judge = Callable[[Game], Awaitable[list[str]]]


async def play(directory: Path, seed: int, judge: Judge, *, most: int = 40) -> tuple[Game, list[str]]:
    """Play one game of about `most` operations; return it, and what is wrong with it."""
    chance = Random(seed)
    with trio.fail_after(DEADLINE):
        async with open_house(directory, chance.choice((1, 2)), chance.choice((0, 10_000))) as house:
            game = Game(house, seed, most)
            await game.run()
            missed = [
                f"the stream of {one.user} missed the end"
                for one in game.readers
                if not one.has_heard(THE_END)
            ]
            return game, missed or await judge(game)
