"""The description of the server under test, from a TOML file.

Nothing about an implementation is guessed.  What the file declares is expected of the
server; what it does not declare is not asked for, and is named in the report as left out.  Any text may be
``env:NAME`` or ``file:PATH``.  A key that is not known is an error.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
import types
import typing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

_SHORT_SECONDS = 10


class DescriptionError(Exception):
    """The description can't be used. The message names the key."""


@dataclass(frozen=True)
class Named:
    """Who is under test."""

    name: str = "the server"
    version: str = ""
    base_url: str = ""


@dataclass(frozen=True)
class Auth:
    """How the server signs people in; times are what it is configured to, in seconds."""

    mode: Literal["dev", "magic-link", "password"] = "password"
    invite_required: bool = True
    app_url: str = ""
    access_seconds: int = 900
    refresh_seconds: int = 604_800
    magic_seconds: int = 900
    max_active_sessions: int = 3


@dataclass(frozen=True)
class Admin:
    """An admin whom the suite may be. One of `password` and `access_token`, or neither in dev mode."""

    email: str = ""
    password: str = ""
    access_token: str = ""


@dataclass(frozen=True)
class Users:
    """Ordinary users are made with addresses of this domain."""

    email_domain: str = "conformance.test"


@dataclass(frozen=True)
class MailSink:
    """Where the server's mail goes: to the suite's own SMTP server, or nowhere."""

    kind: Literal["none", "builtin"] = "none"
    listen: str = "127.0.0.1:2525"
    tls: Literal["none", "starttls", "implicit"] = "none"
    username: str = ""
    password: str = ""
    subject: str = ""
    link_pattern: str = r"[?&]token=([^&\s\"'<>]+)"
    timeout: float = 15.0


@dataclass(frozen=True)
class OAuthProvider:
    """One provider of the server's that is in truth the suite's."""

    id: str
    name: str = ""
    client_id: str = "teamchat"
    client_secret: str = ""
    redirect_uri: str = ""
    scopes: str = "openid email profile"


@dataclass(frozen=True)
class OAuth:
    """The suite's identity provider, and the server's limit on its use."""

    listen: str = "127.0.0.1:9400"
    public_url: str = ""
    rate_limit: int = 10
    rate_window_seconds: int = 900
    provider: tuple[OAuthProvider, ...] = ()


@dataclass(frozen=True)
class Network:
    """How the server is reached. `source_addresses` are addresses of this machine to ask from."""

    verify_tls: bool = True
    source_addresses: tuple[str, ...] = ()
    client_ip_header: str = ""


@dataclass(frozen=True)
class Isolation:
    """Whether the instance belongs to this run alone: only then is tried what could lock everybody out."""

    exclusive: bool = False
    change_server_name: bool = True


@dataclass(frozen=True)
class Timing:
    """How patient the suite is, in seconds; `factor` multiplies every wait."""

    factor: float = 1.0
    event_seconds: float = 5.0
    quiet_seconds: float = 1.0


@dataclass(frozen=True)
class Launch:
    """How the suite starts the server. ``{config}``, ``{port}``, ``{data}`` are put in.

    `keys` maps a key of the specification (part 5), ``server.host``, ``server.port`` or a storage key to what
    this server calls it; keys not named keep their name.  `config` holds further keys, `profiles` those of
    single profiles by their name.
    """

    command: tuple[str, ...] = ()
    config_format: Literal["json", "toml"] = "json"
    keys: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    profiles: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    ready_seconds: float = 20.0


