"""What every mailer must do. Nothing here knows how a mail travels."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from email.message import EmailMessage
from pathlib import Path

import pytest
import trio

from teamchat.errors import MailDelayed, MailRefused
from teamchat.interfaces import Mail, Mailer

PATIENCE_SECONDS = 20
LINK = "https://chat.example.org/?token=v-3_k0&email=bob%40example.org"


def a_mail(number: int = 1, *, recipient: str = "bob@example.org", subject: str = "Grüße ✉") -> Mail:
    """Return a mail as teamchat composes them; another number is another mail."""
    text = f"Sign in, number {number}:\n\n{LINK}&n={number}\n\nZażółć gęślą jaźń.\n.\nThat dot stood alone."
    html = f'<p>Sign in: <a href="{LINK}&amp;n={number}">{"long " * 300}</a> ☂</p>'
    return Mail(id=f"0190-{number:04}", recipient=recipient, subject=subject, text=text, html=html)


def version(message: EmailMessage, kind: str) -> str:
    """Return the plain or the HTML version of a message, with the line ends of Python."""
    part = message.get_body((kind,))
    assert part is not None, f"there is no {kind} version"
    content: str = part.get_content()
    return content.replace("\r\n", "\n").rstrip("\n")


class MailerContract(ABC):
    """Tests of a mailer. Subclass it with a name that begins with ``Test`` and give two methods::

        class TestPigeons(MailerContract):
            def open_mailer(self, tmp_path):
                return open_pigeons(PigeonOptions(loft=str(tmp_path)))

            async def delivered(self, tmp_path):
                return [email.message_from_bytes(each, policy=email.policy.default) for each in ...]

    A mailer that hands mails to a server, which may refuse or hang, passes `RemoteMailerContract` too.
    """

    @abstractmethod
    def open_mailer(self, tmp_path: Path) -> AbstractAsyncContextManager[Mailer]:
        """Open the mailer, as the server does with its `Backend`."""

    @abstractmethod
    async def delivered(self, tmp_path: Path) -> Sequence[EmailMessage]:
        """Return the mails that have arrived, oldest first; called while the mailer is open."""

    async def test_both_versions_arrive_as_they_were_written(self, tmp_path: Path) -> None:
        mail = a_mail()
        async with self.open_mailer(tmp_path) as mailer:
            await mailer.send(mail)
            [message] = await self.delivered(tmp_path)
        assert version(message, "plain") == mail.text, "the text arrived as another"
        assert version(message, "html") == mail.html, "the HTML arrived as another"
        kind = message.get_content_type()
        assert kind == "multipart/alternative", f"text and HTML are two versions of one mail, and not {kind}"

    async def test_the_headers_are_those_of_a_mail_to_one_person(self, tmp_path: Path) -> None:
        async with self.open_mailer(tmp_path) as mailer:
            await mailer.send(a_mail())
            [message] = await self.delivered(tmp_path)
        missing = {"To", "Subject", "From", "Date", "Message-ID", "Auto-Submitted"} - set(message.keys())
        assert not missing, f"these headers are missing: {', '.join(sorted(missing))}"
        assert [address.addr_spec for address in message["To"].addresses] == ["bob@example.org"]
        assert message["Subject"] == "Grüße ✉", "the subject arrived as another"
        assert len(message["From"].addresses) == 1
        assert message["Date"].datetime is not None, "the date is none"
        assert message["Message-ID"], "the Message-ID is empty"
        assert message["Auto-Submitted"] == "auto-generated", "without it, auto-responders answer"
        others = {"Cc", "Bcc", "Reply-To"} & set(message.keys())
        assert not others, f"a mail to one person has no {' or '.join(sorted(others))}"

    async def test_a_mail_has_the_same_message_id_at_every_try_and_another_mail_another(
        self, tmp_path: Path
    ) -> None:
        ids = []
        for directory, number in (("first", 1), ("second", 1), ("third", 2)):
            async with self.open_mailer(tmp_path / directory) as mailer:
                before = len(await self.delivered(tmp_path / directory))
                await mailer.send(a_mail(number))
                ids.append((await self.delivered(tmp_path / directory))[before:][0]["Message-ID"])
        assert ids[0] == ids[1], "tried again, a mail must have the same Message-ID, or it counts as two"
        assert ids[1] != ids[2], "two mails have the same Message-ID, and would count as one"

    @pytest.mark.parametrize(
        "subject", ["Hello\r\nBcc: eve@example.org", "Hello\n\nbody", "=?utf-8?q?Hello=0D=0ABcc:_eve@x.org?="]
    )
    async def test_a_subject_brings_no_header_with_it(self, tmp_path: Path, subject: str) -> None:
        mail = a_mail(subject=subject)
        async with self.open_mailer(tmp_path) as mailer:
            await mailer.send(mail)
            [message] = await self.delivered(tmp_path)
        assert message["Bcc"] is None, "a subject with line ends has become a header of its own"
        assert message["Subject"].startswith(("Hello", "= ?utf-8", "=?utf-8"))
        assert version(message, "plain") == mail.text

    @pytest.mark.parametrize(
        "recipient",
        [
            "bob@example.org\r\nBcc: eve@example.org",
            "bob@example.org, eve@example.org",
            "bob@example.org>\nRCPT TO:<eve@example.org",
            "Bob <bob@example.org>",
            "bob@example.org\0",
            "bob",
            "",
        ],
    )
    async def test_what_is_not_one_plain_address_is_refused(self, tmp_path: Path, recipient: str) -> None:
        async with self.open_mailer(tmp_path) as mailer:
            try:
                await mailer.send(a_mail(recipient=recipient))
            except MailRefused:
                pass
            except Exception as error:
                raise AssertionError(f"{recipient!r} must be refused with MailRefused") from error
            else:
                pytest.fail(f"{recipient!r} is not one plain address, and was taken")
            assert len(await self.delivered(tmp_path)) == 0, f"a mail to {recipient!r} was sent"

    async def test_many_at_once_all_arrive_and_do_not_mix(self, tmp_path: Path) -> None:
        mails = [a_mail(number, recipient=f"user{number}@example.org") for number in range(20)]
        async with self.open_mailer(tmp_path) as mailer:
            with trio.fail_after(PATIENCE_SECONDS):
                async with trio.open_nursery() as nursery:
                    for mail in mails:
                        nursery.start_soon(mailer.send, mail)
            arrived = await self.delivered(tmp_path)
        assert len(arrived) == len(mails), f"of {len(mails)} mails sent at once {len(arrived)} arrived"
        assert {str(message["To"]): version(message, "plain") for message in arrived} == {
            mail.recipient: mail.text for mail in mails
        }, "mails that were sent at once have been mixed"


class RemoteMailerContract(MailerContract):
    """Tests of a mailer behind which a server stands.

    `refused_recipient` is an address that the server of your tests refuses for good, `delayed_recipient` one
    that it does not take now (by SMTP, 450 to RCPT), and `silent_recipient` one for which it never answers.
    """

    refused_recipient: str
    delayed_recipient: str
    silent_recipient: str

    async def test_a_refusal_for_good_is_told_and_names_no_recipient(self, tmp_path: Path) -> None:
        async with self.open_mailer(tmp_path) as mailer:
            with pytest.raises(MailRefused) as caught:
                await mailer.send(a_mail(recipient=self.refused_recipient))
            assert self.refused_recipient not in str(caught.value), (
                "the refusal names the recipient, and is logged"
            )
            await mailer.send(a_mail())
            assert len(await self.delivered(tmp_path)) == 1, "after a refusal the next mail did not arrive"

    async def test_a_recipient_that_is_not_taken_now_is_told_apart_from_a_server_that_is_down(
        self, tmp_path: Path
    ) -> None:
        async with self.open_mailer(tmp_path) as mailer:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - which one, is looked at below
                await mailer.send(a_mail(recipient=self.delayed_recipient))
            assert isinstance(caught.value, MailDelayed), (
                "what is about one recipient is MailDelayed; any other error holds up everybody's mails"
            )
            assert self.delayed_recipient not in str(caught.value), (
                "the delay names the recipient, and is logged"
            )
            await mailer.send(a_mail())
            assert len(await self.delivered(tmp_path)) == 1, "after a delay the next mail did not arrive"

    async def test_who_sends_can_stop_waiting_at_any_time(self, tmp_path: Path) -> None:
        async with self.open_mailer(tmp_path) as mailer:
            with trio.fail_after(PATIENCE_SECONDS):
                with trio.move_on_after(0.2) as waiting:
                    await mailer.send(a_mail(recipient=self.silent_recipient))
                assert waiting.cancelled_caught, (
                    "send() swallows that it was cancelled: let `trio.Cancelled` pass"
                )
                await mailer.send(a_mail())
            assert len(await self.delivered(tmp_path)) == 1, (
                "after one that was given up the next did not arrive"
            )
