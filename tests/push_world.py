"""A server without a network, three people, a push service on loopback, and a sender whose clock is set."""

from __future__ import annotations

import math
from base64 import b32decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import trio
from msgspec.structs import replace
from teamchat_second_factor import SECOND_FACTOR, totp
from teamchat_second_factor.factors import Factors
from teamchat_second_factor.sealing import Sealer
from teamchat_web_push import WEB_PUSH
from teamchat_web_push.connection import Services, open_services
from teamchat_web_push.loopback import Browser, LoopbackService
from teamchat_web_push.options import PushOptions
from teamchat_web_push.queue import Queue
from teamchat_web_push.sender import Sender
from teamchat_web_push.subscriptions import Subscription, SubscriptionDraft, Subscriptions
from teamchat_web_push.vapid import Vapid, ensure_key

from teamchat import Capability, Seen, Storage
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.mentions import MENTIONS
from teamchat.mentions.activity.offer import ACTIVITY
from teamchat.model import Caller, now_ms
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.levels.places import PlaceChange
from teamchat.read_state.levels.service import Notifications
from teamchat.read_state.levels.settings import SettingsChange
from teamchat.read_state.service import ReadStates
from teamchat.read_state.threads.offer import THREADS
from teamchat.settings import Settings
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract
from tests.storages import open_storage

HOUR = 3_600_000  # Milliseconds, as the sender's clock counts them.
LOCAL = PushOptions(contact="mailto:admin@example.org", allowed_hosts=["127.0.0.1"])


class PushContract(CapabilityContract):
    """`second_factor` is what the server says of second factors (`auth.secondFactor`)."""

    __test__ = False
    second_factor: Literal["optional", "admins", "all"] = "optional"

    def capability(self) -> Capability:
        return WEB_PUSH

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS, LEVELS, MENTIONS, ACTIVITY, SECOND_FACTOR]

    def settings(self) -> Settings:
        kept = super().settings()
        return replace(kept, auth=replace(kept.auth, second_factor=self.second_factor))

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


