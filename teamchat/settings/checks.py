"""Checks that a type alone can't make: URLs, addresses, names, and the length of secrets.

Every error names the key, says what is expected, and never contains the value.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from teamchat.errors import BadRequest, SettingsError
from teamchat.model import text
from teamchat.observability.logs import FORMATS, LEVELS
from teamchat.settings.keys import (
    InitialUser,
    LogsSettings,
    OAuthSettings,
    OidcProvider,
    ServerSettings,
    Settings,
    Templates,
)

MIN_SECRET_BYTES = 32
_PROVIDER_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_NO_PROVIDERS = frozenset({"providers", "logout"})
"""What stands in the place of a provider's id in paths of their own."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")


def check(settings: Settings) -> None:
    """Raise `SettingsError` naming the first key that can't work."""
    _not_blank("server.host", settings.server.host)
    _not_blank("auth.authMode", settings.auth.auth_mode)
    _not_blank("storage.backend", settings.storage.backend)
    _directory("storage.path", settings.storage.path)
    _not_blank("images.backend", settings.images.backend)
    _directory("images.path", settings.images.path or "")
    _http_url("auth.appUrl", settings.auth.app_url)
    _jwt_secret(settings.auth.jwt_secret)
    _templates(settings.auth.templates)
    _server(settings.server)
    _logs(settings.logs)
    _initial_user(settings.chat.initial_user)
    _oauth(settings.oauth)
    if settings.email:
        _not_blank("email.backend", settings.email.backend)
        for name in ("user", "host", "sender"):
            if (value := getattr(settings.email, name)) is not None:
                _not_blank(f"email.{name}", value)


def _not_blank(key: str, value: str) -> None:
    if not value.strip() or "\0" in value:
        raise SettingsError(f"{key} must not be blank.")


def _directory(key: str, value: str) -> None:
    """Refuse also what a shell would have replaced, for here it would be a directory called ``~``."""
    _not_blank(key, value)
    if value.startswith("~"):
        raise SettingsError(f"{key} must be written out: ~ is not replaced here.")


def _http_url(key: str, value: str) -> None:
    """Take an absolute http(s) URL that browsers can be sent to."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value or "@" in value.split("?")[0]:
        raise SettingsError(f"{key} must be an http:// or https:// URL.")


def _jwt_secret(secret: str | None) -> None:
    """Refuse a secret that is too short to sign with (decision D-10)."""
    if secret is not None and len(secret.encode("utf-8", "surrogatepass")) < MIN_SECRET_BYTES:
        raise SettingsError(
            f"auth.jwtSecret is shorter than {MIN_SECRET_BYTES} bytes. Give a longer one, "
            "or none: then one is generated and kept in the data directory."
        )


def _templates(templates: Templates) -> None:
    for name, value in (("textVersion", templates.text_version), ("htmlVersion", templates.html_version)):
        if value is not None and not _FUNCTION.match(value):
            raise SettingsError(f"auth.templates.{name} must be written as module:function.")


def _server(server: ServerSettings) -> None:
    if server.http1 not in {"native", "hypercorn"}:
        raise SettingsError("server.http1 must be native or hypercorn.")
    for number, origin in enumerate(server.allowed_origins):
        key = f"server.allowedOrigins[{number}]"
        _http_url(key, origin)
        if origin.count("/") != 2 or "?" in origin or "#" in origin:
            raise SettingsError(
                f"{key} must be an origin, such as https://chat.example.org: no path, no slash."
            )
    for number, proxy in enumerate(server.trusted_proxies):
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise SettingsError(
                f"server.trustedProxies[{number}] must be an IP address or a network such as 10.0.0.0/8."
            ) from None


def _logs(logs: LogsSettings) -> None:
    if logs.level not in LEVELS:
        raise SettingsError("logs.level must be debug, info, warning or error.")
    if logs.format not in FORMATS:
        raise SettingsError("logs.format must be json or text.")


def _initial_user(user: InitialUser) -> None:
    try:
        text.name("userName", user.user_name, most=text.MAX_USER_NAME)
        text.email(user.email)
    except BadRequest as problem:
        raise SettingsError(f"chat.initialUser.{problem.sentence}") from None
    if user.password is not None and not 8 <= len(user.password) <= 1024:
        raise SettingsError("chat.initialUser.password must have 8 to 1024 characters.")


def _oauth(oauth: OAuthSettings) -> None:
    for preset_id, preset in oauth.presets.items():
        key = f"oauth.presets.{preset_id}"
        _not_blank(f"{key}.clientId", preset.client_id)
        _not_blank(f"{key}.clientSecret", preset.client_secret)
        addresses = {
            "authorizationUrl": preset.authorization_url,
            "tokenUrl": preset.token_url,
            "userInfoUrl": preset.user_info_url,
        }
        for name, url in {"redirectUri": preset.redirect_uri, **addresses}.items():
            if url is not None:
                _http_url(f"{key}.{name}", url)
        missing = [name for name, url in addresses.items() if url is None]
        if 0 < len(missing) < len(addresses):
            raise SettingsError(
                f"{key}.{missing[0]} is missing. Give all three addresses of a provider of your own, or its "
                "secret and its users' tokens go to the one that is built in."
            )
    taken = set(oauth.presets)
    for number, provider in enumerate(oauth.custom):
        key = f"oauth.custom[{number}]"
        if not _PROVIDER_ID.match(provider.id):
            raise SettingsError(f"{key}.id must be lower-case letters, digits and single hyphens.")
        if provider.id in taken:
            raise SettingsError(f"{key}.id is taken by another provider.")
        taken.add(provider.id)
        _not_blank(f"{key}.name", provider.name)
        _not_blank(f"{key}.clientId", provider.client_id)
        _not_blank(f"{key}.clientSecret", provider.client_secret)
        _http_url(f"{key}.authorizationUrl", provider.authorization_url)
        _http_url(f"{key}.tokenUrl", provider.token_url)
        _http_url(f"{key}.userInfoUrl", provider.user_info_url)
        if provider.redirect_uri is not None:
            _http_url(f"{key}.redirectUri", provider.redirect_uri)
    for number, one in enumerate(oauth.oidc):
        key = f"oauth.oidc[{number}]"
        if not _PROVIDER_ID.match(one.id) or one.id in _NO_PROVIDERS:
            raise SettingsError(f"{key}.id must be lower-case letters, digits and single hyphens.")
        if one.id in taken:
            raise SettingsError(f"{key}.id is taken by another provider.")
        taken.add(one.id)
        _oidc(key, one)


def _oidc(key: str, provider: OidcProvider) -> None:
    _not_blank(f"{key}.name", provider.name)
    _not_blank(f"{key}.clientId", provider.client_id)
    _not_blank(f"{key}.clientSecret", provider.client_secret)
    _http_url(f"{key}.issuer", provider.issuer)
    parts = urlsplit(provider.issuer)
    # OpenID Connect Discovery, section 3. Plain http could be answered by whoever is in between.
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise SettingsError(f"{key}.issuer must be an https:// URL; http:// is for the loopback alone.")
    if parts.query or parts.fragment:
        raise SettingsError(f"{key}.issuer must have neither a query nor a fragment.")
    if "openid" not in provider.scopes.split():
        raise SettingsError(f"{key}.scopes must have openid among them.")
    _not_blank(f"{key}.claims.groups", provider.claims.groups)
    if provider.redirect_uri is not None:
        _http_url(f"{key}.redirectUri", provider.redirect_uri)
