"""Mail servers that never stop, never answer or answer a byte at a time: bounded in bytes and in time.

The streams are in memory and hand over byte for byte what is asked for, so that Trio's clock can be moved.
"""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import trio
from teamchat_email_smtp import SmtpOptions, open_smtp
from teamchat_email_smtp.connection import ANSWER_SECONDS, MOST_LINE_BYTES, MOST_LINES
from teamchat_email_smtp.dialogue import DIALOGUE_SECONDS, MailServerFailed

from teamchat import Mail, MailDelayed, Mailer, MailRefused, SettingsError

Handler = Callable[[Any], Awaitable[None]]
GREETING = [b"220 sink", b"250 sink"]


def a_mail(recipient: str = "bob@example.org") -> Mail:
    return Mail(id="0190-1", recipient=recipient, subject="Hello", text=".\n..\ntext", html="<p>html</p>")


@pytest.fixture
async def talk_to(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> Any:
    """Open a mailer whose every connection is served by the function that is given."""

    @asynccontextmanager
    async def talk_to(serve: Handler, **options: Any) -> AsyncIterator[Mailer]:
        async def connect(host: str, port: int) -> Any:
            ours, theirs = trio.testing.lockstep_stream_pair()
            nursery.start_soon(serving, theirs)
            return ours

        async def serving(stream: Any) -> None:
            try:
                await serve(stream)
            except trio.BrokenResourceError:
                return  # The client has ended the connection.

        given = {"host": "mail.example.org", "port": 25, "secure": False, "sender": "chat@example.org"}
        async with open_smtp(SmtpOptions(**(given | options))) as mailer:
            monkeypatch.setattr(trio, "open_tcp_stream", connect)
            yield mailer

    return talk_to


class Script:
    """A server that gives these answers, one for each line; then it does what `then` says."""

    def __init__(self, answers: list[bytes], then: Handler) -> None:
        self.answers = answers
        self.then = then
        self.received = b""

    async def __call__(self, stream: Any) -> None:
        first, *others = self.answers
        await stream.send_all(first + b"\r\n")
        for answer in others:
            await self._line(stream)
            await stream.send_all(answer + b"\r\n")
        await self._line(stream)
        await self.then(stream)

    async def _line(self, stream: Any) -> None:
        piece = b""
        while not piece.endswith(b"\n"):
            got = await stream.receive_some(1000)
            if not got:
                raise trio.BrokenResourceError
            piece += got
        self.received += piece


async def silence(stream: Any) -> None:
    await trio.sleep_forever()


class Flood:
    """Sends one thing again and again, for as long as anybody reads."""

    def __init__(self, piece: bytes, seconds: float = 0) -> None:
        self.piece, self.seconds, self.sent = piece, seconds, 0

    async def __call__(self, stream: Any) -> None:
        while True:
            await trio.sleep(self.seconds)
            await stream.send_all(self.piece)
            self.sent += len(self.piece)


@pytest.mark.parametrize("piece", [b"220-" + b"x" * 60 + b"\r\n", b"x" * 4096, b"220-\n", b"220 "])
async def test_a_greeting_without_an_end_is_read_no_further_than_a_reply_may_be_long(
    piece: bytes, talk_to: Any, autojump_clock: Any
) -> None:
    flood = Flood(piece)
    async with talk_to(flood) as mailer:
        with pytest.raises(MailServerFailed, match="does not speak SMTP"):
            await mailer.send(a_mail())
    assert 0 < flood.sent <= MOST_LINES * MOST_LINE_BYTES
    assert flood.sent <= 64 * 1024


@pytest.mark.parametrize("blame", ["server", "mail"])
async def test_a_reply_without_an_end_is_read_no_further_at_any_step(
    blame: str, talk_to: Any, autojump_clock: Any
) -> None:
    flood = Flood(b"250-" + b"x" * 1000 + b"\r\n")
    answers = GREETING if blame == "server" else [*GREETING, b"250 MAIL"]
    with pytest.raises(MailServerFailed if blame == "server" else MailDelayed):
        async with talk_to(Script(answers, flood)) as mailer:
            await mailer.send(a_mail())
    assert 0 < flood.sent <= 128 * 1024


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        (None, MailServerFailed),
        ([b"220 sink"], MailServerFailed),
        (GREETING, MailServerFailed),
        ([*GREETING, b"250 MAIL"], MailDelayed),
        ([*GREETING, b"250 MAIL", b"250 RCPT"], MailDelayed),
    ],
    ids=["greeting", "EHLO", "MAIL", "RCPT", "DATA"],
)
@pytest.mark.parametrize("tarpit", [silence, Flood(b"2", seconds=1)], ids=["silent", "a byte a second"])
async def test_a_tarpit_is_left_in_time_and_the_fault_is_the_recipients_from_rcpt_on(
    answers: list[bytes] | None, error: type[Exception], tarpit: Handler, talk_to: Any, autojump_clock: Any
) -> None:
    async with talk_to(tarpit if answers is None else Script(answers, tarpit)) as mailer:
        began = trio.current_time()
        with pytest.raises(error):
            await mailer.send(a_mail())
    assert trio.current_time() - began <= ANSWER_SECONDS + 1


