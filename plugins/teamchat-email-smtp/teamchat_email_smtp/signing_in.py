"""Signing in to a mail server (RFC 4954): PLAIN, LOGIN or CRAM-MD5, whichever of them it offers."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Collection

from teamchat import SettingsError
from teamchat_email_smtp.connection import BadReply, Connection, Reply

_GO_ON = 334


async def sign_in(connection: Connection, mechanisms: Collection[str], user: str, password: str) -> Reply:
    """Sign in, and return the last reply. Raises `SettingsError` if the server knows no way that we do."""
    if "PLAIN" in mechanisms:  # RFC 4616
        return await connection.command("AUTH PLAIN " + _encoded(f"\0{user}\0{password}"))
    if "LOGIN" in mechanisms:
        return await _answer(connection, await connection.command("AUTH LOGIN"), user, password)
    if "CRAM-MD5" in mechanisms:  # RFC 2195
        reply = await connection.command("AUTH CRAM-MD5")
        proof = hmac.new(password.encode(), _challenge(reply), "md5").hexdigest()
        return await _answer(connection, reply, f"{user} {proof}")
    raise no_way()


def no_way() -> SettingsError:
    """Return what is raised where signing in is not offered, or in no way that is known here."""
    return SettingsError(
        "The mail server offers no way to sign in that teamchat knows. "
        "Leave email.password out if it needs none, or use another port."
    )


async def _answer(connection: Connection, reply: Reply, *answers: str) -> Reply:
    """Give an answer for each 334, as long as the server asks."""
    for answer in answers:
        if reply.code != _GO_ON:
            return reply
        reply = await connection.command(_encoded(answer))
    return reply


def _challenge(reply: Reply) -> bytes:
    if reply.code != _GO_ON:
        return b""
    try:
        return base64.b64decode(reply.lines[0], validate=True)
    except binascii.Error:
        raise BadReply("a challenge that is no base64") from None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
