"""`Teamchat`: what hooks get as `app`, and all of the server that a plugin may rely on.

Anything else that `app` has is private and may change with any version.  docs/reference/api.md is made from
these docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from teamchat.accounts import Accounts
    from teamchat.accounts.audit import Audit
    from teamchat.capabilities.announced import Announced
    from teamchat.capabilities.message_tests import MessageTest, MessageText
    from teamchat.capabilities.notices import Notices
    from teamchat.capabilities.reminders import Reminders
    from teamchat.chat.corpus import Corpus
    from teamchat.chat.rooms_table import RoomCounts
    from teamchat.chat.sight import Room, SeenMessage
    from teamchat.events import InRoom, Signal
    from teamchat.interfaces import (
        Credentials,
        FileCheck,
        FileStore,
        IdentityProvider,
        OAuthProvider,
        Storage,
        Transaction,
    )
    from teamchat.interfaces.activity import Activity
    from teamchat.model import Caller, Message
    from teamchat.settings import Settings
    from teamchat.stream.hub import Hub

T = TypeVar("T", bound=Struct)


class Teamchat(Protocol):
    """One server, as plugins see it."""

    @property
    def settings(self) -> Settings:
        """The configuration, read-only."""

    @property
    def storage(self) -> Storage:
        """The database. While an endpoint serves a caller, `write` begins by checking them again (D-39)."""

    @property
    def accounts(self) -> Accounts:
        """Users and sessions, for ways to sign in: ``sign_in`` starts a session for an email."""

    @property
    def hub(self) -> Hub:
        """The live stream: ``len()`` is how many streams are open in this process."""

    def plugin_options(self, name: str, kind: type[T]) -> T:
        """Return the keys of ``[plugins.<name>]`` as `kind`, a msgspec struct with a default for each key.

        In the configuration, secrets may be written as ``{file = …}`` or ``{env = …}``. Raises
        `SettingsError` for an unknown key or a wrong value.
        """

    async def room(self, tx: Transaction, caller: Caller, room_id: str) -> Room:
        """Return a channel or a direct conversation that the caller sees.

        Raises `NotFound` for any other, and `Forbidden` to outsiders of a direct conversation (D-03).
        """

    async def channel(self, tx: Transaction, caller: Caller, channel_id: str) -> Room:
        """Return a channel that the caller sees; raises `NotFound` for any other."""

    async def conversation(self, tx: Transaction, caller: Caller, conversation_id: str) -> Room:
        """Return a direct conversation, as `room` does; raises `NotFound` for the id of a channel."""

    async def message(self, tx: Transaction, caller: Caller, message_id: str) -> SeenMessage:
        """Return in which room a message is that the caller sees, and whose it is.

        Raises `NotFound` for any other.
        """

    async def messages(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> list[Message]:
        """Return whole messages, with the fields of all capabilities, in the order of the ids.

        Messages that the caller does not see, or that do not exist, are left out.
        """

    async def message_place(self, tx: Transaction, message_id: str) -> SeenMessage | None:
        """Return in which room a message is, whoever sees it; None if it does not exist.

        This is for what happens to a message without anybody asking, such as a reminder or a file that
        expires, and is sent to the message's `audience`. When somebody asks for a message, use `message`.
        """

    @property
    def file_store(self) -> FileStore:
        """The store of files, for a capability that keeps some (`Capability.files`)."""

    async def company(self, tx: Transaction, caller: Caller, others: Sequence[str], most: int) -> list[str]:
        """Return up to `most` users who share a room with the caller.

        Everybody is in a default channel; if the caller is in one, `others` are among the result, as far as
        `most` allows.
        """

    async def shown_in(
        self, tx: Transaction, shown: Mapping[str, str], without: type[Struct]
    ) -> Mapping[str, Message]:
        """Return messages that other messages show, as a quote does; `shown` maps showing to shown ids.

        The result is by the ids of the showing messages. A shown message is only returned if it is in the
        same room, and everybody who sees the showing message sees it too: so whoever may read the one may
        read the other. It comes with the capability fields that are the same for everybody, except those of
        the kind `without`. Messages that do not exist are left out.
        """

    async def check_webhook(self, webhook_id: str, token: str) -> None:
        """Raise unless this token may post through this webhook now.

        Raises `Unauthorized` for a wrong token, `NotFound` if there is no such webhook, and `Forbidden` if
        the token belongs to another one or the channel is archived (D-32).  Meant for an endpoint's `first`.
        """

    async def post_by_webhook(
        self, webhook_id: str, token: str, content: str, key: str | None, path: str
    ) -> Message:
        """Post a text into a webhook's channel, as ``POST /webhooks/:webhookId/messages`` does (D-32).

        `key` is the Idempotency-Key, or None. `path` names the endpoint, because the same key at another one
        is refused (D-07b).  Raises what `check_webhook` and message filters raise, and `BadRequest`.
        """

    @property
    def audit(self) -> Audit:
        """The audit log: ``await app.audit.note(tx, "poll.close", "poll", poll_id, votes=3)`` adds an entry.

        Write it in the transaction of the change that it records; who asks, and from where, is added. An
        action consists of lower-case names with dots between them. The keywords are its details: never put
        the text of a message, an email or a secret there.
        """

    async def user_names(self, tx: Transaction) -> Mapping[str, Sequence[str]]:
        """Return other names by which users can be searched for, such as full names, by the users' ids."""

    @property
    def corpus(self) -> Corpus:
        """Everything that was said, for capabilities that search it: `teamchat.Corpus`."""

    @property
    def message_tests(self) -> Mapping[str, MessageTest]:
        """What a search can ask capabilities of messages, by the search word: ``has:pin``, ``mentions:``."""

    async def message_texts(
        self, tx: Transaction, message_ids: Sequence[str]
    ) -> Mapping[str, Sequence[MessageText]]:
        """Return the texts that messages have besides their content, such as file names, by message id.

        Messages without any are left out. Nothing checks who sees them.
        """

    @property
    def reminders(self) -> Sequence[Reminders]:
        """What capabilities remind users of."""

    @property
    def file_checks(self) -> Sequence[FileCheck]:
        """The checks that a file must pass before it is handed out, in the order of the plugins' names."""

    @property
    def notices(self) -> Notices | None:
        """Says whom a message notifies, by sight, read states and levels; None if these are turned off."""

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal to its audience, on those of their streams that ask for it (X-8).

        `audience` is like that of an event: a room's, some users by their ids, or None for everyone. Call it
        outside of transactions, after what it tells of is committed. It returns at once; the signal may be
        lost.

        Raises `StorageError` if the capability does not declare the signal, or if it exceeds 4,000 bytes.
        """

    async def signal_about(self, signals: Mapping[str, Signal]) -> None:
        """Send signals about users, by their ids, to the streams that name them in `presenceOf` (I-1, X-8).

        Only the streams of this process that ask for the signal get it, at once, each in a single write. It
        may be lost. Raises `StorageError` as `signal` does.
        """

    @property
    def credentials(self) -> Credentials | None:
        """The tokens that a capability keeps, as `teamchat.Credentials`; None if no capability does (K-1)."""

    @property
    def activity(self) -> Activity:
        """Who has a stream open, and who is active, in any process: `teamchat.Activity` (I-1)."""

    @property
    def oauth_provider(self) -> Callable[[str], OAuthProvider]:
        """Returns the OAuth provider with this id. Raises `SettingsError` if no plugin offers one."""

    @property
    def identity_providers(self) -> Sequence[IdentityProvider]:
        """The identity providers that capabilities bring."""

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: each a name and a folder, sorted by name.

        A folder holds ``main.js``, ``style.css``, ``strings/<language>.json`` and ``manifest.json``; all but
        the first may be missing.
        """

    @property
    def event_types(self) -> Collection[str]:
        """The types of the events that listeners hear of: teamchat's own, and those of capabilities."""

    async def server_name(self, tx: Transaction) -> str:
        """Return the server's name, which admins can change."""

    async def room_counts(self) -> RoomCounts:
        """Count the rooms of each kind, and the memberships, for monitoring."""

    def announced(self) -> Announced:
        """Return the answer to ``GET /capabilities``: the capabilities that are on, with their limits."""