async def test_a_mail_that_is_never_answered_for_is_delayed_in_time(
    talk_to: Any, autojump_clock: Any
) -> None:
    """The message was read, and whether it was taken is not said."""

    async def read_all(stream: Any) -> None:
        await stream.send_all(b"354 go\r\n")
        while await stream.receive_some(1000):
            pass

    server = Script([*GREETING, b"250 MAIL", b"250 RCPT"], read_all)
    async with talk_to(server) as mailer:
        began = trio.current_time()
        with pytest.raises(MailDelayed, match="not answer in time"):
            await mailer.send(a_mail())
    assert trio.current_time() - began <= ANSWER_SECONDS + 1


async def test_a_message_that_is_not_read_is_delayed_in_time(talk_to: Any, autojump_clock: Any) -> None:
    async def go_and_sleep(stream: Any) -> None:
        await stream.send_all(b"354 go\r\n")
        await trio.sleep_forever()

    async with talk_to(Script([*GREETING, b"250 MAIL", b"250 RCPT"], go_and_sleep)) as mailer:
        began = trio.current_time()
        with pytest.raises(MailDelayed, match="not answer in time"):
            await mailer.send(a_mail())
    assert trio.current_time() - began <= DIALOGUE_SECONDS


async def test_answers_that_each_come_just_in_time_are_cut_off_as_a_whole(
    talk_to: Any, autojump_clock: Any
) -> None:
    async def slowly(stream: Any) -> None:
        for answer in [*GREETING, b"250 MAIL", b"250 RCPT"]:
            await trio.sleep(ANSWER_SECONDS - 1)
            await stream.send_all(answer + b"\r\n")
            await stream.receive_some(1000)

    async with talk_to(slowly) as mailer:
        began = trio.current_time()
        with pytest.raises(MailServerFailed, match="not answer in time"):
            await mailer.send(a_mail())
    assert trio.current_time() - began <= DIALOGUE_SECONDS + 1


async def test_a_server_that_does_not_answer_the_goodbye_has_the_mail_nevertheless(
    talk_to: Any, autojump_clock: Any
) -> None:
    async def take(stream: Any) -> None:
        await stream.send_all(b"354 go\r\n")
        while not server.received.endswith(b"\r\n.\r\n"):
            server.received += await stream.receive_some(1000)
        await stream.send_all(b"250 taken\r\n")
        await trio.sleep_forever()

    server = Script([*GREETING, b"250 MAIL", b"250 RCPT"], take)
    async with talk_to(server) as mailer:
        await mailer.send(a_mail())
    assert b"\r\n..\r\n...\r\ntext\r\n" in server.received, "a dot that begins a line is doubled"
    assert b"\r\n.\r\n" not in server.received[:-5]


