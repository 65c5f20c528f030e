"""The application: what a request works with, put together once, without any knowledge of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from teamchat.accounts import Accounts, keys
from teamchat.accounts.acting import AskingStorage
from teamchat.accounts.mails import Composer
from teamchat.capabilities import Announced, Capabilities, MessageTest, Reminders
from teamchat.chat import Chat, rooms_table, sight
from teamchat.chat.corpus import Corpus
from teamchat.chat.rooms_table import RoomCounts
from teamchat.chat.sight import Room, SeenMessage
from teamchat.cluster import Members, agree_on_images, agree_on_secret
from teamchat.errors import SettingsError
from teamchat.events import InRoom, Signal
from teamchat.interfaces import (
    NO_TRAITS,
    ImageStore,
    Mailer,
    OAuthProvider,
    SignalCarrier,
    SignInTraits,
    Storage,
    Transaction,
)
from teamchat.model import Caller, Message
from teamchat.settings import Settings, backend_options, jwt_secret, plugin_options
from teamchat.storage import capability_tables
from teamchat.storage.moving import refuse_unfinished
from teamchat.stream import Hub, StreamRegistry

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from teamchat.plugins import Plugins

T = TypeVar("T", bound=Struct)
RenewIn = Callable[[Transaction], Awaitable[None]]
ShowPassword = Callable[[str, str], object]
"""Takes the initial user's email and the password that was made for them, to show it this one time."""


def no_provider(provider_id: str) -> OAuthProvider:
    """Stand for plugins that offer no provider."""
    raise SettingsError(f"No plugin offers the provider {provider_id}.")


