"""The suite's mail server keeps what a good sender sends as it came, and fails where it is told to."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Callable
from email.message import EmailMessage
from functools import partial

import pytest
import trio

from teamchat_conformance.fixtures.mail import Sink
from teamchat_conformance.instance import MailSink
from teamchat_conformance.verdicts import Miss

SOMEBODY, NOBODY = "u@conformance.test", "nobody@conformance.test"


def a_mail(to: str = SOMEBODY, text: str = "first\n.\n..second\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "chat@conformance.test", to, "Grüße"
    mail.set_content(text)
    mail.add_alternative("<p>schön</p>", subtype="html")
    return mail


def settings(**more: str) -> MailSink:
    return MailSink(kind="builtin", listen="127.0.0.1:0", **more)  # type: ignore[arg-type]


async def talking(sink: Sink, talk: Callable[[smtplib.SMTP], object], **options: object) -> None:
    def run() -> None:
        kind = smtplib.SMTP_SSL if "context" in options else smtplib.SMTP
        with kind("127.0.0.1", sink.port, timeout=5, **options) as smtp:  # type: ignore[arg-type]
            talk(smtp)

    await trio.to_thread.run_sync(run)


def sending(mail: EmailMessage) -> Callable[[smtplib.SMTP], object]:
    return lambda smtp: smtp.send_message(mail)


async def test_a_mail_is_kept_as_it_came_whatever_its_lines_begin_with() -> None:
    async with Sink.serving(settings()) as sink:
        await talking(sink, sending(a_mail()))
        mail = await sink.wait(SOMEBODY.upper(), seconds=5)
    assert mail.text.replace("\r\n", "\n") == "first\n.\n..second\n"
    assert mail.html.strip() == "<p>schön</p>"
    assert mail.message["Subject"] == "Grüße"
    assert (mail.sender, mail.recipients) == ("chat@conformance.test", (SOMEBODY,))
    assert not mail.is_encrypted
    assert mail.user is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
async def test_with_a_user_name_nobody_sends_without_signing_in(mechanism: str) -> None:
    async with Sink.serving(settings(username="chat", password="secret")) as sink:

        def talk(smtp: smtplib.SMTP) -> None:
            smtp.ehlo()
            with pytest.raises(smtplib.SMTPSenderRefused):
                smtp.send_message(a_mail())
            smtp.rset()
            smtp.user, smtp.password = "chat", "wrong"
            sign_in = smtp.auth_plain if mechanism == "PLAIN" else smtp.auth_login
            with pytest.raises(smtplib.SMTPAuthenticationError):
                smtp.auth(mechanism, sign_in)
            smtp.password = "secret"
            smtp.auth(mechanism, sign_in)
            smtp.send_message(a_mail())

        await talking(sink, talk)
        assert [mail.user for mail in sink.mails] == ["chat"]


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
async def test_mail_comes_over_tls_with_a_certificate_that_can_be_verified(tls: str) -> None:
    async with Sink.serving(settings(tls=tls)) as sink:
        assert sink.certificate is not None
        trusting = ssl.create_default_context(cadata=sink.certificate.pem.decode())

        def talk(smtp: smtplib.SMTP) -> None:
            if tls == "starttls":
                smtp.starttls(context=trusting)
            smtp.send_message(a_mail())

        await talking(sink, talk, **({"context": trusting} if tls == "implicit" else {}))
        assert [mail.is_encrypted for mail in sink.mails] == [True]


async def test_a_recipient_is_refused_as_often_as_was_asked_for() -> None:
    async with Sink.serving(settings()) as sink:
        sink.fail(SOMEBODY, "later", times=2)
        sink.fail(NOBODY, "never")
        codes: list[int] = []

        def attempt(to: str, smtp: smtplib.SMTP) -> None:
            try:
                smtp.send_message(a_mail(to))
                codes.append(250)
            except smtplib.SMTPRecipientsRefused as error:
                codes.append(error.recipients[to][0])

        for to in (SOMEBODY, SOMEBODY, SOMEBODY, NOBODY):
            await talking(sink, partial(attempt, to))
        assert codes == [451, 451, 250, 550]
        sink.heal(NOBODY)
        await talking(sink, partial(attempt, NOBODY))
        assert len(sink.mails) == 2


async def test_a_dropped_recipient_ends_the_connection_and_no_other() -> None:
    async with Sink.serving(settings()) as sink:
        sink.fail(NOBODY, "drop")
        with pytest.raises(smtplib.SMTPServerDisconnected):
            await talking(sink, sending(a_mail(NOBODY)))
        await talking(sink, sending(a_mail()))
        assert len(sink.mails) == 1


async def test_what_is_not_smtp_harms_nobody() -> None:
    async with Sink.serving(settings(tls="implicit")) as sink:
        stream = await trio.open_tcp_stream("127.0.0.1", sink.port)
        await stream.send_all(b"GET / HTTP/1.1\r\n\r\n")
        await stream.aclose()
        assert sink.certificate is not None
        trusting = ssl.create_default_context(cadata=sink.certificate.pem.decode())
        await talking(sink, sending(a_mail()), context=trusting)


async def test_waiting_looks_at_one_address_and_at_what_came_after_the_mark() -> None:
    async with Sink.serving(settings()) as sink:
        await talking(sink, sending(a_mail()))
        mark = sink.mark()
        await talking(sink, sending(a_mail(NOBODY)))
        with pytest.raises(Miss, match="0 of 1 mails"):
            await sink.wait(SOMEBODY, since=mark, seconds=0.05)
        await sink.none(SOMEBODY, since=mark, quiet=0.05)
        with pytest.raises(Miss, match="a mail came"):
            await sink.none(NOBODY, since=mark, quiet=0.05)


async def test_a_late_mail_is_found_before_all_is_quiet() -> None:
    async with Sink.serving(settings()) as sink, trio.open_nursery() as nursery:
        nursery.start_soon(talking, sink, sending(a_mail()))
        with pytest.raises(Miss, match="a mail came"):
            await sink.none(SOMEBODY, quiet=2)


async def test_what_is_raised_inside_comes_out_as_it_was() -> None:
    with pytest.raises(KeyError):
        async with Sink.serving(settings()):
            raise KeyError
