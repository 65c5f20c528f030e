"""The sendmail program gets one recipient, the mail and nothing else, and its exit status is understood."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from email.message import EmailMessage
from pathlib import Path

import pytest
import trio
from teamchat_email_sendmail import (
    SendmailFailed,
    SendmailMailer,
    SendmailOptions,
    mailers,
    open_sendmail,
)
from trio.testing import MockClock

from teamchat import MailDelayed, Mailer, MailRefused, SettingsError
from teamchat.settings import EmailSettings, backend_options
from teamchat.testing import DEADLINE, RemoteMailerContract
from teamchat.testing.mailer import a_mail

SENDER = "Team chat <chat@example.org>"


class TestSendmailMailer(RemoteMailerContract):
    refused_recipient = "status-67@example.org"
    delayed_recipient = "status-75@example.org"
    silent_recipient = "silent@example.org"

    @pytest.fixture(autouse=True)
    def _program(self, sendmail_in) -> None:
        self._sendmail_in = sendmail_in

    def open_mailer(self, tmp_path: Path) -> AbstractAsyncContextManager[Mailer]:
        program = self._sendmail_in(tmp_path / "sendmail").program
        return open_sendmail(SendmailOptions(command=[str(program)], sender=SENDER))

    async def delivered(self, tmp_path: Path) -> Sequence[EmailMessage]:
        return self._sendmail_in(tmp_path / "sendmail").messages()


@pytest.fixture
async def mailer(sendmail) -> AsyncIterator[SendmailMailer]:
    options = SendmailOptions(command=[str(sendmail.program), "-oi"], sender=SENDER)
    async with open_sendmail(options) as opened:
        yield opened


async def test_the_backend_is_named_sendmail() -> None:
    [backend] = mailers()
    assert (backend.name, backend.options) == ("sendmail", SendmailOptions)
    section = EmailSettings(backend="sendmail", sender=SENDER, options={"command": ["/bin/true", "-x"]})
    assert backend_options(section, backend) == SendmailOptions(command=["/bin/true", "-x"], sender=SENDER)


async def test_the_program_gets_its_arguments_then_the_senders_then_one_recipient(mailer, sendmail) -> None:
    await mailer.send(a_mail())
    assert sendmail.arguments() == ["-oi", "-i", "-f", "chat@example.org", "--", "bob@example.org"]


async def test_lines_end_as_on_unix_and_a_dot_alone_is_part_of_the_mail(mailer, sendmail) -> None:
    await mailer.send(a_mail())
    assert b"\r" not in sendmail.raw()
    assert b"\n.\n" in sendmail.raw()


async def test_the_program_is_told_nothing_of_the_servers_environment(
    sendmail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAMCHAT_AUTH__JWTSECRET", "a secret of the server")
    monkeypatch.setenv("SMTP_PASSWORD", "another secret")
    async with open_sendmail(SendmailOptions(command=[str(sendmail.program)], sender=SENDER)) as mailer:
        await mailer.send(a_mail())
    environment = sendmail.environment()
    assert environment["PATH"] == os.environ["PATH"]
    assert "secret" not in str(environment)
    assert set(environment) <= {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHLVL"} | {
        "TMPDIR",
        "TZ",
        "USER",
        "_",
    }


@pytest.mark.parametrize("recipient", ["-oQ/tmp@example.org", "-C/tmp/x@example.org", "--@example.org"])
async def test_a_recipient_that_looks_like_an_option_is_refused(mailer, sendmail, recipient: str) -> None:
    with pytest.raises(MailRefused):
        await mailer.send(a_mail(recipient=recipient))
    assert sendmail.messages() == []


@pytest.mark.parametrize("status", [65, 67, 68, 69])
async def test_a_status_about_the_mail_refuses_it_for_good(mailer, status: int) -> None:
    with pytest.raises(MailRefused, match=str(status)) as caught:
        await mailer.send(a_mail(recipient=f"status-{status}@example.org"))
    assert "@" not in str(caught.value)


@pytest.mark.parametrize("status", [75, 76])
async def test_a_status_about_what_another_server_said_delays_the_mail_alone(mailer, status: int) -> None:
    with pytest.raises(MailDelayed, match=str(status)) as caught:
        await mailer.send(a_mail(recipient=f"status-{status}@example.org"))
    assert "@" not in str(caught.value)


@pytest.mark.parametrize("status", [1, 64, 66, 70, 71, 73, 74, 77, 78, 126, 127])
async def test_any_other_status_is_about_the_program_and_may_pass(mailer, status: int) -> None:
    with pytest.raises(SendmailFailed, match=f"status {status}") as caught:
        await mailer.send(a_mail(recipient=f"status-{status}@example.org"))
    assert "@" not in str(caught.value)


async def test_a_program_that_is_killed_may_pass(mailer) -> None:
    with pytest.raises(SendmailFailed, match="signal 9"):
        await mailer.send(a_mail(recipient="killed@example.org"))


async def test_a_program_that_does_not_read_its_input_harms_nobody(mailer) -> None:
    with trio.fail_after(10):
        await mailer.send(a_mail(recipient="deaf@example.org"))


async def test_a_program_that_prints_much_does_not_hang(mailer, sendmail) -> None:
    with trio.fail_after(10):
        await mailer.send(a_mail(recipient="chatty@example.org"))
    assert len(sendmail.messages()) == 1


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what another process does, while Trio's clock stands still."""

    def wait() -> None:
        too_late = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < too_late
            time.sleep(0.01)

    await trio.to_thread.run_sync(wait)


@pytest.mark.parametrize("recipient", ["silent@example.org", "waiting@example.org"])
async def test_a_program_that_does_not_end_is_killed_with_what_it_started_and_delays_the_mail_alone(
    sendmail, recipient: str, mock_clock: MockClock
) -> None:
    options = SendmailOptions(command=[str(sendmail.program)], sender=SENDER, deadline_seconds=5)

    async def fail(mailer: Mailer) -> None:
        with pytest.raises(MailDelayed, match="did not end in 5 seconds"):
            await mailer.send(a_mail(recipient=recipient))

    async with open_sendmail(options) as mailer, trio.open_nursery() as nursery:
        nursery.start_soon(fail, mailer)
        await until(lambda: sendmail.silent_pid() is not None)
        assert is_running(sendmail.silent_pid())
        mock_clock.jump(5)
    await until(lambda: not is_running(sendmail.silent_pid()))


async def test_a_program_that_vanishes_while_the_server_runs_is_told(mailer, sendmail) -> None:
    sendmail.program.unlink()
    with pytest.raises(SendmailFailed, match=r"email\.command can't be started"):
        await mailer.send(a_mail())


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (SendmailOptions(command=["/nowhere/sendmail"], sender=SENDER), "command"),
        (SendmailOptions(command=["/etc/passwd"], sender=SENDER), "command"),
        (SendmailOptions(command=["/bin/true", "a\0b"], sender=SENDER), "command"),
        (SendmailOptions(command=["/bin/true"]), "sender"),
        (SendmailOptions(command=["/bin/true"], sender="two@example.org, one@example.org"), "sender"),
    ],
)
async def test_what_can_not_work_is_told_at_start(options: SendmailOptions, key: str) -> None:
    with pytest.raises(SettingsError, match=rf"email\.{key}"):
        async with open_sendmail(options):
            pass
