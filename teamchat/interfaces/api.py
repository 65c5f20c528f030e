"""`Teamchat`: what hooks are given as `app`, and all of the server that a plugin may rely on.

A member that is not here is private, and may change with any version; docs/reference/api.md describes each.
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
        """The configuration, read only."""

    @property
    def storage(self) -> Storage:
        """The database. While an endpoint serves a caller, `write` begins by asking for them again (D-39)."""

    @property
    def accounts(self) -> Accounts:
        """Users and sessions, for ways to sign in: ``sign_in`` makes a session for an email."""

    @property
    def hub(self) -> Hub:
        """The live stream: ``len()`` is how many streams are open in this process."""

    def plugin_options(self, name: str, kind: type[T]) -> T:
        """Return the keys of ``[plugins.<name>]`` as `kind`, a msgspec struct with a default for each.

        Secrets may be ``{file = …}`` or ``{env = …}`` there. Raises `SettingsError` for an unknown key or a
        wrong value.
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
        """Return where a message stands that the caller sees, and whose it is; `NotFound` for any other."""

    async def messages(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> list[Message]:
        """Return whole messages, with the fields of all capabilities, in the order of the ids.

        Those that the caller does not see, or that are not there, are left out.
        """

    async def message_place(self, tx: Transaction, message_id: str) -> SeenMessage | None:
        """Return where a message stands, whoever sees it; None if it is not there.

        For what happens to a message by itself, such as a reminder or a file that has expired, and is told to
        its `audience`. Whoever asks for something is asked about with `message`.
        """

    @property
    def file_store(self) -> FileStore:
        """The store of files, for a capability that keeps some (`Capability.files`)."""

    async def company(self, tx: Transaction, caller: Caller, others: Sequence[str], most: int) -> list[str]:
        """Return users with whom the caller is in a place, `most` at most.

        In a default channel everybody is: then `others` are among them, as far as there is room.
        """

    async def shown_in(
        self, tx: Transaction, shown: Mapping[str, str], without: type[Struct]
    ) -> Mapping[str, Message]:
        """Return the messages that others show, by the ids of these others; `shown` has ids by ids.

        It returns one where it stands in the same place as the message which shows it, and whoever sees that
        sees it too: so it may be read by everybody with it. It has those fields of capabilities that are the
        same for all, but none of the kind `without`. What is not there is left out.
        """

    async def check_webhook(self, webhook_id: str, token: str) -> None:
        """Raise unless a webhook's token may post by it now.

        `Unauthorized` for a wrong token, `NotFound` for no such webhook, `Forbidden` if the token is another
        one's or the channel is archived (D-32).  For an endpoint's `first`.
        """

    async def post_by_webhook(
        self, webhook_id: str, token: str, content: str, key: str | None, path: str
    ) -> Message:
        """Post a text into a webhook's channel, as ``POST /webhooks/:webhookId/messages`` does (D-32).

        `key` is the Idempotency-Key, or None; `path` names the endpoint, for the same key on another one is
        refused (D-07b).  Raises as `check_webhook` does, what message filters raise, and `BadRequest`.
        """

    @property
    def audit(self) -> Audit:
        """The audit log: ``await app.audit.note(tx, "poll.close", "poll", poll_id, votes=3)`` adds an entry.

        It is written in the transaction of what it tells of, with who asks and from where. An action is of
        dotted lower-case names; the keywords are its details, without what was said in a message, without an
        email and without a secret.
        """

    async def user_names(self, tx: Transaction) -> Mapping[str, Sequence[str]]:
        """Return by what other names people look for users, by the users' ids: full names, for instance."""

    @property
    def corpus(self) -> Corpus:
        """What was said, for capabilities that look through all of it: `teamchat.Corpus`."""

    @property
    def message_tests(self) -> Mapping[str, MessageTest]:
        """What capabilities can say of messages, by the words of a search: ``has:pin``, ``mentions:``."""

    async def message_texts(
        self, tx: Transaction, message_ids: Sequence[str]
    ) -> Mapping[str, Sequence[MessageText]]:
        """Return what stands in messages besides their content, such as names of files, by their ids.

        Those without any are left out, and nobody is asked who sees them.
        """

    @property
    def reminders(self) -> Sequence[Reminders]:
        """What capabilities remind users of."""

    @property
    def file_checks(self) -> Sequence[FileCheck]:
        """What plugins ask of a file before it is handed out, in the plugins' name order."""

    @property
    def notices(self) -> Notices | None:
        """Tells whom a message notifies, by sight, read states and levels; None where these are off."""

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal to the streams that ask for it, of those who are in its audience (X-8).

        `audience` is that of an event: a room's, users by their ids, or None for everyone. Outside a
        transaction, for what it tells of must be there. It returns at once; the signal may be lost.

        Raises `StorageError` if the capability does not declare it, or if it has more than 4,000 bytes.
        """

    async def signal_about(self, signals: Mapping[str, Signal]) -> None:
        """Send signals about users, by their ids, to the streams that name them in `presenceOf` (I-1, X-8).

        Only streams of this process are told, at once, and only those that ask for the signal; what one of
        them gets leaves in one write. It may be lost. Raises `StorageError` as `signal` does.
        """

    @property
    def credentials(self) -> Credentials | None:
        """The tokens that a capability keeps; None where none does: `teamchat.Credentials` (K-1)."""

    @property
    def activity(self) -> Activity:
        """Who has a stream open, and who is active at one, in any process: `teamchat.Activity` (I-1)."""

    @property
    def oauth_provider(self) -> Callable[[str], OAuthProvider]:
        """Returns the provider of an id that a plugin offers. Raises `SettingsError` if none does."""

    @property
    def identity_providers(self) -> Sequence[IdentityProvider]:
        """Where people may sign in, of what capabilities bring."""

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: a name and a folder, in the names' order.

        A folder holds ``main.js``, ``style.css``, ``strings/<language>.json`` and ``manifest.json``; all but
        the first may be missing.
        """

    @property
    def event_types(self) -> Collection[str]:
        """The types of the events that listeners hear of: teamchat's own, and those of capabilities."""

    async def server_name(self, tx: Transaction) -> str:
        """Return the name that admins have given the server."""

    async def room_counts(self) -> RoomCounts:
        """Count the rooms of each kind, and memberships: for who watches the server."""

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers: the capabilities that are on, with their limits."""
