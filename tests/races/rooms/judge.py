"""Whether everything that was answered in a game of rooms is right in the order that the log tells.

Each change has its event, and belongs to a request that was under way then and was allowed it.  What changed
nothing must be right at one moment at least between request and answer.  At rest every list must be the
model's, and every stream must have told what its user saw, once and in order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.races.reading.judge import Happened
from tests.races.reading.place import Words
from tests.races.rooms.model import (
    ADDED,
    CHANGED,
    MADE,
    MANAGER,
    POSTED,
    RANKED,
    REMOVED,
    Answer,
    Asked,
    Room,
)
from tests.races.rooms.play import Done, Game

_OF_ROOMS = {POSTED, ADDED, REMOVED, RANKED}


class Verdict:
    """The game as the log tells it: the rooms before the first event and after each."""

    def __init__(self, game: Game, log: list[Happened]) -> None:
        self.game, self.log = game, log
        self.wrong: list[str] = []
        self.states: list[dict[str, Room]] = [copy.copy(game.rooms)]
        self.seqs = [game.start]
        self._unclaimed = [done for done in game.done if done.status == 200]

    def play(self) -> None:
        """Go through the log, then hold to it what changed nothing."""
        for event in self.log:
            self._step(event)
        for done in self.game.done:
            is_open = done.status != 200 or done in self._unclaimed
            if is_open and not any(self._answers(done, state) for state in self._during(done)):
                self.wrong.append(f"no moment explains {shown(done)}")

    def _step(self, event: Happened) -> None:
        room_id = self._room_of(event)
        rooms = self.states[-1]
        if room_id is None or (event.kind != MADE and room_id not in rooms):
            self._go_on(event, rooms)
            return
        if event.kind == MADE:
            self._go_on(event, self._made(event, rooms))
            return
        before = rooms[room_id]
        done = None if self._follows(event, before) else self._claimed(event, room_id, before)
        payload = dict(event.payload)
        if event.kind == POSTED:
            payload["words"] = Words()
        if event.kind == CHANGED and done is not None:
            if done.asked.kind == "close":
                before.named, before.closer = [{done.asked.who, *done.asked.users}], done.asked.who
            elif done.asked.kind == "open":
                before.hidden = [done.asked.value == "hide"]
        if before.heirs and event.kind not in (REMOVED, RANKED):
            self.wrong.append(f"nobody manages {room_id} at {event.seq} {event.kind}")
        self._go_on(event, rooms | {room_id: before.after(event.kind, payload)})

    def _go_on(self, event: Happened, rooms: dict[str, Room]) -> None:
        self.states.append(rooms)
        self.seqs.append(event.seq)

    @staticmethod
    def _room_of(event: Happened) -> str | None:
        if event.kind in _OF_ROOMS:
            return str(event.payload["channelId"])
        is_of_it = event.kind in (MADE, CHANGED) or (event.kind == "DELETE_CHANNEL")
        return str(event.payload["id"]) if is_of_it else None

    def _made(self, event: Happened, rooms: dict[str, Room]) -> dict[str, Room]:
        """A room was made, or is seen from now on by who was added: then it is there."""
        id_, kind = event.payload["id"], event.payload.get("kind", "channel")
        if id_ in rooms:
            return rooms
        asked = "group" if kind == "group" else "private"
        for done in self._unclaimed:
            is_new = done.asked.kind == asked and done.told.get("isNew", True)
            if is_new and done.told["channel"]["id"] == id_ and done.began < event.seq <= done.ended:
                break
        else:
            self.wrong.append(f"nobody has made {id_} at {event.seq}")
            return rooms
        self._unclaimed.remove(done)
        room = Room(kind=kind, is_private=True, for_joiners=kind == "group")
        room.everyone = {user.id for user in self.game.users}
        room.members = {done.asked.who, *done.asked.users}
        if kind == "group" and any(_is_of(one, room.members) for one in rooms.values()):
            self.wrong.append(f"there was a group of these already: {shown(done)}")
        room.managers = set() if kind == "group" else {done.asked.who}
        room.since = dict.fromkeys(room.members, 0)
        return rooms | {id_: room}

    def _follows(self, event: Happened, before: Room) -> bool:
        """Whether an event comes with the one before it, and needs no request of its own."""
        told = event.payload
        if event.kind == "DELETE_CHANNEL":  # To those who lose sight of it: goes before the change itself.
            return "reason" in told
        if event.kind == REMOVED:  # In a public channel it is told to who has left and to the others.
            return told["userId"] not in before.members
        if event.kind == RANKED and before.heirs:
            if told["role"] != MANAGER or told["userId"] not in before.heirs:
                self.wrong.append(f"{told} at {event.seq}, but {before.heirs} should manage it")
            return True
        return False

    def _claimed(self, event: Happened, room_id: str, before: Room) -> Done | None:
        """Return the request that has made an event: one that was under way, and allowed it."""
        fitting = sorted(
            (
                done
                for done in self._unclaimed
                if done.asked.room == room_id
                and done.began < event.seq <= done.ended
                and _has_made(done, event, before)
            ),
            key=lambda done: done.ended,
        )
        for done in fitting:
            if self._expected(done, before) == Answer(200, event.kind):
                self._unclaimed.remove(done)
                return done
        self.wrong.append(f"nobody may have made {event}; {[shown(done) for done in fitting]}")
        return None

    def _during(self, done: Done) -> Iterator[dict[str, Room]]:
        for number, (seq, state) in enumerate(zip(self.seqs, self.states, strict=True)):
            next_seq = self.seqs[number + 1] if number + 1 < len(self.seqs) else 1 << 60
            if next_seq > done.began and seq <= done.ended:
                yield state

    def _answers(self, done: Done, rooms: dict[str, Room]) -> bool:
        asked = done.asked
        if asked.kind in ("group", "private"):
            people = {asked.who, *asked.users}
            return (
                asked.kind == "group"
                and done.status == 200
                and not done.told["isNew"]
                and _is_of(rooms.get(done.told["channel"]["id"], Room()), people)
            )
        room = rooms.get(asked.room)
        return room is not None and self._expected(done, room) == Answer(done.status)

    def _expected(self, done: Done, room: Room) -> Answer:
        return room.answer(done.asked, is_admin=done.asked.who in self.game.admins)

    # What the streams told.

    def streams(self) -> None:
        """Each told what its user saw when it happened, once and in order; nothing due is missing."""
        posted = {
            event.seq: (str(event.payload["channelId"]), str(event.payload["id"]), self.states[number + 1])
            for number, event in enumerate(self.log)
            if event.kind == POSTED and event.payload["channelId"] in self.states[number + 1]
        }
        for reader in self.game.readers:
            user = reader.user.id
            seqs = [seq for seq, kind, _ in reader.events if kind != "CONNECTED"]
            if seqs != sorted(set(seqs)):
                self.wrong.append(f"the stream of {reader.user.name} repeats, or is out of order")
            heard = {seq for seq, kind, _ in reader.events if kind == POSTED}
            for seq, (room_id, message, state) in posted.items():
                if seq in heard and not state[room_id].sees(user):
                    self.wrong.append(f"{reader.user.name} heard of {seq} in {room_id}, and was not in it")
                if seq not in heard and self._saw_from(user, room_id, message, seq):
                    self.wrong.append(f"{reader.user.name} has missed {seq} in {room_id}")

    def _saw_from(self, user: str, room_id: str, message: str, first: int) -> bool:
        """Whether somebody saw a message from when it came on.

        Who has left meanwhile is told nothing of before, though they may see it again: then they read it.
        """
        has_left = any(
            event.seq > first
            and event.kind == REMOVED
            and (event.payload["channelId"], event.payload["userId"]) == (room_id, user)
            for event in self.log
        )
        return not has_left and all(
            state[room_id].sees_message(user, message)
            for seq, state in zip(self.seqs, self.states, strict=True)
            if seq >= first and room_id in state
        )


def _is_of(room: Room, people: set[str]) -> bool:
    return room.kind == "group" and room.members == people


def _has_made(done: Done, event: Happened, before: Room) -> bool:
    """Whether an event is what a request asked for, whoever may do that."""
    asked, told = done.asked, event.payload
    if event.kind == POSTED:
        return asked.kind == "post" and done.told["message"]["id"] == told["id"]
    if event.kind == ADDED:
        added = {one["userId"] for one in told["members"]}
        if told["by"] != asked.who:
            return False
        if asked.kind == "join":
            return added == {asked.who}
        return asked.kind == "add" and added == set(asked.users) - before.members
    if event.kind == REMOVED:
        if told["by"] != asked.who:
            return False
        is_own = told["userId"] == asked.who
        return asked.kind == "leave" if is_own else _is_about(asked, "remove", told)
    if event.kind == RANKED:
        return _is_about(asked, "role", told) and asked.value == told["role"]
    if told.get("isPrivate", False) != before.is_private:
        return asked.kind == ("open" if before.is_private else "close")
    if told.get("isArchived", False) != before.is_archived:
        return asked.kind == ("unarchive" if before.is_archived else "archive")
    return asked.kind == "convert"


def _is_about(asked: Asked, kind: str, told: dict[str, Any]) -> bool:
    return asked.kind == kind and asked.users == (told["userId"],)


async def judge(game: Game) -> list[str]:
    """Return what is wrong with a game."""
    verdict = Verdict(game, list(await game.site.log(game.start)))
    verdict.play()
    if not verdict.wrong:
        verdict.streams()
        await _at_rest(verdict)
    if verdict.wrong:
        verdict.wrong += [f"{event.seq} {event.kind} {event.payload}"[:230] for event in verdict.log]
        verdict.wrong += map(shown, game.done)
    return verdict.wrong


async def _at_rest(verdict: Verdict) -> None:
    """Every list of every user must be the model's."""
    game, rooms = verdict.game, verdict.states[-1]
    for user in game.users:
        listed = {one["id"]: one for one in (await game.site.ok(user, "GET", "/channels"))["channels"]}
        for id_, room in rooms.items():
            if (id_ in listed) != room.sees(user.id):
                verdict.wrong.append(f"{user.name} has {id_} in their list, or not: {room.sees(user.id)}")
                continue
            answer = await game.site.ask(user, "GET", f"/channels/{id_}/members?limit=200")
            read = await game.site.ask(user, "GET", f"/channels/{id_}/messages?limit=200")
            if not room.sees(user.id):
                if (answer.status_code, read.status_code) != (404, 404):
                    verdict.wrong.append(f"{user.name} reads {id_}")
                continue
            told = listed[id_]
            wanted = (room.is_private, room.is_archived, room.kind, user.id in room.members)
            got = tuple(told.get(name, False) for name in ("isPrivate", "isArchived"))
            if (*got, told.get("kind", "channel"), told.get("isMember", False)) != wanted:
                verdict.wrong.append(f"{user.name} is told {told} of {id_}, not {wanted}")
            members = {one["userId"]: one["role"] == MANAGER for one in answer.json()["members"]}
            if members != {one: one in room.managers for one in room.members}:
                verdict.wrong.append(f"{user.name} is told {members} of {id_}, not {room}")
            found = [one["id"] for one in read.json()["messages"]]
            if found != room.visible(user.id)[-200:]:
                verdict.wrong.append(f"{user.name} reads {found} in {id_}, not {room.visible(user.id)}")


def shown(done: Done) -> str:
    """Return a request and its answer in a line."""
    asked = done.asked
    what = " ".join([asked.who[-6:], asked.kind, asked.room[-6:], *(one[-6:] for one in asked.users)])
    return f"{what} {asked.value}: {done.status} [{done.began}, {done.ended}]"
