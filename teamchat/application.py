"""The application: what a request works with, put together once, without any knowledge of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from teamchat.accounts import Accounts, OAuth
from teamchat.accounts.mails import Composer
from teamchat.chat import Chat
from teamchat.interfaces import Mailer, Storage
from teamchat.settings import Settings, backend_options, jwt_secret
from teamchat.stream import Hub

if TYPE_CHECKING:
    from teamchat.plugins import Plugins

ShowPassword = Callable[[str, str], object]
"""Takes the initial user's email and the password that was made for them, to show it this one time."""


@dataclass(frozen=True)
class Application:
    """Everything behind the web layer; plugins are given it by the hooks `routes` and `services`."""

    settings: Settings
    storage: Storage
    accounts: Accounts
    chat: Chat
    hub: Hub
    mailer: Mailer | None = None
    """None when no mail is configured."""
    composer: Composer | None = None
    """Writes the mails; None when no mail is configured."""
    oauth: OAuth | None = None
    """None when no provider is configured."""


@asynccontextmanager
async def open_application(
    settings: Settings, plugins: Plugins, show_password: ShowPassword = lambda *_: None
) -> AsyncIterator[Application]:
    """Open the chosen backends, build the application, and on first start its first user and channel (D-23).

    Raises an `OperatorError` if a backend is unknown or can't be opened, or if the settings can't work.
    """
    secret = jwt_secret(settings)
    storages = plugins.storage(settings.storage.backend)
    image_stores = plugins.image_store(settings.images.backend)
    composer = Composer.build(settings)
    async with (
        storages.open(backend_options(settings.storage, storages)) as storage,
        image_stores.open(backend_options(settings.images, image_stores)) as image_store,
        _open_mailer(settings, plugins) as mailer,
    ):
        accounts = Accounts.build(storage, settings.auth, secret, has_mail=mailer is not None)
        app = Application(
            settings=settings,
            storage=storage,
            accounts=accounts,
            chat=Chat.build(storage, image_store, settings.chat.max_message_length),
            hub=Hub(storage, settings.events),
            mailer=mailer,
            composer=composer,
            oauth=OAuth.build(settings, plugins.oauth_provider, storage, accounts, secret),
        )
        initial = settings.chat.initial_user
        generated = await app.accounts.ensure_initial_user(initial)
        if generated is not None:
            show_password(initial.email, generated)
        await app.chat.channels.ensure_first()
        yield app


@asynccontextmanager
async def _open_mailer(settings: Settings, plugins: Plugins) -> AsyncIterator[Mailer | None]:
    async with AsyncExitStack() as stack:
        mailer = None
        if settings.email is not None:
            backend = plugins.mailer(settings.email.backend)
            mailer = await stack.enter_async_context(backend.open(backend_options(settings.email, backend)))
        yield mailer
