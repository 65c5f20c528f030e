"""Whether what came of a game is what the plain model says, in some order that everybody could have seen.

The event log tells the order of what was changed.  What changed nothing (a refusal, a repeat, a page that was
read) must be right at one moment at least between when it was asked and when it was answered.  At rest every
page, at every server, and what every stream told, must be the model's.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from teamchat.events import blanked, is_internal
from tests.races.house import Entry
from tests.races.model import Answer
from tests.races.play import Done, Game
from tests.web.client import Client

_PLAIN = ("id", "channelId", "content", "reactions", "threadId")


class Told(NamedTuple):
    """An event in its place, and who was to hear of it when it was committed."""

    position: int
    entry: Entry
    audience: frozenset[str]
    room: str | None


class Verdict:
    """A game as the model plays it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.wrong: list[str] = []
        self.told: list[Told] = []
        self.state = copy.deepcopy(game.start)
        self.entries = [one for one in game.house.record.entries if one.is_committed]
        # Places among all that was written become places among what was committed.
        self._places = [0]
        for one in game.house.record.entries:
            self._places.append(self._places[-1] + bool(one.is_committed))
        self.lost: set[tuple[str, str]] = set()
        """Users and rooms that they did not see at some moment."""

    def play(self) -> None:
        """Go through the log, and hold every operation to the model."""
        by_number = {one.operation.number: one for one in self.entries}
        silent = [done for done in self.game.done if done.operation.number not in by_number]
        spoken = {
            done.operation.number: done for done in self.game.done if done.operation.number in by_number
        }
        if len(by_number) != len(self.entries):
            self.wrong.append("an operation has two events")
        for place in range(len(self.entries) + 1):
            self._upload(place)
            silent = [done for done in silent if not self._is_explained(done, place)]
            self._look()
            if place < len(self.entries):
                entry = self.entries[place]
                self._step(place, entry, spoken[entry.operation.number])
        self.wrong += [f"no moment explains {shown(done)}" for done in silent]

    def _step(self, place: int, entry: Entry, done: Done) -> None:
        operation, expected = entry.operation, self.state.answer(entry.operation)
        if expected != Answer(200, entry.type) or done.status != 200:
            self.wrong.append(f"{shown(done)} wrote {entry.type}, but {expected} was right at {place}")
            return
        if not self._places[done.began] <= place < self._places[done.ended]:
            self.wrong.append(f"{shown(done)} wrote {entry.type} at {place}")
        room = operation.target if operation.target in self.state.rooms else None
        if operation.target in self.state.messages:
            room = self.state.messages[operation.target].room
        made = str(entry.payload.get("reply", entry.payload).get("id", ""))
        hearers = self._hearers(room)
        if entry.type == "DELETE_CHANNEL" and self.state.rooms[operation.target].is_private:
            # Of a private channel that was deleted nobody is told any more what was.
            self.lost |= {(user, operation.target) for user in hearers}
        self.state.apply(operation, made)
        if entry.type == "NEW_CONVERSATION":
            room, hearers = made, frozenset({operation.who, operation.target})
        self.told.append(Told(0, entry, hearers, room))

    def _hearers(self, room: str | None) -> frozenset[str]:
        return frozenset(user for user in self.state.users if room is None or self.state.sees(user, room))

    def _look(self) -> None:
        """Note who does not see what now: of what went before they need not be told any more."""
        self.lost |= {
            (user, room)
            for user in self.game.start.users
            for room in self.game.start.rooms
            if room in self.state.rooms and not self.state.sees(user, room)
        }

    def _upload(self, place: int) -> None:
        """Take up the images that were uploaded by now; no event tells of them."""
        for done in self.game.done:
            is_now = done.status == 200 and self._places[done.ended] == place
            if done.operation.kind == "upload" and is_now and done.operation.target in self.state.rooms:
                self.state.images[done.told["filename"]] = done.operation.target

    def _is_explained(self, done: Done, place: int) -> bool:
        if not self._places[done.began] <= place <= self._places[done.ended]:
            return False
        if self.state.answer(done.operation) != Answer(done.status):
            return self._is_read_late(done)
        return done.status != 200 or self._is_told_rightly(done)

    def _is_read_late(self, done: Done) -> bool:
        """Who reads is let in at one moment, and reads at a later one; only who writes is asked for again."""
        who, users = done.operation.who, self.state.users
        if done.operation.kind != "page" or done.status != 200 or who in users:
            return False
        users[who] = False
        is_right = self.state.answer(done.operation) == Answer(200) and self._is_told_rightly(done)
        del users[who]
        return is_right and self._was_there(who, self._places[done.began])

    def _was_there(self, who: str, place: int) -> bool:
        """Whether a user had not been removed, and had not left, at a place in the log."""
        gone = [
            one.operation.who if one.type == "USER_EXIT" else one.operation.target
            for one in self.entries[:place]
            if one.type in ("USER_EXIT", "REMOVE_USER")
        ]
        return who not in gone

    def _is_told_rightly(self, done: Done) -> bool:
        """What was answered and changed nothing must be what there is."""
        operation, told, state = done.operation, done.told, self.state
        match operation.kind:
            case "page":
                return plain(told["messages"]) == state.page(operation.target)
            case "post" | "reply":
                _, made = state.keys[operation.who, operation.key]
                return plain([told.get("message") or told["reply"]]) == [state.message(made)]
            case "open":
                pair = sorted((operation.who, operation.target))
                return sorted(state.rooms[told["conversation"]["id"]].participants) == pair
            case "react" | "unreact":
                return bool(told["message"]["reactions"] == state.messages[operation.target].reactions)
        return True


