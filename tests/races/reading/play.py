"""Games of read states: users on several devices who post, delete, read and come and go, all at once.

An admin meanwhile lets people in and out, archives, converts and deletes, removes a user, and has retention
run; streams are cut anywhere.  What is chosen follows from a seed, how it interleaves from the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import httpx2
import trio

from tests.races.reading.device import Device
from tests.races.reading.judge import Change, Look
from tests.races.reading.model import Place
from tests.races.reading.site import Site, User

PEOPLE = ("bob", "eve", "max", "zoe")
DEVICES = 2
DEADLINE = 120.0
LATEST = 10.0  # seconds; a signal may be 5 on its way (D-12)
CUT = 0.4
"""How often a stream is cut when anybody does something; besides, each is cut after so many bytes."""
WEIGHTS = {
    "post": 14,
    "reply": 3,
    "edit": 2,
    "delete": 7,
    "read": 10,
    "read_together": 5,
    "mark": 6,
    "read_all": 2,
    "join": 3,
    "leave": 2,
    "look": 3,
    "ask": 3,
    "state": 2,
    "mute": 2,
}
KEEPING = {
    "let_in": 5,
    "let_out": 4,
    "archive": 4,
    "default": 2,
    "privacy": 3,
    "convert": 0.5,
    "sweep": 0.6,
    "delete_channel": 0.5,
    "remove": 0.4,
}


class Game:
    """One game: the places, everything that was asked, and what was told of read states."""

    def __init__(self, site: Site, root: User, seed: int, most: int) -> None:
        self.site, self.seed = site, seed
        self.users: list[User] = []
        self.devices: list[Device] = []
        self.places: dict[str, Place] = {}
        self.items: dict[tuple[str, str], list[Change | Look]] = {}
        self.asked: list[tuple[str, str, int, int]] = []
        """Requests that an event may tell of: its type, what it is about, when asked and answered."""
        self.named: dict[str, set[str]] = {}
        """Whom messages name."""
        self.start = 0
        self.steps: list[str] = []
        self.wrong: list[str] = []
        self._root, self._left = root, most
        self._chance = Random(seed)
        self._messages: dict[str, list[str]] = {}
        self._own: dict[str, list[str]] = {}
        self._removed = ""

    @property
    def admin(self) -> User:
        """The one who is in every channel, and does whatever only some may do."""
        return self.users[0]

    async def run(self) -> None:
        """Set up, let everybody do what they do, and wait until all streams have heard the end of it."""
        await self._set_up()
        the_end = f"The End {self.seed} {self.users[1].id[-6:]}"
        async with trio.open_nursery() as listening:
            for device in self.devices:
                listening.start_soon(device.run, the_end)
            async with trio.open_nursery() as acting:
                for device in self.devices:
                    acting.start_soon(self._act, device, Random(self._chance.random()))
                acting.start_soon(self._keep, Random(self._chance.random()))
            for device in self.devices:
                device.is_kept = True
            await self.site.ok(self.admin, "PUT", "/users/me", {"userName": the_end})
            for device in self.devices:
                await device.until_the_end()
            await self._settle()
            listening.cancel_scope.cancel()
        await self._take_heard()

    # Before it begins.

    async def _set_up(self) -> None:
        site, seed = self.site, self.seed
        names = ("ada", *PEOPLE)
        self.users = [await site.sign_in(f"{name}-{seed}-{site.tick()}@example.org") for name in names]
        admin, bob, eve, max_, zoe = self.users
        await site.ok(self._root, "PUT", f"/users/{admin.id}/role", {"role": "admin"})
        await self._channel("all", isDefault=True)
        await self._channel("plans", isDefault=False)
        await self._channel("few", members=[bob.id, eve.id])
        await self._channel("late", members=[zoe.id], historyFor="joiners")
        group = (await site.ok(bob, "POST", "/groups", {"userIds": [admin.id, eve.id]}))["channel"]
        self._is(group["id"], Place("group", is_private=True, for_joiners=True), [admin, bob, eve])
        for one, other in ((bob, eve), (max_, bob)):
            opened = await site.ok(one, "POST", "/conversations", {"targetUserId": other.id})
            self._is(opened["conversation"]["id"], Place("direct", is_private=True), [one, other])
        self.start = await site.last()
        self.devices = [
            Device(site, user, Random(self._chance.random())) for user in self.users for _ in range(DEVICES)
        ]

    async def _channel(self, name: str, **chosen: Any) -> None:
        members = [one for one in self.users if one.id in chosen.get("members", ())]
        path = "/private-channels" if "members" in chosen else "/channels"
        body = {"name": f"{name} {self.seed} {self.admin.id[-6:]}"} | chosen
        made = (await self.site.ok(self.admin, "POST", path, body))["channel"]
        place = Place(
            is_private="members" in chosen,
            is_default=chosen.get("isDefault", False),
            for_joiners="historyFor" in chosen,
        )
        self._is(made["id"], place, [self.admin, *members])

    def _is(self, id_: str, place: Place, members: Sequence[User]) -> None:
        place.everyone = {user.id for user in self.users}
        place.members = {user.id for user in members}
        self.places[id_] = place
        self._messages[id_] = []

    # What everybody does.

    async def _act(self, device: Device, chance: Random) -> None:
        while self._left > 0 and not device.is_out:
            self._left -= 1
            [kind] = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
            self.steps.append(f"{device.user.name} {kind}")
            for _ in range(chance.randrange(4)):
                await trio.lowlevel.checkpoint()
            # As often as something is done: by turns of the event loop a slow server would have no time to
            # answer a device between two cuts, however long it is given.
            if chance.random() < CUT:
                chance.choice(self.devices).cut()
            await getattr(self, f"_{kind}")(device, chance.choice(list(self.places)), chance)

    async def _keep(self, chance: Random) -> None:
        while self._left > 0:
            self._left -= 1
            [kind] = chance.choices(list(KEEPING), list(KEEPING.values()))
            self.steps.append(f"admin {kind}")
            channels = [id_ for id_, place in self.places.items() if place.kind != "direct"]
            await getattr(self, f"_{kind}")(chance.choice(channels), chance)

    async def _noted(
        self, user: User, method: str, path: str, body: Any = None, *, event: str = "", about: str = ""
    ) -> httpx2.Response:
        """Ask, and note when, if an event tells of it."""
        start = self.site.tick()
        answer = await self.site.ask(user, method, path, body)
        if event and answer.status_code == 200:
            self.asked.append((event, about, start, self.site.tick()))
        return answer

    async def _post(self, device: Device, place: str, chance: Random) -> None:
        kind = "conversations" if place.startswith("dm:") else "channels"
        start = self.site.tick()
        named = [one for one in self.users if chance.random() < 0.15]
        text = " ".join([*(f"@{one.name}" for one in named), f"text {start}"])
        answer = await self.site.ask(device.user, "POST", f"/{kind}/{place}/messages", {"content": text})
        if answer.status_code == 200:
            message = answer.json()["message"]["id"]
            self.named[message] = {one.id for one in named}
            event = "NEW_DM_MESSAGE" if kind == "conversations" else "NEW_MESSAGE"
            self.asked.append((event, message, start, self.site.tick()))
            self._messages[place].append(message)
            self._own.setdefault(device.user.id, []).append(message)

    async def _reply(self, device: Device, place: str, chance: Random) -> None:
        if place.startswith("dm:") or not self._messages[place]:
            return
        path = f"/messages/{chance.choice(self._messages[place][-4:])}/thread"
        answer = await self.site.ask(device.user, "POST", path, {"content": "yes"})
        if answer.status_code == 200:
            self._messages[place].append(answer.json()["reply"]["id"])

    async def _edit(self, device: Device, place: str, chance: Random) -> None:
        if own := self._own.get(device.user.id):
            await self.site.ask(device.user, "PUT", f"/messages/{chance.choice(own)}", {"content": "other"})

    async def _delete(self, device: Device, place: str, chance: Random) -> None:
        own = self._own.get(device.user.id, [])
        if device.user is self.admin:
            own = self._messages[place]
        if own:
            message = chance.choice(own[-5:])
            path = f"/messages/{message}"
            await self._noted(device.user, "DELETE", path, event="DELETE_MESSAGE", about=message)

    def _position(self, place: str, chance: Random) -> str:
        return chance.choice([*self._messages[place][-6:], "0" * 32, "f" * 32])

    async def _read_together(self, device: Device, place: str, chance: Random) -> None:
        """Read a place in the moment in which somebody else does."""
        other = chance.choice(self.devices)
        async with trio.open_nursery() as nursery:
            for one in (device, other):
                nursery.start_soon(self._read, one, place, Random(chance.random()))

    async def _read(self, device: Device, place: str, chance: Random) -> None:
        known = device.generation(place)
        generation = chance.choice([None, known, None if known is None else max(0, known - 1)])
        position = self._position(place, chance)
        body = {"position": position} | ({} if generation is None else {"generation": generation})
        await self._move(device, place, "read", body, position, generation)

    async def _mark(self, device: Device, place: str, chance: Random) -> None:
        position = self._position(place, chance)
        await self._move(device, place, "unread", {"from": position}, position, None)

    async def _move(
        self, device: Device, place: str, kind: str, body: Any, position: str, generation: int | None
    ) -> None:
        start = self.site.tick()
        answer = await self.site.ask(device.user, "PUT", f"/me/places/{place}/{kind}", body)
        end, told = self.site.tick(), answer.json()
        change = Change(start, end, kind, position, generation, answer.status_code, told.get("changed"))
        self._note(device.user, place, change)
        if answer.status_code == 200:
            self._note(device.user, place, Look(start, end, told["state"], is_listed=False, answers=change))

    async def _read_all(self, device: Device, place: str, chance: Random) -> None:
        positions = {one: self._position(one, chance) for one in self.places}
        start = self.site.tick()
        answer = await self.site.ask(device.user, "PUT", "/me/read", {"positions": positions})
        end, count = self.site.tick(), answer.json().get("changed")
        is_changed = False if count == 0 else None
        for one, position in positions.items():
            change = Change(
                start, end, "read", position, None, answer.status_code, is_changed, is_of_many=True
            )
            self._note(device.user, one, change)

    async def _join(self, device: Device, place: str, chance: Random) -> None:
        if not place.startswith("dm:"):
            await self._noted(
                device.user,
                "POST",
                f"/channels/{place}/join",
                event="CHANNEL_MEMBERS_ADDED",
                about=place + device.user.id,
            )

    async def _leave(self, device: Device, place: str, chance: Random) -> None:
        if not place.startswith("dm:") and device.user is not self.admin:
            await self._noted(
                device.user,
                "POST",
                f"/channels/{place}/leave",
                event="CHANNEL_MEMBER_REMOVED",
                about=place + device.user.id,
            )

    async def _look(self, device: Device, place: str, chance: Random) -> None:
        start = self.site.tick()
        answer = await self.site.ask(device.user, "GET", "/me/places")
        self._overview(device.user, start, answer, is_whole=True)

    def _overview(self, user: User, start: int, answer: httpx2.Response, *, is_whole: bool) -> None:
        if answer.status_code != 200:
            return
        told, end = answer.json(), self.site.tick()
        states = {one["placeId"]: one for one in told["places"]}
        if is_whole and told["badge"] != sum(map(_in_badge, told["places"])):
            self.wrong.append(f"the badge of {user.name} is {told['badge']}, of {told['places']}")
        for place in self.places:
            if is_whole or place in states or place in told["left"]:
                self._note(user, place, Look(start, end, states.get(place), as_of=int(told["asOf"])))

    async def _ask(self, device: Device, place: str, chance: Random) -> None:
        start, answer = await device.ask()
        self._overview(device.user, start, answer, is_whole=False)

    async def _mute(self, device: Device, place: str, chance: Random) -> None:
        body = {"isMuted": chance.random() < 0.6}
        await self.site.ask(device.user, "PUT", f"/me/places/{place}/notifications", body)

    async def _state(self, device: Device, place: str, chance: Random) -> None:
        start = self.site.tick()
        answer = await self.site.ask(device.user, "GET", f"/me/places/{place}")
        end, told = self.site.tick(), answer.json()
        if answer.status_code == 200:
            look = Look(start, end, told["state"], is_listed=False, as_of=int(told["asOf"]))
            self._note(device.user, place, look)
        elif answer.status_code == 404:
            self._note(device.user, place, Look(start, end, None, is_listed=False))

    def _note(self, user: User, place: str, item: Change | Look) -> None:
        self.items.setdefault((user.id, place), []).append(item)

    # What the admin does.

    def _other(self, chance: Random) -> str:
        return chance.choice(self.users[1:]).id

    async def _let_in(self, place: str, chance: Random) -> None:
        user, path = self._other(chance), f"/channels/{place}/members"
        about = place + user
        await self._noted(
            self.admin, "POST", path, {"userIds": [user]}, event="CHANNEL_MEMBERS_ADDED", about=about
        )

    async def _let_out(self, place: str, chance: Random) -> None:
        user = self._other(chance)
        path, about = f"/channels/{place}/members/{user}", place + user
        await self._noted(self.admin, "DELETE", path, event="CHANNEL_MEMBER_REMOVED", about=about)

    async def _archive(self, place: str, chance: Random) -> None:
        verb = chance.choice(["archive", "unarchive", "unarchive"])
        await self._noted(
            self.admin, "POST", f"/channels/{place}/{verb}", event="UPDATE_CHANNEL", about=place
        )

    async def _default(self, place: str, chance: Random) -> None:
        body = {"isDefault": chance.random() < 0.5}
        await self._noted(self.admin, "PUT", f"/channels/{place}", body, event="UPDATE_CHANNEL", about=place)

    async def _privacy(self, place: str, chance: Random) -> None:
        named = [one.id for one in self.users[1:] if chance.random() < 0.5]
        is_hidden, path = chance.random() < 0.5, f"/channels/{place}/privacy"
        answer = await self.site.ask(self.admin, "GET", f"/channels/{place}")
        if answer.status_code != 200:
            return
        if answer.json()["channel"].get("isPrivate"):
            body: dict[str, Any] = {"isPrivate": False, "history": "hide" if is_hidden else "show"}
        else:
            body = {"isPrivate": True, "members": named}
        answer = await self._noted(self.admin, "PUT", path, body, event="UPDATE_CHANNEL", about=place)
        if answer.status_code == 200:
            if body["isPrivate"]:
                self.places[place].named.append({self.admin.id, *named})
            else:
                self.places[place].hidden.append(is_hidden)

    async def _convert(self, place: str, chance: Random) -> None:
        body = {"name": f"converted {self.site.tick()}"}
        await self._noted(
            self.admin, "POST", f"/groups/{place}/convert", body, event="UPDATE_CHANNEL", about=place
        )

    async def _sweep(self, place: str, chance: Random) -> None:
        await self.site.sweep(chance.choice((0.0, 0.1, 0.3)))

    async def _delete_channel(self, place: str, chance: Random) -> None:
        await self._noted(self.admin, "DELETE", f"/channels/{place}", event="DELETE_CHANNEL", about=place)

    async def _remove(self, place: str, chance: Random) -> None:
        if not self._removed:
            self._removed = self.users[-1].id
            await self._noted(
                self.admin,
                "DELETE",
                f"/users/{self._removed}",
                event="REMOVE_USER",
                about=self._removed,
            )

    # At rest.

    async def _settle(self) -> None:
        """Wait until every device counts what the server does: at most for so long as signals may take."""
        last = trio.current_time() + LATEST
        for device in self.devices:
            difference = ""
            with trio.move_on_at(last):
                while not device.is_out:
                    changed = device.changed
                    if not (difference := await self._difference(device)):
                        break
                    await changed.wait()
            if difference:
                self.wrong.append(difference)

    async def _difference(self, device: Device) -> str:
        """Return in what a device and the server disagree now."""
        start = self.site.tick()
        answer = await self.site.ask(device.user, "GET", "/me/places")
        if answer.status_code == 401:
            return ""
        self._overview(device.user, start, answer, is_whole=True)
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

    async def _take_heard(self) -> None:
        """Take what READ_STATE events told as what it was at that moment."""
        for device in self.devices:
            for when, told in device.heard:
                if told["placeId"] in self.places:
                    look = Look(0, when, told, is_listed=False, as_of=int(told["asOf"]))
                    self._note(device.user, told["placeId"], look)


def _in_badge(state: dict[str, Any]) -> int:
    """Return what a place adds to the badge (D-9)."""
    if state["isMuted"]:
        return 0
    return int(state["unreadCount" if state["kind"] in ("direct", "group") else "mentionCount"])