@dataclass
class World:
    """Ada posts; Bob and Cleo have browsers. `ahead` is by how much the sender's clock is, in ms."""

    app: Application
    service: LoopbackService
    services: Services
    vapid: Vapid
    ada: Caller
    bob: Caller
    cleo: Caller
    channel: str
    ahead: int = 0
    most_shown: str = "full"
    heard: int = 0
    sender: Sender = field(init=False)
    queue: Queue = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def activate(self, *callers: Caller) -> None:
        """Have these people look at the chat, and nobody else."""
        self.app.hub.activity = Activity({one.user.id for one in callers})  # type: ignore[assignment]

    def now(self) -> int:
        return now_ms() + self.ahead

    def restart(self) -> None:
        """Have another process send: it knows what the database does."""
        notices = self.app.notices
        assert notices is not None
        self.queue = Queue(self.app.storage, notices, self.now)
        self.sender = Sender(
            self.app,
            notices,
            self.queue,
            self.services,
            self.vapid,
            most_shown=self.most_shown,
            clock=self.now,
        )

    async def user(self, email: str) -> Caller:
        _, signed_in = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
        return await self.app.accounts.authenticate(signed_in.access_token)

    async def subscribe(
        self, caller: Caller, browser: Browser | None = None, **more: Any
    ) -> tuple[Browser, Subscription]:
        browser = browser or self.service.browser()
        draft = msgspec.convert({**browser.subscription, **more}, SubscriptionDraft)
        return browser, await Subscriptions(self.app, LOCAL.allowed_hosts).add(caller, draft)

    async def post(self, text: str = "hello", *, by: Caller | None = None, channel: str = "") -> str:
        made = await self.app.chat.messages.post(by or self.ada, channel or self.channel, Draft(text))
        return made.id

    async def direct(self, text: str = "hello", *, to: Caller | None = None) -> str:
        other = (to or self.bob).user.id
        opened = await self.app.chat.conversations.open(self.ada, other)
        posted = await self.app.chat.conversations.post(self.ada, opened.conversation.id, Draft(text))
        return posted.id

    async def choose(self, caller: Caller, **changes: Any) -> None:
        await Notifications(self.app).change(caller, msgspec.convert(changes, SettingsChange))

    async def reply(self, parent_id: str, text: str = "indeed", *, by: Caller | None = None) -> str:
        return (await self.app.chat.threads.reply(by or self.ada, parent_id, Draft(text))).reply.id

    async def level(self, caller: Caller, place: str = "", **change: Any) -> None:
        asked = msgspec.convert(change, PlaceChange)
        await Notifications(self.app).change_place(caller, place or self.channel, asked)

    async def private(self, *members: Caller) -> str:
        made = await self.app.chat.channels.create(self.ada, NewPrivateChannel("Hidden"))
        await self.app.chat.members.add(self.ada, made.id, [one.user.id for one in members])
        return made.id

    async def set_up_second_factor(self, caller: Caller) -> None:
        codes: Any = self.app.capabilities.second_step
        factors = Factors(self.app, Sealer(self.app.accounts.key("second-factor")), codes)
        begun = await factors.begin(caller, "192.0.2.1", None, None)
        code = totp.code_at(b32decode(begun.secret), totp.step_at(now_ms()))
        await factors.confirm(caller, begun.id, code, "192.0.2.1")

    async def read(self, caller: Caller, message_id: str, place: str = "") -> None:
        await ReadStates(self.app).read(caller, place or self.channel, message_id, None)

    async def hear(self) -> None:
        """Take what the log has told since."""
        while True:
            async with self.app.storage.read() as tx:
                logged = await logged_in(tx, self.heard, 1000)
            if not logged:
                return
            for event in logged:
                await self.queue.hear(event)
                self.heard = event.seq

    async def send(self) -> None:
        """Send whatever is due by the clock, with all that follows from it."""
        with trio.fail_after(60):
            while True:
                async with trio.open_nursery() as nursery:
                    await self.sender.round(nursery)
                had = bool(self.sender._decided)
                await self.sender.note()
                due = await self.queue.due(self.now(), 1, but=sorted(self.sender._resting))
                if not due and not had:
                    return

    async def go(self) -> None:
        await self.hear()
        await self.send()

    async def rows(self) -> list[Mapping[str, Any]]:
        names = "message_id, subscription_id, reached, user_id, kind, since, due_at, tries, outcome, reason"
        async with self.app.storage.read() as tx:
            found = await tx.fetch(f"select {names} from web_push_queue order by since, subscription_id")
        return [dict(zip(names.split(", "), row, strict=True)) for row in found]

    async def reasons(self) -> list[tuple[str | None, str]]:
        return [(row["outcome"], row["reason"]) for row in await self.rows()]


class Activity:
    """Tells who is active, as the server's own does."""

    def __init__(self, active: set[str]) -> None:
        self._active = active

    def is_active(self, user_id: str) -> bool:
        return user_id in self._active

    def of(self, user_id: str) -> Seen:
        return Seen(is_open=True, active_until=math.inf) if user_id in self._active else Seen()


@asynccontextmanager
async def opened(tmp_path: Path, contract: PushContract | None = None) -> AsyncIterator[World]:
    service = LoopbackService()
    async with (
        (contract or PushContract()).application(tmp_path) as app,
        service.running(),
        open_services(LOCAL.allowed_hosts) as services,
    ):
        vapid = Vapid(await ensure_key(app.storage), "mailto:admin@example.org")

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token, before_password_change=True)

        ada = await user("admin@localhost")
        for email in ("bob@example.org", "cleo@example.org"):
            await app.accounts.users.add(ada, email)
        [channel] = await app.chat.channels.list(ada)
        people = [await user(f"{name}@example.org") for name in ("bob", "cleo")]
        world = World(app, service, services, vapid, ada, *people, channel.id)
        await world.hear()
        yield world
        assert not service.wrong, service.wrong
