"""Games of rooms: people who make them, come and go, close, open, archive and convert them, all at once.

Everybody asks over HTTP, at whichever of two workers, while their streams are cut anywhere.  What is chosen
follows from a seed, how it interleaves from the machine.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

import trio

from teamchat.testing import Events
from tests.races.reading.device import Cut, CutStream
from tests.races.reading.site import Site, User
from tests.races.rooms.model import MANAGER, Asked, Room

PEOPLE = ("bob", "eve", "max", "zoe", "kim")
DEADLINE = 180.0
CUT = 0.3
LONGEST = 5000
WEIGHTS = {
    "post": 12,
    "join": 4,
    "leave": 6,
    "add": 7,
    "remove": 4,
    "role": 4,
    "archive": 2,
    "unarchive": 4,
    "close": 3,
    "open": 3,
    "convert": 1,
    "group": 5,
    "private": 1,
}
PATHS = {
    "post": ("POST", "/channels/{}/messages"),
    "join": ("POST", "/channels/{}/join"),
    "leave": ("POST", "/channels/{}/leave"),
    "add": ("POST", "/channels/{}/members"),
    "archive": ("POST", "/channels/{}/archive"),
    "unarchive": ("POST", "/channels/{}/unarchive"),
    "close": ("PUT", "/channels/{}/privacy"),
    "open": ("PUT", "/channels/{}/privacy"),
    "convert": ("POST", "/groups/{}/convert"),
    "group": ("POST", "/groups"),
    "private": ("POST", "/private-channels"),
}


class Done(NamedTuple):
    """A request that was answered. The log's end was at `began` before it was sent, at `ended` after."""

    asked: Asked
    began: int
    ended: int
    status: int
    told: Any


class Reader:
    """A user's stream, which is cut and resumed: the events that came, each with its number."""

    def __init__(self, site: Site, user: User, start: int, chance: Random) -> None:
        self.user = user
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.is_kept = False
        self._site, self._chance, self._last = site, chance, str(start)
        self._scope = trio.CancelScope()
        self._ended = trio.Event()

    def cut(self) -> None:
        """Drop the connection now."""
        if not self.is_kept:
            self._scope.cancel()

    async def run(self, the_end: str) -> None:
        """Read until the event that nothing comes after, again and again from where it was cut."""
        while not self._ended.is_set():
            with trio.CancelScope() as self._scope:
                try:
                    await self._read(the_end)
                except (Cut, trio.BrokenResourceError):
                    await trio.lowlevel.checkpoint()

    async def until_the_end(self) -> None:
        """Wait until the stream has told of it."""
        await self._ended.wait()

    async def _read(self, the_end: str) -> None:
        left = 1 << 30 if self.is_kept else self._chance.randrange(1, self._chance.choice((600, LONGEST)))
        query = urlencode({"token": self.user.token, "lastEventId": self._last})
        stream = CutStream(await trio.open_tcp_stream(self._site.host, self._site.port), left)
        try:
            events = Events(stream, f"/events?{query}")
            await events.open()
            while True:
                event = await events.next()
                self._last = events.last_id
                self.events.append((int(self._last), event["type"], event["payload"]))
                if event["type"] == "UPDATE_USER" and event["payload"]["userName"] == the_end:
                    self._ended.set()
        finally:
            await stream.aclose()


