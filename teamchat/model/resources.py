"""The resources of the interface, as frozen structs whose JSON is the interface's (part 2).

The structs are the wire form: field names are the interface's, `UNSET` fields are left out, and the OpenAPI
document is made from them. They have no rules; those are in `teamchat.chat` and `teamchat.accounts`. All
times are integers, in epoch milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

RoomKind = Literal["channel", "group", "notes", "direct"]
"""What a room is: ``direct`` is a conversation of two."""


def now_ms() -> int:
    """Return the wall clock in epoch milliseconds."""
    return time.time_ns() // 1_000_000


class _Wire(Struct, frozen=True, rename="camel", omit_defaults=False):
    """Base of everything that is sent: snake_case here, camelCase in JSON."""


class User(_Wire, frozen=True):
    """The current user, as sign-in and /auth/me answer it."""

    id: str
    user_name: str
    email: str
    is_admin: bool


class ListedUser(User, frozen=True):
    """A user in the list of users. `is_deactivated` is there, and true, for one who can't sign in (L-1)."""

    created_at: int
    is_deactivated: bool | UnsetType = UNSET


class UserName(_Wire, frozen=True):
    """Who somebody is, in short."""

    id: str
    user_name: str


class Author(_Wire, frozen=True):
    """The author of a message. `is_bot` is true for bots, and for webhooks, whose id is ``webhook:<id>``."""

    id: str
    user_name: str
    is_bot: bool | UnsetType = UNSET


class Channel(_Wire, frozen=True):
    """A channel. `updated_at` is there after an update alone, `kind` where it is not ``channel``.

    `is_member` and `role` (``manager``, ``member``) are the caller's.
    """

    id: str
    name: str
    created_at: int
    updated_at: int | UnsetType = UNSET
    created_by: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    is_private: bool | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    is_default: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET
    archived_at: int | UnsetType = UNSET
    post_policy: str | UnsetType = UNSET
    invite_policy: str | UnsetType = UNSET
    history_for: str | UnsetType = UNSET
    member_count: int | UnsetType = UNSET
    is_member: bool | UnsetType = UNSET
    role: str | UnsetType = UNSET


class Member(_Wire, frozen=True):
    """A member of a channel; `added_by` is null where nobody has added them."""

    user_id: str
    role: str
    joined_at: int
    added_by: str | None


class ThreadMeta(_Wire, frozen=True):
    """The thread of a parent message, in short. `participants` are in order of first reply."""

    reply_count: int
    last_reply_at: int
    last_reply_by: UserName
    participants: Sequence[str]


class Message(_Wire, frozen=True):
    """A message of a channel, a thread or a conversation (`channel_id` then holds the conversation's id)."""

    id: str
    channel_id: str
    author: Author
    content: str
    created_at: int
    updated_at: int | None
    reactions: Mapping[str, Sequence[str]]
    thread_id: str | UnsetType = UNSET
    thread_meta: ThreadMeta | UnsetType = UNSET
    images: Sequence[str] | UnsetType = UNSET


class Conversation(_Wire, frozen=True):
    """A one-to-one conversation as one of its two participants sees it."""

    id: str
    participants: Sequence[str]
    other_user: UserName
    last_message_at: int | UnsetType | None = UNSET


class Webhook(_Wire, frozen=True):
    """A webhook. `token` (64 hexadecimal digits) is there in the answer to its creation alone.

    `may_mention_all` is there, and true, if it may mention whole channels.
    """

    id: str
    name: str
    channel_id: str
    created_at: int
    created_by: str
    token: str | UnsetType = UNSET
    may_mention_all: bool | UnsetType = UNSET


class SessionInfo(_Wire, frozen=True):
    """One session of the caller (decision D-13). No field holds any part of a token."""

    id: str
    created_at: int
    last_used_at: int
    expires_at: int
    ip: str
    user_agent: str
    is_current_session: bool


class TokenPair(_Wire, frozen=True):
    """What a sign-in hands out: an access token and a refresh token."""

    access_token: str
    refresh_token: str


class SignedIn(_Wire, frozen=True):
    """A token pair with the access token's lifetime (`exp`, seconds) and its type.

    `must_change_password` is there, and true, where nothing else can be done before that (decision D-43);
    `earlier_access_ended` where this was the first proof of the address and ended what came before it (D-40).
    """

    access_token: str
    refresh_token: str
    exp: int
    token_type: str = "Bearer"  # noqa: S105  # the token's type, not a token
    must_change_password: bool | UnsetType = UNSET
    earlier_access_ended: bool | UnsetType = UNSET


class Caller(Struct, frozen=True):
    """Who makes a request: a user, read afresh from the storage, in one of their sessions (decision D-09).

    A program may use a token instead of a session (extension K-1).
    """

    user: User
    """Their `id`, `user_name` and `email`, and whether they are an admin (`is_admin`)."""
    session_id: str
    """The id of the session, or of the token."""
    must_change_password: bool = False
    """Whether the password has to be changed before anything else."""
    log_start: int = 0
    """Where the event log ended when their account was made: they get no events from before."""
    scopes: frozenset[str] | None = None
    """What the token may be used for; None for a session, which is not limited."""
    places: frozenset[str] | None = None
    """The places the token is limited to: of all that its user sees, it sees only these. None: no limit."""
    is_bot: bool = False
    """Whether the account is a program's (extension K-2)."""

    def reaches(self, place_id: str) -> bool:
        """Return whether this is one of the places the token is limited to, or there is no such limit."""
        return self.places is None or place_id in self.places
