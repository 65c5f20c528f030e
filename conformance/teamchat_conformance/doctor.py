"""Looks whether a run could go well, and says what to do where it could not. It decides no check.

Every line tells one thing that was tried; and what is made for trying is removed again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from email.utils import parsedate_to_datetime

import trio

from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.mail import Sink
from teamchat_conformance.fixtures.provider import Provider
from teamchat_conformance.http import Recorder
from teamchat_conformance.instance import Instance
from teamchat_conformance.probing import HOW_TO_GET_IN, offered
from teamchat_conformance.run import Run, new_run_id
from teamchat_conformance.runner import Unreachable
from teamchat_conformance.verdicts import Miss, Verdicts

Say = Callable[[str], object]

_CLOCK_SECONDS = 2.0
_ASKED_AT_ONCE = 120


class Doctor:
    """Tries one thing after the other."""

    def __init__(self, instance: Instance, say: Say) -> None:
        self.instance = instance
        self._say = say
        self._is_well = True

    async def examine(self) -> bool:
        """Tell how the server is, and return whether a run could go well."""
        instance = self.instance
        async with AsyncExitStack() as stack:
            sink = provider = None
            if instance.mail.kind == "builtin":
                sink = await stack.enter_async_context(Sink.serving(instance.mail))
            if instance.oauth.provider:
                provider = await stack.enter_async_context(Provider.serving(instance.oauth))
            recorder = Recorder(new_run_id())
            run = Run(
                instance, recorder, Verdicts(recorder.last), capabilities=instance.capabilities(),
                sink=sink, provider=provider,
            )  # fmt: skip
            try:
                await self._all(run)
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 20):
                    await run.clean_up()
        return self._is_well

    async def _all(self, run: Run) -> None:
        reached = await self._try("reachable", self._reachable(run), "Is instance.base_url right?")
        if not reached:
            return
        await self._try("clock", self._clock(run), "Times are compared by the Date header: set both clocks.")
        await self._try("sign-in", self._modes(run), "Set auth.mode to what the server is configured to.")
        if not await self._try("admin", self._admin(run), HOW_TO_GET_IN):
            return
        await self._try("users", self._users(run), "The admin must be one who may add users.")
        await self._try(
            "stream", self._stream(run), "A proxy that holds back answers must let this one through."
        )
        if run.sink is not None:
            await self._try(
                "mail", self._mail(run, run.sink), "Send the server's mail to mail.listen; see init."
            )
        if run.provider is not None:
            await self._try(
                "provider", self._provider(run, run.provider), "Configure the providers; see init."
            )
        await self._try("limits", self._limits(run), "Raise the server's limit on requests for the run.")

    async def _try(self, name: str, tried: Awaitable[str], remedy: str) -> bool:
        try:
            seen = await tried
        except (Miss, Unreachable) as error:
            self._say(f"  not well  {name:10} {error}\n            {'':10} {remedy}")
            self._is_well = False
            return False
        except (KeyError, TypeError, ValueError) as error:
            self._say(f"  not well  {name:10} the answer has an unknown form ({error!r})")
            self._is_well = False
            return False
        self._say(f"  well      {name:10} {seen}")
        return True

    async def _reachable(self, run: Run) -> str:
        began = time.monotonic()
        answer = await run.n.get("/health")
        return f"GET /health answers {answer.status} in {1000 * (time.monotonic() - began):.0f} ms"

    async def _clock(self, run: Run) -> str:
        told = (await run.n.get("/health")).header("date")
        if told is None:
            return "the server tells no Date; its clock can't be compared"
        apart = time.time() - parsedate_to_datetime(told).timestamp()
        require(abs(apart) < _CLOCK_SECONDS + 1, f"the server's clock is {apart:.0f} seconds apart")
        return "as ours"

    async def _modes(self, run: Run) -> str:
        modes = await offered(run.n)
        mode = run.instance.auth.mode
        require(mode in modes, f"{mode} is described, and there is {' and '.join(modes) or 'none'}")
        return mode

    async def _admin(self, run: Run) -> str:
        require(run.instance.admin.email, "no admin is given")
        run.a = await run.sign_in.admin()
        return f"{run.a.user_name} is signed in"

    async def _users(self, run: Run) -> str:
        run.u = await run.new_user()
        return "a user was added and signed in"

    async def _stream(self, run: Run) -> str:
        began = time.monotonic()
        async with run.listen(run.a) as observer:
            await run.fence(observer)
        return f"CONNECTED and an event came in {time.monotonic() - began:.1f} s"

    async def _mail(self, run: Run, sink: Sink) -> str:
        if run.instance.auth.mode == "dev":
            return "the sink listens; in dev mode the server sends nothing"
        if run.instance.auth.mode == "password":
            (await run.n.post("/auth/request-password-reset", {"email": run.u.email})).expect(200)
            seconds = run.wait(run.instance.mail.timeout)
            await sink.wait(run.u.email, seconds=seconds)
        else:
            await run.sign_in.magic_token(run.u.email)
        return "a mail came"

    async def _provider(self, run: Run, provider: Provider) -> str:
        for one in run.instance.oauth.provider:
            answer = await run.from_elsewhere().get(f"/auth/oauth/{one.id}")
            answer.expect(302)
            provider.grant(answer.header("location") or "", {})
        return "the server leads to the suite's provider"

    async def _limits(self, run: Run) -> str:
        for number in range(_ASKED_AT_ONCE):
            answer = await run.a.get("/auth/me")
            require(answer.status != 429, f"the server limits requests: 429 at request {number + 1}")
        return f"{_ASKED_AT_ONCE} requests in a row were answered"
