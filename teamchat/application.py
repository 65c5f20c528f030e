"""The application: what a request works with, put together once, without any knowledge of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from teamchat.accounts import Accounts, keys
from teamchat.accounts.acting import AskingStorage
from teamchat.accounts.audit import Audit
from teamchat.accounts.mails import Composer
from teamchat.capabilities import Announced, Capabilities, MessageTest, MessageText, Notices, Reminders
from teamchat.chat import Chat, rooms_table, sight
from teamchat.chat.corpus import Corpus
from teamchat.chat.drafts import Draft
from teamchat.chat.rooms_table import RoomCounts
from teamchat.chat.server_settings import server_name
from teamchat.chat.sight import Room, SeenMessage
from teamchat.cluster import Members, PlaceOfFiles, PlaceOfImages, agree_on_place, agree_on_secret
from teamchat.errors import SettingsError
from teamchat.events import OWN_TYPES, Connected, InRoom, Signal, is_internal
from teamchat.interfaces import (
    NO_TRAITS,
    Credentials,
    FileCheck,
    FileStore,
    IdentityProvider,
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

    from teamchat.interfaces.activity import Activity
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
    stored_files: FileStore | None = None
    """The store of files; None where no capability keeps any."""
    file_checks: list[FileCheck] = field(default_factory=list)
    """What looks at files before they are handed out: every plugin's, once the application is open."""

    @property
    def file_store(self) -> FileStore:
        """The store of files, which is there for a capability that keeps some."""
        if self.stored_files is None:
            raise SettingsError("No capability that is on keeps files, so there is no store of them.")
        return self.stored_files

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

    async def company(self, tx: Transaction, caller: Caller, others: Sequence[str], most: int) -> list[str]:
        """Return users with whom the caller is in a place."""
        return await sight.company(tx, caller, others, most)

    async def shown_in(
        self, tx: Transaction, shown: Mapping[str, str], without: type[Struct]
    ) -> Mapping[str, Message]:
        """Return the messages that others show, where whoever sees the others sees them too."""
        return await self.chat.messages.shown_in(tx, shown, without)

    async def check_webhook(self, webhook_id: str, token: str) -> None:
        """Raise unless a webhook's token may post by it now."""
        await self.chat.webhooks.check_post(webhook_id, token)

    async def post_by_webhook(
        self, webhook_id: str, token: str, content: str, key: str | None, path: str
    ) -> Message:
        """Post a text into a webhook's channel; `path` names the endpoint that was asked (D-07b)."""
        return (await self.chat.webhooks.submit(webhook_id, token, Draft(content), key, path)).message

    @property
    def audit(self) -> Audit:
        """The audit log."""
        return Audit(self.storage, self.settings.audit.retention_days)

    async def user_names(self, tx: Transaction) -> Mapping[str, Sequence[str]]:
        """Return by what other names capabilities have users looked for, by the users' ids."""
        return await self.capabilities.user_names(tx)

    @property
    def corpus(self) -> Corpus:
        """What was said, for capabilities that look through all of it."""
        return Corpus()

    @property
    def message_tests(self) -> Mapping[str, MessageTest]:
        """What capabilities can say of messages, by the words of a search."""
        return self.capabilities.message_tests

    async def message_texts(
        self, tx: Transaction, message_ids: Sequence[str]
    ) -> Mapping[str, Sequence[MessageText]]:
        """Return what stands in messages besides their content, by their ids."""
        return await self.capabilities.message_texts(tx, message_ids)

    @property
    def reminders(self) -> Sequence[Reminders]:
        """What capabilities remind users of."""
        return self.capabilities.reminders

    async def message_place(self, tx: Transaction, message_id: str) -> SeenMessage | None:
        """Return where a message stands, whoever sees it; None if it is not there."""
        return await sight.anywhere(tx, message_id)

    @property
    def notices(self) -> Notices | None:
        """Tells whom a message notifies."""
        return self.capabilities.notices

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal to the streams that ask for it, of those who are in its audience."""
        self.hub.signalling.send(signal, audience)

    async def signal_about(self, signals: Mapping[str, Signal]) -> None:
        """Send signals about users, by their ids, to the streams of this process that name them."""
        await self.hub.signalling.hand_out_about(signals)

    @property
    def credentials(self) -> Credentials | None:
        """The tokens that a capability keeps."""
        return self.capabilities.credentials

    @property
    def activity(self) -> Activity:
        """Who has a stream open, and who is active at one, in any process."""
        return self.hub.activity

    @property
    def identity_providers(self) -> Sequence[IdentityProvider]:
        """Where people may sign in, of what capabilities bring."""
        return self.capabilities.identity_providers

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: a name and a folder, in the names' order."""
        return self.capabilities.client_folders

    @property
    def event_types(self) -> Collection[str]:
        """The types of the events that listeners hear of."""
        own = {name for name in OWN_TYPES if name != Connected.type and not is_internal(name)}
        return own | self.capabilities.logged_types

    async def server_name(self, tx: Transaction) -> str:
        """Return the name that admins have given the server."""
        return await server_name(tx)

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
    capabilities = plugins.capabilities(settings.plugins, settings)
    storages = plugins.storage(settings.storage.backend)
    image_stores = plugins.image_store(settings.images.backend)
    composer = Composer.build(settings)
    async with (
        storages.open(backend_options(settings.storage, storages)) as opened,
        image_stores.open(backend_options(settings.images, image_stores)) as image_store,
        _open_files(settings, plugins, capabilities.file_backend) as file_store,
        _open_mailer(settings, plugins) as mailer,
    ):
        storage = AskingStorage(opened, capabilities=capabilities)
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

        async with _as_member(storage, image_store, file_store, renew_in, secret) as members:
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
                    expiries=accounts.expiries,
                    signals=capabilities.signals,
                    carrier=opened if isinstance(opened, SignalCarrier) else None,
                    secret=keys.derive(secret, "connections"),
                ),
                mailer=mailer,
                composer=composer,
                sign_in=sign_in,
                oauth_provider=plugins.oauth_provider,
                capabilities=capabilities,
                stored_files=file_store,
            )
            app.file_checks.extend(plugins.file_checks(app))
            capabilities.bring(app)
            check_second_factor(settings, capabilities)
            initial = settings.chat.initial_user
            generated = await app.accounts.ensure_initial_user(initial)
            if generated is not None:
                show_password(initial.email, generated)
            await app.chat.channels.ensure_first()
            yield app