@dataclass(frozen=True)
class Instance:
    """Everything the suite knows of the server under test."""

    instance: Named = field(default_factory=Named)
    auth: Auth = field(default_factory=Auth)
    admin: Admin = field(default_factory=Admin)
    users: Users = field(default_factory=Users)
    mail: MailSink = field(default_factory=MailSink)
    oauth: OAuth = field(default_factory=OAuth)
    network: Network = field(default_factory=Network)
    isolation: Isolation = field(default_factory=Isolation)
    timing: Timing = field(default_factory=Timing)
    launch: Launch = field(default_factory=Launch)
    accepted: dict[str, str] = field(default_factory=dict)
    """Checks whose note is no warning here, and why: another answer than the strict one was chosen."""

    @property
    def base_url(self) -> str:
        """The server's address, without a slash at the end."""
        return self.instance.base_url.rstrip("/")

    def capabilities(
        self, *, slow: bool = False, load: bool = False, launched: bool = False
    ) -> frozenset[str]:
        """Return which needs of checks this instance meets."""
        mode = {"dev": "dev", "magic-link": "magic", "password": "pw"}[self.auth.mode]
        has_mail = self.mail.kind != "none"
        met = {
            mode: True,
            "notdev": mode != "dev",
            "notmagic": mode != "magic",
            "notpw": mode != "pw",
            "mail": has_mail,
            "nomail": not has_mail,
            "idp": bool(self.oauth.provider),
            "idp2": len(self.oauth.provider) > 1,
            "nooauth": not self.oauth.provider,
            "invite": self.auth.invite_required,
            "open": not self.auth.invite_required,
            "short": self.auth.access_seconds <= _SHORT_SECONDS,
            "exclusive": self.isolation.exclusive,
            "launch": launched,
            "ips": bool(self.network.source_addresses or self.network.client_ip_header),
            "slow": slow,
            "load": load,
        }
        return frozenset(name for name, is_met in met.items() if is_met)

    def at(self, base_url: str) -> Instance:
        """Return the same description with another address."""
        return replace(self, instance=replace(self.instance, base_url=base_url))


def load(path: Path) -> Instance:
    """Read a description. Raises `DescriptionError`."""
    try:
        tree = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DescriptionError(f"{path} can't be read: {error}") from None
    return parse(tree)


def parse(tree: dict[str, Any]) -> Instance:
    """Turn a tree into a description. Raises `DescriptionError`."""
    found: Instance = _table(tree, Instance, "")
    return found


def override(tree: dict[str, Any], assignment: str) -> None:
    """Set ``section.key=value`` in a tree. Raises `DescriptionError`."""
    key, equals, value = assignment.partition("=")
    *path, last = key.strip().split(".")
    if not equals or not path:
        raise DescriptionError(f"--set takes section.key=value, not {assignment!r}")
    for part in path:
        tree = tree.setdefault(part, {})
    try:
        tree[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        tree[last] = value


def _table(tree: Any, kind: type, key: str) -> Any:
    if not isinstance(tree, dict):
        raise DescriptionError(f"{key or 'the description'} must be a table")
    hints = get_type_hints(kind)
    if unknown := sorted(tree.keys() - hints.keys()):
        raise DescriptionError(f"{_join(key, unknown[0])} is no key of a description")
    given = {name: _value(value, hints[name], _join(key, name)) for name, value in tree.items()}
    needed = [
        f.name for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING
    ]
    if missing := [name for name in needed if name not in given]:
        raise DescriptionError(f"{_join(key, missing[0])} is missing")
    return kind(**given)


def _value(value: Any, hint: Any, key: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _table(value, typing.cast(type, hint), key)
    origin = get_origin(hint)
    if origin is Literal:
        if value not in get_args(hint):
            raise DescriptionError(f"{key} must be one of {', '.join(map(str, get_args(hint)))}")
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_value(item, get_args(hint)[0], f"{key}[{n}]") for n, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return dict(value)
    if hint is str and isinstance(value, str):
        return _resolved(value, key)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias) and type(value) is hint:
        return value
    raise DescriptionError(f"{key} has a value of the wrong kind")


def _resolved(text: str, key: str) -> str:
    if text.startswith("env:"):
        if text[4:] not in os.environ:
            raise DescriptionError(f"{key}: the environment variable {text[4:]} is not set")
        return os.environ[text[4:]]
    if text.startswith("file:"):
        try:
            return Path(text[5:]).read_text("utf-8").strip()
        except OSError:
            raise DescriptionError(f"{key}: the file {text[5:]} can't be read") from None
    return text


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
