"""The mailer over SMTP against a real server: what it sends, what it refuses, what it never lets out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from teamchat_email_smtp import SmtpOptions, dialogue, mailers, open_smtp
from teamchat_email_smtp.dialogue import MailServerFailed

from teamchat import Mail, MailDelayed, Mailer, MailRefused, SettingsError
from teamchat.observability.logs import redact
from teamchat.settings import EmailSettings, backend_options
from teamchat.testing import RemoteMailerContract

USER, PASSWORD = "chat@example.org", "the mailbox's password"
SENDER = "Team chat <chat@example.org>"
PATIENCE = 20

# The server's own: here it is meant to ask for a password on an unencrypted connection.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

SmtpServer = Callable[..., Any]


def a_mail(recipient: str = "bob@example.org") -> Mail:
    return Mail(id="0190-1", recipient=recipient, subject="Hello", text="secret text", html="<p>html</p>")


def readable(caught: pytest.ExceptionInfo[Exception]) -> bool:
    """Return whether the log would show the sentence whole: it hides what looks like a password."""
    return redact(str(caught.value)) == str(caught.value)


async def served(nursery: trio.Nursery, handler: Any) -> Any:
    """Serve connections with `handler` on a free port."""
    [listener] = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
    return SimpleNamespace(port=listener.socket.getsockname()[1])


@asynccontextmanager
async def mailer(sink: Any, **options: Any) -> AsyncIterator[Mailer]:
    given = {"host": "127.0.0.1", "port": sink.port, "secure": False, "sender": SENDER} | options
    async with open_smtp(SmtpOptions(**given)) as opened:
        yield opened


class TestSmtpMailer(RemoteMailerContract):
    refused_recipient = "refused@example.org"
    delayed_recipient = "later@example.org"
    silent_recipient = "silent@example.org"

    @pytest.fixture(autouse=True)
    def _server(self, sink: Any) -> None:
        self.sink = sink

    def open_mailer(self, tmp_path: Path) -> AbstractAsyncContextManager[Mailer]:
        return mailer(self.sink)

    async def delivered(self, tmp_path: Path) -> Sequence[EmailMessage]:
        messages: list[EmailMessage] = self.sink.messages
        return messages


def test_the_backend_is_named_smtp() -> None:
    [backend] = mailers()
    assert (backend.name, backend.options) == ("smtp", SmtpOptions)


def test_the_options_are_the_keys_of_email_and_no_others() -> None:
    [backend] = mailers()
    section = EmailSettings(
        host="smtp.example.org", user=USER, password=PASSWORD, options={"caFile": "ca.pem"}
    )
    options = backend_options(section, backend)
    assert options == SmtpOptions(host="smtp.example.org", user=USER, password=PASSWORD, ca_file="ca.pem")
    assert PASSWORD not in repr(options)
    with pytest.raises(SettingsError, match=r"^email\.host is missing\.$"):
        backend_options(EmailSettings(), backend)
    with pytest.raises(SettingsError, match=r"^email\.hots is not a key"):
        backend_options(EmailSettings(options={"hots": "smtp.example.org"}), backend)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "email.sender"),
        ({"user": "an account"}, "email.sender"),
        ({"sender": "Ada <ada@example.org>, eve@example.org"}, "email.sender"),
        ({"sender": "ada@example.org\nBcc: eve@example.org"}, "email.sender"),
        ({"sender": SENDER, "password": PASSWORD}, "email.user"),
        ({"user": USER, "password": "pässword"}, "email.password"),
        ({"user": USER, "ca_file": "/nowhere/ca.pem"}, "email.caFile"),
        ({"user": USER, "ca_file": __file__}, "email.caFile"),
    ],
)
async def test_options_that_can_not_work_are_told_at_start(options: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        async with open_smtp(SmtpOptions(host="127.0.0.1", **options)):
            pass
    assert str(caught.value).startswith(key)
    assert "pässword" not in str(caught.value)


async def test_the_envelope_has_the_one_recipient_and_the_account_is_the_default_sender(sink: Any) -> None:
    async with mailer(sink, sender=None, user=USER) as smtp:
        await smtp.send(a_mail())
    [envelope] = sink.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == (USER, ["bob@example.org"])
    assert str(sink.messages[0]["From"]) == USER
    assert sink.signed_in == [False], "without a password nobody signs in"


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
async def test_a_password_goes_over_tls_to_a_server_whose_certificate_is_trusted(
    smtp_server: SmtpServer, encryption: str
) -> None:
    sink = smtp_server(encryption, asks=True)
    options = {"secure": encryption == "tls", "user": USER, "password": PASSWORD}
    async with mailer(sink, host="localhost", ca_file=sink.ca_file, **options) as smtp:
        await smtp.send(a_mail())
    assert (sink.is_encrypted, sink.signed_in) == ([True], [True])


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
@pytest.mark.parametrize(("name", "trusts"), [("localhost", False), ("other.example.org", True)])
async def test_a_certificate_that_is_not_trusted_or_for_another_name_gets_no_mail(
    smtp_server: SmtpServer, encryption: str, name: str, trusts: bool
) -> None:
    sink = smtp_server(encryption, name=name)
    options = {"secure": encryption == "tls", "ca_file": sink.ca_file if trusts else None}
    async with mailer(sink, host="localhost", **options) as smtp:
        with pytest.raises(SettingsError, match=r"certificate.*caFile"):
            await smtp.send(a_mail())
    assert sink.envelopes == []


async def test_a_password_goes_unencrypted_over_loopback(smtp_server: SmtpServer) -> None:
    sink = smtp_server(asks=True)
    async with mailer(sink, user=USER, password=PASSWORD) as smtp:
        await smtp.send(a_mail())
    assert sink.signed_in == [True]


async def test_a_password_never_goes_unencrypted_over_a_network(
    smtp_server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = smtp_server(asks=True)
    monkeypatch.setattr(dialogue, "_is_loopback", lambda _: False)
    async with mailer(sink, user=USER, password=PASSWORD) as smtp:
        with pytest.raises(SettingsError, match=r"^email\.secure: .*was not sent") as caught:
            await smtp.send(a_mail())
    assert readable(caught)
    assert sink.envelopes == []


async def test_credentials_that_are_refused_are_the_operators_to_mend(smtp_server: SmtpServer) -> None:
    sink = smtp_server(asks=True)
    async with mailer(sink, user=USER, password="wrong") as smtp:
        with pytest.raises(SettingsError, match=r"refused email\.user and .*\(535 to AUTH\)\.$") as caught:
            await smtp.send(a_mail())
    assert readable(caught)
    async with mailer(sink) as smtp:
        with pytest.raises(SettingsError, match=r"\(530 to MAIL\)"):
            await smtp.send(a_mail())
    assert sink.envelopes == []


@pytest.mark.parametrize(
    ("recipient", "error", "sentence"),
    [
        ("refused@example.org", MailRefused, "The mail server answered 550 to RCPT."),
        ("spam@example.org", MailRefused, "The mail server answered 554 to DATA."),
        ("later@example.org", MailDelayed, "The mail server answered 451 to RCPT."),
        ("busy@example.org", MailDelayed, "The mail server answered 452 to DATA."),
        ("gone@example.org", MailDelayed, "For this recipient the mail server ended the connection."),
    ],
)
async def test_what_happens_to_a_recipient_is_about_that_mail_and_no_error_repeats_what_the_server_said(
    sink: Any, recipient: str, error: type[Exception], sentence: str
) -> None:
    async with mailer(sink) as smtp:
        with pytest.raises(error) as caught:
            await smtp.send(a_mail(recipient))
    assert str(caught.value) == sentence
    assert sink.envelopes == []


@pytest.mark.parametrize("greeting", [b"554 go away\r\n", b"421 too busy\r\n", b"", b"SSH-2.0-x\r\n"])
async def test_a_server_that_takes_no_mail_at_all_may_do_so_later(greeting: bytes, nursery: Any) -> None:
    async def greet(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(greeting)

    async with mailer(await served(nursery, greet)) as smtp:
        with trio.fail_after(PATIENCE), pytest.raises(MailServerFailed):
            await smtp.send(a_mail())


async def test_a_server_that_is_not_there_may_come_back(sink: Any) -> None:
    with trio.socket.socket() as taken:
        await taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with mailer(sink, port=port) as smtp:
            with pytest.raises(MailServerFailed, match="ConnectionRefusedError"):
                await smtp.send(a_mail())


async def test_a_server_that_does_not_speak_tls_where_it_should_is_told(sink: Any) -> None:
    async with mailer(sink, secure=True) as smtp:
        with pytest.raises(MailServerFailed, match=r"email\.secure is right for email\.port"):
            await smtp.send(a_mail())


async def test_a_server_that_knows_no_way_to_sign_in_gets_no_password(nursery: Any) -> None:
    heard = []

    async def agree(stream: trio.SocketStream) -> None:
        await stream.send_all(b"220 hello\r\n")
        async for line in stream:
            heard.append(bytes(line))
            await stream.send_all(b"250 fine\r\n")

    async with mailer(await served(nursery, agree), user=USER, password=PASSWORD) as smtp:
        with trio.fail_after(PATIENCE), pytest.raises(SettingsError, match="no way to sign in") as caught:
            await smtp.send(a_mail())
    assert readable(caught)
    assert [line.split()[0] for line in heard] == [b"EHLO"]


async def test_an_address_beyond_ascii_goes_to_a_server_that_takes_it(sink: Any) -> None:
    async with mailer(sink) as smtp:
        await smtp.send(a_mail("jürgen@bücher.example"))
    [envelope] = sink.envelopes
    assert envelope.rcpt_tos == ["jürgen@bücher.example"]
    assert "To: jürgen@bücher.example" in envelope.original_content.decode()


async def test_an_address_beyond_ascii_is_refused_where_the_server_does_not_take_it(
    smtp_server: SmtpServer,
) -> None:
    sink = smtp_server(name="ascii")
    async with mailer(sink) as smtp:
        with pytest.raises(MailRefused, match="ASCII"):
            await smtp.send(a_mail("jürgen@example.org"))
    assert sink.envelopes == []


@pytest.mark.parametrize("local", ["a!#$%&'*+/?=^_`{|}~-z", "a.b.c", "x" * 64])
async def test_an_unusual_address_arrives_letter_for_letter(sink: Any, local: str) -> None:
    async with mailer(sink) as smtp:
        await smtp.send(a_mail(f"{local}@example.org"))
    assert sink.envelopes[0].rcpt_tos == [f"{local}@example.org"]
    assert [each.addr_spec for each in sink.messages[0]["To"].addresses] == [f"{local}@example.org"]


async def test_a_mail_that_nobody_waits_for_any_longer_is_not_sent_after_all(sink: Any) -> None:
    options = SmtpOptions(host="127.0.0.1", port=sink.port, secure=False, sender=SENDER)
    async with open_smtp(options) as smtp:
        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(smtp.send, a_mail("slow@example.org"))
                while not sink.tries["slow@example.org"]:
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            while not sink.is_left.is_set():  # The connection has ended, while the server still worked.
                await trio.lowlevel.checkpoint()
            sink.goes_on.set()
    assert sink.envelopes == []


async def test_the_event_loop_goes_on_while_a_server_is_slow(sink: Any) -> None:
    async with mailer(sink) as smtp, trio.open_nursery() as nursery:
        nursery.start_soon(smtp.send, a_mail("silent@example.org"))
        with trio.fail_after(PATIENCE):
            while not sink.tries["silent@example.org"]:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
