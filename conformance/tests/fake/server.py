"""The fake itself: who asks is found out, the handler called, and its answer or refusal sent."""

from __future__ import annotations

import inspect
import secrets
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import trio

from conformance.tests.fake import (
    channels,
    direct,
    external,
    hooks,
    messages,
    people,
    pictures,
    sign_in,
    stream,
    threads,
)
from conformance.tests.fake.asking import ROUTES, Ask, Refusal, Route
from conformance.tests.fake.external import Provider
from conformance.tests.fake.faults import Faults
from conformance.tests.fake.model import Channel, Store, User, now
from conformance.tests.fake.outgoing import deliver, mail
from conformance.tests.fake.repeating import Repeats
from conformance.tests.fake.stream import Streams
from conformance.tests.fake.tokens import claims_of
from conformance.tests.fake.wire import Request, Response, as_error, as_json, serve_connection

HANDLERS = (channels, direct, external, hooks, messages, people, pictures, sign_in, stream, threads)
"""The modules whose routes are served."""


@dataclass(frozen=True)
class Settings:
    """How the fake is configured (interface, part 5); times are in seconds."""

    mode: str = "dev"
    invite_required: bool = True
    app_url: str = "http://app.conformance.test"
    access_seconds: int = 900
    refresh_seconds: int = 604_800
    link_seconds: int = 900
    max_sessions: int = 3
    smtp: tuple[str, int] | None = None
    admin_email: str = "admin@localhost"
    admin_password: str = ""
    providers: tuple[Provider, ...] = ()
    oauth_limit: int = 10
    secret: str = field(default_factory=lambda: secrets.token_hex(32))


