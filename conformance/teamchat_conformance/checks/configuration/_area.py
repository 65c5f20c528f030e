"""The area that the modules of this package add their checks to, and how they start servers of their own."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from teamchat_conformance.fixtures.certificates import Certificate
from teamchat_conformance.fixtures.mail import Sink
from teamchat_conformance.instance import Auth, Instance
from teamchat_conformance.launch import HOST, Launcher, LaunchError, Server
from teamchat_conformance.profiles import Profile, described, keys_of
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run
from teamchat_conformance.verdicts import Miss

area = Area("CFG", "Configuration")

Mode = Any


@dataclass(frozen=True)
class Started:
    """A server of a scenario's own, and a run against it that shares verdicts and record with the other."""

    server: Server
    run: Run


def launcher(run: Run) -> Launcher:
    """Return what starts servers."""
    if run.launcher is None:
        raise Miss("the suite can't start servers")
    return run.launcher


@asynccontextmanager
async def started(
    run: Run,
    changes: Mapping[str, Any] | None = None,
    *,
    mode: Mode = "dev",
    has_mail: bool = False,
    has_oauth: bool = False,
    tls: Mode = "none",
    certificate: Certificate | None = None,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> AsyncIterator[Started]:
    """Start a server of a mode with some keys changed; None leaves a key out.

    Raises `Miss` if it does not start.
    """
    profile = Profile("", "", Auth(mode=mode), has_mail=has_mail, has_oauth=has_oauth)
    instance = described(profile, run.instance)
    instance = replace(instance, mail=replace(instance.mail, tls=tls))
    keys = {**keys_of(instance), **(changes or {})}
    port = port or int(instance.base_url.rpartition(":")[2])
    instance = instance.at(f"http://{HOST}:{port}")
    async with AsyncExitStack() as stack:
        sink = None
        if has_mail:
            sink = await stack.enter_async_context(Sink.serving(instance.mail, certificate))
        try:
            server = await stack.enter_async_context(
                launcher(run).serving(keys, port=port, env=env, arguments=arguments)
            )
        except LaunchError as error:
            raise Miss(str(error)) from None
        own = _run_against(run, instance, sink)
        try:
            yield Started(server, own)
        finally:
            scenario = run.recorder.scenario
            await own.clean_up()
            run.recorder.scenario = scenario


async def again(started: Started, changes: Mapping[str, Any] | None = None, *, kill: bool = False) -> None:
    """Start a server again on its data. Raises `Miss` if it does not start."""
    try:
        await started.server.restart(changes, kill=kill)
    except LaunchError as error:
        raise Miss(str(error)) from None


async def populate(run: Run) -> None:
    """Sign the admin in and make users, as at the beginning of any run."""
    run.a = await run.sign_in.admin()
    run.u = await run.new_user(name="user U")
    run.v = await run.new_user(name="user V")
    run.w = await run.new_user(name="user W")


def secret(run: Run, label: str) -> str:
    """Return a password nobody else has, which stands in no report."""
    return run.recorder.secret(f"{label} {secrets.token_hex(12)}", label)


def _run_against(run: Run, instance: Instance, sink: Sink | None) -> Run:
    own = Run(
        instance, run.recorder, run.verdicts, capabilities=instance.capabilities(launched=True), sink=sink,
        seed=run.seed, launcher=run.launcher,
    )  # fmt: skip
    own.observer_watchers = run.observer_watchers
    own.observers = run.observers
    return own