async def judge(game: Game) -> list[str]:
    """Return what is wrong with a game."""
    verdict = Verdict(game)
    verdict.play()
    if not verdict.wrong:
        await _log(verdict)
    if not verdict.wrong:
        _streams(verdict)
        for server in range(len(game.house.sites)):
            await _pages(verdict, server)
        await _images(verdict)
    return verdict.wrong


async def _log(verdict: Verdict) -> None:
    """The log must hold what was recorded, in that order; its positions are noted."""
    async with verdict.game.house.apps[0].storage.read() as tx:
        rows = await tx.fetch(
            "select seq, type from events where seq > $1 order by seq", verdict.game.start_position
        )
    logged = [(seq, kind) for seq, kind in rows if kind == "_ROOM_CHANGED" or not is_internal(kind)]
    if [kind for _, kind in logged] != [told.entry.type for told in verdict.told]:
        verdict.wrong.append(f"the log has another order: {logged}")
        return
    verdict.told = [told._replace(position=seq) for (seq, _), told in zip(logged, verdict.told, strict=True)]


def _streams(verdict: Verdict) -> None:
    """Every stream must have told each event once, in order: all that its user sees, and nothing else."""
    by_position = {told.position: told for told in verdict.told if not is_internal(told.entry.type)}
    for reader in verdict.game.readers:
        heard = [position for position, _ in reader.events]
        who = f"the stream of {reader.user}"
        if heard != sorted(set(heard)):
            verdict.wrong.append(f"{who} is out of order, or repeats: {heard}")
        for position, event in reader.events:
            told = by_position.get(position)
            if told is None or reader.user not in told.audience:
                verdict.wrong.append(f"{who} tells what is not for it: {position} {event}")
            elif not _is_same(event, told.entry):
                verdict.wrong.append(f"{who} tells {event}, but it was {told.entry.payload}")
        if reader.user in verdict.state.users:
            missing = [
                f"{position} {told.entry.type} by {told.entry.operation}"
                for position, told in by_position.items()
                if position not in heard and _is_due(verdict, reader.user, told)
            ]
            if missing:
                verdict.wrong.append(f"{who} has missed {missing}")


def _is_due(verdict: Verdict, user: str, told: Told) -> bool:
    """Whether a user must have heard of an event: who loses sight of a room need not be told what was."""
    if user not in told.audience:
        return False
    is_gone = told.entry.type == "DELETE_CHANNEL"
    return told.room is None or is_gone or (user, told.room) not in verdict.lost