class Fake:
    """A server. `mutations` are names of faults; see `conformance.tests.mutants`."""

    def __init__(
        self, settings: Settings | None = None, *, mutations: Collection[str] = (), contrary: bool = False
    ) -> None:
        self.settings = settings or Settings()
        self.contrary = contrary
        self.faults = Faults(mutations)
        self.store = Store(odd_ids=contrary)
        self.streams = Streams(self)
        self.repeats = Repeats()
        self.states: dict[str, external.State] = {}
        self.starts: dict[str, int] = {}
        self.base_url = ""
        self.gone: dict[str, tuple[float, Any]] = {}
        self.nursery: trio.Nursery
        admin = self.settings
        password = sign_in.kept_password(admin.admin_password) if admin.admin_password else None
        self.add_user(admin.admin_email, is_admin=True, password=password, quiet=True)
        first = Channel(self.store.new_id("c"), "General", now(), next(iter(self.store.users)))
        self.store.channels[first.id] = first

    @classmethod
    @asynccontextmanager
    async def serving(cls, settings: Settings | None = None, **switches: Any) -> AsyncIterator[Self]:
        """Serve on a free port of the loopback address until the context is left."""
        fake = cls(settings, **switches)
        async with trio.open_nursery() as nursery:
            fake.nursery = nursery
            serve = partial(serve_connection, answer=fake.answer)
            listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1", backlog=512))
            fake.base_url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            yield fake
            nursery.cancel_scope.cancel()

    def has(self, mutation: str) -> bool:
        """Tell whether the fake has this fault."""
        return mutation in self.faults

    def tell(self, kind: str, payload: dict[str, Any], to: Collection[str] | None = None) -> None:
        """Send an event to some users, or to everyone."""
        for told, whom in self.faults.event(kind, payload, to):
            self.streams.send(kind, told, whom)

    def add_user(
        self, email: str, *, is_admin: bool = False, password: str | None = None, quiet: bool = False
    ) -> User:
        """Add a user, named after the address."""
        start, number = email.partition("@")[0][:60], 1
        taken = {user.name.lower() for user in self.store.users.values()}
        name = start
        while name.lower() in taken:
            number += 1
            name = f"{start}{number}"
        user = User(self.store.new_id("u"), name, email, is_admin, now(), password)
        self.store.users[user.id] = user
        self.store.names[user.id] = name
        if not quiet:
            self.tell("NEW_USER", {"id": user.id, "userName": user.name, "email": user.email})
        return user

    def forget_user(self, user: User) -> None:
        """Let someone go: sessions, links and streams end, what they wrote stays."""
        self.gone[user.id] = trio.current_time(), self.store.users.pop(user.id)
        for session in [one for one in self.store.sessions.values() if one.user_id == user.id]:
            self.end_session(session.id)
        for link in [one for one in self.store.links.values() if one.email.lower() == user.email.lower()]:
            del self.store.links[link.token]
        self.streams.close(lambda one: one.user_id == user.id)

    def end_session(self, session_id: str) -> None:
        """End a session and its streams."""
        session = self.store.sessions.pop(session_id, None)
        if session is not None:
            self.gone[session_id] = trio.current_time(), session
        if not self.contrary:
            self.streams.close(lambda one: one.session_id == session_id)

    def send_mail(self, to: str, link: str) -> None:
        """Send a link by mail, without waiting for it."""
        if self.settings.smtp is not None and not self.has("no-mail"):
            self.nursery.start_soon(deliver, *self.settings.smtp, to, mail(to, link))

    async def answer(self, request: Request) -> Response:
        """Answer a request, whatever happens."""
        found, others = self._find(request)
        if found is None:
            return as_error(
                405 if others and not self.contrary else 404, "There is nothing of that kind here"
            )
        route, params = found
        try:
            ask = Ask(self, request, route, params, self._ip_of(request))
            self._admit(ask)
            told = self.repeats.find(ask)
            if told is None:
                told = route.handler(self, ask)
                told = await told if inspect.isawaitable(told) else told
                self.repeats.keep(ask, told)
        except Refusal as refusal:
            response = as_error(refusal.status, refusal.sentence)
        else:
            response = told if isinstance(told, Response) else as_json(told)
        return self.faults.answer(route.name, response)

    def _find(self, request: Request) -> tuple[tuple[Route, dict[str, str]] | None, list[str]]:
        method = "GET" if request.method == "HEAD" else request.method
        others: list[str] = []
        for route in ROUTES:
            params = route.match(request.parts)
            if params is None or not self._is_there(route):
                continue
            if route.method == method:
                return (route, params), others
            others.append(route.method)
        return None, others

    def _is_there(self, route: Route) -> bool:
        if route.path.startswith("/auth/oauth/"):
            return bool(self.settings.providers) or self.has("oauth-always")
        if (
            route.path == "/auth/register"
            and self.settings.invite_required
            and not self.has("register-always")
        ):
            return False
        return route.mode is None or route.mode == self.settings.mode or self.has(f"mode-{route.mode}-always")

    def _ip_of(self, request: Request) -> str:
        return request.headers.get("x-forwarded-for", request.peer)

    def _admit(self, ask: Ask) -> None:
        if ask.route.access == "open" or self.has(f"open {ask.route.name}"):
            if self.has(f"open {ask.route.name}"):
                ask.asker = self.store.admins()[0]
            return
        if ask.route.access == "webhook":
            return
        in_query = ask.request.asked("token") or ""
        takes_query = ask.route.path == "/events" or self.has("query-token-everywhere")
        if self.has("events-token-in-header-only"):
            takes_query = False
        if self.has("events-token-in-query-only") and ask.route.path == "/events" and not in_query:
            raise Refusal(401, "Sign in first")
        self.identify(ask, in_query if takes_query and in_query else ask.bearer)

    def identify(self, ask: Ask, token: str) -> None:
        """Find out whose access token this is. Raises `Refusal`."""
        claims = claims_of(token, self.settings.secret, unchecked=self.has("jwt-unchecked"))
        if claims is None and self.has("webhook-token-signs-in"):
            hook = next((one for one in self.store.webhooks.values() if one.token == token), None)
            claims = hook and {"sub": hook.created_by, "exp": time.time() + 60}
        if claims is None and self.has("refresh-token-signs-in"):
            found = next((s for s in self.store.sessions.values() if s.refresh_token == token), None)
            claims = found and {"sub": found.user_id, "sid": found.id, "exp": time.time() + 60}
        if claims is None or (claims["exp"] < time.time() and not self.has("jwt-never-expires")):
            raise Refusal(401, "Sign in first")
        ask.asker = self.store.users.get(str(claims["sub"]))
        ask.session = self.store.sessions.get(str(claims.get("sid")))
        if self.has("caller-asked-once"):
            ask.asker = ask.asker or self._as_begun(ask, str(claims["sub"]))
            ask.session = ask.session or self._as_begun(ask, str(claims.get("sid")))
        if ask.asker is None or (
            ask.session is None
            and not self.contrary
            and not self.has("jwt-unchecked")
            and not self.has("webhook-token-signs-in")
        ):
            raise Refusal(401, "Sign in again")

    def _as_begun(self, ask: Ask, id: str) -> Any:
        """Return a user or a session that was there when the request began, though it is gone by now."""
        gone_at, what = self.gone.get(id, (0.0, None))
        return what if gone_at > ask.request.began else None
