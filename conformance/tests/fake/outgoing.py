"""What the fake asks of others: an identity provider over HTTP, a mail server over SMTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any
from urllib.parse import urlsplit

import h11
import trio

_PATIENCE_SECONDS = 5.0


class Failure(Exception):
    """The other side did not do its part."""


async def fetch_json(method: str, url: str, *, body: bytes = b"", token: str = "") -> dict[str, Any]:
    """Ask for a JSON object. Raises `Failure` if none comes."""
    parts = urlsplit(url)
    headers = [("Host", parts.netloc), ("Accept", "application/json"), ("Connection", "close")]
    if body:
        headers += [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", str(len(body)))]
    if token:
        headers.append(("Authorization", f"Bearer {token}"))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = h11.Connection(h11.CLIENT)
    try:
        with trio.fail_after(_PATIENCE_SECONDS):
            async with await trio.open_tcp_stream(str(parts.hostname), parts.port or 80) as stream:
                await stream.send_all(
                    connection.send(h11.Request(method=method, target=target, headers=headers))
                )
                await stream.send_all(
                    connection.send(h11.Data(data=body)) + connection.send(h11.EndOfMessage())
                )
                status, data = await _answer(stream, connection)
        found = json.loads(data)
    except (OSError, ValueError, trio.TooSlowError, trio.BrokenResourceError, h11.RemoteProtocolError):
        raise Failure from None
    if status != 200 or not isinstance(found, dict):
        raise Failure
    return found


async def _answer(stream: trio.abc.Stream, connection: h11.Connection) -> tuple[int, bytes]:
    status, data = 0, b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(65_536)))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            data += event.data
        elif isinstance(event, h11.EndOfMessage):
            return status, data
        elif isinstance(event, h11.ConnectionClosed):
            raise Failure


def mail(to: str, link: str) -> EmailMessage:
    """Write a mail with a link."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "fake@conformance.test", to, "Your link"
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="conformance.test")
    message.set_content(f"Here is your link, good for 15 minutes:\n\n{link}\n", cte="quoted-printable")
    html = link.replace("&", "&amp;")
    message.add_alternative(f'<p>Here is <a href="{html}">your link</a>.</p>', "html", cte="quoted-printable")
    return message


async def deliver(host: str, port: int, to: str, message: EmailMessage) -> None:
    """Hand a mail to a mail server (RFC 5321). What goes wrong is nobody's business here."""
    data = message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").replace(b"\r\n.", b"\r\n..")
    try:
        with trio.fail_after(_PATIENCE_SECONDS):
            async with _dialogue(host, port) as say:
                await say(b"", 220)
                await say(b"EHLO fake\r\n", 250)
                await say(b"MAIL FROM:<fake@conformance.test>\r\n", 250)
                await say(f"RCPT TO:<{to}>\r\n".encode(), 250)
                await say(b"DATA\r\n", 354)
                await say(data + b"\r\n.\r\n", 250)
                await say(b"QUIT\r\n", 221)
    except (OSError, Failure, trio.TooSlowError, trio.BrokenResourceError, ValueError):
        return


@asynccontextmanager
async def _dialogue(host: str, port: int) -> AsyncIterator[Any]:
    async with await trio.open_tcp_stream(host, port) as stream:
        pending = bytearray()

        async def line() -> bytes:
            while b"\r\n" not in pending:
                more = await stream.receive_some(4096)
                if not more:
                    raise Failure
                pending.extend(more)
            end = pending.index(b"\r\n")
            found = bytes(pending[:end])
            del pending[: end + 2]
            return found

        async def say(what: bytes, wanted: int) -> None:
            if what:
                await stream.send_all(what)
            answer = await line()
            while answer[3:4] == b"-":
                answer = await line()
            if int(answer[:3]) != wanted:
                raise Failure

        yield say
