"""The suite played against the fake, in one process: what the tests of the suite have in common."""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Collection, Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import cycle
from typing import Any

from conformance.tests.fake import Fake, Settings
from conformance.tests.fake.external import Provider
from teamchat_conformance.instance import Instance, parse
from teamchat_conformance.registry import Area, Registry, load
from teamchat_conformance.runner import Options, Result, play_all

ADMIN = "admin@conformance.test"
ADMIN_PASSWORD = "the password of the admin"
FAILED = ("fail", "blocked", "error")
APP_URL = "http://app.conformance.test"
_FIRST_PORT = 12_000 + os.getpid() % 10_000
_ports = cycle(range(_FIRST_PORT, _FIRST_PORT + 10_000))
_HASTE = 0.5
"""Everything is in one process, so waits may be shorter than those for a server far away."""

KINDS: dict[str, dict[str, Any]] = {
    "dev": {"auth": {"mode": "dev"}},
    "dev open": {"auth": {"mode": "dev", "invite_required": False}, "mail": {"kind": "builtin"}},
    "password": {"auth": {"mode": "password"}, "mail": {"kind": "builtin"}},
    "password open": {"auth": {"mode": "password", "invite_required": False}},
    "password short": {
        "auth": {"mode": "password", "access_seconds": 1, "refresh_seconds": 8, "magic_seconds": 1},
        "mail": {"kind": "builtin"},
    },
    "magic short": {
        "auth": {"mode": "magic-link", "access_seconds": 1, "refresh_seconds": 8, "magic_seconds": 1},
        "mail": {"kind": "builtin"},
    },
    "magic": {"auth": {"mode": "magic-link"}, "mail": {"kind": "builtin"}},
    "magic open": {"auth": {"mode": "magic-link", "invite_required": False}, "mail": {"kind": "builtin"}},
    "oauth": {"auth": {"mode": "password"}, "oauth": 2},
    "oauth open": {"auth": {"mode": "password", "invite_required": False}, "oauth": 1},
}  # fmt: skip
"""The kinds of instances that the fake is played as: a part of their description each."""


def described(world: str) -> dict[str, Any]:
    """Return the description of a world."""
    tree: dict[str, Any] = {
        "admin": {"email": ADMIN, "password": ADMIN_PASSWORD},
        "isolation": {"exclusive": True},
        "timing": {"factor": _HASTE},
        "network": {"verify_tls": False, "client_ip_header": "X-Forwarded-For"},
        **KINDS[world],
    }
    tree["auth"] = {"app_url": APP_URL, **tree["auth"]}
    if "mail" in tree:
        tree["mail"] = {**tree["mail"], "listen": f"127.0.0.1:{_free_port()}", "timeout": 3.0}
    if "oauth" in tree:
        tree["oauth"] = {
            "listen": f"127.0.0.1:{_free_port()}",
            "provider": [_described_provider(number) for number in range(1, tree["oauth"] + 1)],
        }
    return tree


def settings_of(instance: Instance) -> Settings:
    """Return the configuration of a fake that is what a description says."""
    auth = instance.auth
    mail_host, _, mail_port = instance.mail.listen.rpartition(":")
    return Settings(
        mode=auth.mode,
        invite_required=auth.invite_required,
        app_url=auth.app_url,
        access_seconds=auth.access_seconds,
        refresh_seconds=auth.refresh_seconds,
        link_seconds=auth.magic_seconds,
        max_sessions=auth.max_active_sessions,
        smtp=(mail_host, int(mail_port)) if instance.mail.kind == "builtin" else None,
        admin_email=ADMIN,
        admin_password=ADMIN_PASSWORD if auth.mode == "password" else "",
        providers=tuple(
            Provider(
                id=one.id,
                name=one.name,
                authorization_url=f"http://{instance.oauth.listen}/{one.id}/authorize",
                token_url=f"http://{instance.oauth.listen}/{one.id}/token",
                user_info_url=f"http://{instance.oauth.listen}/{one.id}/userinfo",
                client_id=one.client_id,
                client_secret=one.client_secret,
                redirect_uri=one.redirect_uri,
                scopes=one.scopes,
            )
            for one in instance.oauth.provider
        ),
        oauth_limit=instance.oauth.rate_limit,
    )


async def played(
    world: str = "dev",
    *,
    registry: Registry | None = None,
    mutations: Collection[str] = (),
    contrary: bool = False,
    options: Options | None = None,
) -> Result:
    """Start a fake, run the suite against it, and return what was found."""
    instance = parse(described(world))
    async with Fake.serving(settings_of(instance), mutations=mutations, contrary=contrary) as fake:
        return await play_all(
            registry or load(), instance.at(fake.base_url), options or Options(seed=1, examples=5, steps=10)
        )


def only(ids: Iterable[str]) -> Registry:
    """Return a registry of nothing but the scenarios and monitors that decide some of these checks."""
    wanted, areas = set(ids), []
    for area in load().areas:
        plays = [play for play in area.plays if wanted & set(play.ids)]
        monitored = area.monitored & wanted
        kept = {id for play in plays for id in play.ids} | monitored
        if kept:
            checks = {id: check for id, check in area.checks.items() if id in kept}
            areas.append(dataclasses.replace(area, checks=checks, plays=plays, monitored=monitored))
    return Registry(areas)


def failed(result: Result) -> dict[str, str]:
    """Return what has failed, and what was said of it."""
    return {
        id: f"{finding.outcome}: {finding.message}"
        for id, finding in result.findings.items()
        if finding.outcome in FAILED
    }


def failed_required(result: Result) -> dict[str, str]:
    """Return which required checks have failed, and what was said of them."""
    checks = load().checks
    return {id: said for id, said in failed(result).items() if checks[id].level == "required"}


def fits(id: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(id, pattern) for pattern in patterns)


def areas(*names: str) -> Registry:
    """Return a registry of some areas alone."""
    found: list[Area] = [area for area in load().areas if area.name in names]
    return Registry(found)


def _described_provider(number: int) -> dict[str, Any]:
    return {
        "id": f"provider-{number}",
        "name": f"Provider {number}",
        "client_id": f"client-{number}",
        "client_secret": f"secret-of-client-{number}",
        "redirect_uri": f"http://127.0.0.1/auth/oauth/provider-{number}/callback",
        "scopes": "openid email profile",
    }


def _free_port() -> int:
    """Return a port that nobody listens on, of those that the system gives to nobody by itself."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable")
