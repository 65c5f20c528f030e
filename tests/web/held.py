"""A site with every declared endpoint, the request that each takes, and ways to hold a request up."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import trio
from msgspec import Struct
from quart import Blueprint, request

from teamchat import Posting, Transaction
from teamchat.accounts import Accounts
from teamchat.accounts.acting import AskingStorage
from teamchat.accounts.scrypt import Hasher
from teamchat.application import Application
from teamchat.chat import Chat
from teamchat.interfaces import Storage
from teamchat.model import Caller, SignedIn, now_ms
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, EventsSettings, InitialUser, Settings
from teamchat.stream import Hub
from teamchat.web import Section, signed_in
from teamchat.web.app import App, create_app
from tests.storages import open_storage, tables
from tests.web.client import Answer, Client
from tests.web.conftest import SECRET, MemoryImages

PASSWORD = "a long enough password"
PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()
_DEADLINE = 30


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


class Watched:
    """A storage that knows which statements each task runs in writing transactions."""

    def __init__(self, storage: Storage) -> None:
        self.unwatched = storage
        self.written: dict[trio.lowlevel.Task, list[str]] = {}
        """What each task ran and was not refused, from when it asked to write."""
        self.committed: dict[trio.lowlevel.Task, list[str]] = {}
        """What each task ran in transactions that were committed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unwatched, name)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        task = trio.lowlevel.current_task()
        statements = self.written.setdefault(task, [])
        before = len(statements)
        async with self.unwatched.write() as tx:
            yield _WatchedTransaction(tx, statements)
        self.committed.setdefault(task, []).extend(statements[before:])


class _WatchedTransaction:
    def __init__(self, tx: Transaction, statements: list[str]) -> None:
        self._tx = tx
        self._statements = statements

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        rows = await self._tx.fetch(sql, *params)
        self._statements.append(sql)
        return rows

    async def append(self, event: Any) -> None:
        self._statements.append(f"append {event.type}")
        await self._tx.append(event)


class Note(Struct):
    """What the plugin of the tests takes."""

    text: str


def plugin(app: Application) -> list[Blueprint]:
    """A plugin that writes by itself, one that only answers, and a plain Quart view."""
    section = Section("notes")

    @section.endpoint("POST", "/notes", body=Note, answer=Note)
    async def add_note(app: Application, caller: Caller, body: Note) -> Note:
        async with app.storage.write() as tx:
            await _keep(tx, caller, body.text)
        return body

    @section.endpoint("POST", "/notes/from-a-task", body=Note, answer=Note)
    async def add_note_from_a_task(app: Application, caller: Caller, body: Note) -> Note:
        async def keep() -> None:
            async with app.storage.write() as tx:
                await _keep(tx, caller, body.text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep)
        return body

    @section.endpoint("POST", "/notes/looked-at", body=Note, answer=Note)
    async def look_at_note(caller: Caller, body: Note) -> Note:
        return Note(f"{caller.user.id}: {body.text}")

    plain = Blueprint("plain notes", __name__)

    @plain.post("/plain-notes")
    async def add_plainly() -> dict[str, bool]:
        text = (await request.get_json())["text"]
        async with signed_in(app, request) as caller, app.storage.write() as tx:
            await _keep(tx, caller, text)
        return {"success": True}

    return [section, plain]


async def _keep(tx: Transaction, caller: Caller, text: str) -> None:
    await tx.fetch(
        """insert into server_settings (name, value) values ($1, $2)
        on conflict (name) do update set value = excluded.value""",
        f"note of {caller.user.id}",
        text,
    )


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


class Request(NamedTuple):
    """What an endpoint is asked with, and where a request can be held up in it.

    `makes` makes what the path names, in the order of the path's parameters.
    """

    makes: Callable[[Victim], Awaitable[tuple[str, ...]]]
    body: Any = None
    holds: tuple[str, ...] = ()

    async def of(self, victim: Victim, rule: str) -> tuple[str, Any]:
        """Return the path and the body of a victim's request."""
        path = rule
        for value in await self.makes(victim):
            before, _, rest = path.partition("<")
            path = before + value + rest.partition(">")[2]
        return path, self.body(victim) if callable(self.body) else self.body


async def _nothing(_: Victim) -> tuple[str, ...]:
    return ()


