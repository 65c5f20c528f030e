"""The mails of a server under test, which its mailer ``files`` keeps in a directory."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import re
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path

import trio

from teamchat.testing.servers import DEADLINE


@dataclass(frozen=True)
class SentMail:
    """A mail that a server has sent: its subject, and its text without the HTML."""

    subject: str
    text: str

    @property
    def link(self) -> str:
        """The first address in the text, such as the link that signs in."""
        found = re.search(r"https?://\S+", self.text)
        assert found, f"there is no link in the mail {self.subject!r}"
        return found[0]


async def mailed(directory: Path, recipient: str, number: int = 1, seconds: float = DEADLINE) -> SentMail:
    """Wait until so many mails to `recipient` are in `directory`; return the newest of them::

        auth = {"authMode": "magic-link"}
        async with running(tmp_path, auth=auth, email={"backend": "files"}) as server:
            async with server.client() as client:
                await client.post("/auth/login", json={"email": ADMIN})
            link = (await mailed(server.mails, ADMIN)).link

    The plugin ``teamchat-email-files`` has to be installed.  Raises `AssertionError` if they are not there
    within so many seconds.
    """
    sent: list[SentMail] = []
    with trio.move_on_after(seconds):
        # Another process writes the files: there is no event to wait for.
        while len(sent := _sent(directory, recipient)) < number:  # noqa: ASYNC110
            await trio.sleep(0.02)
    assert len(sent) >= number, (
        f"{len(sent)} of {number} mails to {recipient} came within {seconds:g} seconds"
    )
    return sent[-1]


def _sent(directory: Path, recipient: str) -> list[SentMail]:
    """Return the mails to `recipient`, oldest first: the files' names are in the order of time."""
    sent = []
    for file in sorted(directory.glob("*.eml")):
        mail = message_from_bytes(file.read_bytes(), policy=policy.default)
        if mail["To"] == recipient:
            body = mail.get_body(("plain",))
            assert body is not None, f"the mail {mail['Subject']!r} has no plain version"
            sent.append(SentMail(str(mail["Subject"]), body.get_content()))
    return sent
