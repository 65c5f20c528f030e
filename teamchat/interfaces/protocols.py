"""What teamchat is built from, as protocols: implement one and offer it through a hook.

Hooks find things, protocols do things.  A `Backend` is a named offer: `open(options)` is an async context
manager that yields the thing and closes it afterwards; `options` is a msgspec struct that is filled from
the configuration section the backend was chosen in, where an unknown key is an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from teamchat.events import Event, LoggedEvent
from teamchat.model.resources import RoomKind, User

if TYPE_CHECKING:
    import trio


Row = tuple[Any, ...]
T_co = TypeVar("T_co", covariant=True)


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a backend that has none."""


class Upgrade(Struct, frozen=True):
    """What opening a storage would do to its schema: from `present` to `newest`, with so many rows in it."""

    present: int
    newest: int
    rows: int


@dataclass(frozen=True)
class Backend(Generic[T_co]):
    """A named offer of an implementation. `options` is the struct its configuration section is read into.

    A storage may offer two functions more, which change nothing: `rehearse` tries what opening would do to
    the schema, and where that is something has its second argument try in the same way what comes after it;
    `schema` returns the number of the one that is there, 0 for none, by which the command line leaves the
    database of an older server alone.
    """

    name: str
    open: Callable[[Any], AbstractAsyncContextManager[T_co]]
    options: type[Struct] = NoOptions
    rehearse: Callable[[Any, Callable[[Transaction], Awaitable[object]]], Awaitable[Upgrade]] | None = None
    schema: Callable[[Any], Awaitable[int]] | None = None


