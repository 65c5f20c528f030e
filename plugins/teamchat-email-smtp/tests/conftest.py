"""A real SMTP server (aiosmtpd) in a thread of its own, with faults on demand."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope

from tests.certificates import certified

USER, PASSWORD = "chat@example.org", "the mailbox's password"


@dataclass
class Sink:
    """Keeps what it is sent. What it does with a recipient is told by the part before the ``@``."""

    envelopes: list[Envelope] = field(default_factory=list)
    is_encrypted: list[bool] = field(default_factory=list)
    signed_in: list[bool] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    goes_on: threading.Event = field(default_factory=threading.Event)
    is_left: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    ca_file: str = ""

    @property
    def messages(self) -> list[EmailMessage]:
        return [message_from_bytes(each.original_content, policy=policy.default) for each in self.envelopes]

    async def handle_RCPT(  # noqa: N802 - its name in aiosmtpd
        self, server: Any, session: Any, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.tries[address] += 1
        match address.partition("@")[0]:
            case "refused":
                return f"550 5.1.1 no such mailbox {address}"
            case "later":
                return f"451 4.7.1 greylisted, {address}"
            case "silent":
                await asyncio.Event().wait()
            case "slow":
                try:
                    await asyncio.to_thread(self.goes_on.wait)
                finally:
                    self.is_left.set()
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(  # noqa: N802
        self, server: Any, session: Any, envelope: Envelope
    ) -> str:
        match envelope.rcpt_tos[0].partition("@")[0]:
            case "spam":
                return "554 5.7.1 this looks like spam"
            case "busy":
                return "452 4.3.1 no space"
            case "gone":
                server.transport.abort()
                return "250 never heard"
        self.is_encrypted.append(server.transport.get_extra_info("sslcontext") is not None)
        self.signed_in.append(bool(session.authenticated))
        self.envelopes.append(envelope)
        return "250 2.0.0 taken"


class OnFreePort(Controller):
    """Takes a free port; aiosmtpd by itself greets the new server at the port that was asked for."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def authenticate(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    is_right = (data.login.decode(), data.password.decode()) == (USER, PASSWORD)
    return AuthResult(success=is_right, handled=is_right)


@pytest.fixture
def smtp_server(tmp_path: Path) -> Iterator[Callable[..., Sink]]:
    """Start servers; `encryption` is ``starttls`` or ``tls``, `asks` makes them ask for a password."""
    running: list[Controller] = []

    def start(
        encryption: str | None = None, *, asks: bool = False, name: str = "localhost", port: int = 0
    ) -> Sink:
        sink = Sink(ca_file=str(tmp_path / "ca.pem"))
        context = context_for(tmp_path, name) if encryption else None
        controller = OnFreePort(
            sink,
            hostname="127.0.0.1",
            port=port,
            server_hostname="sink",
            ssl_context=context if encryption == "tls" else None,
            tls_context=context if encryption == "starttls" else None,
            require_starttls=encryption == "starttls",
            authenticator=authenticate,
            auth_required=asks,
            auth_require_tls=encryption == "starttls",
            enable_SMTPUTF8=name != "ascii",
        )
        controller.start()
        running.append(controller)
        sink.port = controller.port
        return sink

    yield start
    for controller in running:
        controller.stop()


@pytest.fixture
def sink(smtp_server: Callable[..., Sink]) -> Sink:
    return smtp_server()


def context_for(directory: Path, name: str) -> ssl.SSLContext:
    """Return a server's context with a certificate for `name`, which ``ca.pem`` tells clients to trust."""
    for file, content in zip(("ca.pem", "key.pem"), certified(name), strict=True):
        (directory / file).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "ca.pem", directory / "key.pem")
    return context
