"""The pages on dev mode, passwords and magic links: whoever follows them is signed in."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.docs.machine import Machine, Running
from tests.docs.mailbox import Mailbox, files_in, link_in, text_of
from tests.docs.pages import blocks
from tests.docs.people import email_of, post

DEV = "how-to/sign-in-for-development.md"
PASSWORDS = "how-to/sign-in-with-passwords.md"
LINKS = "how-to/sign-in-with-magic-links.md"
HERE = "BASE=http://127.0.0.1:3000\n"
CHAT = "https://chat.example.org"
ADA, GRACE, PASSWORD = "ada@example.org", "grace@example.org", "a long enough password"

# That TLS has begun before anybody signs in, aiosmtpd can't know.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl")


def at(server: Running, script: str) -> str:
    """Put the server's address in the place of the page's."""
    assert HERE in script
    return script.replace(HERE, f"BASE={server.base}\n")


@needs_curl
def test_in_dev_mode_an_email_alone_signs_in(bare: Machine) -> None:
    [configuration], [sign_in] = blocks(DEV, "toml"), blocks(DEV, "sh")
    bare.write("teamchat.toml", configuration)
    with bare.serves("teamchat serve") as server:
        user = json.loads(bare.types(at(server, sign_in)))["user"]
        assert (user["email"], user["isAdmin"]) == ("admin@localhost", True)
        another = at(server, sign_in).replace("admin@localhost", GRACE)
        user = json.loads(bare.types(another))["user"]
        assert (user["email"], user["isAdmin"]) == (GRACE, False)
        assert server.end() == 0


@needs_curl
def test_with_passwords_and_no_mail_server_somebody_is_invited_and_signs_in(bare: Machine) -> None:
    _, _, configuration = blocks(PASSWORDS, "toml")
    invite, set_password, ask_for_another = blocks(PASSWORDS, "sh")
    bare.write("teamchat.toml", configuration)
    mails = bare.root / "teamchat-data" / "mails"
    with bare.serves("teamchat serve") as server:
        begun = at(server, "".join(invite.splitlines(keepends=True)[:2]))
        assert '"userId":"' in bare.types(at(server, invite))
        [invitation] = files_in(mails)
        signed_in = json.loads(bare.types(begun + set_password))
        assert email_of(server, signed_in["accessToken"]) == GRACE
        invitation.unlink()
        strangers = ask_for_another.replace(GRACE, "nobody@example.org")
        assert bare.types(begun + strangers) == bare.types(begun + ask_for_another)
        files_in(mails)
        signed_in = json.loads(bare.types(begun + set_password.replace(PASSWORD, "another long password")))
        assert email_of(server, signed_in["accessToken"]) == GRACE
        assert server.end() == 0


def test_with_passwords_and_mail_somebody_is_invited_by_a_link_that_works(
    bare: Machine, mailbox: Mailbox
) -> None:
    configuration, _, _ = blocks(PASSWORDS, "toml")
    bare.write("teamchat.toml", configuration)
    bare.environment = mailbox.environment | {"ADMIN_PASSWORD": PASSWORD}
    with bare.serves("teamchat serve") as server:
        ada = post(server, "/auth/password-login", {"email": ADA, "password": PASSWORD})
        post(server, "/users/add", {"email": GRACE}, ada["accessToken"])
        link = link_in(text_of(mailbox.mail_to(GRACE)), CHAT)
        assert (link["email"], link["mode"]) == (GRACE, "setup")
        body = {"email": GRACE, "token": link["token"], "password": PASSWORD}
        assert email_of(server, post(server, "/auth/setup-password", body)["accessToken"]) == GRACE
        with server.client() as client:
            assert client.post("/auth/register", json=body).status_code == 404, "invites are required"
        assert server.end() == 0


@needs_curl
def test_with_magic_links_and_no_mail_server_the_link_signs_in(bare: Machine) -> None:
    _, configuration = blocks(LINKS, "toml")
    ask, sign_in = blocks(LINKS, "sh")
    bare.write("teamchat.toml", configuration)
    with bare.serves("teamchat serve") as server:
        assert json.loads(bare.types(at(server, ask)))["success"] is True
        files_in(bare.root / "teamchat-data" / "mails")
        begun = at(server, "".join(ask.splitlines(keepends=True)[:2]))
        signed_in = json.loads(bare.types(begun + sign_in))
        assert email_of(server, signed_in["accessToken"]) == "admin@localhost"
        assert "refreshToken" in signed_in
        assert server.end() == 0


def test_with_magic_links_and_mail_the_link_signs_in(bare: Machine, mailbox: Mailbox) -> None:
    configuration, _ = blocks(LINKS, "toml")
    bare.write("teamchat.toml", configuration)
    bare.environment = mailbox.environment
    with bare.serves("teamchat serve") as server:
        post(server, "/auth/login", {"email": ADA})
        mail = mailbox.mail_to(ADA)
        assert mail["Subject"] == "Your sign-in link"
        link = link_in(text_of(mail), CHAT)
        signed_in = post(server, "/auth/verify", {"email": ADA}, link["token"])
        assert email_of(server, signed_in["accessToken"]) == ADA
        assert server.end() == 0
