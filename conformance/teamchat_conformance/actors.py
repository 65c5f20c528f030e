"""Who asks, and how they get in: one way for each sign-in mode, and the same scenarios under all."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import trio

from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.paths import at
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_UNSET = object()
_SPARE_SECONDS = 3.0


class Actor(Client):
    """A user of the server, signed in. `password` is empty where there is none."""

    def __init__(self, base_url: str, recorder: Recorder, **options: Any) -> None:
        super().__init__(base_url, recorder, **options)
        self.email = ""
        self.user_id = ""
        self.user_name = ""
        self.password = ""
        self.refresh_token: str | None = None
        self.good_until = self.refresh_until = float("inf")
        self.renew: Any = None
        self._renewing = trio.Lock()

    async def ask(self, method: str, target: str, body: Any = _UNSET, **options: Any) -> Answered:
        """Ask as `Client` does, with an access token that is still good for a while."""
        if "token" not in options:
            await self.keep_good()
        given = () if body is _UNSET else (body,)
        return await super().ask(method, target, *given, **options)

    async def keep_good(self) -> None:
        """Get a new access token if this one is about to expire; who asks meanwhile waits for it."""
        if self.renew is None or not self._is_about_to_expire():
            return
        async with self._renewing:
            if self._is_about_to_expire():
                await self.renew(self)

    def _is_about_to_expire(self) -> bool:
        return time.monotonic() > self.good_until - _SPARE_SECONDS


class SignIn:
    """Makes users and signs them in, by the mode of the instance."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._auth = run.instance.auth

    async def admin(self) -> Actor:
        """Sign the given admin in."""
        given = self._run.instance.admin
        actor = self._actor("admin A", given.email, given.password)
        if given.access_token:
            actor.token = self._run.recorder.secret(given.access_token, "access token of admin A")
        else:
            await self.again(actor)
        await self._learn(actor)
        return actor

    async def new(self, role: str, name: str) -> Actor:
        """Add a user by the admin, and sign them in."""
        from teamchat_conformance.run import PASSWORD

        actor = self._actor(name, self._run.email(), PASSWORD if self._auth.mode == "password" else "")
        body = {"email": actor.email, "role": role}
        if actor.password:
            body["password"] = actor.password
        actor.user_id = str((await self._run.a.post("/users/add", body)).ok()["userId"])
        user_id = actor.user_id
        self._run.undo_with(f"user {user_id}", lambda: self._run.a.delete(at("users", user_id)))
        await self.again(actor)
        await self._learn(actor)
        return actor

    async def again(self, actor: Actor) -> None:
        """Sign an actor in once more: a session of its own."""
        self._take(actor, await self.session(actor.email, actor.password))

    async def session(self, email: str, password: str = "", client: Client | None = None) -> dict[str, Any]:
        """Start a session; return ``accessToken``, ``refreshToken`` but for dev mode, and the rest."""
        asker = client or self._run.n
        if self._auth.mode == "dev":
            told = (await asker.post("/auth/dev-login", {"email": email})).ok()
            return {"accessToken": told["token"]}
        if self._auth.mode == "password":
            told = (await asker.post("/auth/password-login", {"email": email, "password": password})).ok()
            return dict(told)
        return await self._by_link(asker, email)

    async def magic_token(self, email: str, client: Client | None = None) -> str:
        """Ask for a sign-in link and return the token in the mail."""
        sink = self._run.sink
        if sink is None:
            raise Miss("a sign-in link goes by mail, and the suite has no sink for it")
        mark = sink.mark()
        (await (client or self._run.n).post("/auth/login", {"email": email})).expect(200)
        mail = await sink.wait(email, since=mark, seconds=self._run.wait(self._run.instance.mail.timeout))
        return self._run.recorder.secret(token_in(mail.text, self._run), "magic link token")

    async def _by_link(self, asker: Client, email: str) -> dict[str, Any]:
        token = await self.magic_token(email, asker)
        return dict((await asker.post("/auth/verify", {"email": email}, token=token)).ok())

    def _actor(self, name: str, email: str, password: str) -> Actor:
        instance = self._run.instance
        actor = Actor(
            instance.base_url,
            self._run.recorder,
            actor=name,
            verify_tls=instance.network.verify_tls,
            seconds=self._run.wait(10),
        )
        self._run._clients.append(actor)
        actor.email, actor.password = email, password
        if password:
            self._run.recorder.secret(password, f"password of {name}")
        return actor

    def _take(self, actor: Actor, told: dict[str, Any]) -> None:
        actor.token = self._run.recorder.secret(str(told["accessToken"]), f"access token of {actor.actor}")
        refresh_token = told.get("refreshToken")
        if isinstance(refresh_token, str):
            actor.refresh_token = self._run.recorder.secret(refresh_token, f"refresh token of {actor.actor}")
        actor.good_until = time.monotonic() + self._auth.access_seconds
        actor.refresh_until = time.monotonic() + self._auth.refresh_seconds
        actor.renew = self._renew

    async def _renew(self, actor: Actor) -> None:
        if actor.refresh_token is None or time.monotonic() > actor.refresh_until - _SPARE_SECONDS:
            await self.again(actor)
            return
        answer = await self._run.n.post("/auth/refresh", {"refreshToken": actor.refresh_token})
        self._take(actor, answer.ok())

    async def _learn(self, actor: Actor) -> None:
        user = (await actor.get("/auth/me")).ok()["user"]
        actor.user_id, actor.user_name = str(user["id"]), str(user["userName"])


def token_in(text: str, run: Run) -> str:
    """Return the token in a mail's link, by the pattern of the description."""
    found = re.search(run.instance.mail.link_pattern, text)
    if found is None:
        raise Miss("the mail holds no link with a token")
    return found[1]
