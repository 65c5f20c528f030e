"""What was read, kept in memory until something in the log touches it.

Whoever asks gets what a transaction begun at that moment would give. So before every answer the cache catches
up with the log: `Storage.position` says, in microseconds, whether anything was committed, here or by another
process, and the cache goes through what was. What an event of a capability touches is declared with it. A
type that is all capitals and not known may be of a later version, and touches everything; any other unknown
type is a plugin's, and touches nothing. Nothing is written through this cache, and losing all of it costs
only time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
import trio
from msgspec import Struct

from teamchat.events import (
    Blanked,
    MemberJoined,
    Payload,
    RoomChanged,
    RoomGone,
    SessionsEnded,
    StreamsDisplaced,
    StreamsEnded,
    UserGone,
)
from teamchat.interfaces import Storage

MOST_BYTES = 32 * 1024 * 1024
NAMES = "names"
"""The tag of what shows the names of users."""
REACTIONS = "reactions"
"""The tag of what shows reactions; their events don't name their channel."""

_MOST_EVENTS = 1000  # behind by more, it is cheaper to begin anew
_OF_TEAMCHAT = re.compile(r"[A-Z0-9_]+")  # as all types of teamchat's own are written
_UNTOUCHED = {
    "NEW_CHANNEL", "UPDATE_CHANNEL", "NEW_USER", "NEW_CONVERSATION", "NEW_DM_MESSAGE", "UPDATE_DM_MESSAGE",
    "DELETE_DM_MESSAGE", "NEW_WEBHOOK", "DELETE_WEBHOOK", "UPDATE_SERVER_SETTINGS",
    "CHANNEL_MEMBERS_ADDED", "CHANNEL_MEMBER_REMOVED", "CHANNEL_MEMBER_UPDATED",
    Blanked.type, MemberJoined.type, StreamsDisplaced.type,
}  # fmt: skip


class _Fields(Struct, rename="camel"):
    """The fields of a payload by which it is known what it touches."""

    id: str = ""
    channel_id: str = ""
    room_id: str = ""
    user_id: str = ""
    session_ids: tuple[str, ...] = ()


class _Kept(NamedTuple):
    value: Any
    tags: tuple[str, ...]
    size: int


_decode = msgspec.json.Decoder(_Fields).decode


def room(room_id: str) -> str:
    """Return the tag of what is made of the messages of a channel."""
    return f"room:{room_id}"


def user(user_id: str) -> str:
    """Return the tag of what is made of a user's row."""
    return f"user:{user_id}"


def session(session_id: str) -> str:
    """Return the tag of what is made of a session."""
    return f"session:{session_id}"


_TAGS: dict[str, Callable[[_Fields], tuple[str, ...]]] = {
    "NEW_MESSAGE": lambda fields: (room(fields.channel_id),),
    "UPDATE_MESSAGE": lambda fields: (room(fields.channel_id),),
    "DELETE_MESSAGE": lambda fields: (room(fields.channel_id),),
    "NEW_THREAD_REPLY": lambda fields: (room(fields.channel_id),),
    "UPDATE_THREAD_REPLY": lambda fields: (room(fields.channel_id),),
    "DELETE_THREAD_REPLY": lambda fields: (room(fields.channel_id),),
    "DELETE_CHANNEL": lambda fields: (room(fields.id),),
    "UPDATE_USER": lambda fields: (NAMES, user(fields.id)),
    "REMOVE_USER": lambda fields: (NAMES, user(fields.id)),
    "USER_EXIT": lambda fields: (NAMES, user(fields.id)),
    RoomChanged.type: lambda fields: (room(fields.room_id),),
    RoomGone.type: lambda fields: (room(fields.room_id),),
    SessionsEnded.type: lambda fields: tuple(session(one) for one in fields.session_ids),
    StreamsEnded.type: lambda fields: (user(fields.user_id),),
    UserGone.type: lambda fields: (user(fields.user_id),),
}


