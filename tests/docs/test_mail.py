"""The page on mail: on each of its configurations a mail goes out, with a link that works."""

from __future__ import annotations

from email import message_from_bytes, policy
from importlib import import_module

import pytest

from teamchat.testing import ADMIN
from tests.docs.machine import Machine, Running
from tests.docs.mailbox import Mailbox, files_in, link_in, text_of
from tests.docs.pages import blocks
from tests.docs.people import email_of, post

PAGE = "how-to/send-mail.md"
SMTP, SENDMAIL, FILES, TEMPLATES = blocks(PAGE, "toml")
[MY_MAILS] = blocks(PAGE, "python")
[START] = blocks(PAGE, "sh")
CHAT, HERE = "https://chat.example.org", "http://localhost:3000"
SENDER, PASSWORD = "Team chat <chat@example.org>", "another long password"

# That TLS has begun before anybody signs in, aiosmtpd can't know.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
sendmail = import_module("plugins.teamchat-email-sendmail.tests.conftest")


def ask_for_a_password(server: Running) -> None:
    post(server, "/auth/request-password-reset", {"email": ADMIN})


def expect_it_works(server: Running, link: dict[str, str]) -> None:
    """Set the password that the link is for, which signs in."""
    assert (link["email"], link["mode"]) == (ADMIN, "reset")
    body = {"email": ADMIN, "token": link["token"], "password": PASSWORD}
    assert email_of(server, post(server, "/auth/setup-password", body)["accessToken"]) == ADMIN


def test_an_smtp_server_gets_the_mail(bare: Machine, mailbox: Mailbox) -> None:
    bare.write("teamchat.toml", SMTP)
    with bare.serves("teamchat serve", **mailbox.environment) as server:
        ask_for_a_password(server)
        mail = mailbox.mail_to(ADMIN)
        assert mail["From"] == SENDER
        expect_it_works(server, link_in(text_of(mail), CHAT))


def test_the_machines_own_program_gets_the_mail(bare: Machine) -> None:
    program = sendmail.Sendmail(bare.root / "sendmail")
    bare.write("teamchat.toml", SENDMAIL)
    with bare.serves("teamchat serve", TEAMCHAT_EMAIL__COMMAND=str(program.program)) as server:
        ask_for_a_password(server)
        files_in(program.directory)
        [mail] = program.messages()
        assert (mail["From"], mail["To"]) == (SENDER, ADMIN)
        expect_it_works(server, link_in(text_of(mail), HERE))


def test_while_you_develop_the_mail_becomes_a_file(bare: Machine) -> None:
    bare.write("teamchat.toml", FILES)
    with bare.serves("teamchat serve") as server:
        ask_for_a_password(server)
        [file] = files_in(bare.root / "teamchat-data" / "mails")
        mail = message_from_bytes(file.read_bytes(), policy=policy.default)
        expect_it_works(server, link_in(text_of(mail), HERE))


def test_functions_of_your_own_write_the_mail(bare: Machine) -> None:
    bare.install(".venv/bin")
    bare.write("my_mails.py", MY_MAILS)
    bare.write("teamchat.toml", FILES + TEMPLATES)
    with bare.serves(START.replace("PYTHONPATH", "env PYTHONPATH")) as server:
        post(server, "/auth/login", {"email": ADMIN})
        [file] = files_in(bare.root / "teamchat-data" / "mails")
        mail = message_from_bytes(file.read_bytes(), policy=policy.default)
        text = text_of(mail)
        link = link_in(text, HERE)
        assert text.startswith("Hello!\n\nSign in within 15 minutes:\nhttp")
        address = text.split()[-1].replace("&", "&amp;")
        assert text_of(mail, "html").strip() == (
            f'<p>Hello!</p><p><a href="{address}">Sign in</a> within 15 minutes.</p>'
        )
        signed_in = post(server, "/auth/verify", {"email": ADMIN}, link["token"])
        assert email_of(server, signed_in["accessToken"]) == ADMIN
