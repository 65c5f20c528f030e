"""What all lines of an export say together, read once, before the first record is converted.

Posts have no ids there. A post is identified by its channel, its author and its time; if several are alike in
these, as those that another program imported with times in whole seconds, also by what they say.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

import msgspec
from msgspec import Struct

from teamchat.model.ids import id_at
from teamchat.operations.import_export.mattermost.lines import BulkLines
from teamchat.operations.import_export.mattermost.shapes import (
    Bot,
    Channel,
    DirectChannel,
    DirectPost,
    Place,
    Post,
    Reply,
    Rooted,
    Team,
    User,
    direct,
)

_BUCKETS = 256


class Said(NamedTuple):
    """A post or a reply: its place, where that stands in the export, and what it replies to."""

    place: Place
    where: str
    post: Reply
    parent: Rooted | None = None


class Contents:
    """The records of an export that are few, and of its posts what is to be known of all."""

    def __init__(self, lines: BulkLines) -> None:
        self._lines = lines
        self.created_at = _milliseconds(lines.created())
        self.teams: dict[str, Team] = {}
        self.channels: dict[Place, Channel] = {}
        self.users: dict[str, User] = {}
        self.bots: dict[str, Bot] = {}
        self.directs: dict[Place, dict[str, int]] = {}
        """The people of direct messages and groups, with when they looked last, 0 where that is not known."""
        self.lines_of_users: dict[str, str] = {}
        """Where users stand in the export."""
        self.names: dict[str, None] = {}
        """Whoever is named anywhere."""
        self.first: dict[Place, int] = {}
        """When the first thing was said in each place."""
        self.counts: Counter[str] = Counter()
        """How many posts may have something for a capability, by its name."""
        self._twins = _Twins()
        self._read()

    def said(self) -> Iterator[Said]:
        """Yield what was said, each post before its replies."""
        for where, post in self._lines.records(Post, DirectPost):
            yield from self._together(where, post)

    def message_id(self, place: Place, post: Reply) -> str:
        """Return the id that what was said has here, the same each time."""
        known = _known_by(place, post)
        if known in self._twins:
            parts = [post.message or "", *[one.path for one in post.attachments or ()]]
            known += "".join(f" {hashlib.sha256(part.encode()).hexdigest()}" for part in parts)
        return id_at(post.create_at, f"mattermost post {known}")

    def _read(self) -> None:
        for where, record in self._lines.records(Struct, notes=True):
            match record:
                case Rooted():
                    for said in self._together(where, record, notes=True):
                        self._take_in(said)
                case Team():
                    self.teams[record.name] = record
                case Channel():
                    self.channels["channel", record.team, record.name] = record
                case User():
                    self.users[record.username] = record
                    self.lines_of_users[record.username] = where
                case Bot():
                    self.bots[record.username] = record
                case DirectChannel():
                    participants = record.participants or ()
                    seen = dict.fromkeys(record.members or (), 0)
                    seen |= {one.username: one.last_viewed_at or 0 for one in participants}
                    self.directs[direct(seen)] = seen
        self._twins.find()
        self.counts["profiles"] = self.counts["read-state"] = len(self.users)
        self.names |= dict.fromkeys([*self.users, *self.bots])
        for people in self.directs.values():
            self.names |= dict.fromkeys(people)

    def _together(self, where: str, post: Rooted, *, notes: bool = False) -> Iterator[Said]:
        """Yield a post and its replies."""
        yield Said(post.place, where, post)
        for inner, reply in self._lines.replies(where, post, notes=notes):
            yield Said(post.place, inner, reply, post)

    def _take_in(self, said: Said) -> None:
        place, post = said.place, said.post
        self.first[place] = min(self.first.get(place, post.create_at), post.create_at)
        if place[0] == "direct":
            self.directs.setdefault(place, dict.fromkeys(place[1:], 0))
        if is_notice(post):
            return
        self._twins.add(_known_by(place, post))
        self.names |= dict.fromkeys([post.user, *[one.user for one in post.reactions or ()]])
        self.counts["mentions"] += "@" in (post.message or "")
        self.counts["pins"] += bool(post.is_pinned)
        self.counts["saved"] += len(post.flagged_by or ())
        self.counts["files"] += len(post.attachments or ())
        self.counts["quotes"] += said.parent is not None and is_of_two(place)
        if isinstance(post, Rooted):
            self.counts["threads"] += len(post.thread_followers or ())


class _Twins:
    """Finds which of many keys come more than once, in some eight bytes for each."""

    def __init__(self) -> None:
        self._hashes = [array("Q") for _ in range(_BUCKETS)]
        self._found: set[int] = set()

    def add(self, key: str) -> None:
        hashed = _hash(key)
        self._hashes[hashed % _BUCKETS].append(hashed)

    def find(self) -> None:
        """Find them. No key may be added after."""
        while self._hashes:
            bucket = sorted(self._hashes.pop())
            self._found |= {one for one, other in pairwise(bucket) if one == other}

    def __contains__(self, key: str) -> bool:
        return _hash(key) in self._found


def is_notice(post: Reply) -> bool:
    """Return whether Mattermost told something by itself, such as who joined a channel."""
    return (post.type or "").startswith("system_")


def is_of_two(place: Place) -> bool:
    """Return whether a place is a conversation of two, which has no threads here."""
    return place[0] == "direct" and len(place) == 3


def key_of(place: Place) -> str:
    """Return a text that no other place has."""
    return msgspec.json.encode(place).decode()


def _known_by(place: Place, post: Reply) -> str:
    return f"{key_of(place)} {post.create_at} {post.user}"


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())


def _milliseconds(when: str) -> int:
    """Return epoch milliseconds of a time of RFC 3339; 0 for what is none."""
    try:
        return max(0, int(datetime.fromisoformat(when).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0
