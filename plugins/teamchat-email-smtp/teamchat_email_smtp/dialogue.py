"""One dialogue with a mail server (RFC 5321), from the connection to QUIT.

Whose fault a failure is depends on the step: what goes wrong up to MAIL is the server's, and what goes wrong
from RCPT on is this mail's alone, for who asked for the mail chose its recipient.  The password crosses a
network only inside TLS, certificates are checked, and no error holds more of what the server said than the
code of its reply.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.message import EmailMessage
from typing import NamedTuple

import trio

from teamchat import MailDelayed, MailRefused, OperatorError, SettingsError
from teamchat_email_smtp.connection import BadReply, Connection, ConnectionEnded, Reply
from teamchat_email_smtp.signing_in import no_way, sign_in

DIALOGUE_SECONDS = 50.0
"""How long it may take as a whole: less than teamchat waits, so that it is known whose fault it is."""
_QUIT_SECONDS = 3.0
# RFC 4954 section 6: it is the operator's credentials that are refused, not this mail.
_CREDENTIALS_REFUSED = {530, 534, 535, 538}
_LINE_END = re.compile(rb"\r\n|\r|\n")
_DOT = re.compile(rb"^\.", re.MULTILINE)
_FAILURES = (OSError, trio.BrokenResourceError, trio.TooSlowError, BadReply, ConnectionEnded)


class MailServerFailed(OperatorError):
    """The mail server takes no mail now, and may later. The sentence tells the step and the code."""


class Server(NamedTuple):
    """A mail server, and how to speak with it. `own_name` is what we greet it with."""

    host: str
    port: int
    is_secure: bool
    credentials: tuple[str, str] | None
    tls: ssl.SSLContext
    own_name: str


async def deliver(server: Server, sender: str, recipient: str, message: EmailMessage) -> None:
    """Hand a message over to the server, and return once the server has answered for it.

    Raises `MailRefused` and `MailDelayed` for this mail, and for the server an `OperatorError` whose sentence
    is for the log.
    """
    deadline = trio.current_time() + DIALOGUE_SECONDS
    async with _connected(server) as connection:
        with _servers_fault(), trio.fail_at(deadline):
            extensions = await _introduce(connection, server)
            await _announce(connection, extensions, sender, recipient)
        with _mails_fault(), trio.fail_at(deadline):
            await _hand_over(connection, recipient, message.as_bytes())
        await _leave(connection)


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[Connection]:
    with _servers_fault():
        connection = await Connection.open(server.host, server.port, server.tls if server.is_secure else None)
    try:
        yield connection
    finally:
        await connection.aclose()


async def _leave(connection: Connection) -> None:
    """Say goodbye. The mail is handed over already, whatever happens now."""
    with trio.move_on_after(_QUIT_SECONDS):
        try:
            await connection.command("QUIT")
        except _FAILURES:
            return


async def _introduce(connection: Connection, server: Server) -> dict[str, str]:
    """Exchange greetings, encrypt and sign in as far as asked for; return what the server can do."""
    _expect_of_server(await connection.reply(), "the connection")
    extensions = await _greet(connection, server)
    if not server.is_secure and "STARTTLS" in extensions:
        _expect_of_server(await connection.command("STARTTLS"), "STARTTLS")
        await connection.start_tls(server.tls, server.host)
        extensions = await _greet(connection, server)
    if server.credentials is not None:
        if not connection.is_encrypted and not _is_loopback(connection):
            raise SettingsError(
                "email.secure: the mail server offers no encryption, so email.password was not sent to it. "
                "Use a port where it does, or a server that asks for no password."
            )
        if (mechanisms := extensions.get("AUTH")) is None:
            raise no_way()
        _expect_of_server(await sign_in(connection, mechanisms.upper().split(), *server.credentials), "AUTH")
    return extensions


async def _greet(connection: Connection, server: Server) -> dict[str, str]:
    """Return the extensions that the server names, each with its parameters."""
    reply = await connection.command(f"EHLO {server.own_name}")
    if reply.code >= 500:  # RFC 5321 section 3.2: it may know no extensions.
        _expect_of_server(await connection.command(f"HELO {server.own_name}"), "HELO")
        return {}
    _expect_of_server(reply, "EHLO")
    # Some still write AUTH=LOGIN, from before RFC 4954.
    named = (line.replace("=", " ", 1).partition(" ") for line in reply.lines[1:])
    return {name.upper(): parameters for name, _, parameters in named}


def _is_loopback(connection: Connection) -> bool:
    return ipaddress.ip_address(connection.peer.partition("%")[0]).is_loopback


async def _announce(connection: Connection, extensions: dict[str, str], sender: str, recipient: str) -> None:
    """Name the sender."""
    parameters = _parameters(extensions, sender + recipient)
    reply = await connection.command(f"MAIL FROM:<{sender}>{parameters}")
    if parameters and sender.isascii():
        _expect_of_mail(reply, "MAIL")  # What we ask for beyond the sender is for the recipient's sake.
    else:
        _expect_of_server(reply, "MAIL")


def _parameters(extensions: dict[str, str], addresses: str) -> str:
    """Return what MAIL has to announce: addresses and headers beyond ASCII, if there are any (RFC 6531)."""
    if addresses.isascii():
        return ""
    if "SMTPUTF8" not in extensions:
        raise MailRefused("The mail server takes ASCII addresses alone.")
    return " SMTPUTF8 BODY=8BITMIME"


async def _hand_over(connection: Connection, recipient: str, message: bytes) -> None:
    _expect_of_mail(await connection.command(f"RCPT TO:<{recipient}>"), "RCPT")
    reply = await connection.command("DATA")
    if reply.code != 354:
        _expect_of_mail(reply, "DATA")
        raise BadReply("no 354 to DATA")
    await connection.send(_as_lines(message))
    _expect_of_mail(await connection.reply(), "DATA")


def _as_lines(message: bytes) -> bytes:
    """Return a message as DATA takes it (RFC 5321 sections 2.3.8 and 4.5.2), with the dot that ends it."""
    lines = _DOT.sub(b"..", _LINE_END.sub(b"\r\n", message))
    return lines + (b".\r\n" if lines.endswith(b"\r\n") else b"\r\n.\r\n")


def _expect_of_mail(reply: Reply, step: str) -> None:
    if reply.is_success:
        return
    sentence = f"The mail server answered {reply.code} to {step}."
    raise MailRefused(sentence) if reply.code >= 500 else MailDelayed(sentence)


def _expect_of_server(reply: Reply, step: str) -> None:
    if reply.is_success:
        return
    if reply.code in _CREDENTIALS_REFUSED:
        raise SettingsError(
            f"The mail server refused email.user and email.password ({reply.code} to {step})."
        )
    if step == "MAIL" and reply.code >= 500:
        raise SettingsError(f"The mail server refused email.sender ({reply.code} to MAIL).")
    raise MailServerFailed(f"The mail server answered {reply.code} to {step}.")


@contextmanager
def _mails_fault() -> Iterator[None]:
    """Say that it is this mail that has to wait."""
    try:
        yield
    except _FAILURES as error:
        raise MailDelayed(f"For this recipient the mail server {_deed(error)}.") from error


@contextmanager
def _servers_fault() -> Iterator[None]:
    """Say in an operator's terms what went wrong, without what the server said."""
    try:
        yield
    except trio.BrokenResourceError as error:
        raise _broken(error) from error
    except _FAILURES as error:
        raise MailServerFailed(f"The mail server {_deed(error)}.") from error


def _broken(error: trio.BrokenResourceError) -> OperatorError:
    if isinstance(error.__cause__, ssl.SSLCertVerificationError):
        return SettingsError(
            "email.host: the mail server's certificate is not one for this name that is trusted here. "
            "For a private CA, give email.caFile."
        )
    if isinstance(error.__cause__, ssl.SSLError):
        return MailServerFailed(
            "The mail server does not speak TLS here. Look whether email.secure is right for email.port."
        )
    return MailServerFailed("The mail server ended the connection.")


def _deed(error: Exception) -> str:
    match error:
        case trio.TooSlowError():
            return "does not answer in time"
        case BadReply():
            return "does not speak SMTP"
        case OSError():
            return f"can't be reached ({type(_first(error)).__name__})"
    return "ended the connection"


def _first(error: BaseException) -> BaseException:
    """Return what lies behind Trio's error for all addresses of a host."""
    cause = error.__cause__
    if isinstance(cause, BaseExceptionGroup):
        return cause.exceptions[0]
    return cause if isinstance(cause, OSError) else error
