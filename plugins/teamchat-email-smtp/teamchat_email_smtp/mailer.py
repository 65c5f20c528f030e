"""The mailer ``smtp``: its options, and a connection for each mail.

Options that can't work are told at start.  A mail that nobody waits for any longer is not sent after all, as
far as that can be known, and its connection ends at once.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.headerregistry import Address
from typing import Annotated

import trio
from msgspec import Meta, Struct

from teamchat import Mail, SettingsError
from teamchat.accounts.message import message, sender
from teamchat_email_smtp.dialogue import Server, deliver

CONNECTIONS = 8
_NAME_SECONDS = 3.0


class SmtpOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of ``[email]`` for the backend ``smtp``. `ca_file` holds the certificates of a private CA."""

    host: str
    port: Annotated[int, Meta(ge=1, le=65_535)] = 465
    secure: bool = True
    user: str | None = None
    password: Annotated[str | None, Meta(extra={"secret": True})] = None
    sender: str | None = None
    ca_file: str | None = None

    def __repr__(self) -> str:
        return f"SmtpOptions(host={self.host!r}, port={self.port!r}, secure={self.secure!r})"


class SmtpMailer:
    """`teamchat.Mailer` over SMTP. Made by `open_smtp`."""

    def __init__(self, server: Server, sender: Address) -> None:
        self._server = server
        self._sender = sender
        self._turns = trio.CapacityLimiter(CONNECTIONS)

    async def send(self, mail: Mail) -> None:
        made = message(mail, self._sender)
        async with self._turns:
            await deliver(self._server, self._sender.addr_spec, mail.recipient, made)


@asynccontextmanager
async def open_smtp(options: SmtpOptions) -> AsyncIterator[SmtpMailer]:
    """Check the options; nothing is sent yet. Raises `SettingsError` for what can't work."""
    credentials = _credentials(options)
    context = _context(options.ca_file)
    from_address = sender(options.sender or options.user)
    name = await _own_name()
    server = Server(options.host, options.port, options.secure, credentials, context, name)
    yield SmtpMailer(server, from_address)


async def _own_name() -> str:
    """Return what to greet with: this machine's whole name, or an address (RFC 5321, section 4.1.4)."""
    name = ""
    with trio.move_on_after(_NAME_SECONDS):  # It may be asked for over a network.
        name = await trio.to_thread.run_sync(socket.getfqdn, abandon_on_cancel=True)
    return name if "." in name and name.isascii() and " " not in name else "[127.0.0.1]"


def _credentials(options: SmtpOptions) -> tuple[str, str] | None:
    if options.password is None:
        return None
    if options.user is None:
        raise SettingsError("email.user is missing. Give the account that email.password belongs to.")
    for key, value in (("user", options.user), ("password", options.password)):
        if not value.isascii():  # smtplib speaks ASCII when it signs in
            raise SettingsError(f"email.{key} must be of ASCII characters alone.")
    return options.user, options.password


def _context(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SettingsError(
            f"email.caFile names a file that holds no certificates ({type(error).__name__}). "
            "Give a file with certificates in PEM."
        ) from None