@dataclass(frozen=True)
class Application:
    """Everything behind the web layer; to plugins it is `teamchat.Teamchat` and nothing more."""

    settings: Settings
    storage: Storage
    """While an endpoint serves a caller, `write` begins by asking for them again (decision D-39)."""
    accounts: Accounts
    chat: Chat
    hub: Hub
    mailer: Mailer | None = None
    """None when no mail is configured."""
    composer: Composer | None = None
    """Writes the mails; None when no mail is configured."""
    sign_in: SignInTraits = NO_TRAITS
    """What has to be known here of the ways to sign in that are open."""
    oauth_provider: Callable[[str], OAuthProvider] = no_provider
    """Returns the provider of that id that a plugin offers. Raises `SettingsError` if none does."""
    capabilities: Capabilities = field(default_factory=Capabilities)

    async def room(self, tx: Transaction, caller: Caller, room_id: str) -> Room:
        """Return a channel or a direct conversation that the caller sees (`teamchat.chat.sight`)."""
        return await sight.room(tx, caller, room_id)

    async def channel(self, tx: Transaction, caller: Caller, channel_id: str) -> Room:
        """Return a channel that the caller sees."""
        return await sight.channel(tx, caller, channel_id)

    async def conversation(self, tx: Transaction, caller: Caller, conversation_id: str) -> Room:
        """Return a direct conversation of the caller's."""
        return await sight.conversation(tx, caller, conversation_id)

    async def message(self, tx: Transaction, caller: Caller, message_id: str) -> SeenMessage:
        """Return where a message stands that the caller sees."""
        return await sight.message(tx, caller, message_id)

    async def messages(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> list[Message]:
        """Return whole messages in the order of the ids, without those that the caller does not see."""
        return await self.chat.messages.seen(tx, caller, message_ids)

    @property
    def corpus(self) -> Corpus:
        """What was said, for capabilities that look through all of it."""
        return Corpus()

    @property
    def message_tests(self) -> Mapping[str, MessageTest]:
        """What capabilities can say of messages, by the words of a search."""
        return self.capabilities.message_tests

    @property
    def reminders(self) -> Sequence[Reminders]:
        """What capabilities remind users of."""
        return self.capabilities.reminders

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal to the streams that ask for it, of those who are in its audience."""
        self.hub.signalling.send(signal, audience)

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: a name and a folder, in the names' order."""
        return self.capabilities.client_folders

    async def room_counts(self) -> RoomCounts:
        """Count the rooms of each kind, and memberships."""
        async with self.storage.read() as tx:
            return await rooms_table.counts(tx)

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers."""
        return self.capabilities.announced()

    def plugin_options(self, name: str, kind: type[T]) -> T:
        """Return the keys of ``[plugins.<name>]`` as `kind`, a msgspec struct with a default for each.

        Secrets may be ``{file = …}`` or ``{env = …}`` there. Raises `SettingsError` for an unknown key or a
        wrong value.
        """
        return plugin_options(self.settings.plugins, name, kind)


@asynccontextmanager
async def open_application(
    settings: Settings, plugins: Plugins, show_password: ShowPassword = lambda *_: None
) -> AsyncIterator[Application]:
    """Open the chosen backends, build the application, and on first start its first user and channel (D-23).

    Raises an `OperatorError` if a backend is unknown or can't be opened, or if the settings can't work.
    """
    plugins.check_settings(settings.plugins)
    secret, sign_in = jwt_secret(settings), plugins.sign_in_traits_of(settings)
    capabilities = plugins.capabilities(settings.plugins)
    storages = plugins.storage(settings.storage.backend)
    image_stores = plugins.image_store(settings.images.backend)
    composer = Composer.build(settings)
    async with (
        storages.open(backend_options(settings.storage, storages)) as opened,
        image_stores.open(backend_options(settings.images, image_stores)) as image_store,
        _open_mailer(settings, plugins) as mailer,
    ):
        storage = AskingStorage(opened)
        await refuse_unfinished(storage)
        await capability_tables.upgrade(opened, capabilities.tables)
        accounts = Accounts.build(
            storage,
            settings.auth,
            secret,
            has_mail=mailer is not None,
            sign_in=sign_in,
            capabilities=capabilities,
        )

        async def renew_in(tx: Transaction) -> None:
            await accounts.renew_in(tx)
            await plugins.secret_changed_in(tx)

        async with _as_member(storage, image_store, renew_in, secret) as members:
            registry = StreamRegistry(storage, members, settings.events.max_streams_per_user)
            app = Application(
                settings=settings,
                storage=storage,
                accounts=accounts,
                chat=Chat.build(
                    storage, image_store, settings.chat.max_message_length, capabilities, settings.chat
                ),
                hub=Hub(
                    storage,
                    settings.events,
                    registry=registry,
                    expiries=accounts.sessions.expiries,
                    signals=capabilities.signals,
                    carrier=opened if isinstance(opened, SignalCarrier) else None,
                ),
                mailer=mailer,
                composer=composer,
                sign_in=sign_in,
                oauth_provider=plugins.oauth_provider,
                capabilities=capabilities,
            )
            capabilities.bring(app)
            initial = settings.chat.initial_user
            generated = await app.accounts.ensure_initial_user(initial)
            if generated is not None:
                show_password(initial.email, generated)
            await app.chat.channels.ensure_first()
            yield app


@asynccontextmanager
async def _as_member(
    storage: Storage, images: ImageStore, renew_in: RenewIn, secret: bytes
) -> AsyncIterator[Members]:
    """Be one of the processes that serve this storage. Raises `SettingsError` if they have another secret."""
    members = Members(storage)
    await agree_on_secret(storage, members, keys.mark(secret), renew_in)
    try:
        await agree_on_images(storage, members, images)
        yield members
    finally:
        await members.leave()


@asynccontextmanager
async def _open_mailer(settings: Settings, plugins: Plugins) -> AsyncIterator[Mailer | None]:
    async with AsyncExitStack() as stack:
        mailer = None
        if settings.email is not None:
            backend = plugins.mailer(settings.email.backend)
            mailer = await stack.enter_async_context(backend.open(backend_options(settings.email, backend)))
        yield mailer
