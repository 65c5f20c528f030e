"""What tests of read states work with: an application, its users, and what was signalled to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from teamchat import Capability, Storage
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.model import Caller, Message
from teamchat.read_state import READ_STATE
from teamchat.read_state.events import ReadStateChanged
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.levels.service import Notifications
from teamchat.read_state.places import ReadState
from teamchat.read_state.service import Overview, ReadStates
from teamchat.read_state.threads.events import ThreadStateChanged
from teamchat.read_state.threads.offer import THREADS
from teamchat.read_state.threads.service import FollowedThreads
from teamchat.read_state.threads.states import ThreadState
from teamchat.testing import CapabilityContract
from tests.storages import open_storage

NAMES = ("ada", "bob", "eve", "max")


class Offered(CapabilityContract):
    """The capability, without tests of its own."""

    def capability(self) -> Capability:
        return READ_STATE

    def beside(self) -> Sequence[Capability]:
        return [THREADS, LEVELS]

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await ReadStates(app).unread(caller, message.channel_id, message.id)


def contract() -> CapabilityContract:
    return Offered()


class Heard:
    """The application as read states see it; what is signalled is kept instead of sent."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self.signals: list[tuple[str, ReadStateChanged]] = []
        self.of_threads: list[tuple[str, ThreadStateChanged]] = []

    def signal(self, signal: ReadStateChanged | ThreadStateChanged, audience: Sequence[str]) -> None:
        [user_id] = audience
        if isinstance(signal, ThreadStateChanged):
            self.of_threads.append((user_id, signal))
        else:
            self.signals.append((user_id, signal))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


class World:
    """A server with four users, of whom the first is an admin, and their read states."""

    def __init__(self, app: Application, callers: Mapping[str, Caller], general: str) -> None:
        self.app, self.callers, self.general = app, callers, general
        self.heard = Heard(app)
        self.states = ReadStates(self.heard)  # type: ignore[arg-type]
        self.threads = FollowedThreads(self.heard)  # type: ignore[arg-type]
        self.notifications = Notifications(app)

    @classmethod
    async def opened(cls, app: Application) -> World:
        async def caller(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await caller("admin@localhost")
        callers = {"ada": ada}
        for name in NAMES[1:]:
            await app.accounts.users.add(ada, f"{name}@example.org")
            callers[name] = await caller(f"{name}@example.org")
        [general] = await app.chat.channels.list(ada)
        return cls(app, callers, general.id)

    async def enter(self, name: str) -> None:
        """Sign somebody in who has got an account since."""
        _, tokens = await self.app.accounts.sign_in(f"{name}@example.org", "192.0.2.1", "tests")
        caller = await self.app.accounts.authenticate(tokens.access_token)
        self.callers = {**self.callers, name: caller}

    async def bring_in(self, name: str, user_id: str) -> None:
        """Have an account from elsewhere, with any id, as an import makes it, and sign in."""
        async with self.app.storage.write() as tx:
            await tx.fetch(
                """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at)
                values ($1, $2, $2, $3, $3, 0, 1)""",
                *(user_id, name, f"{name}@example.org"),
            )
        await self.enter(name)

    def id(self, name: str) -> str:
        return self.callers[name].user.id

    async def post(self, name: str, room: str, text: str = "hello") -> str:
        chat, caller = self.app.chat, self.callers[name]
        if room.startswith("dm:"):
            return (await chat.conversations.post(caller, room, Draft(text))).id
        return (await chat.messages.post(caller, room, Draft(text))).id

    async def reply(self, name: str, parent: str) -> str:
        return (await self.app.chat.threads.reply(self.callers[name], parent, Draft("yes"))).reply.id

    async def delete(self, name: str, message: str) -> None:
        await self.app.chat.messages.delete(self.callers[name], message)

    async def public(self, name: str, title: str, *, is_default: bool = False) -> str:
        draft = NewChannel(title, is_default=is_default)
        return (await self.app.chat.channels.create(self.callers[name], draft)).id

    async def private(self, name: str, *others: str, history_for: str = "all") -> str:
        members = [self.id(one) for one in others]
        draft = NewPrivateChannel("behind doors", members=members, history_for=history_for)
        return (await self.app.chat.channels.create(self.callers[name], draft)).id

    async def direct(self, one: str, other: str) -> str:
        opened = await self.app.chat.conversations.open(self.callers[one], self.id(other))
        return opened.conversation.id

    async def overview(self, name: str, since: str | None = None) -> Overview:
        return await self.states.overview(self.callers[name], since)

    async def state(self, name: str, room: str) -> ReadState:
        return (await self.states.state(self.callers[name], room))[0]

    async def followed(self, name: str, filter: str | None = None) -> dict[str, ThreadState]:
        page = await self.threads.page(self.callers[name], filter, 200, None)
        return {state.message_id: state for _, state in page.threads}

    async def counts(self, name: str) -> dict[str, int]:
        return {one.place_id: one.unread_count for one in (await self.overview(name)).states}