class Transaction(Protocol):
    """One transaction. Statements are in the SQL that SQLite and PostgreSQL share, parameters are ``$1``…"""

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        """Run one statement and return its rows (none for a statement without ``returning``).

        Raises `StorageError` after the transaction's end, if it would change rows in a reading one, and if
        the database refused it. A writing transaction can't go on then: further statements are refused too,
        and nothing of it is kept.  A storage may send a statement that returns no rows together with a later
        one, and raise there, or on exit, if it was refused.
        """

    async def define(self, statement: str) -> None:
        """Run one statement of a migration, in the words of `teamchat.storage.schema`: ``{int}`` and so on.

        Raises `StorageError` as `fetch` does.
        """

    async def append(self, event: Event) -> None:
        """Write an event to the log, in this transaction.

        Raises `StorageError` in a reading one, and for what `Event.check` refuses, which a storage asks
        first: a type that is the server's own, or a payload that is no JSON.
        """

    async def blank(
        self,
        room_id: str,
        message_ids: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        """Take what was said in messages of a place, or with None in all of it, out of the log's events.

        It concerns every event appended before, in this transaction too, whose ``text_room`` and
        ``text_message`` say so: of its payload stays what `teamchat.events.blanked` returns, and it is found
        no more; with `fields` only those of the message go, and it is found as before.  Numbers, types and
        the order stay.  `teamchat.storage.log.blank_in` does it in the table.
        Raises `StorageError` in a reading transaction.
        """

    async def advance_log(self, last: int) -> None:
        """Let the log end at `last` at least: no event that comes gets a number up to it.

        For who writes the log's rows by hand, such as a move from another storage.  It never goes back.
        """


class Storage(Protocol):
    """Where everything is kept. Every write is durable once its context manager has exited."""

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a reading transaction: one consistent snapshot."""

    def write(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a writing transaction: all or nothing, durable on exit.

        Bodies run one at a time, of all processes and servers on this storage together: what a body has read
        stays so until it ends, and it may check first and write then.  It must not wait for anything but this
        transaction, for all other writers stand behind it.

        Raises `StorageError` at once where the same task is within one already, and on exit if the commit
        failed, in which case nothing was changed. A task that is cancelled while the commit is under way may
        find its write committed.
        """

    def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        """Yield the log's events with ``seq > after``, in commit order, without a gap, for ever."""

    async def log_bounds(self) -> tuple[int, int]:
        """Return (first, last): the log holds every event with ``first <= seq <= last``.

        An empty log gives ``(last + 1, last)``, where `last` is the greatest number ever given, 0 at first.
        """

    async def position(self) -> int:
        """Return the number of the last event that a reading transaction begun now would see.

        It is asked with nearly every request, so it has to be far cheaper than a transaction.
        """


@runtime_checkable
class AsksAhead(Protocol):
    """A writing transaction that sends a statement together with the next one; it may do so."""

    def ask_ahead(self, check: Callable[[list[Row]], Awaitable[None]], sql: str, *params: Any) -> None:
        """Run a statement ahead of the next one, and have `check` look at its rows, which may only read.

        It is called before `fetch` of that next one returns, or on exit if there is none; what it raises is
        raised there, and refuses the transaction.  Where something is supposed (`Supposes`) that is before a
        `fetch` returns what the database said, or before the commit.
        """


@runtime_checkable
class Supposes(AsksAhead, Protocol):
    """A writing transaction that can go on by what a statement most likely returns; it may do so.

    `teamchat.storage.supposing` runs the body anew if that was wrong.
    """

    def begin_supposing(self) -> None:
        """Let `suppose` suppose; without this it waits, as `fetch` does."""

    @property
    def is_unsure(self) -> bool:
        """Whether something was supposed and is not confirmed: then nothing is committed."""

    async def suppose(self, rows: Sequence[Row] | None, sql: str, *params: Any) -> Sequence[Row]:
        """Return `rows`, or with None what the statement returned last, and have that looked at later.

        That is before `fetch` returns what the database said, and before the commit.  If the statement
        returns something else the transaction is refused.  What people have written is not asked so, for an
        answer is kept in memory.
        """


@runtime_checkable
class SpeaksDialect(Protocol):
    """A storage that says which SQL it understands beside what all share; it may do so.

    Who keeps an index in the database needs that: what such a plugin makes by `Transaction.define`, outside
    of migrations, is in no copy, and has to be made anew from the rest wherever it is missing.
    """

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``; empty for another one, or none that is known."""


@runtime_checkable
class KeepsCopies(Protocol):
    """A storage that keeps a copy of itself before the tables of a capability are upgraded; it may do so."""

    async def keep_copy(self, namespace: str, number: int) -> None:
        """Keep what is there before migration `number` of a namespace runs, unless the settings say not to.

        It is called once at the most for each opening of the storage. Raises `StorageError` if there is no
        room for it.
        """


MOST_CARRIED_BYTES = 7500
"""How much a `SignalCarrier` takes at a time, in UTF-8: PostgreSQL's NOTIFY has a limit of 8,000 bytes."""


@runtime_checkable
class SignalCarrier(Protocol):
    """A storage that carries signals between the processes that share it; it may do so.

    What is carried is wanted soon or not at all, may be lost, and is kept nowhere (extension rule X-8).
    """

    async def carry(self, text: str) -> None:
        """Hand a text of up to `MOST_CARRIED_BYTES` to all other processes that listen now.

        The own process may hear it too. Nothing is waited for but the handing over, and that for a moment.
        Raises `StorageError` or `OSError` if it can't be handed over at all.
        """

    def carried(self) -> AsyncIterator[str]:
        """Yield what processes hand over from now on, for ever; what comes too fast is dropped.

        Raises `StorageError` or `OSError` if nothing can be heard.
        """


class ImageStore(Protocol):
    """Where the bytes of images are kept. Keys are made by teamchat: ASCII letters, digits, ``-``, ``.``."""

    async def put(self, key: str, data: bytes) -> None:
        """Store `data` durably under `key`; a key is written once and never with other data."""

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        """Return the stored bytes in chunks of at most 64 KiB, or None if there is no such key.

        A chunk may be any object of bytes, such as a `memoryview`; the iterator may be left at any time, and
        is closed by ``aclose`` if it has that.
        """

    async def delete(self, key: str) -> None:
        """Remove `key`; removing what is not there is no error."""


@dataclass(frozen=True)
class SignInTraits:
    """What the rest of the server has to know of a way to sign in; it asks for no mode by its name."""

    asks_for_passwords: bool = False
    """People sign in with the password of their account.

    So the first start makes one for the first admin, ``teamchat user add`` asks for one, and, where mail is
    configured, who was added without one is mailed a link to set it, and who forgot theirs may ask for one.
    """
    lets_register: bool = False
    """It has a route by which people add themselves, unless invites are required."""
    gives_refresh_tokens: bool = True
    """Without them ``POST /auth/logout`` needs none, and ends the session of the access token (D-14)."""
    leads_to_providers: bool = False
    """Clients show buttons of ``GET /auth/oauth/providers``."""
    warning: tuple[str, str] | None = None
    """What ``teamchat check`` warns of where this way is open, and the remedy: two sentences."""

    @classmethod
    def of_all(cls, traits: Collection[SignInTraits]) -> SignInTraits:
        """Return the traits of a server that offers several ways; their warnings stay with each."""
        return cls(
            asks_for_passwords=any(one.asks_for_passwords for one in traits),
            lets_register=any(one.lets_register for one in traits),
            gives_refresh_tokens=all(one.gives_refresh_tokens for one in traits),
            leads_to_providers=any(one.leads_to_providers for one in traits),
        )


NO_TRAITS = SignInTraits()


class Routes(Protocol):
    """Something that can be asked for over HTTP: a `teamchat.web.Section`, or a blueprint of Quart's."""

    name: str


@dataclass(frozen=True)
class Mail:
    """A mail ready to be sent. Subject, text and HTML are composed; `id` is the same at every try."""

    id: str
    recipient: str
    subject: str
    text: str
    html: str


class Mailer(Protocol):
    """Sends mails, chosen by ``email.backend``. Who calls it tries again later, and bounds the time.

    Up to eight mails are given to it at once.
    """

    async def send(self, mail: Mail) -> None:
        """Hand over one mail, and return once somebody else has taken responsibility for it.

        Raises `MailRefused` if it will never be taken, and `MailDelayed` if it is not taken now: both are
        about this mail or its recipient alone, and other mails go on.  Any other exception means that the
        server takes no mail at all now (it can't be reached, or it refuses the greeting, the sign-in or the
        sender): then one mail at a time is tried, ever less often, until the server takes or refuses one.
        So an error that whoever asked for the mail can bring about, by the recipient they name, has to be one
        of those two.  A mail that takes longer than 60 seconds is cancelled, and counts as delayed.
        """


@dataclass(frozen=True)
class Profile:
    """Who signed in at a provider: `subject` is their id there for ever, `email` one it vouches for."""

    subject: str
    email: str


class Grant(Protocol):
    """What a provider gave for a code, for its function `OAuthProvider.profile` to read the profile with."""

    provider: OAuthProvider
    """The provider, with the addresses that the configuration gives it."""
    tenant: str | None
    """``oauth.presets.<id>.tenant``, if it is given."""
    claims: Mapping[str, Any]
    """The claims of the ID token if there was one: its audience, expiry and nonce are right. Else empty."""

    async def get(self, url: str) -> Any:
        """Return the JSON at an address of the provider's, asked for with the provider's access token.

        Raises `OAuthFailed` for whatever goes wrong.
        """


@dataclass(frozen=True)
class OAuthProvider:
    """A provider of identities. In an address ``{tenant}`` stands for the configured tenant, or ``common``.

    `profile` reads who signed in; it raises `OAuthFailed` with ``email_not_verified`` unless the provider
    vouches for the email (decision D-20).  `issuer`, if given, is what ``iss`` must be (RFC 9207; OpenID
    Connect Core, section 3.1.3.7); with `tells_issuer` it must come back with the browser.
    `client_authentication` is how the client's secret is sent, ``client_secret_post`` or ``…_basic``.
    """

    id: str
    name: str
    authorization_url: str
    token_url: str
    user_info_url: str
    scopes: str
    profile: Callable[[Grant], Awaitable[Profile]]
    issuer: str | None = None
    tells_issuer: bool = False
    client_authentication: str = "client_secret_post"


class IdentityProvider(Protocol):
    """A provider of identities whose addresses are found while the server runs, as OpenID Connect has them.

    A capability brings it (`Parts.identity_providers`), and people sign in by it as by those of the hook
    ``oauth_providers``.  A user has one identity at it: another subject with their email is refused.
    """

    id: str
    name: str
    client_id: str
    client_secret: str
    redirect_uri: str | None
    """None for the usual one, made from ``auth.appUrl``."""

    def found(self) -> OAuthProvider | None:
        """Return it with its addresses, or None while they are not known: then nobody is shown its button."""

    async def claims(self, id_token: object, nonce: str) -> Mapping[str, Any]:
        """Return the claims of an ID token, which is whatever the token endpoint gave as one.

        Raises `OAuthFailed` unless it was made by the provider for this client, this sign-in, and lately.
        """

    async def admit_in(self, tx: Transaction, user: User, profile: Profile) -> None:
        """Take part in a sign-in before the session begins, in its transaction.

        `profile` is what `OAuthProvider.profile` returned.  Raises `OAuthFailed` to refuse it.
        """

    async def signed_in_in(
        self, tx: Transaction, user: User, profile: Profile, session_id: str | None
    ) -> None:
        """Take part in a sign-in after that; without a session yet where something more is asked for."""


class Posting(Struct, frozen=True):
    """A message that somebody is about to post, or new content for one that is there.

    `author_id` is a user's id, or ``webhook:`` and a webhook's.  Where it goes: a message of a channel or a
    conversation has that one's `room_id`, a reply its `parent_id`, a revision the `message_id` it changes;
    a webhook posts into its own channel.  `room_kind` and `is_private` are those of the room it is said in:
    groups, notes and direct conversations are always private.
    """

    content: str
    images: tuple[str, ...]
    author_id: str
    room_id: str | None = None
    parent_id: str | None = None
    message_id: str | None = None
    room_kind: RoomKind = "channel"
    is_private: bool = False


class MessageFilter(Protocol):
    """May change or refuse what somebody posts, before it is stored."""

    name: str

    async def filter(self, posting: Posting) -> str:
        """Return the content to store: the given one, or another; a subclass of `str` is made plain.

        Raise a `Problem` such as `BadRequest` to refuse the message; its sentence is shown to the author.
        Any other exception refuses it too, with status 503, and so does taking longer than 10 seconds.
        """


class EventListener(Protocol):
    """Receives every event of the log after its commit, those of direct messages too."""

    name: str
    """Under this name the installation remembers how far the listener has come."""

    async def hear(self, event: LoggedEvent) -> None:
        """Take one event. The next one comes when this has returned.

        Events come in the log's order, to one process of the installation at a time, and at least once: after
        a crash the last ones may come again.  An exception is logged, and the event counts as heard.
        An event that has left the log (``events.retentionSeconds``) before it was the listener's turn does
        not come; a `MissedEventsListener` learns so.
        """


@runtime_checkable
class MissedEventsListener(EventListener, Protocol):
    """An event listener that is notified of gaps; `missed` is a method it may have."""

    async def missed(self, first: int, last: int) -> None:
        """Learn that the events ``first <= seq <= last`` left the log unheard.

        It is called in place of these events, in the log's order, at least once; numbers that no event had
        may be among them.  What was in them can't be had any more: read the chat's state anew, or tell
        somebody.  An exception is logged, and the events count as missed.
        """


class Service(Protocol):
    """Something that runs as long as the server does."""

    name: str

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Run until cancelled: before ``task_status.started()`` is start-up, ``finally`` is shutdown.

        If it raises, the server ends and names the service.
        """
