"""What teamchat is built from, as protocols: implement one and offer it through a hook.

Hooks find things, protocols do things.  A `Backend` is a named offer: `open(options)` is an async context
manager that yields the thing and closes it afterwards; `options` is a msgspec struct, filled from the
configuration section in which the backend is chosen, where an unknown key is an error.
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
    """What opening a storage would do: upgrade its schema from `present` to `newest`. It has `rows` rows."""

    present: int
    newest: int
    rows: int


@dataclass(frozen=True)
class Backend(Generic[T_co]):
    """A named offer of an implementation."""

    name: str
    """What the configuration chooses it by."""
    open: Callable[[Any], AbstractAsyncContextManager[T_co]]
    """Opens it with its options, and closes it at the end of the context."""
    options: type[Struct] = NoOptions
    """The struct that its configuration section is read into."""
    rehearse: Callable[[Any, Callable[[Transaction], Awaitable[object]]], Awaitable[Upgrade]] | None = None
    """A storage may offer this: it tries what opening would do to the schema, and changes nothing. Where that
    is something, its second argument tries in the same way what comes after it.
    """
    schema: Callable[[Any], Awaitable[int]] | None = None
    """A storage may offer this: it returns the number of the schema that is there, 0 for none, and changes
    nothing. By it the command line leaves the database of an older server alone."""


class Transaction(Protocol):
    """One transaction. Statements use the SQL that SQLite and PostgreSQL share; parameters are ``$1``…"""

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        """Run one statement and return its rows (none for a statement without ``returning``).

        Raises `StorageError` if the transaction has ended, if the statement would change rows in a reading
        transaction, and if the database refuses it.  After that a writing transaction is lost: it refuses
        further statements, and nothing of it is kept.  A storage may send a statement that returns no rows
        together with a later one; if the database refuses it, the error is raised there, or on exit.
        """

    async def define(self, statement: str) -> None:
        """Run one statement of a migration, with the words of `teamchat.storage.schema`, such as ``{int}``.

        Raises `StorageError` as `fetch` does.
        """

    async def append(self, event: Event) -> None:
        """Append an event to the log, in this transaction.

        Raises `StorageError` in a reading transaction, and for an event that `Event.check` refuses: one of a
        type that is the server's own, or whose payload is not JSON.  A storage calls `Event.check` first.
        """

    async def blank(
        self,
        room_id: str,
        message_ids: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        """Remove from the log's events what was said in messages of a room, or with None in any of them.

        It applies to every event appended before this, also in this transaction, whose ``text_room`` and
        ``text_message`` say so.  Of the payload stays what `teamchat.events.blanked` returns, and the event
        is not found by a later call.  With `fields`, only these fields of the message are removed, and the
        event can be found again.  Numbers, types and order stay as they are.  `teamchat.storage.log.blank_in`
        does this in the table.  Raises `StorageError` in a reading transaction.
        """

    async def advance_log(self, last: int) -> None:
        """Make the log end at `last` or later, so that every event to come gets a greater number.

        This is for code that writes the log's rows itself, such as a move from another storage.  The end of
        the log never goes back.
        """


class Storage(Protocol):
    """Where everything is stored. A write is durable once its context manager has exited."""

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a reading transaction: one consistent snapshot."""

    def write(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a writing transaction: all or nothing, durable on exit.

        Bodies run one at a time, across all processes and servers on this storage.  What a body has read
        stays true until it ends, so it can check first and then write.  It must not wait for anything but
        this transaction, because all other writers wait for it.

        Raises `StorageError` at once if the same task is already within one, and on exit if the commit
        failed, in which case nothing was changed.  If a task is cancelled during the commit, its write may
        have been committed all the same.
        """

    def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        """Yield the log's events with ``seq > after``, in commit order and without a gap, for ever."""

    async def log_bounds(self) -> tuple[int, int]:
        """Return (first, last): the log holds every event with ``first <= seq <= last``.

        For an empty log it is ``(last + 1, last)``, where `last` is the greatest number ever given, or 0.
        """

    async def position(self) -> int:
        """Return the number of the last event that a reading transaction would see if it began now.

        Nearly every request asks for it, so it has to be far cheaper than a transaction.
        """


@runtime_checkable
class AsksAhead(Protocol):
    """Optional for writing transactions: sends a statement together with the next one."""

    def ask_ahead(self, check: Callable[[list[Row]], Awaitable[None]], sql: str, *params: Any) -> None:
        """Run a statement ahead of the next one, and pass its rows to `check`, which may only read.

        `check` is called before the `fetch` of that next statement returns, or on exit if there is none.
        What it raises is raised there and refuses the transaction.  If something is supposed (`Supposes`), it
        is called before a `fetch` returns what the database really answered, or before the commit.
        """


@runtime_checkable
class Supposes(AsksAhead, Protocol):
    """Optional for writing transactions: goes on with what a statement most likely returns.

    If the guess was wrong, `teamchat.storage.supposing` runs the body again.
    """

    def begin_supposing(self) -> None:
        """Allow guessing; without this, `suppose` waits for the answer as `fetch` does."""

    @property
    def is_unsure(self) -> bool:
        """Whether something was guessed and is not confirmed yet; until then nothing is committed."""

    async def suppose(self, rows: Sequence[Row] | None, sql: str, *params: Any) -> Sequence[Row]:
        """Return `rows`, or with None what the statement returned last time, and check it later.

        It is checked before a `fetch` returns what the database really answered, and before the commit.  If
        the statement returns something else, the transaction is refused.  Don't ask like this for what people
        have written, because the answer stays in memory.
        """


@runtime_checkable
class SpeaksDialect(Protocol):
    """Optional for storages: says which SQL it understands besides what all storages share.

    A plugin that keeps an index in the database needs this.  What it creates by `Transaction.define` outside
    of migrations is not part of any copy, so it has to be able to build it again wherever it is missing.
    """

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``; empty if it is another one, or not known."""


@runtime_checkable
class KeepsCopies(Protocol):
    """Optional for storages: keeps a copy of itself before the tables of a capability are upgraded."""

    async def keep_copy(self, namespace: str, number: int) -> None:
        """Keep a copy before migration `number` of a namespace runs, unless the settings say not to.

        It is called at most once for each opening of the storage.  Raises `StorageError` if there is no room
        for the copy.
        """


MOST_CARRIED_BYTES = 7500
"""How much a `SignalCarrier` takes at once, in UTF-8. PostgreSQL's NOTIFY has a limit of 8,000 bytes."""


@runtime_checkable
class SignalCarrier(Protocol):
    """Optional for storages: carries signals between the processes that share it.

    A signal is wanted soon or not at all; it may be lost, and is stored nowhere (extension rule X-8).
    """

    async def carry(self, text: str) -> None:
        """Hand a text of up to `MOST_CARRIED_BYTES` to all other processes that are listening.

        This process may hear it too.  The call waits only until the text is handed over, which takes a
        moment. Raises `StorageError` or `OSError` if it can't be handed over at all.
        """

    def carried(self) -> AsyncIterator[str]:
        """Yield what processes hand over from now on, for ever; texts that come too fast are dropped.

        Raises `StorageError` or `OSError` if nothing can be heard.
        """


class ImageStore(Protocol):
    """Where the bytes of images are stored. teamchat makes the keys: ASCII letters, digits, ``-``, ``.``."""

    async def put(self, key: str, data: bytes) -> None:
        """Store `data` durably under `key`. A key is never written again with other data."""

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        """Return the stored bytes in chunks of at most 64 KiB, or None if there is no such key.

        A chunk may be any bytes-like object, such as a `memoryview`.  The caller may stop iterating at any
        time, and then calls ``aclose`` if the iterator has it.
        """

    async def delete(self, key: str) -> None:
        """Remove `key`; removing what is not there is no error."""


@dataclass(frozen=True)
class SignInTraits:
    """What the rest of the server has to know of a way to sign in. It never asks for a mode by its name."""

    asks_for_passwords: bool = False
    """People sign in with the password of their account.

    So the first start makes a password for the first admin, and ``teamchat user add`` asks for one.  If mail
    is configured, users who were added without one are mailed a link to set it, and so are users who forgot
    theirs and ask for it.
    """
    lets_register: bool = False
    """It has a route by which people register themselves, unless invites are required."""
    gives_refresh_tokens: bool = True
    """If it gives none, ``POST /auth/logout`` needs none, and ends the session of the access token (D-14)."""
    leads_to_providers: bool = False
    """Clients show a button for each provider in ``GET /auth/oauth/providers``."""
    warning: tuple[str, str] | None = None
    """What ``teamchat check`` warns of if this way is open, and the remedy: two sentences."""

    @classmethod
    def of_all(cls, traits: Collection[SignInTraits]) -> SignInTraits:
        """Return the traits of a server that offers several ways. The warnings stay with each way."""
        return cls(
            asks_for_passwords=any(one.asks_for_passwords for one in traits),
            lets_register=any(one.lets_register for one in traits),
            gives_refresh_tokens=all(one.gives_refresh_tokens for one in traits),
            leads_to_providers=any(one.leads_to_providers for one in traits),
        )


NO_TRAITS = SignInTraits()


class Routes(Protocol):
    """Endpoints: a `teamchat.web.Section`, or a Quart blueprint."""

    name: str


@dataclass(frozen=True)
class Mail:
    """A mail, ready to be sent. Every attempt to send it has the same `id`."""

    id: str
    recipient: str
    subject: str
    text: str
    html: str


class Mailer(Protocol):
    """Sends mails; ``email.backend`` chooses one. Its caller limits the time, and tries again later.

    It may be called for up to eight mails at once.
    """

    async def send(self, mail: Mail) -> None:
        """Hand over one mail, and return once somebody else has taken responsibility for it.

        Raises `MailRefused` if the mail will never be taken, and `MailDelayed` if it is not taken now.  Both
        are about this mail or its recipient only, and other mails are sent meanwhile.  Any other exception
        means that the mail server takes no mail at all at the moment (it can't be reached, or it refuses the
        greeting, the sign-in or the sender).  Then one mail at a time is tried, less and less often, until
        the mail server takes or refuses one.  So if whoever asked for a mail can bring an error about by the
        recipient they name, it has to be raised as one of those two.  A mail that takes longer than 60
        seconds is cancelled and counts as delayed.
        """


@dataclass(frozen=True)
class Profile:
    """Who signed in at a provider. `subject` is their permanent id there; it vouches for their `email`."""

    subject: str
    email: str


class Grant(Protocol):
    """What a provider gave in exchange for a code. `OAuthProvider.profile` reads the profile with it."""

    provider: OAuthProvider
    """The provider, with the addresses from the configuration."""
    tenant: str | None
    """``oauth.presets.<id>.tenant``, if it is set."""
    claims: Mapping[str, Any]
    """The claims of the ID token, whose audience, expiry and nonce were checked. Empty if there was none."""

    async def get(self, url: str) -> Any:
        """Fetch JSON from an address of the provider, with the provider's access token.

        Raises `OAuthFailed` if anything goes wrong.
        """


@dataclass(frozen=True)
class OAuthProvider:
    """An identity provider. ``{tenant}`` in an address stands for the configured tenant, or ``common``."""

    id: str
    name: str
    authorization_url: str
    token_url: str
    user_info_url: str
    scopes: str
    """Separated by spaces."""
    profile: Callable[[Grant], Awaitable[Profile]]
    """Reads who signed in. Raises `OAuthFailed` with ``email_not_verified`` unless the provider vouches for
    the email (decision D-20)."""
    issuer: str | None = None
    """What ``iss`` must be, if given (RFC 9207; OpenID Connect Core, section 3.1.3.7)."""
    tells_issuer: bool = False
    """Whether the browser must come back with ``iss``."""
    client_authentication: str = "client_secret_post"
    """How the client's secret is sent: ``client_secret_post`` or ``client_secret_basic``."""


class IdentityProvider(Protocol):
    """An identity provider whose addresses are discovered while the server runs, as in OpenID Connect.

    A capability brings it (`Parts.identity_providers`).  People sign in with it as with those of the hook
    ``oauth_providers``.  A user has one identity there: another subject with the same email is refused.
    """

    id: str
    name: str
    client_id: str
    client_secret: str
    redirect_uri: str | None
    """None for the usual one, which is made from ``auth.appUrl``."""

    def found(self) -> OAuthProvider | None:
        """Return the provider with its addresses; None hides its button, while they are not known."""

    async def claims(self, id_token: object, nonce: str) -> Mapping[str, Any]:
        """Return the claims of an ID token. `id_token` is whatever the token endpoint gave as one.

        Raises `OAuthFailed` unless the provider made it for this client and this sign-in, and recently.
        """

    async def admit_in(self, tx: Transaction, user: User, profile: Profile) -> None:
        """Take part in a sign-in before the session begins, in its transaction.

        `profile` is what `OAuthProvider.profile` returned.  Raise `OAuthFailed` to refuse the sign-in.
        """

    async def signed_in_in(
        self, tx: Transaction, user: User, profile: Profile, session_id: str | None
    ) -> None:
        """Take part in a sign-in after that. There is no session yet if a second factor is asked for."""


class Posting(Struct, frozen=True):
    """A message that somebody is about to post, or new content for an existing one."""

    content: str
    images: tuple[str, ...]
    author_id: str
    """A user's id, or ``webhook:`` followed by a webhook's."""
    room_id: str | None = None
    """The channel or conversation that a message is posted in. None for a webhook, which has its own."""
    parent_id: str | None = None
    """The message that a reply is to."""
    message_id: str | None = None
    """The message that an edit changes."""
    room_kind: RoomKind = "channel"
    """The kind of the room that it is posted in."""
    is_private: bool = False
    """Whether that room is private; groups, notes and direct conversations always are."""


class MessageFilter(Protocol):
    """May change or refuse what somebody posts, before it is stored."""

    name: str

    async def filter(self, posting: Posting) -> str:
        """Return the content to store, unchanged or not; a subclass of `str` is turned into a plain one.

        Raise a `Problem`, such as `BadRequest`, to refuse the message; the author is shown its sentence.  Any
        other exception, and taking longer than 10 seconds, refuses the message with status 503.
        """


class EventListener(Protocol):
    """Receives every event of the log after its commit, including those of direct messages."""

    name: str
    """The installation remembers under this name how far the listener has come."""

    async def hear(self, event: LoggedEvent) -> None:
        """Take one event. The next one comes when this has returned.

        Events come in the log's order, to one process of the installation at a time, and at least once: after
        a crash the last ones may come again.  An exception is logged, and the event counts as heard.  An
        event that leaves the log (``events.retentionSeconds``) before it is the listener's turn does not
        come; a `MissedEventsListener` is told so.
        """


@runtime_checkable
class MissedEventsListener(EventListener, Protocol):
    """An event listener that also has the method `missed`, and so is told of gaps."""

    async def missed(self, first: int, last: int) -> None:
        """Learn that the events ``first <= seq <= last`` left the log unheard.

        It is called in place of these events, in the log's order, at least once; some of the numbers may
        never have belonged to an event.  What was in the events is lost: read the chat's state anew, or tell
        somebody.  An exception is logged, and the events count as missed.
        """


class Service(Protocol):
    """Something that runs as long as the server does."""

    name: str

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Run until cancelled. Start up before ``task_status.started()``, shut down in ``finally``.

        If this raises, the server ends and names the service.
        """
