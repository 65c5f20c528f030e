"""What a scenario works with: actors, things of its own making, streams, verdicts.

All that a run makes carries the run's id, it looks at nothing else, and what can be
undone is undone at the end, newest first.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from itertools import count, cycle
from typing import Any

from teamchat_conformance import sse
from teamchat_conformance.actors import Actor, SignIn
from teamchat_conformance.capabilities import Announced, Interface
from teamchat_conformance.expect import told
from teamchat_conformance.fixtures.mail import Sink
from teamchat_conformance.fixtures.provider import Provider
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.instance import Instance
from teamchat_conformance.launch import Launcher
from teamchat_conformance.paths import at
from teamchat_conformance.spoiled import Spoiled
from teamchat_conformance.sse import Observer
from teamchat_conformance.verdicts import Finding, Miss, Verdicts

PASSWORD = "a conformant passphrase"

Undo = Callable[[], Awaitable[object]]


class Run:
    """One run against one instance. `a` and `b` are admins, `u`, `v`, `w` users, `n` is nobody."""

    def __init__(
        self,
        instance: Instance,
        recorder: Recorder,
        verdicts: Verdicts,
        *,
        capabilities: frozenset[str],
        sink: Sink | None = None,
        provider: Provider | None = None,
        seed: int = 0,
        examples: int = 25,
        steps: int = 30,
        launcher: Launcher | None = None,
    ) -> None:
        self.instance = instance
        self.recorder = recorder
        self.verdicts = verdicts
        self.capabilities = capabilities
        self.sink = sink
        self.provider = provider
        self.seed, self.examples, self.steps = seed, examples, steps
        self.launcher = launcher
        self.id = recorder.run_id
        self.spoiled = Spoiled()
        recorder.watchers.append(self.spoiled.answered)
        self.sign_in = SignIn(self)
        self.n = self.client("nobody")
        self.a: Actor
        self.b: Actor
        self.u: Actor
        self.v: Actor
        self.w: Actor
        self.announced = Announced()
        self.interface = Interface()
        self.observer_watchers: list[Callable[[Observer, sse.Event], None]] = []
        self.observers: list[Observer] = []
        self.lost = ""
        """Why no admin is left to ask by, once the server has let the last one go."""
        self._undo: list[tuple[str, Undo]] = []
        self._undo_last: list[tuple[str, Undo]] = []
        self._left: list[str] = []
        self._numbers = count(1)
        self._fence_channel: str | None = None
        self._clients: list[Client] = [self.n]
        self._sources = cycle(instance.network.source_addresses or ("",))

    # What a scenario decides.

    def verdict(self, id: str) -> AbstractContextManager[Finding]:
        """``with run.verdict("MSG-POST-01"):`` decides that check by whether anything inside is missed."""
        return self.verdicts.of(id)

    def record(self, id: str, value: Any) -> None:
        """Write down what is done where the specification is silent."""
        self.verdicts.record(id, value)

    def has(self, *needs: str) -> bool:
        """Return whether the instance meets these needs."""
        return self.capabilities.issuperset(needs)

    # Who asks.

    def client(self, actor: str, token: str | None = None, **options: Any) -> Client:
        """Return a client of its own; it is closed at the end of the run."""
        options.setdefault("verify_tls", self.instance.network.verify_tls)
        options.setdefault("seconds", self.wait(10))
        made = Client(self.instance.base_url, self.recorder, actor=actor, token=token, **options)
        if hasattr(self, "_clients"):
            self._clients.append(made)
        return made

    def from_elsewhere(self) -> Client:
        """Return an anonymous client at another address, if the instance allows for that ("ips")."""
        header = self.instance.network.client_ip_header
        if header:
            return self.client(
                "nobody elsewhere", extra_headers={header: f"198.51.100.{secrets.randbelow(250) + 1}"}
            )
        address = next(self._sources)
        return self.client("nobody elsewhere", source_address=address or None)

    async def new_user(self, role: str = "user", *, name: str = "a new user") -> Actor:
        """Add a user and sign them in; they are removed at the end of the run."""
        return await self.sign_in.new(role, name)

    # What is made.

    def text(self, about: str = "") -> str:
        """Return a text nobody else writes, which holds the run's id."""
        return f"tc-{self.id}-{next(self._numbers)}{' ' + about if about else ''}"

    def email(self) -> str:
        """Return an address nobody else has."""
        return f"tc-{self.id}-{next(self._numbers)}@{self.instance.users.email_domain}"

    async def channel(self, name: str | None = None) -> str:
        """Make a channel and return its id; it is deleted at the end of the run."""
        answer = await self.a.post("/channels", {"name": name or self.text("channel")})
        channel_id = str(told(answer, "channel")["id"])
        self.undo_with(f"channel {channel_id}", lambda: self.a.delete(at("channels", channel_id)))
        return channel_id

    async def post(self, actor: Actor, channel_id: str, content: str | None = None) -> dict[str, Any]:
        """Post in a channel and return the message."""
        answer = await actor.post(at("channels", channel_id, "messages"), {"content": content or self.text()})
        return told(answer, "message")

    async def reply(self, actor: Actor, parent_id: str, content: str | None = None) -> dict[str, Any]:
        """Reply in a thread and return the whole answer: ``reply`` and ``threadMeta``."""
        answer = await actor.post(at("messages", parent_id, "thread"), {"content": content or self.text()})
        told(answer, "reply")
        answered: dict[str, Any] = answer.json
        return answered

    async def conversation(self, actor: Actor, other: Actor) -> str:
        """Open a conversation and return its id."""
        answer = await actor.post("/conversations", {"targetUserId": other.user_id})
        return str(told(answer, "conversation")["id"])

    async def direct(self, actor: Actor, conversation_id: str, content: str | None = None) -> dict[str, Any]:
        """Send a direct message and return it."""
        answer = await actor.post(
            at("conversations", conversation_id, "messages"), {"content": content or self.text()}
        )
        return told(answer, "message")

    async def webhook(self, channel_id: str, name: str | None = None) -> dict[str, Any]:
        """Make a webhook and return it with its token; it is deleted at the end of the run."""
        answer = await self.a.post("/webhooks", {"name": name or self.text("bot"), "channelId": channel_id})
        made = told(answer, "webhook")
        self.recorder.secret(str(made.get("token", "")), "webhook token")
        self.undo_with(f"webhook {made['id']}", lambda: self.a.delete(at("webhooks", str(made["id"]))))
        return made

    def undo_with(self, what: str, undo: Undo) -> None:
        """Have something undone at the end; that it is gone already is no matter."""
        self._undo.append((what, undo))

    # What is heard.

    @asynccontextmanager
    async def listen(self, actor: Actor, **options: Any) -> AsyncIterator[Observer]:
        """Open a stream as an actor, and wait for CONNECTED."""
        if "token" not in options:
            await actor.keep_good()
        async with sse.listening(
            self.instance.base_url,
            self.recorder,
            name=actor.actor,
            user_id=actor.user_id,
            token=options.pop("token", actor.token),
            verify_tls=self.instance.network.verify_tls,
            seconds=self.wait(10),
            **options,
        ) as observer:
            observer.watchers += self.observer_watchers
            for event in observer.events:
                for watcher in observer.watchers:
                    watcher(observer, event)
            self.observers.append(observer)
            await observer.expect("CONNECTED", seconds=self.wait(5))
            yield observer

    async def fence(self, *observers: Observer) -> None:
        """Post something everyone receives, and wait until it has come: what was to come before has come."""
        if self._fence_channel is None:
            self._fence_channel = await self.channel(self.text("fence"))
            self._undo_last.append(self._undo.pop())
        marks = [observer.mark() for observer in observers]
        message = await self.post(self.a, self._fence_channel, self.text("fence"))
        for observer, mark in zip(observers, marks, strict=True):
            await observer.expect("NEW_MESSAGE", since=mark, seconds=self.wait(5), id=message["id"])

    # How long is waited.

    def wait(self, seconds: float) -> float:
        """Return a time in seconds, multiplied by the instance's patience."""
        return seconds * self.instance.timing.factor

    def made(self) -> int:
        """Return how much there is to undo, for `undo` to begin from."""
        return len(self._undo)

    async def undo(self, since: int) -> None:
        """Undo what was made since then, newest first: what nobody needs any more makes all lists long."""
        for target in self.spoiled.take():
            with suppress(Miss):
                await self.a.delete(target)
        while len(self._undo) > since:
            what, undo = self._undo[-1]
            try:
                await undo()
            except Miss:
                self._left.append(what)
            self._undo.pop()

    async def clean_up(self) -> list[str]:
        """Undo what can be undone, and return what could not."""
        self.recorder.scenario = "clean-up"
        self._undo = [*self._undo_last, *self._undo]
        await self.undo(0)
        for client in self._clients:
            await client.aclose()
        return self._left


def new_run_id() -> str:
    """Return eight letters and digits."""
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(8))
