"""The servers that a matrix starts: how people sign in, what goes with it, and what is looked at there.

A profile is a description and the configuration that makes it true, both from one
source; and every port is a free one, so that profiles run side by side.
"""

from __future__ import annotations

import fnmatch
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from teamchat_conformance.instance import (
    Admin,
    Auth,
    Instance,
    Isolation,
    MailSink,
    Named,
    Network,
    OAuth,
    OAuthProvider,
)
from teamchat_conformance.launch import HOST, free_port
from teamchat_conformance.run import PASSWORD

_ALIASES = 120
_APP_URL = "http://app.conformance.test:8000"
_ELSEWHERE = ("CFG-*",)  # what starts servers of its own needs none to be there
_MAIL_USER = "chat@conformance.test"


@dataclass(frozen=True)
class Profile:
    """One server of a matrix.

    `checks` are patterns of ids that are looked at there in any case, besides what no profile before it could
    show; with `only`, they are all.
    """

    name: str
    title: str
    auth: Auth
    checks: tuple[str, ...] = ()
    only: bool = False
    has_mail: bool = False
    has_oauth: bool = False

    def takes(self, id: str) -> bool:
        """Return whether a check is looked at here, whichever other profile has looked at it."""
        return _is_in(id, self.checks)

    def may(self, id: str) -> bool:
        """Return whether a check may be looked at here at all."""
        return self.takes(id) if self.only else not _is_in(id, _ELSEWHERE)


_DEV = Auth(mode="dev")
_MAGIC = Auth(mode="magic-link")
_PASSWORD = Auth(mode="password")
_OPEN: dict[str, Any] = {"invite_required": False}
_SHORT: dict[str, Any] = {"access_seconds": 5, "refresh_seconds": 12, "magic_seconds": 5}

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("core", "dev sign-in, with mail: everything that does not depend on it", _DEV, ("*",),
                has_mail=True),
        Profile("configuration", "servers with one key or another", _DEV, _ELSEWHERE, only=True),
        Profile("password-mail", "passwords, invitations and resets by mail", _PASSWORD,
                ("PWD-*", "SESS-*"), has_mail=True),
        Profile("password-plain", "passwords without mail", _PASSWORD, ("PWD-ADMIN-*", "PWD-LOGIN-*")),
        Profile("password-open", "passwords, and anybody may register", replace(_PASSWORD, **_OPEN),
                ("PWD-REG-*",), has_mail=True),
        Profile("oauth-invite", "passwords and two providers, for those invited", _PASSWORD, ("OAUTH-*",),
                has_mail=True, has_oauth=True),
        Profile("oauth-open", "passwords and two providers, for anybody", replace(_PASSWORD, **_OPEN),
                ("OAUTH-*",), has_mail=True, has_oauth=True),
        Profile("magic-invite", "magic links for those invited", _MAGIC, ("MAGIC-*", "SESS-*"),
                has_mail=True),
        Profile("magic-open", "magic links for anybody", replace(_MAGIC, **_OPEN), ("MAGIC-*",),
                has_mail=True),
        Profile("dev-invite", "dev sign-in for those invited, without mail", _DEV, ("DEV-*",)),
        Profile("dev-open", "dev sign-in for anybody", replace(_DEV, **_OPEN), ("DEV-*",)),
        Profile("short", "tokens that live for seconds", replace(_PASSWORD, **_SHORT), has_mail=True),
        Profile("short-magic", "magic links that live for seconds", replace(_MAGIC, **_SHORT),
                has_mail=True),
        Profile("sessions-1", "one session a user", replace(_PASSWORD, max_active_sessions=1),
                ("SESS-LIM-*",)),
    )
}  # fmt: skip
"""In the order in which they start: what takes longest first."""


