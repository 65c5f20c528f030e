"""What the fake keeps, all of it in memory."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import Any


def now() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass
class User:
    id: str
    name: str
    email: str
    is_admin: bool
    created: int
    password: str | None = None
    is_proven: bool = True
    """False for who registered, until the address is proven."""

    def shown(self) -> dict[str, Any]:
        return {"id": self.id, "userName": self.name, "email": self.email, "isAdmin": self.is_admin}


@dataclass
class Session:
    id: str
    user_id: str
    created: int
    refresh_token: str
    good_until: float
    spent: dict[str, float] = field(default_factory=dict)
    """Refresh tokens that were exchanged already, and when."""


@dataclass
class Link:
    """A token that went out by mail."""

    token: str
    purpose: str
    email: str
    good_until: float


@dataclass
class Channel:
    id: str
    name: str
    created: int
    created_by: str


@dataclass
class Conversation:
    id: str
    pair: tuple[str, str]
    created: int
    last: int | None = None


@dataclass
class Message:
    """`place` is the channel or conversation, `thread` the parent of a reply."""

    id: str
    place: str
    author: dict[str, Any]
    content: str
    created: int
    thread: str | None = None
    updated: int | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)


@dataclass
class Webhook:
    id: str
    name: str
    channel: str
    token: str
    created: int
    created_by: str

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "channelId": self.channel,
            "createdAt": self.created,
            "createdBy": self.created_by,
        }


@dataclass(frozen=True)
class Picture:
    place: str
    data: bytes
    thumbnail: bytes | None


class Store:
    """Everything there is, and the order in which it came to be."""

    def __init__(self, *, odd_ids: bool) -> None:
        self.users: dict[str, User] = {}
        self.names: dict[str, str] = {}
        self.sessions: dict[str, Session] = {}
        self.links: dict[str, Link] = {}
        self.channels: dict[str, Channel] = {}
        self.conversations: dict[str, Conversation] = {}
        self.messages: dict[str, Message] = {}
        self.listed: defaultdict[str, list[Message]] = defaultdict(list)
        """Messages by where they stand: a channel, a conversation, or a parent."""
        self.webhooks: dict[str, Webhook] = {}
        self.pictures: dict[str, Picture] = {}
        self.order: dict[str, int] = {}
        """The number of every id that was ever given, deleted or not."""
        self.server_name = "A fake"
        self._odd_ids = odd_ids
        self._numbers = count(1)

    def new_id(self, prefix: str = "") -> str:
        """Return an id that was never given before."""
        number = next(self._numbers)
        chance = secrets.token_hex(4)
        made = f"{chance}.{number}:{prefix}=~Z" if self._odd_ids else f"{prefix}{number:08x}{chance}"
        self.order[made] = number
        return made

    def user_by_email(self, email: str) -> User | None:
        return next((user for user in self.users.values() if user.email.lower() == email.lower()), None)

    def admins(self) -> list[User]:
        return [user for user in self.users.values() if user.is_admin]

    def name_of(self, user_id: str) -> str:
        """Return the name of a user, or the last one of someone who has left."""
        return self.names.get(user_id, "")

    def put(self, message: Message) -> None:
        """Keep a message where it belongs."""
        self.messages[message.id] = message
        self.listed[message.thread or message.place].append(message)

    def drop(self, message: Message) -> None:
        """Forget a message and its thread."""
        del self.messages[message.id]
        self.listed[message.thread or message.place].remove(message)
        for reply in self.listed.pop(message.id, []):
            self.messages.pop(reply.id, None)
        for name in message.images:
            self.pictures.pop(name, None)
