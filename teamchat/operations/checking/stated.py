"""Checks of what the configuration says: that `serve` will accept it, the signing secret, the certificate."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from cryptography import x509

from teamchat.accounts import Accounts
from teamchat.accounts.acting import AskingStorage
from teamchat.accounts.mails import Composer
from teamchat.application import Application, check_second_factor
from teamchat.chat import Chat
from teamchat.errors import OperatorError, SettingsError
from teamchat.http import tls
from teamchat.interfaces import ImageStore
from teamchat.interfaces.offers import AuthMode
from teamchat.operations.checking.findings import Finding, ok, problem, warning
from teamchat.operations.checking.unopened import UnopenedMailer, UnopenedStorage
from teamchat.operations.installation import Installation
from teamchat.settings.signing import kept_secret
from teamchat.stream import Hub
from teamchat.web.app import create_app

_LOCAL = {"localhost", "127.0.0.1", "::1", None}
_FEWEST_DIFFERENT = 10
"""Of 32 random hexadecimal digits fewer are different once in some thousand secrets, of 64 never."""
_SOON = timedelta(days=14)
_RENEW = "Renew it, and start the server anew."


async def check_configuration(installation: Installation) -> list[Finding]:
    """Check what `serve` would refuse at start, and what it would not but should be known."""
    settings, plugins = installation.settings, installation.plugins
    found = []
    try:
        plugins.check_settings(settings.plugins)
        async with plugins.sign_in(settings) as modes:
            _take_up_plugins(installation, modes)
        if settings.server.tls is not None:
            tls.context(settings.server.tls)
    except OperatorError as error:
        found.append(problem("configuration", str(error), "Change the configuration as it says."))
    url = urlsplit(settings.auth.app_url)
    if url.scheme != "https" and url.hostname not in _LOCAL:
        found.append(
            warning(
                "configuration",
                "auth.appUrl does not begin with https.",
                "Serve the application by TLS, or passwords and tokens can be read on the way.",
            )
        )
    for sentence in plugins.not_there(settings.plugins.disabled):
        found.append(warning("configuration", sentence, "teamchat plugins lists their names."))
    found += _warnings_of_modes(installation)
    return found or [ok("configuration", f"in order; people sign in by {settings.auth.auth_mode}")]


def _warnings_of_modes(installation: Installation) -> Iterator[Finding]:
    for name in installation.plugins.sign_in_modes(installation.settings):
        try:
            caution = installation.plugins.sign_in_traits(name).warning
        except SettingsError:  # No plugin offers it, which is told already.
            continue
        if caution is not None:
            yield warning("configuration", *caution)


def _take_up_plugins(installation: Installation, modes: Mapping[str, AuthMode]) -> None:
    """Ask every plugin for what it brings, as `serve` does. Raises an `OperatorError` for what is wrong."""
    settings, plugins = installation.settings, installation.plugins
    nowhere, secret = AskingStorage(UnopenedStorage()), bytes(32)
    sign_in = plugins.sign_in_traits_of(settings)
    has_mail = settings.email is not None
    accounts = Accounts.build(nowhere, settings.auth, secret, has_mail=has_mail, sign_in=sign_in)
    app = Application(
        settings=settings,
        storage=nowhere,
        accounts=accounts,
        chat=Chat.build(nowhere, cast("ImageStore", None), settings.chat.max_message_length),
        hub=Hub(nowhere, settings.events),
        mailer=UnopenedMailer() if has_mail else None,
        composer=Composer.build(settings),
        sign_in=sign_in,
        oauth_provider=plugins.oauth_provider,
        capabilities=plugins.capabilities(settings.plugins, settings),
    )
    app.capabilities.bring(app)
    check_second_factor(settings, app.capabilities)
    blueprints = [*plugins.sign_in_routes(app, modes), *app.capabilities.routes, *plugins.routes(app)]
    create_app(app, blueprints, plugins)
    plugins.message_filters(app)
    plugins.file_checks(app)
    plugins.event_listeners(app)
    plugins.services(app)


def check_secret(installation: Installation) -> Iterator[Finding]:
    """Check the secret that signs tokens: who guesses it, or reads it, is anyone."""
    section = installation.settings.auth
    try:
        secret = kept_secret(installation.settings)
    except SettingsError as error:
        yield problem("secret", str(error), "Do as it says.")
        return
    file = installation.file
    if section.jwt_secret is not None and file is not None and _others_read(file, section.jwt_secret):
        yield warning(
            "secret", f"auth.jwtSecret stands in {file}, and others may read it", f"chmod o= {file}"
        )
    if secret is None:
        yield ok("secret", "none yet; the first start makes one")
    elif len(set(secret)) < _FEWEST_DIFFERENT:
        remedy = "Make one with openssl rand -hex 32; then everyone fetches a new access token."
        yield warning("secret", "auth.jwtSecret is not random", remedy)
    else:
        yield ok("secret", "configured" if section.jwt_secret is not None else "generated, in the directory")


def check_certificate(installation: Installation) -> Iterator[Finding]:
    """Check how long the certificate of ``server.tls`` is valid, and who may read its key."""
    section = installation.settings.server.tls
    if section is None:
        return
    try:
        [certificate, *_] = x509.load_pem_x509_certificates(Path(section.certificate).read_bytes())
    except (OSError, ValueError):
        return  # The configuration's finding says so.
    begins, ends, now = certificate.not_valid_before_utc, certificate.not_valid_after_utc, datetime.now(UTC)
    if now > ends:
        yield problem("certificate", f"it expired on {ends:%Y-%m-%d}: no client connects", _RENEW)
    elif now < begins:
        yield problem("certificate", f"it begins on {begins:%Y-%m-%d}", "Is the clock right?")
    elif now > ends - _SOON:
        yield warning("certificate", f"it expires on {ends:%Y-%m-%d}", _RENEW)
    else:
        yield ok("certificate", f"valid until {ends:%Y-%m-%d}")
    if _others_read(Path(section.key)):
        yield warning("certificate", f"others may read {section.key}", f"chmod o= {section.key}")


def _others_read(file: Path, words: str = "") -> bool:
    """Return whether everyone on this machine may read a file that holds these words."""
    try:
        return bool(file.stat().st_mode & stat.S_IROTH) and words in file.read_text("utf-8")
    except (OSError, ValueError):
        return False
