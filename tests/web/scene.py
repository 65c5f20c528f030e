"""A site with the sections of every way to sign in and a plugin's, and the people who ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from teamchat import Posting
from teamchat.accounts import Accounts
from teamchat.accounts.acting import AskingStorage
from teamchat.accounts.scrypt import Hasher
from teamchat.application import Application
from teamchat.chat import Chat
from teamchat.model import Caller, SignedIn, now_ms
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, EventsSettings, InitialUser, Settings
from teamchat.stream import Hub
from teamchat.web.app import App, create_app
from tests.pictures import PNG
from tests.storages import open_storage, tables
from tests.web.client import Client
from tests.web.conftest import SECRET, MemoryImages
from tests.web.notes import plugin
from tests.web.watched import Watched

PASSWORD = "a long enough password"


class Clock:
    """The wall clock of accounts, which a test moves."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return now_ms() + self.ahead


class Gate:
    """Where a request is held up: `reached` once it is there, and `opened` to let it go on."""

    def __init__(self) -> None:
        self.reached = trio.Event()
        self.opened = trio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.opened.wait()


class HoldingFilter:
    """A message filter that waits at a gate if there is one."""

    name = "holding"

    def __init__(self) -> None:
        self.gate: Gate | None = None
        self.asked = 0

    async def filter(self, posting: Posting) -> str:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        return posting.content


@dataclass
class Victim:
    """An admin with a session, of whom each request is made; what a request names is made when it is."""

    scene: Scene
    caller: Caller
    tokens: SignedIn
    client: Client

    async def channel(self) -> str:
        made = await self.client.ok("POST", "/channels", {"name": f"of {self.caller.user.user_name}"})
        return str(made["channel"]["id"])

    async def message(self) -> str:
        path = f"/channels/{self.scene.channel}/messages"
        return str((await self.client.ok("POST", path, {"content": "hello"}))["message"]["id"])

    async def conversation(self) -> str:
        made = await self.client.ok("POST", "/conversations", {"targetUserId": self.scene.bob.user.id})
        return str(made["conversation"]["id"])

    async def direct(self) -> tuple[str, str]:
        """Return a conversation, and a message in it."""
        conversation = await self.conversation()
        made = await self.client.ok(
            "POST", f"/conversations/{conversation}/messages", {"content": "hello you"}
        )
        return conversation, str(made["message"]["id"])

    async def reply(self) -> tuple[str, str]:
        """Return a message, and a reply to it."""
        message = await self.message()
        made = await self.client.ok("POST", f"/messages/{message}/thread", {"content": "well"})
        return message, str(made["reply"]["id"])

    async def archived(self) -> str:
        """Return a channel that is archived."""
        channel = await self.channel()
        await self.client.ok("POST", f"/channels/{channel}/archive")
        return channel

    async def left(self) -> str:
        """Return a channel that the victim has left."""
        channel = await self.channel()
        await self.client.ok("POST", f"/channels/{channel}/leave")
        return channel

    async def private_channel(self) -> str:
        made = await self.client.ok("POST", "/private-channels", {"name": "secret"})
        return str(made["channel"]["id"])

    async def member(self) -> tuple[str, str]:
        """Return a private channel, and a member of it besides the victim."""
        channel, bob = await self.private_channel(), self.scene.bob.user.id
        await self.client.ok("POST", f"/channels/{channel}/members", {"userIds": [bob]})
        return channel, bob

    async def group(self) -> str:
        """Return a group of the victim's, of which there is one."""
        body = {"userIds": [self.scene.bob.user.id, self.scene.admin.user.id]}
        return str((await self.client.ok("POST", "/groups", body))["channel"]["id"])

    async def webhook(self) -> str:
        body = {"name": "bot", "channelId": self.scene.channel}
        return str((await self.client.ok("POST", "/webhooks", body))["webhook"]["id"])

    async def image(self, place: str) -> str:
        made = await self.client.ok("POST", f"/{place}/messages/image", {"filename": "dot.png", "image": PNG})
        return str(made["filename"])

    async def password(self) -> None:
        """Have the victim choose a password."""
        async with self.scene.app.storage.write() as tx:
            await self.scene.app.accounts.users.set_password_in(
                tx, self.caller.user.id, self.scene.password_hash, keep=self.caller.session_id
            )

    async def somebody(self) -> str:
        """Return another user."""
        email = f"friend-of-{self.caller.user.user_name}@example.org"
        return str((await self.client.ok("POST", "/users/add", {"email": email}))["userId"])


@dataclass
class Scene:
    """A site with the sections of every way to sign in and a plugin's, and what is behind it."""

    directory: Path
    app: Application
    site: App
    watched: Watched
    images: MemoryImages
    clock: Clock
    filter: HoldingFilter
    admin: Caller
    bob: Caller
    channel: str
    password_hash: str
    _victims: int = field(default=0)

    async def caller(self, email: str) -> tuple[Caller, SignedIn]:
        _, signed = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
        return await self.app.accounts.authenticate(signed.access_token), signed

    async def victim(self) -> Victim:
        """Return a new admin."""
        self._victims += 1
        email = f"victim{self._victims}@example.org"
        caller, _ = await self.caller(email)
        async with self.app.storage.write() as tx:
            await self.app.accounts.users.set_role_in(tx, caller.user, is_admin=True)
        caller, signed = await self.caller(email)
        return Victim(self, caller, signed, Client(self.site, signed.access_token))

    async def rows(self) -> dict[str, list[Any]]:
        """Return everything that is stored."""
        async with self.app.storage.read() as tx:
            return {
                table: sorted(await tx.fetch(f"select * from {table}"), key=repr)
                for table in tables(self.directory)
                if table not in {"sqlite_sequence", "teamchat_log_end"}
            }


@asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Scene]:
    """Put the scene up."""
    auth = AuthSettings(
        auth_mode="password", is_invite_required=False, max_active_sessions=50, app_url="https://chat.example"
    )
    clock, images, plugins = Clock(), MemoryImages(), Plugins.load()
    async with open_storage(directory) as opened, AsyncExitStack() as stack:
        watched = Watched(opened)
        storage = AskingStorage(watched, clock)  # type: ignore[arg-type]
        traits = plugins.sign_in_traits("password")
        accounts = Accounts.build(storage, auth, SECRET, clock=clock, has_mail=True, sign_in=traits)
        dev = Accounts.build(storage, AuthSettings(auth_mode="dev"), SECRET, clock=clock)
        await dev.ensure_initial_user(InitialUser("Admin", "admin@example.org"))
        app = Application(
            Settings(auth=auth),
            storage,
            accounts,
            Chat.build(storage, images, 16_000),
            Hub(storage, EventsSettings()),
        )
        await app.chat.channels.ensure_first()
        holding = HoldingFilter()
        app.chat.filters.use([holding])
        modes = [
            await stack.enter_async_context(plugins.auth_mode(name).open(None))
            for name in ("dev", "magic-link", "oauth", "password")
        ]
        routes = [*(mode.routes(app) for mode in modes), *plugins.routes(app), *plugin(app)]
        site = create_app(app, routes)
        scene = Scene(directory, app, site, watched, images, clock, holding, None, None, "", "")  # type: ignore[arg-type]
        scene.admin, _ = await scene.caller("admin@example.org")
        scene.bob, _ = await scene.caller("bob@example.org")
        [channel] = await app.chat.channels.list(scene.admin)
        scene.channel = channel.id
        scene.password_hash = await Hasher().hash(PASSWORD)
        yield scene
