"""One dialogue with a mail server (RFC 5321), from the connection to QUIT; it runs in a thread.

What must stay true: a 5xx to the sender, the recipient or the mail is `MailRefused`, and everything else
that goes wrong may pass; the password crosses a network only inside TLS, and certificates are checked; and
no error holds more of what the server said than the code of its reply.
"""

from __future__ import annotations

import ipaddress
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from typing import NamedTuple

import trio

from teamchat import MailRefused, OperatorError, SettingsError

TIMEOUT_SECONDS = 20.0
_QUIT_SECONDS = 3.0
# RFC 4954 section 6: it is the operator's credentials that are refused, not this mail.
_CREDENTIALS_REFUSED = {530, 534, 535, 538}


class MailServerFailed(OperatorError):
    """The mail server did not take a mail, and may later. The sentence tells the step and the code."""


class Server(NamedTuple):
    """A mail server, and how to speak with it."""

    host: str
    port: int
    is_secure: bool
    credentials: tuple[str, str] | None
    tls: ssl.SSLContext


def deliver(server: Server, sender: str, recipient: str, message: EmailMessage) -> None:
    """Hand a message over to the server, and return once the server has answered for it.

    Raises `MailRefused`, or an `OperatorError` whose sentence is for the log.
    """
    with _plain_errors(), _connected(server) as smtp:
        if not server.is_secure and smtp.has_extn("starttls"):
            smtp.starttls(context=server.tls)
            smtp.ehlo_or_helo_if_needed()
        if server.credentials is not None:
            _sign_in(smtp, *server.credentials)
        _send(smtp, sender, recipient, message)


@contextmanager
def _connected(server: Server) -> Iterator[smtplib.SMTP]:
    """Connect and greet; say goodbye if all went well."""
    smtp = (
        smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_SECONDS, context=server.tls)
        if server.is_secure
        else smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_SECONDS)
    )
    try:
        smtp.ehlo_or_helo_if_needed()
        yield smtp
        _leave(smtp)
    finally:
        smtp.close()


def _leave(smtp: smtplib.SMTP) -> None:
    """Say goodbye. The mail is handed over already, whatever happens now."""
    with suppress(OSError):  # smtplib's errors are of its kind
        if smtp.sock is not None:
            smtp.sock.settimeout(_QUIT_SECONDS)
        smtp.quit()


def _sign_in(smtp: smtplib.SMTP, user: str, password: str) -> None:
    if not isinstance(smtp.sock, ssl.SSLSocket) and not _is_loopback(smtp):
        raise SettingsError(
            "email.secure: the mail server offers no encryption, so email.password was not sent to it. "
            "Use a port where it does, or a server that asks for no password."
        )
    try:
        smtp.login(user, password)
    except smtplib.SMTPAuthenticationError as error:
        _expect_success(error.smtp_code, "AUTH")
        raise
    except (smtplib.SMTPResponseException, smtplib.SMTPServerDisconnected):
        raise
    except smtplib.SMTPException:
        raise SettingsError(
            "The mail server offers no way to sign in that teamchat knows. "
            "Leave email.password out if it needs none, or use another port."
        ) from None


def _is_loopback(smtp: smtplib.SMTP) -> bool:
    peer: str = smtp.sock.getpeername()[0] if smtp.sock is not None else ""
    return ipaddress.ip_address(peer.partition("%")[0]).is_loopback


def _send(smtp: smtplib.SMTP, sender: str, recipient: str, message: EmailMessage) -> None:
    _expect_success(smtp.mail(sender, _parameters(smtp, sender + recipient))[0], "MAIL")
    _expect_success(smtp.rcpt(recipient)[0], "RCPT")
    trio.from_thread.check_cancelled()  # Who gave up waiting will try again: do not send it twice.
    try:
        code, _ = smtp.data(message.as_bytes())
    except smtplib.SMTPDataError as error:
        code = error.smtp_code
    _expect_success(code, "DATA")


def _parameters(smtp: smtplib.SMTP, addresses: str) -> list[str]:
    """Return what MAIL has to announce: addresses and headers beyond ASCII, if there are any (RFC 6531)."""
    if addresses.isascii():
        return []
    if not smtp.has_extn("smtputf8"):
        raise MailRefused("The mail server takes ASCII addresses alone.")
    return ["SMTPUTF8", "BODY=8BITMIME"]


def _expect_success(code: int, step: str) -> None:
    if 200 <= code <= 299:
        return
    if code in _CREDENTIALS_REFUSED:
        raise SettingsError(f"The mail server refused email.user and email.password ({code} to {step}).")
    if 500 <= code <= 599 and step != "AUTH":
        raise MailRefused(f"The mail server answered {code} to {step}.")
    raise MailServerFailed(f"The mail server answered {code} to {step}.")


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Say in an operator's terms what went wrong, without what the server said."""
    try:
        yield
    except ssl.SSLCertVerificationError:
        raise SettingsError(
            "email.host: the mail server's certificate is not one for this name that is trusted here. "
            "For a private CA, give email.caFile."
        ) from None
    except ssl.SSLError as error:
        raise MailServerFailed(
            "The mail server does not speak TLS here. Look whether email.secure is right for email.port."
        ) from error
    except smtplib.SMTPResponseException as error:
        raise MailServerFailed(f"The mail server answered {error.smtp_code} before any mail.") from None
    except smtplib.SMTPServerDisconnected as error:
        raise MailServerFailed("The mail server ended the connection.") from error
    except OSError as error:
        raise MailServerFailed(f"The mail server can't be reached ({type(error).__name__}).") from error
