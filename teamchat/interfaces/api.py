"""`Teamchat`: what hooks are given as `app`, and all of the server that a plugin may rely on.

A member that is not here is private, and may change with any version; docs/reference/api.md describes each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from teamchat.accounts import Accounts
    from teamchat.capabilities.announced import Announced
    from teamchat.capabilities.message_tests import MessageTest
    from teamchat.capabilities.reminders import Reminders
    from teamchat.chat.corpus import Corpus
    from teamchat.chat.rooms_table import RoomCounts
    from teamchat.chat.sight import Room, SeenMessage
    from teamchat.events import InRoom, Signal
    from teamchat.interfaces import OAuthProvider, Storage, Transaction
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

    @property
    def corpus(self) -> Corpus:
        """What was said, for capabilities that look through all of it: `teamchat.Corpus`."""

    @property
    def message_tests(self) -> Mapping[str, MessageTest]:
        """What capabilities can say of messages, by the words of a search: ``has:pin``, ``mentions:``."""

    @property
    def reminders(self) -> Sequence[Reminders]:
        """What capabilities remind users of."""

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal to the streams that ask for it, of those who are in its audience (X-8).

        `audience` is that of an event: a room's, users by their ids, or None for everyone. Outside a
        transaction, for what it tells of must be there. It returns at once; the signal may be lost.

        Raises `StorageError` if the capability does not declare it, or if it has more than 4,000 bytes.
        """

    @property
    def oauth_provider(self) -> Callable[[str], OAuthProvider]:
        """Returns the provider of an id that a plugin offers. Raises `SettingsError` if none does."""

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: a name and a folder, in the names' order.

        A folder holds ``main.js``, ``style.css`` and ``strings/<language>.json``; all but the first may be
        missing.
        """

    async def room_counts(self) -> RoomCounts:
        """Count the rooms of each kind, and memberships: for who watches the server."""

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers: the capabilities that are on, with their limits."""
