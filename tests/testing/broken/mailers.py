"""Mailers with one thing wrong: each mail becomes a file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from email import message_from_bytes, policy
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path

import trio

from teamchat import Mail, MailDelayed, Mailer, MailRefused
from teamchat.accounts.message import message
from teamchat.testing import MailerContract, RemoteMailerContract
from tests.testing.faults import found_by

SENDER = Address("teamchat", "teamchat", "localhost")
REFUSED, DELAYED, SILENT = "nobody@example.org", "later@example.org", "asleep@example.org"


class Files:
    """`teamchat.Mailer`. What is wrong is in the subclasses."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def send(self, mail: Mail) -> None:
        if mail.recipient == SILENT:
            await trio.sleep_forever()
        if mail.recipient == REFUSED:
            raise MailRefused("the server will not take it")
        if mail.recipient == DELAYED:
            raise MailDelayed("the server does not take it now")
        await trio.lowlevel.checkpoint()
        self.keep(mail, self.changed(message(mail, SENDER)).as_bytes())

    def keep(self, mail: Mail, data: bytes) -> None:
        (self.directory / f"{mail.id}.eml").write_bytes(data)

    def changed(self, made: EmailMessage) -> EmailMessage:
        return made


class _Steps:
    mailer: type[Files]

    @asynccontextmanager
    async def open_mailer(self, tmp_path: Path) -> AsyncIterator[Mailer]:
        await trio.Path(tmp_path).mkdir(exist_ok=True)
        yield self.mailer(tmp_path)

    async def delivered(self, tmp_path: Path) -> Sequence[EmailMessage]:
        files = sorted(await trio.Path(tmp_path).glob("*.eml"))
        return [message_from_bytes(await file.read_bytes(), policy=policy.default) for file in files]


class Contract(_Steps, MailerContract):
    pass


class RemoteContract(_Steps, RemoteMailerContract):
    refused_recipient, delayed_recipient, silent_recipient = REFUSED, DELAYED, SILENT


@found_by(test_both_versions_arrive_as_they_were_written="the HTML arrived as another")
class TestSendsAnotherHtml(Contract):
    class mailer(Files):  # noqa: N801
        def changed(self, made: EmailMessage) -> EmailMessage:
            html = made.get_body(("html",))
            assert html is not None
            html.set_content("<p>The mail is in the plain version.</p>", subtype="html")
            return made


@found_by(
    test_a_mail_has_the_same_message_id_at_every_try_and_another_mail_another="or it counts as two",
)
class TestCountsATryAsAnotherMail(Contract):
    class mailer(Files):  # noqa: N801
        def changed(self, made: EmailMessage) -> EmailMessage:
            made.replace_header("Message-ID", f"<{id(self)}.{trio.current_time()}@localhost>")
            return made


@found_by(
    test_a_mail_has_the_same_message_id_at_every_try_and_another_mail_another="would count as one",
)
class TestGivesEveryMailTheSameId(Contract):
    class mailer(Files):  # noqa: N801
        def changed(self, made: EmailMessage) -> EmailMessage:
            made.replace_header("Message-ID", "<mail@localhost>")
            return made


@found_by(test_the_headers_are_those_of_a_mail_to_one_person="has no Reply-To")
class TestAsksForAnswers(Contract):
    class mailer(Files):  # noqa: N801
        def changed(self, made: EmailMessage) -> EmailMessage:
            made["Reply-To"] = "admin@localhost"
            return made


@found_by(test_the_headers_are_those_of_a_mail_to_one_person="these headers are missing: Date")
class TestHasNoDate(Contract):
    class mailer(Files):  # noqa: N801
        def changed(self, made: EmailMessage) -> EmailMessage:
            del made["Date"]
            return made


@found_by(test_what_is_not_one_plain_address_is_refused="is not one plain address, and was taken")
class TestTakesAnyRecipient(Contract):
    class mailer(Files):  # noqa: N801
        async def send(self, mail: Mail) -> None:
            with suppress(MailRefused):
                await super().send(mail)


@found_by(test_many_at_once_all_arrive_and_do_not_mix="of 20 mails sent at once 1 arrived")
class TestKeepsOneOfMany(Contract):
    class mailer(Files):  # noqa: N801
        def keep(self, mail: Mail, data: bytes) -> None:
            (self.directory / "mail.eml").write_bytes(data)


@found_by(test_a_subject_brings_no_header_with_it="has become a header of its own")
class TestLetsSubjectsBringHeaders(Contract):
    class mailer(Files):  # noqa: N801
        async def send(self, mail: Mail) -> None:
            made = message(mail, SENDER).as_bytes()
            if brought := re.findall(r"\n(Bcc: \S+)", mail.subject):
                made = f"{brought[0]}\n".encode() + made
            self.keep(mail, made)


@found_by(test_a_refusal_for_good_is_told_and_names_no_recipient="names the recipient, and is logged")
class TestNamesWhomItRefuses(RemoteContract):
    class mailer(Files):  # noqa: N801
        async def send(self, mail: Mail) -> None:
            try:
                await super().send(mail)
            except MailRefused as refused:
                raise MailRefused(f"{mail.recipient}: {refused}") from None


@found_by(
    test_a_recipient_that_is_not_taken_now_is_told_apart_from_a_server_that_is_down="holds up everybody"
)
class TestTakesADelayForAServerThatIsDown(RemoteContract):
    class mailer(Files):  # noqa: N801
        async def send(self, mail: Mail) -> None:
            try:
                await super().send(mail)
            except MailDelayed:
                raise ConnectionError("the server does not take it now") from None


@found_by(test_who_sends_can_stop_waiting_at_any_time="let `trio.Cancelled` pass")
class TestCanNotBeStopped(RemoteContract):
    class mailer(Files):  # noqa: N801
        async def send(self, mail: Mail) -> None:
            with suppress(trio.Cancelled):
                await super().send(mail)