def check_second_factor(settings: Settings, capabilities: Capabilities) -> None:
    """Raise `SettingsError` if nobody could have the second factor that is asked for."""
    if settings.auth.second_factor != "optional" and capabilities.second_step is None:
        raise SettingsError(
            f"auth.secondFactor is {settings.auth.second_factor!r}, and no plugin that is on keeps any. "
            "Install teamchat-second-factor or turn it on, or set it to 'optional'."
        )


@asynccontextmanager
async def _as_member(
    storage: Storage, images: ImageStore, files: FileStore | None, renew_in: RenewIn, secret: bytes
) -> AsyncIterator[Members]:
    """Be one of the processes that serve this storage. Raises `SettingsError` if they have another secret."""
    members = Members(storage)
    await agree_on_secret(storage, members, keys.mark(secret), renew_in)
    try:
        await agree_on_place(storage, members, PlaceOfImages(images))
        if files is not None:
            await agree_on_place(storage, members, PlaceOfFiles(files))
        yield members
    finally:
        await members.leave()


@asynccontextmanager
async def _open_files(
    settings: Settings, plugins: Plugins, name: str | None
) -> AsyncIterator[FileStore | None]:
    if name is None:
        yield None
        return
    backend, options = plugins.file_store(name, settings)
    async with backend.open(options) as store:
        yield store


@asynccontextmanager
async def _open_mailer(settings: Settings, plugins: Plugins) -> AsyncIterator[Mailer | None]:
    async with AsyncExitStack() as stack:
        mailer = None
        if settings.email is not None:
            backend = plugins.mailer(settings.email.backend)
            mailer = await stack.enter_async_context(backend.open(backend_options(settings.email, backend)))
        yield mailer