def described(profile: Profile, given: Instance, port: Callable[[], int] = free_port) -> Instance:
    """Return the description of a profile's server, at free ports; the rest is as given."""
    base_url = f"http://{HOST}:{port()}"
    auth = replace(profile.auth, app_url=_APP_URL)
    has_password = auth.mode == "password"
    return replace(
        given,
        instance=Named(given.instance.name, given.instance.version, base_url),
        auth=auth,
        admin=Admin("admin@conformance.test", PASSWORD if has_password else ""),
        mail=_sink(port()) if profile.has_mail else MailSink(),
        oauth=_providers(base_url, port()) if profile.has_oauth else OAuth(),
        network=Network(source_addresses=_aliases()),
        isolation=Isolation(exclusive=True),
    )


def keys_of(instance: Instance) -> dict[str, Any]:
    """Return the keys of the specification (part 5) that make a server what is described."""
    auth, admin = instance.auth, instance.admin
    keys: dict[str, Any] = {
        "auth.authMode": auth.mode,
        "auth.jwtSecret": secrets.token_hex(32),
        "auth.appUrl": auth.app_url or instance.base_url,
        "auth.isInviteRequired": auth.invite_required,
        "auth.magicLinkExpirySeconds": auth.magic_seconds,
        "auth.jwtExpirySeconds": auth.access_seconds,
        "auth.refreshTokenExpirySeconds": auth.refresh_seconds,
        "auth.maxActiveSessions": auth.max_active_sessions,
        "chat.initialUser.userName": "Conformance admin",
        "chat.initialUser.email": admin.email or "admin@conformance.test",
    }
    if admin.password:
        keys["chat.initialUser.password"] = admin.password
    if instance.mail.kind != "none":
        keys |= mail_keys(instance.mail)
    if instance.oauth.provider:
        keys["oauth.custom"] = [_provider_keys(instance, one) for one in instance.oauth.provider]
    return keys


def mail_keys(mail: MailSink) -> dict[str, Any]:
    """Return the keys that lead a server's mail into the sink."""
    host, _, port = mail.listen.rpartition(":")
    keys: dict[str, Any] = {
        "email.user": mail.username or _MAIL_USER,
        "email.password": mail.password or "any password",
        "email.host": host,
        "email.port": int(port),
        "email.secure": mail.tls == "implicit",
        "email.maxRetries": 2,
    }
    return keys | ({"email.emailSubject": mail.subject} if mail.subject else {})


def _provider_keys(instance: Instance, provider: OAuthProvider) -> dict[str, Any]:
    at = f"{instance.oauth.public_url or 'http://' + instance.oauth.listen}/{provider.id}"
    return {
        "id": provider.id,
        "name": provider.name or provider.id,
        "authorizationUrl": f"{at}/authorize",
        "tokenUrl": f"{at}/token",
        "userInfoUrl": f"{at}/userinfo",
        "clientId": provider.client_id,
        "clientSecret": provider.client_secret,
        "redirectUri": provider.redirect_uri or f"{instance.base_url}/auth/oauth/{provider.id}/callback",
        "scopes": provider.scopes,
    }


def _sink(port: int) -> MailSink:
    return MailSink(
        kind="builtin",
        listen=f"{HOST}:{port}",
        username=_MAIL_USER,
        password=secrets.token_hex(12),
        subject="A link for the conformance suite",
    )


def _providers(base_url: str, port: int) -> OAuth:
    made = tuple(
        OAuthProvider(
            id,
            name=f"Provider {id}",
            client_id=f"client-of-{id}",
            client_secret=secrets.token_hex(16),
            redirect_uri=f"{base_url}/auth/oauth/{id}/callback",
        )
        for id in ("first", "second")
    )
    return OAuth(listen=f"{HOST}:{port}", public_url=f"http://{HOST}:{port}", provider=made)


def _aliases() -> tuple[str, ...]:
    """Return other addresses of this machine, if loopback has any (as on Linux)."""
    addresses = tuple(f"127.0.0.{number}" for number in range(2, 2 + _ALIASES))
    with socket.socket() as tried:
        try:
            tried.bind((addresses[-1], 0))
        except OSError:
            return ()
    return addresses


def _is_in(id: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(id, pattern) for pattern in patterns)