_NONE_DECLARED: Mapping[str, type[Payload]] = {}


def touched_by(
    kind: str, payload: str, declared: Mapping[str, type[Payload]] = _NONE_DECLARED
) -> tuple[str, ...] | None:
    """Return the tags of what an event touches; None means everything, for it may be of a later version.

    `declared` are the events of capabilities.
    """
    if (plugins := declared.get(kind)) is not None:
        named = plugins.changes_pages_of
        return (room(getattr(msgspec.json.decode(payload, type=plugins), named)),) if named else ()
    if kind in _UNTOUCHED or not _OF_TEAMCHAT.fullmatch(kind):
        return ()
    if kind in {"NEW_REACTION", "DELETE_REACTION"}:
        return (REACTIONS,)
    tags_of = _TAGS.get(kind)
    return None if tags_of is None else tags_of(_decode(payload))


class ReadCache:
    """Values under keys, each with the tags of what it was made of; the oldest go when there is no room.

    To fill it: take the position that `catch_up` gives, read, and `keep` what was read with that position.
    """

    def __init__(
        self,
        storage: Storage,
        most_bytes: int = MOST_BYTES,
        declared: Mapping[str, type[Payload]] = _NONE_DECLARED,
    ) -> None:
        self._storage = storage
        self._declared = declared
        self._room = most_bytes
        self._position = -1
        self._reading: trio.Event | None = None
        self._kept: dict[Hashable, _Kept] = {}
        self._tagged: dict[str, set[Hashable]] = {}

    @property
    def position(self) -> int:
        """How far the log was read; -1 before `catch_up` was first called."""
        return self._position

    async def catch_up(self, until: int | None = None) -> int:
        """Forget what the log has touched since last time, and return how far it was read.

        That is its end now, or at least `until`, where who asks knows that it was there since they began.
        """
        position = await self._storage.position() if until is None else until
        while self._position < position:
            if self._reading is None:
                await self._read_until(position)
            else:
                await self._reading.wait()
        return self._position

    def get(self, key: Hashable) -> Any | None:
        """Return what is kept under `key`, or None; it is as fresh as the last `catch_up`."""
        kept = self._kept.get(key)
        return None if kept is None else kept.value

    def keep(self, key: Hashable, value: Any, tags: tuple[str, ...], *, position: int, size: int) -> None:
        """Keep what was read at `position` or later, unless the log went on meanwhile.

        `size` is what it takes, in bytes, roughly.
        """
        if position != self._position:
            return
        self._drop(key)
        self._kept[key] = _Kept(value, tags, size)
        self._room -= size
        for tag in tags:
            self._tagged.setdefault(tag, set()).add(key)
        while self._room < 0:
            self._drop(next(iter(self._kept)))

    async def _read_until(self, position: int) -> None:
        """Catch up; those who ask meanwhile wait for it, and most of them find that it was enough."""
        self._reading = trio.Event()
        try:
            for tag in await self._touched(self._position, position):
                self._forget(tag)
            self._position = position
        finally:
            self._reading.set()
            self._reading = None

    async def _touched(self, after: int, until: int) -> Iterable[str]:
        if after < 0 or until > after + _MOST_EVENTS:
            return tuple(self._tagged)
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                "select type, payload from events where seq > $1 and seq <= $2 order by seq", after, until
            )
        if len(rows) != until - after:  # some are gone from the log already
            return tuple(self._tagged)
        tags: set[str] = set()
        for kind, payload in rows:
            some = touched_by(kind, payload, self._declared)
            tags.update(self._tagged if some is None else some)
        return tags

    def _forget(self, tag: str) -> None:
        for key in tuple(self._tagged.get(tag, ())):
            self._drop(key)

    def _drop(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        self._room += kept.size
        for tag in kept.tags:
            keys = self._tagged[tag]
            keys.discard(key)
            if not keys:
                del self._tagged[tag]
