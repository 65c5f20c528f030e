"""An SMTP server as the pages have one, with TLS and a password, and what came there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from teamchat.testing import DEADLINE

smtp = import_module("plugins.teamchat-email-smtp.tests.conftest")


@dataclass
class Mailbox:
    """`sink` is the server. Its account is the one of the pages, so only the address is another."""

    sink: Any

    @property
    def environment(self) -> dict[str, str]:
        """What a server's environment says so that its mails go here."""
        return {
            "TEAMCHAT_EMAIL__HOST": "localhost",
            "TEAMCHAT_EMAIL__PORT": str(self.sink.port),
            "TEAMCHAT_EMAIL__CAFILE": self.sink.ca_file,
            "SMTP_PASSWORD": smtp.PASSWORD,
        }

    def mail_to(self, recipient: str) -> EmailMessage:
        """Wait for a mail, and see that it came encrypted, from somebody who had signed in."""
        end = time.monotonic() + DEADLINE
        found: list[EmailMessage] = []
        while not found:
            found = [mail for mail in self.sink.messages if mail["To"] == recipient]
            assert time.monotonic() < end, "no mail"
            time.sleep(0.02)
        assert all(self.sink.is_encrypted)
        assert all(self.sink.signed_in)
        return found[-1]


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    """Return a mail's text, or its HTML."""
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def link_in(text: str, app_url: str) -> dict[str, str]:
    """Return the query of the one link in a mail, which leads to the application."""
    [link] = [word for word in text.split() if word.startswith("http")]
    address, query = link.split("?")
    assert address == f"{app_url}/"
    return dict(parse_qsl(query))


def files_in(directory: Path) -> list[Path]:
    """Wait until the mailer `files` has written a mail; return all, the oldest first."""
    end = time.monotonic() + DEADLINE
    while not (found := sorted(directory.glob("*.eml"))):
        assert time.monotonic() < end, "no mail"
        time.sleep(0.02)
    return found
