"""What a chat is, as plainly as it can be said: who may do what, and what there is then.

It knows nothing of storages, transactions, caches and streams.  `State.answer` says what an operation must be
answered in a state, `State.apply` what there is after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """Something that somebody does to a room, a message or a user (`target`), with a text or another value.

    Of `members` the value is ``in <user>``, ``out <user>``, ``close`` or ``open``.
    """

    number: int
    kind: str
    who: str
    target: str = ""
    value: str = ""
    key: str = ""
    images: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = [f"{name} {value}" for name, value in self._asdict().items() if value and name != "number"]
        return f"#{self.number} {', '.join(told)}"


class Answer(NamedTuple):
    """What an operation is answered: its status, and the type of the event that tells of it, if one does."""

    status: int
    event: str | None = None


@dataclass
class Room:
    """A channel, or a direct conversation, which has two `participants` and stays as it is."""

    name: str = ""
    is_private: bool = False
    members: set[str] = field(default_factory=set)
    participants: tuple[str, ...] = ()


@dataclass
class Message:
    """A message: a reply if it has a parent."""

    room: str
    author: str
    text: str
    parent: str | None = None
    images: tuple[str, ...] = ()
    reactions: dict[str, list[str]] = field(default_factory=dict)


class State:
    """A chat at one moment. `users` are those who are there, with whether they are admins."""

    def __init__(self) -> None:
        self.users: dict[str, bool] = {}
        self.rooms: dict[str, Room] = {}
        self.messages: dict[str, Message] = {}
        self.images: dict[str, str] = {}
        self.keys: dict[tuple[str, str], tuple[tuple[Any, ...], str]] = {}

    def sees(self, user: str, room_id: str) -> bool:
        """Whether a user sees a room, and so all that is in it."""
        room = self.rooms.get(room_id)
        if room is None or user not in self.users:
            return False
        if room.participants:
            return user in room.participants
        return not room.is_private or user in room.members

    def answer(self, done: Operation) -> Answer:
        """Return what an operation must be answered in this state."""
        if done.who not in self.users and done.kind != "members":
            return Answer(401)
        return getattr(self, f"_{done.kind}")(done)  # type: ignore[no-any-return]

    def apply(self, done: Operation, made: str) -> None:
        """Go on to the state after an operation that an event told of; `made` is the id of what it made."""
        getattr(self, f"_apply_{done.kind}")(done, made)

    # What must be answered.

    def _post(self, done: Operation) -> Answer:
        refused = self._room(done) or self._repeated(done) or self._images(done, done.target)
        kind = "NEW_DM_MESSAGE" if done.target.startswith("dm:") else "NEW_MESSAGE"
        return refused or Answer(200, kind)

    def _reply(self, done: Operation) -> Answer:
        parent = self._message(done)
        if parent is None:
            return Answer(404)
        if parent.parent is not None or self.rooms[parent.room].participants:
            return Answer(400)
        return self._repeated(done) or self._images(done, parent.room) or Answer(200, "NEW_THREAD_REPLY")

    def _edit(self, done: Operation) -> Answer:
        message = self._message(done)
        if message is None:
            return Answer(404)
        if message.author != done.who:
            return Answer(403)
        return Answer(200, self._event("UPDATE", message))

    def _delete(self, done: Operation) -> Answer:
        message = self._message(done)
        if message is None:
            return Answer(404)
        is_direct = bool(self.rooms[message.room].participants)
        if message.author != done.who and (is_direct or not self.users[done.who]):
            return Answer(403)
        return Answer(200, self._event("DELETE", message))

    def _react(self, done: Operation) -> Answer:
        message = self._message(done)
        if message is None:
            return Answer(404)
        return Answer(200, None if done.who in message.reactions.get(done.value, ()) else "NEW_REACTION")

    def _unreact(self, done: Operation) -> Answer:
        message = self._message(done)
        if message is None:
            return Answer(404)
        return Answer(200, "DELETE_REACTION" if done.who in message.reactions.get(done.value, ()) else None)

    def _upload(self, done: Operation) -> Answer:
        return self._room(done) or Answer(200)

    def _rename(self, done: Operation) -> Answer:
        return self._managed(done) or Answer(200, "UPDATE_CHANNEL")

    def _delete_channel(self, done: Operation) -> Answer:
        return self._managed(done) or Answer(200, "DELETE_CHANNEL")

    def _open(self, done: Operation) -> Answer:
        pair = {done.who, done.target}
        if any(set(room.participants) == pair for room in self.rooms.values()):
            return Answer(200)
        return Answer(200, "NEW_CONVERSATION") if done.target in self.users else Answer(404)

    def _remove(self, done: Operation) -> Answer:
        if done.target not in self.users:
            return Answer(404)
        return Answer(200, "REMOVE_USER") if self.users[done.who] else Answer(403)

    def _exit(self, _: Operation) -> Answer:
        return Answer(200, "USER_EXIT")

    def _page(self, done: Operation) -> Answer:
        return self._room(done) or Answer(200)

    def _members(self, done: Operation) -> Answer:
        """Who is in a private channel is changed by the server itself, as long as nobody else can."""
        room = self.rooms.get(done.target)
        if room is None:
            return Answer(404)
        how, _, user = done.value.partition(" ")
        is_so = user in room.members if user else room.is_private
        return Answer(200, None if is_so == (how in ("in", "close")) else "_ROOM_CHANGED")

    def _room(self, done: Operation) -> Answer | None:
        room = self.rooms.get(done.target)
        if room is not None and room.participants and done.who not in room.participants:
            return Answer(403)
        return None if self.sees(done.who, done.target) else Answer(404)

    def _managed(self, done: Operation) -> Answer | None:
        if not self.sees(done.who, done.target):
            return Answer(404)
        return None if self.users[done.who] else Answer(403)

    def _message(self, done: Operation) -> Message | None:
        message = self.messages.get(done.target)
        return message if message is not None and self.sees(done.who, message.room) else None

    def _repeated(self, done: Operation) -> Answer | None:
        """An idempotency key was used before: for the same, which is still there, or not (D-07b)."""
        if not done.key or (done.who, done.key) not in self.keys:
            return None
        asked, made = self.keys[done.who, done.key]
        return Answer(200 if asked == _asked(done) and made in self.messages else 400)

    def _images(self, done: Operation, room: str) -> Answer | None:
        return None if all(self.images.get(one) == room for one in done.images) else Answer(400)

    def _event(self, what: str, message: Message) -> str:
        if self.rooms[message.room].participants:
            return f"{what}_DM_MESSAGE"
        return f"{what}_MESSAGE" if message.parent is None else f"{what}_THREAD_REPLY"

    # What there is then.

    def _apply_post(self, done: Operation, made: str) -> None:
        self.messages[made] = Message(done.target, done.who, done.value, None, done.images)
        if done.key:
            self.keys[done.who, done.key] = (_asked(done), made)

    def _apply_reply(self, done: Operation, made: str) -> None:
        room = self.messages[done.target].room
        self.messages[made] = Message(room, done.who, done.value, done.target, done.images)
        if done.key:
            self.keys[done.who, done.key] = (_asked(done), made)

    def _apply_edit(self, done: Operation, _: str) -> None:
        self.messages[done.target].text = done.value

    def _apply_delete(self, done: Operation, _: str) -> None:
        self._forget(id_ for id_, one in self.messages.items() if done.target in (id_, one.parent))

    def _apply_react(self, done: Operation, _: str) -> None:
        self.messages[done.target].reactions.setdefault(done.value, []).append(done.who)

    def _apply_unreact(self, done: Operation, _: str) -> None:
        reactions = self.messages[done.target].reactions
        reactions[done.value].remove(done.who)
        if not reactions[done.value]:
            del reactions[done.value]

    def _apply_rename(self, done: Operation, _: str) -> None:
        self.rooms[done.target].name = done.value

    def _apply_delete_channel(self, done: Operation, _: str) -> None:
        self._forget(id_ for id_, one in self.messages.items() if one.room == done.target)
        self.images = {name: room for name, room in self.images.items() if room != done.target}
        del self.rooms[done.target]

    def _apply_open(self, done: Operation, made: str) -> None:
        self.rooms[made] = Room(participants=tuple(sorted((done.who, done.target))))

    def _apply_remove(self, done: Operation, _: str) -> None:
        del self.users[done.target]

    def _apply_exit(self, done: Operation, _: str) -> None:
        del self.users[done.who]

    def _apply_members(self, done: Operation, _: str) -> None:
        room = self.rooms[done.target]
        how, _, user = done.value.partition(" ")
        if how == "in":
            room.members.add(user)
        elif how == "out":
            room.members.discard(user)
        else:
            room.is_private = how == "close"

    def _forget(self, ids: Iterable[str]) -> None:
        """Messages are gone, and the images that no other has."""
        gone = [self.messages.pop(id_) for id_ in list(ids)]
        kept = {name for one in self.messages.values() for name in one.images}
        for name in {name for one in gone for name in one.images} - kept:
            self.images.pop(name, None)

    # What a client reads.

    def page(self, room: str) -> list[dict[str, Any]]:
        """Return the messages of a room as a client reads them."""
        return [
            self.message(id_)
            for id_, one in sorted(self.messages.items())
            if one.room == room and one.parent is None
        ]

    def thread(self, parent: str) -> list[dict[str, Any]]:
        """Return the replies to a message."""
        return [self.message(id_) for id_, one in sorted(self.messages.items()) if one.parent == parent]

    def message(self, id_: str) -> dict[str, Any]:
        """Return one message, with what its thread amounts to."""
        one = self.messages[id_]
        replies = [reply for _, reply in sorted(self.messages.items()) if reply.parent == id_]
        told: dict[str, Any] = {
            "id": id_,
            "channelId": one.room,
            "author": one.author,
            "content": one.text,
            "reactions": {name: list(users) for name, users in one.reactions.items()},
            "images": list(one.images),
        }
        if one.parent is not None:
            told["threadId"] = one.parent
        if replies:
            told["threadMeta"] = {
                "replyCount": len(replies),
                "participants": list(dict.fromkeys(reply.author for reply in replies)),
                "lastReplyBy": replies[-1].author,
            }
        return told


def _asked(done: Operation) -> tuple[Any, ...]:
    return done.kind, done.target, done.value, done.images