@pytest.mark.parametrize(
    ("answer", "recipient", "error"),
    [
        (b"451 later", "bob@example.org", MailServerFailed),
        (b"550 not you", "bob@example.org", SettingsError),
        (b"530 sign in", "bob@example.org", SettingsError),
        # What MAIL asks for beyond the sender is for the sake of who chose the recipient.
        (b"451 later", "jürgen@example.org", MailDelayed),
        (b"553 no", "jürgen@example.org", MailRefused),
    ],
)
async def test_a_sender_that_is_refused_is_the_servers_fault_unless_the_recipient_asks_for_more(
    answer: bytes, recipient: str, error: type[Exception], talk_to: Any, autojump_clock: Any
) -> None:
    async def refuse(stream: Any) -> None:
        await stream.send_all(answer + b"\r\n")
        await trio.sleep_forever()

    async with talk_to(Script([b"220 sink", b"250-sink\r\n250 SMTPUTF8"], refuse)) as mailer:
        with pytest.raises(error):
            await mailer.send(a_mail(recipient))


async def test_a_code_about_signing_in_at_a_recipient_is_about_that_mail(
    talk_to: Any, autojump_clock: Any
) -> None:
    """Servers say so where they would take mail for their own users, but not for this one."""

    async def refuse(stream: Any) -> None:
        await stream.send_all(b"530 sign in\r\n")
        await trio.sleep_forever()

    async with talk_to(Script([*GREETING, b"250 MAIL"], refuse)) as mailer:
        with pytest.raises(MailRefused, match="530 to RCPT"):
            await mailer.send(a_mail())


async def test_a_server_without_extensions_is_greeted_the_old_way(talk_to: Any, autojump_clock: Any) -> None:
    async def refuse(stream: Any) -> None:
        await stream.send_all(b"550 nobody\r\n")
        await trio.sleep_forever()

    server = Script([b"220 sink", b"502 what?", b"250 sink", b"250 MAIL"], refuse)
    async with talk_to(server) as mailer:
        with pytest.raises(MailRefused):
            await mailer.send(a_mail())
    assert [line.split()[0] for line in server.received.splitlines()] == [b"EHLO", b"HELO", b"MAIL", b"RCPT"]


async def test_what_comes_before_the_encryption_begins_is_not_taken_for_encrypted(
    talk_to: Any, autojump_clock: Any
) -> None:
    async def inject(stream: Any) -> None:
        await stream.send_all(b"220 go\r\n250-AUTH PLAIN\r\n")
        await trio.sleep_forever()

    async with talk_to(Script([b"220 sink", b"250-sink\r\n250 STARTTLS"], inject)) as mailer:
        with pytest.raises(MailServerFailed, match="does not speak SMTP"):
            await mailer.send(a_mail())


async def test_a_tls_handshake_that_says_nothing_is_left_in_time(talk_to: Any, autojump_clock: Any) -> None:
    async with talk_to(silence, secure=True) as mailer:
        began = trio.current_time()
        with pytest.raises(MailServerFailed, match="not answer in time"):
            await mailer.send(a_mail())
    assert trio.current_time() - began <= ANSWER_SECONDS + 1


@pytest.mark.slow
async def test_tarpits_leave_no_descriptor_and_no_thread_behind(nursery: trio.Nursery) -> None:
    """Over real sockets: what is given up is closed there and then."""
    taken: list[trio.SocketStream] = []

    async def keep(stream: trio.SocketStream) -> None:
        taken.append(stream)
        with suppress(trio.BrokenResourceError):
            while await stream.receive_some(1000):
                pass
        await stream.aclose()
        taken.remove(stream)

    [listener] = await nursery.start(partial(trio.serve_tcp, keep, 0, host="127.0.0.1"))
    options = SmtpOptions(
        host="127.0.0.1", port=listener.socket.getsockname()[1], secure=False, sender="chat@example.org"
    )
    async with open_smtp(options) as mailer:
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        with trio.fail_after(20):
            for _ in range(5):
                async with trio.open_nursery() as sending:
                    for _ in range(8):
                        sending.start_soon(mailer.send, a_mail())
                    while len(taken) < 8:
                        await trio.lowlevel.checkpoint()
                    sending.cancel_scope.cancel()
                while taken:
                    await trio.lowlevel.checkpoint()
        assert len(os.listdir("/proc/self/fd")) <= before