def _is_same(event: dict[str, Any], entry: Entry) -> bool:
    """What was said in a message that has changed since, or is gone, need not be told (X-15)."""
    if event["type"] != entry.type:
        return False
    if event["payload"] == entry.payload:
        return True
    return "content" in entry.payload.get("reply", entry.payload) and event["payload"] == json.loads(
        blanked(json.dumps(entry.payload))
    )


async def _pages(verdict: Verdict, server: int) -> None:
    house, state = verdict.game.house, verdict.state
    for user in state.users:
        client = Client(house.sites[server], house.tokens[user])
        for room in {*verdict.game.start.rooms, *state.rooms}:
            kind = "conversations" if room.startswith("dm:") else "channels"
            path = f"/{kind}/{room}/messages"
            expected = state.page(room) if state.sees(user, room) else None
            read = await _whole(client, path, "messages")
            if read != expected:
                verdict.wrong.append(f"{user} reads {path} at {server}: {read}, but it is {expected}")
            for message in expected or ():
                path = f"/messages/{message['id']}/thread"
                if await _whole(client, path, "replies") != state.thread(message["id"]):
                    verdict.wrong.append(f"{user} reads {path} at {server} otherwise than it is")
        listed = {one["id"]: one["name"] for one in (await client.ok("GET", "/channels"))["channels"]}
        names = {
            id_: room.name
            for id_, room in state.rooms.items()
            if not room.participants and state.sees(user, id_)
        }
        if listed != names:
            verdict.wrong.append(f"{user} has the channels {listed} at {server}, but they are {names}")
        own = {one["id"] for one in (await client.ok("GET", "/conversations"))["conversations"]}
        if own != {id_ for id_, room in state.rooms.items() if user in room.participants}:
            verdict.wrong.append(f"{user} has other conversations at {server} than there are: {own}")


async def _whole(client: Client, path: str, name: str) -> list[dict[str, Any]] | None:
    """Read all of a list, page by page."""
    found: list[dict[str, Any]] = []
    before = ""
    while True:
        answer = await client.call("GET", f"{path}?limit=3{before}")
        if answer.status != 200:
            return None
        page = answer.json()[name]
        if not page:
            return found
        found = plain(page) + found
        before = f"&before={page[0]['id']}"


async def _images(verdict: Verdict) -> None:
    """There are the bytes of the images that there are, and no others."""
    house = verdict.game.house
    await house.apps[0].chat.images.remove_doomed()
    async with house.apps[0].storage.read() as tx:
        rows = dict(await tx.fetch("select filename, room_id from images"))
    if rows != verdict.state.images:
        verdict.wrong.append(f"there are the images {rows}, but they are {verdict.state.images}")
    if set(house.images.kept) != set(rows):
        verdict.wrong.append(
            f"the bytes of {sorted(house.images.kept)} are kept, of {sorted(rows)} they must be"
        )


def plain(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages as the model tells them: without times and names."""
    found = []
    for one in messages:
        told = {
            key: one[key] for key in ("id", "channelId", "content", "reactions", "threadId") if key in one
        }
        told |= {"author": one["author"]["id"], "images": one.get("images", [])}
        if "threadMeta" in one:
            meta = one["threadMeta"]
            told["threadMeta"] = {
                "replyCount": meta["replyCount"],
                "participants": meta["participants"],
                "lastReplyBy": meta["lastReplyBy"]["id"],
            }
        found.append(told)
    return found


def shown(done: Done) -> str:
    """Return an operation and its answer in a line."""
    return f"{done.operation} at server {done.server}: {done.status} [{done.began}, {done.ended}]"


def history(game: Game) -> str:
    """Return all that happened in a game, in the order in which it was answered."""
    log = [f"{n}: {one.type} by #{one.operation.number}" for n, one in enumerate(game.house.record.entries)]
    return "\n".join([*map(shown, game.done), "the log:", *log])
