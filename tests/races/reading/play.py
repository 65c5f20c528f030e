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
from tests.races.reading.feed import AHEAD, Feed
from tests.races.reading.judge import Change, Look
from tests.races.reading.place import REPLIED, Place, Words
from tests.races.reading.site import Site, User
from tests.races.reading.state import BEGINNING

PEOPLE = ("bob", "eve", "max", "zoe")
DEVICES = 2
DEADLINE = 120.0
LATEST = 10.0  # seconds; a signal may be 5 on its way (D-12)
CUT = 0.4
"""How often a stream is cut when anybody does something; besides, each is cut after so many bytes."""
WEIGHTS = {
    "post": 14,
    "reply": 8,
    "edit": 4,
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
    "choose": 3,
    "listen": 2,
    "follow": 3,
    "read_thread": 5,
    "mark_thread": 3,
    "threads": 3,
    "react": 3,
    "unreact": 2,
    "feed": 3,
    "read_feed": 2,
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


KEYWORDS = ("deploy", "outage", "release")
REACTIONS = ("👍", "🎉")
NOT_SEEN = (401, 403, 404)


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
        self.said: dict[str, list[Words]] = {}
        """What stands in messages: in each at first, and after each edit."""
        self.places_of: dict[str, str] = {}
        """In which place messages are."""
        self.feeds: dict[str, Feed] = {}
        self.start = 0
        self.steps: list[str] = []
        self.wrong: list[str] = []
        self._root, self._left = root, most
        self._chance = Random(seed)
        self._messages: dict[str, list[str]] = {}
        self._own: dict[str, list[str]] = {}
        self._parents: dict[str, list[str]] = {}
        self._edited: set[str] = set()
        self._given: dict[str, list[tuple[str, str]]] = {}
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
            await self._ask_at_rest()
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
        self._is(group["id"], Place("group", is_private=True, for_joiners=True), [bob, admin, eve])
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
        place.came = dict.fromkeys(place.members, BEGINNING)
        place.added_by = {user.id: maker.id for user in members if (maker := members[0]) is not user}
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

    def _text(self, chance: Random) -> tuple[dict[str, Any], Words]:
        """Return something to say, and what stands in it."""
        named = [one for one in self.users if chance.random() < 0.15]
        words = [one for one in KEYWORDS if chance.random() < 0.15]
        wide = chance.choice(["@channel", "@here", "@all"]) if chance.random() < 0.15 else ""
        text = " ".join([*(f"@{one.name}" for one in named), *words, wide, f"text {self.site.tick()}"])
        said = Words(frozenset(one.id for one in named), frozenset(words), wide not in ("", "@here"))
        return {"content": text}, said

    async def _post(self, device: Device, place: str, chance: Random) -> None:
        kind = "conversations" if place.startswith("dm:") else "channels"
        event = "NEW_DM_MESSAGE" if kind == "conversations" else "NEW_MESSAGE"
        message = await self._say(device, f"/{kind}/{place}/messages", "message", event, place, chance)
        if message and kind == "channels":
            self._parents.setdefault(place, []).append(message)

    async def _reply(self, device: Device, place: str, chance: Random) -> None:
        if parent := self._parent(place, chance):
            await self._say(device, f"/messages/{parent}/thread", "reply", REPLIED, place, chance)

    def _parent(self, place: str, chance: Random) -> str:
        """Return one of the newest messages of a place that have a thread, or could."""
        parents = self._parents.get(place)
        return chance.choice(parents[-4:]) if parents else ""

    async def _say(self, device: Device, path: str, name: str, event: str, place: str, chance: Random) -> str:
        """Say something; return the id of what was said, "" if it was refused."""
        start = self.site.tick()
        body, said = self._text(chance)
        if chance.random() < 0.1:
            body["parse"] = False
            said = Words(words=said.words)
        answer = await self.site.ask(device.user, "POST", path, body)
        if answer.status_code != 200:
            return ""
        message = str(answer.json()[name]["id"])
        self.said[message], self.places_of[message] = [said], place
        self.asked.append((event, message, start, self.site.tick()))
        self._messages[place].append(message)
        self._own.setdefault(device.user.id, []).append(message)
        return message

    async def _edit(self, device: Device, place: str, chance: Random) -> None:
        """Edit a message that nobody else edits now, so that it is known which edit was the last."""
        own = [one for one in self._own.get(device.user.id, [])[-5:] if one not in self._edited]
        if not own:
            return
        message = chance.choice(own)
        self._edited.add(message)
        body, said = self._text(chance)
        answer = await self.site.ask(device.user, "PUT", f"/messages/{message}", body)
        if answer.status_code == 200:
            self.said[message].append(said)
        self._edited.discard(message)

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
        is_plain = is_whole and not told["threads"]["mentionCount"]
        if is_plain and told["badge"] != _badge(told["places"], []):
            self.wrong.append(f"the badge of {user.name} is {told['badge']}, of {told['places']}")
        for place in self.places:
            if is_whole or place in states or place in told["left"]:
                self._note(user, place, Look(start, end, states.get(place), as_of=int(told["asOf"])))

    async def _ask(self, device: Device, place: str, chance: Random) -> None:
        start, answer = await device.ask()
        self._overview(device.user, start, answer, is_whole=False)

    async def _choose(self, device: Device, place: str, chance: Random) -> None:
        """Mute a place or not, choose a level, or have what is for everybody not count."""
        levels = ("default", "all", "mentions", "nothing")
        body: dict[str, Any] = chance.choice(
            [
                {"isMuted": chance.random() < 0.6},
                {"level": chance.choice(levels)},
                {"ignoreChannelMentions": chance.random() < 0.6},
            ]
        )
        await self.site.ask(device.user, "PUT", f"/me/places/{place}/notifications", body)

    async def _listen(self, device: Device, place: str, chance: Random) -> None:
        """Choose keywords, or the level of all channels."""
        body: dict[str, Any] = {"keywords": [one for one in KEYWORDS if chance.random() < 0.5]}
        if chance.random() < 0.3:
            body = {"defaults": {"channel": chance.choice(["all", "mentions", "nothing"])}}
        await self.site.ask(device.user, "PUT", "/me/notifications", body)

    # Threads.

    async def _follow(self, device: Device, place: str, chance: Random) -> None:
        if parent := self._parent(place, chance):
            kind = chance.choice(["follow", "forsake"])
            await self._move_thread(device, place, parent, kind, {"following": kind == "follow"})

    async def _read_thread(self, device: Device, place: str, chance: Random) -> None:
        if parent := self._parent(place, chance):
            generation = chance.choice([None, None, 0, 1])
            body = {"position": self._position(place, chance)}
            body |= {} if generation is None else {"generation": generation}
            await self._move_thread(device, place, parent, "read", body)

    async def _mark_thread(self, device: Device, place: str, chance: Random) -> None:
        if parent := self._parent(place, chance):
            await self._move_thread(device, place, parent, "unread", {"from": self._position(place, chance)})

    async def _move_thread(
        self, device: Device, place: str, parent: str, kind: str, body: dict[str, Any]
    ) -> None:
        path = f"/me/threads/{parent}" + (f"/{kind}" if kind in ("read", "unread") else "")
        start = self.site.tick()
        answer = await self.site.ask(device.user, "PUT", path, body)
        end, told = self.site.tick(), answer.json()
        position = str(body.get("position", body.get("from", "")))
        is_changed = told.get("changed") if answer.status_code == 200 else None
        change = Change(
            *(start, end, kind, position, body.get("generation"), answer.status_code, is_changed),
            parent=parent,
        )
        self._note(device.user, place, change)
        if answer.status_code == 200:
            self._note(device.user, place, Look(start, end, told["state"], answers=change, parent=parent))

    async def _threads(self, device: Device, place: str, chance: Random) -> None:
        await self._list_threads(device.user, are_unread=chance.random() < 0.5)

    async def _list_threads(self, user: User, *, are_unread: bool) -> list[dict[str, Any]]:
        """List the threads that somebody follows, and note what was told; return their states."""
        start = self.site.tick()
        path = f"/me/threads?limit=200&filter={'unread' if are_unread else 'all'}"
        answer = await self.site.ask(user, "GET", path)
        if answer.status_code != 200:
            return []
        told, end = answer.json(), self.site.tick()
        states = [one["state"] for one in told["threads"]]
        for place in self.places:
            own = {one["messageId"]: one for one in states if one["placeId"] == place}
            as_of = int(told["asOf"])
            self._note(user, place, Look(start, end, None, as_of=as_of, threads=own, are_unread=are_unread))
        return states

    # The feed.

    async def _react(self, device: Device, place: str, chance: Random) -> None:
        if self._messages[place]:
            one = chance.choice(self._messages[place][-4:]), chance.choice(REACTIONS)
            if await self._reaction(device.user, "POST", *one):
                self._given.setdefault(device.user.id, []).append(one)

    async def _unreact(self, device: Device, _: str, chance: Random) -> None:
        """Take back one that the user has given somewhere."""
        if given := self._given.get(device.user.id):
            await self._reaction(device.user, "DELETE", *given.pop(chance.randrange(len(given))))

    async def _reaction(self, user: User, method: str, message: str, reaction: str) -> bool:
        answer = await self.site.ask(user, method, f"/messages/{message}/reactions", {"reaction": reaction})
        return answer.is_success

    async def _feed(self, device: Device, place: str, chance: Random) -> None:
        answer = await self.site.ask(device.user, "GET", "/me/activity?limit=200")
        if answer.status_code == 200:
            told = answer.json()
            device.items = [one["id"] for one in told["items"]]
            known = sum(one > max(self._feed_of(device.user).reads, default="") for one in device.items)
            if told["unreadCount"] < known:
                self.wrong.append(
                    f"{told['unreadCount']} items of {device.user.name} are unread, not {known}"
                )

    async def _read_feed(self, device: Device, place: str, chance: Random) -> None:
        position = chance.choice(device.items) if device.items and chance.random() < 0.9 else AHEAD
        # Noted before: from when it is sent on it may be read.
        self._feed_of(device.user).reads.append(position)
        await self.site.ask(device.user, "PUT", "/me/activity/read", {"position": position})

    def _feed_of(self, user: User) -> Feed:
        return self.feeds.setdefault(user.id, Feed())

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

    async def _ask_at_rest(self) -> None:
        """Ask each device for its threads and feed: what is counted over all places must be theirs."""
        for device in self.devices:
            user = device.user
            whole = await self.site.ask(user, "GET", "/me/places")
            if whole.status_code == 401:
                continue
            _, since = await device.ask()
            states = await self._list_threads(user, are_unread=True)
            await self._list_threads(user, are_unread=False)
            threads = {
                "unreadThreads": len(states),
                "mentionCount": sum(one["mentionCount"] for one in states),
            }
            badge = _badge(whole.json()["places"], states)
            for told in (whole.json(), since.json()):
                if told["threads"] != threads:
                    self.wrong.append(f"{user.name} has the threads {told['threads']}, not {threads}")
                if told["badge"] != badge:
                    self.wrong.append(f"the badge of {user.name} is {told['badge']}, not {badge}")
            await self._read_at_rest(device, whole.json(), states)
            feed = self._feed_of(user)
            path = "/me/activity?limit=200"
            feed.at_rest.append((await self.site.ask(user, "GET", path)).json())
            feed.unread_at_rest.append((await self.site.ask(user, "GET", f"{path}&unread=true")).json())

    async def _read_at_rest(
        self, device: Device, before: dict[str, Any], threads: Sequence[dict[str, Any]]
    ) -> None:
        """Read a thread that mentions one: all devices hear of what its place counts then, or are told."""
        counted = {one["placeId"]: one["mentionCount"] for one in before["places"]}
        found = next((one for one in threads if one["mentionCount"] and one["placeId"] in counted), None)
        if found is None:
            return
        user, place = device.user, found["placeId"]
        await self._move_thread(device, place, found["messageId"], "read", {"position": "f" * 32})
        told = (await self.site.ok(user, "GET", f"/me/places?since={before['mark']}"))["places"]
        counts = {one["placeId"]: one["mentionCount"] for one in told}
        now = (await self.site.ok(user, "GET", f"/me/places/{place}"))["state"]["mentionCount"]
        if now != counted[place] - found["mentionCount"] or counts.get(place) != now:
            self.wrong.append(
                f"{user.name} has {now} mentions in {place} after {counted[place]}, and is told {counts}"
            )
        for other in self.devices:
            with trio.move_on_after(LATEST):
                while other.user is user and other.places[place].state["mentionCount"] != now:
                    await other.changed.wait()
                continue
            self.wrong.append(f"{user.name} has not heard of {now} mentions in {place}")

    async def _take_heard(self) -> None:
        """Take what READ_STATE and THREAD_STATE events told as what it was at that moment."""
        for device in self.devices:
            for when, told in device.heard:
                if told["placeId"] in self.places:
                    look = Look(
                        *(0, when, told),
                        is_listed=False,
                        as_of=int(told["asOf"]),
                        parent=told.get("messageId", ""),
                    )
                    self._note(device.user, told["placeId"], look)


def _badge(places: Sequence[dict[str, Any]], threads: Sequence[dict[str, Any]]) -> int:
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