class Game:
    """One game: the rooms, what was asked and answered, and what everybody heard."""

    def __init__(self, site: Site, root: User, seed: int, most: int) -> None:
        self.site, self.seed = site, seed
        self.users: list[User] = []
        self.readers: list[Reader] = []
        self.rooms: dict[str, Room] = {}
        """Those that there are when it begins."""
        self.done: list[Done] = []
        self.start = 0
        self._root, self._left = root, most
        self._chance = Random(seed)
        self._known: list[str] = []
        self._turning: dict[str, trio.Lock] = {}

    @property
    def admins(self) -> set[str]:
        """Who is an admin."""
        return {self.users[0].id}

    async def run(self) -> None:
        """Set up, let everybody do what they do, and wait until all streams have heard the end of it."""
        await self._set_up()
        the_end = f"The End {self.seed} {self.users[1].id[-6:]}"
        async with trio.open_nursery() as listening:
            for reader in self.readers:
                listening.start_soon(reader.run, the_end)
            async with trio.open_nursery() as acting:
                for user in (*self.users, *self.users):  # each on two devices
                    acting.start_soon(self._act, user, Random(self._chance.random()))
            for reader in self.readers:
                reader.is_kept = True
            await self.site.ok(self.users[0], "PUT", "/users/me", {"userName": the_end})
            for reader in self.readers:
                await reader.until_the_end()
            listening.cancel_scope.cancel()

    async def _set_up(self) -> None:
        site = self.site
        names = ("ada", *PEOPLE)
        self.users = [await site.sign_in(f"{name}-{self.seed}-{site.tick()}@example.org") for name in names]
        ada, bob, eve, max_, zoe, _ = self.users
        await site.ok(self._root, "PUT", f"/users/{ada.id}/role", {"role": "admin"})
        end = f"{self.seed} {ada.id[-6:]}"
        public = await site.ok(ada, "POST", "/channels", {"name": f"public {end}", "isDefault": False})
        body = {"name": f"secret {end}", "members": [eve.id, max_.id]}
        secret = await site.ok(bob, "POST", "/private-channels", body)
        body = {"name": f"with ada {end}", "members": [ada.id]}
        with_admin = await site.ok(zoe, "POST", "/private-channels", body)
        self._is(public["channel"]["id"], [ada], is_private=False)
        self._is(secret["channel"]["id"], [bob, eve, max_], is_private=True)
        self._is(with_admin["channel"]["id"], [zoe, ada], is_private=True)
        self.start = await site.last()
        self.readers = [Reader(site, user, self.start, Random(self._chance.random())) for user in self.users]

    def _is(self, id_: str, members: list[User], *, is_private: bool) -> None:
        room = Room(is_private=is_private)
        room.everyone = {user.id for user in self.users}
        room.members = {user.id for user in members}
        room.managers = {members[0].id}
        room.since = dict.fromkeys(room.members, 0)
        self.rooms[id_] = room
        self._known.append(id_)

    async def _act(self, user: User, chance: Random) -> None:
        while self._left > 0:
            self._left -= 1
            for _ in range(chance.randrange(4)):
                await trio.lowlevel.checkpoint()
            if chance.random() < CUT:
                chance.choice(self.readers).cut()
            asked = self._chosen(user, chance)
            if asked.kind in ("close", "open"):
                # One at a time in each room: no event says whose wish it was that came true.
                async with self._turning.setdefault(asked.room, trio.Lock()):
                    await self._ask(user, asked)
            elif asked.kind == "group" and chance.random() < 0.6:
                async with (
                    trio.open_nursery() as nursery
                ):  # The same people, asked for by two of them at once.
                    nursery.start_soon(self._ask, user, asked)
                    [other] = [one for one in self.users if one.id == asked.users[0]]
                    rest = (user.id, *asked.users[1:])
                    nursery.start_soon(self._ask, other, asked._replace(who=other.id, users=rest))
            else:
                await self._ask(user, asked)

    def _chosen(self, user: User, chance: Random) -> Asked:
        [kind] = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        # A few rooms are where everybody is; of the others there are more and more.
        room = chance.choice(self._known[:3] if chance.random() < 0.6 else self._known[-6:])
        others = [one.id for one in self.users if one is not user]
        if kind == "group":
            return Asked(kind, user.id, users=tuple(chance.sample(others[:3], 2)))
        if kind == "private":
            return Asked(kind, user.id, users=tuple(chance.sample(others, 2)), value="another")
        if kind == "add":
            return Asked(kind, user.id, room, tuple(chance.sample(others, chance.choice((1, 1, 2)))))
        if kind == "remove":
            return Asked(kind, user.id, room, (chance.choice(others),))
        if kind == "role":
            whom = user.id if chance.random() < 0.4 else chance.choice(others)
            return Asked(kind, user.id, room, (whom,), chance.choice((MANAGER, "member")))
        if kind == "close":
            return Asked(kind, user.id, room, tuple(chance.sample(others, 3)))
        if kind == "open":
            return Asked(kind, user.id, room, value=chance.choice(("show", "hide", "hide")))
        return Asked(kind, user.id, room)

    async def _ask(self, user: User, asked: Asked) -> None:
        began = await self.site.last()
        method, path, body = request_of(asked, self.site.tick())
        answer = await self.site.ask(user, method, path, body)
        told = answer.json()
        self.done.append(Done(asked, began, await self.site.last(), answer.status_code, told))
        made = told.get("channel", {}).get("id")
        if asked.kind in ("group", "private") and made not in (None, *self._known):
            self._known.append(made)


def request_of(asked: Asked, number: int) -> tuple[str, str, Any]:
    """Return method, path and body."""
    if asked.kind in ("remove", "role"):
        path = f"/channels/{asked.room}/members/{asked.users[0]}"
        return ("DELETE", path, None) if asked.kind == "remove" else ("PUT", path, {"role": asked.value})
    method, path = PATHS[asked.kind]
    bodies: dict[str, Any] = {
        "post": {"content": f"text {number}"},
        "add": {"userIds": list(asked.users)},
        "close": {"isPrivate": True, "members": list(asked.users)},
        "open": {"isPrivate": False, "history": asked.value},
        "convert": {"name": f"converted {number}"},
        "group": {"userIds": list(asked.users)},
        "private": {"name": f"{asked.value} {number}", "members": list(asked.users)},
    }
    return method, path.format(asked.room), bodies.get(asked.kind)