def _one(make: Callable[[Victim], Awaitable[str]]) -> Callable[[Victim], Awaitable[tuple[str, ...]]]:
    async def made(victim: Victim) -> tuple[str, ...]:
        return (await make(victim),)

    return made


async def _common_channel(victim: Victim) -> tuple[str, ...]:
    return (victim.scene.channel,)


async def _channel_image(victim: Victim) -> tuple[str, ...]:
    return victim.scene.channel, await victim.image(f"channels/{victim.scene.channel}")


async def _conversation_image(victim: Victim) -> tuple[str, ...]:
    conversation = await victim.conversation()
    return conversation, await victim.image(f"conversations/{conversation}")


async def _password(victim: Victim) -> tuple[str, ...]:
    await victim.password()
    return ()


_SAID = {"content": "let me in"}
_IMAGE = {"filename": "dot.png", "image": PNG}
_BY_BODY, _BY_LOCK, _BY_FILTER = ("body",), ("lock",), ("filter",)
_WRITES = _BY_BODY + _BY_LOCK
_POSTS = _WRITES + _BY_FILTER

REQUESTS: Mapping[tuple[str, str], Request] = {
    ("POST", "/auth/logout"): Request(
        _nothing, lambda victim: {"refreshToken": victim.tokens.refresh_token}, _WRITES
    ),
    ("GET", "/auth/me"): Request(_nothing),
    ("GET", "/me"): Request(_nothing),
    ("GET", "/auth/sessions"): Request(_nothing),
    ("DELETE", "/auth/sessions"): Request(_nothing, {}, _WRITES),
    ("PUT", "/auth/password"): Request(
        _password, {"password": PASSWORD, "newPassword": "another long password"}, _WRITES
    ),
    ("GET", "/users"): Request(_nothing),
    ("POST", "/users/add"): Request(
        _nothing,
        lambda victim: {"email": f"new-{victim.caller.user.user_name}@example.org", "role": "admin"},
        _WRITES,
    ),
    ("POST", "/users/<id>/reset-password"): Request(
        _one(Victim.somebody), {"password": "another long password"}, _WRITES
    ),
    ("DELETE", "/users/<id>"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("POST", "/users/exit"): Request(_nothing, None, _BY_LOCK),
    ("PUT", "/users/me"): Request(
        _nothing, lambda victim: {"userName": f"renamed {victim.caller.user.user_name}"}, _WRITES
    ),
    ("GET", "/channels"): Request(_nothing),
    ("POST", "/channels"): Request(
        _nothing, lambda victim: {"name": f"new of {victim.caller.user.user_name}"}, _WRITES
    ),
    ("PUT", "/channels/<channelId>"): Request(
        _one(Victim.channel), lambda victim: {"name": f"renamed by {victim.caller.user.user_name}"}, _WRITES
    ),
    ("DELETE", "/channels/<channelId>"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>"): Request(_common_channel),
    ("POST", "/private-channels"): Request(_nothing, {"name": "secret"}, _WRITES),
    ("PUT", "/channels/<channelId>/privacy"): Request(
        _one(Victim.channel), {"isPrivate": True, "members": []}, _WRITES
    ),
    ("POST", "/channels/<channelId>/archive"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/unarchive"): Request(_one(Victim.archived), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/join"): Request(_one(Victim.left), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/leave"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>/members"): Request(_common_channel),
    ("POST", "/channels/<channelId>/members"): Request(
        _one(Victim.private_channel), lambda victim: {"userIds": [victim.scene.bob.user.id]}, _WRITES
    ),
    ("PUT", "/channels/<channelId>/members/<userId>"): Request(Victim.member, {"role": "manager"}, _WRITES),
    ("DELETE", "/channels/<channelId>/members/<userId>"): Request(Victim.member, None, _BY_LOCK),
    ("POST", "/groups"): Request(
        _nothing, lambda victim: {"userIds": [victim.scene.bob.user.id, victim.scene.admin.user.id]}, _WRITES
    ),
    ("POST", "/groups/<channelId>/members"): Request(
        _one(Victim.group), lambda victim: {"userIds": [victim.scene.bob.user.id]}, _WRITES
    ),
    ("POST", "/groups/<channelId>/convert"): Request(_one(Victim.group), {"name": "ours"}, _WRITES),
    ("PUT", "/me/notes"): Request(_nothing, None, _BY_LOCK),
    ("PUT", "/users/<id>/role"): Request(_one(Victim.somebody), {"role": "admin"}, _WRITES),
    ("POST", "/users/<id>/deactivate"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("POST", "/users/<id>/activate"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("GET", "/admin/audit"): Request(_nothing),
    ("GET", "/admin/channels"): Request(_nothing),
    ("POST", "/admin/channels/<channelId>/enter"): Request(
        _one(Victim.left), {"reason": "to see what is there"}, _WRITES
    ),
    ("DELETE", "/admin/channels/<channelId>"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>/messages"): Request(_common_channel),
    ("POST", "/channels/<channelId>/messages"): Request(_common_channel, _SAID, _POSTS),
    ("GET", "/messages/<messageId>"): Request(_one(Victim.message)),
    ("PUT", "/messages/<messageId>"): Request(_one(Victim.message), _SAID, _POSTS),
    ("DELETE", "/messages/<messageId>"): Request(_one(Victim.message), None, _BY_LOCK),
    ("POST", "/messages/<messageId>/reactions"): Request(_one(Victim.message), {"reaction": "+1"}, _WRITES),
    ("DELETE", "/messages/<messageId>/reactions"): Request(_one(Victim.message), {"reaction": "+1"}, _WRITES),
    ("POST", "/channels/<channelId>/messages/image"): Request(_common_channel, _IMAGE, _WRITES),
    ("POST", "/messages/<messageId>/thread/image"): Request(_one(Victim.message), _IMAGE, _WRITES),
    ("POST", "/conversations/<conversationId>/messages/image"): Request(
        _one(Victim.conversation), _IMAGE, _WRITES
    ),
    ("GET", "/channels/<channelId>/messages/image/<filename>"): Request(_channel_image),
    ("GET", "/conversations/<conversationId>/messages/image/<filename>"): Request(_conversation_image),
    ("GET", "/messages/<messageId>/thread"): Request(_one(Victim.message)),
    ("POST", "/messages/<messageId>/thread"): Request(_one(Victim.message), _SAID, _POSTS),
    ("PUT", "/messages/<messageId>/thread/<replyId>"): Request(Victim.reply, _SAID, _POSTS),
    ("DELETE", "/messages/<messageId>/thread/<replyId>"): Request(Victim.reply, None, _BY_LOCK),
    ("GET", "/conversations"): Request(_nothing),
    ("POST", "/conversations"): Request(
        _nothing, lambda victim: {"targetUserId": victim.scene.bob.user.id}, _WRITES
    ),
    ("GET", "/conversations/<conversationId>/messages"): Request(_one(Victim.conversation)),
    ("POST", "/conversations/<conversationId>/messages"): Request(_one(Victim.conversation), _SAID, _POSTS),
    ("PUT", "/conversations/<conversationId>/messages/<messageId>"): Request(Victim.direct, _SAID, _POSTS),
    ("DELETE", "/conversations/<conversationId>/messages/<messageId>"): Request(
        Victim.direct, None, _BY_LOCK
    ),
    ("GET", "/server/settings"): Request(_nothing),
    ("PUT", "/server/settings"): Request(
        _nothing, lambda victim: {"name": f"server of {victim.caller.user.user_name}"}, _WRITES
    ),
    ("GET", "/webhooks"): Request(_nothing),
    ("POST", "/webhooks"): Request(
        _nothing, lambda victim: {"name": "spy", "channelId": victim.scene.channel}, _WRITES
    ),
    ("DELETE", "/webhooks/<webhookId>"): Request(_one(Victim.webhook), None, _BY_LOCK),
    ("POST", "/notes"): Request(_nothing, {"text": "mine"}, _WRITES),
    ("POST", "/notes/from-a-task"): Request(_nothing, {"text": "mine"}, _WRITES),
    ("POST", "/notes/looked-at"): Request(_nothing, {"text": "mine"}, _BY_BODY),
    ("POST", "/plain-notes"): Request(_nothing, {"text": "mine"}, _WRITES),
}
"""Every endpoint that takes an access token."""

OPEN = {
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/openapi.json"),
    ("GET", "/capabilities"),
    ("GET", "/config.json"),
    ("GET", "/config.js"),
    ("GET", "/"),
    ("GET", "/manifest.webmanifest"),
    ("GET", "/sw.js"),
    ("GET", "/client/<digest>/<path:path>"),
    ("GET", "/auth/oauth/providers"),
    ("GET", "/auth/oauth/<providerId>"),
    ("GET", "/auth/oauth/<providerId>/callback"),
    ("POST", "/auth/dev-login"),
    ("POST", "/auth/login"),
    ("POST", "/auth/request-password-reset"),
    ("POST", "/auth/register"),
    # With a token or a password of their own, which `test_held_open_requests` takes away meanwhile.
    ("POST", "/auth/refresh"),
    ("POST", "/auth/verify"),
    ("POST", "/auth/password-login"),
    ("POST", "/auth/setup-password"),
    ("POST", "/webhooks/<webhookId>/messages"),
}
"""Those that take none."""


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


class Held(NamedTuple):
    """What came of a request that was held up: its answer, its statements, and which tables it changed."""

    answer: Answer
    statements: list[str]
    committed: list[str]
    changed: list[str]


async def held(
    scene: Scene, victim: Victim, how: str, endpoint: tuple[str, str], act: Callable[[], Awaitable[object]]
) -> Held:
    """Send a victim's request, hold it up, `act`, and let it go on.

    Without its last byte (`how` is ``body``), in a message filter (``filter``), or where it waits for the
    write lock behind what `act` writes (``lock``).
    """
    path, body = await REQUESTS[endpoint].of(victim, endpoint[1])
    return await held_up(scene, Sent(victim.client, endpoint[0], path, body), how, act)


async def held_up(scene: Scene, sent: Sent, how: str, act: Callable[[], Awaitable[object]]) -> Held:
    """Send a request as `held` does, whoever it is of."""
    stored, own = set(scene.images.kept), {trio.lowlevel.current_task()}
    scene.watched.written.clear()
    scene.watched.committed.clear()

    async def acting() -> None:
        own.add(trio.lowlevel.current_task())
        await act()

    with trio.fail_after(_DEADLINE):
        async with trio.open_nursery() as nursery:
            before = await _HOLDS[how](scene, sent, acting, nursery)
    statements = _of_others(own, scene.watched.written)
    committed = _of_others(own, scene.watched.committed)
    after = await scene.rows()
    changed = sorted(set(scene.images.kept) ^ stored)
    if before is not None:
        changed += [table for table, rows in after.items() if rows != before[table]]
    assert sent.answer is not None
    return Held(sent.answer, statements, committed, changed)


def _of_others(own: set[trio.lowlevel.Task], ran: Mapping[trio.lowlevel.Task, list[str]]) -> list[str]:
    return [sql for task, statements in ran.items() if task not in own for sql in statements]


class Sent:
    """A request in a task of its own."""

    def __init__(self, client: Client, method: str, path: str, body: Any) -> None:
        self._client = client
        self._method = method
        self._path = path
        self._body = b"" if body is None else json.dumps(body).encode()
        self.answer: Answer | None = None

    async def run(self, gate: Gate | None = None) -> None:
        self.answer = await self._client.call(
            self._method,
            self._path,
            pieces=[self._body[:-1], self._body[-1:]] if self._body else None,
            headers=[("content-type", "application/json")] if self._body else (),
            held=None if gate is None else gate.wait,
        )


Rows = Mapping[str, list[Any]]
Act = Callable[[], Awaitable[object]]


async def _hold_by_body(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> Rows:
    gate = Gate()
    nursery.start_soon(sent.run, gate)
    return await _open_after(scene, gate, act)


async def _hold_by_filter(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> Rows:
    gate = scene.filter.gate = Gate()
    nursery.start_soon(sent.run)
    rows = await _open_after(scene, gate, act)
    scene.filter.gate = None
    return rows


async def _open_after(scene: Scene, gate: Gate, act: Act) -> Rows:
    """Open a gate after the act, and return what was stored by then."""
    await gate.reached.wait()
    await act()
    rows = await scene.rows()
    gate.opened.set()
    return rows


async def _hold_by_lock(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> None:
    """Have the request wait to write, behind an act that waits to do so too."""
    written, acted = scene.watched.written, trio.Event()

    async def acting() -> None:
        await act()
        acted.set()

    async with scene.watched.unwatched.write():
        nursery.start_soon(acting)
        await _until(lambda: acted.is_set() or bool(written))
        waiting = len(written)
        nursery.start_soon(sent.run)
        await _until(lambda: len(written) > waiting)


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.lowlevel.checkpoint()


_HOLDS: Mapping[str, Any] = {"body": _hold_by_body, "filter": _hold_by_filter, "lock": _hold_by_lock}
