"""The mailer for development: whole files, for their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
import trio
from teamchat_email_files import FilesMailer, FilesOptions, mailers, open_files

from teamchat import Mail, Mailer, SettingsError
from teamchat.settings import EmailSettings, Settings, StorageSettings, backend_options
from teamchat.testing import MailerContract
from tests.docs.pages import blocks

MAIL = Mail(id="0190-1", recipient="bob@example.org", subject="Hello", text="text", html="<p>html</p>")


class TestFilesMailer(MailerContract):
    def open_mailer(self, tmp_path: Path) -> AbstractAsyncContextManager[Mailer]:
        return open_files(FilesOptions(path=str(tmp_path / "mails")))

    async def delivered(self, tmp_path: Path) -> Sequence[EmailMessage]:
        files = sorted((tmp_path / "mails").glob("*.eml"), key=lambda file: file.stat().st_mtime_ns)
        return [message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]


@pytest.fixture
async def mailer(tmp_path: Path) -> AsyncIterator[FilesMailer]:
    async with open_files(FilesOptions(path=str(tmp_path / "mails"))) as opened:
        yield opened


async def test_the_backend_is_named_files() -> None:
    [backend] = mailers()
    assert (backend.name, backend.options) == ("files", FilesOptions)


def test_mails_lie_beside_the_data_unless_they_are_told_to_lie_elsewhere() -> None:
    [backend] = mailers()
    settings = Settings(
        storage=StorageSettings(path="/srv/chat"),
        email=EmailSettings(backend="files", sender="Chat <chat@example.org>"),
    )
    assert settings.email
    options = backend_options(settings.email, backend)
    assert options == FilesOptions(path="/srv/chat/mails", sender="Chat <chat@example.org>")


async def test_directory_and_files_are_for_the_owner_alone(mailer: FilesMailer, tmp_path: Path) -> None:
    await mailer.send(MAIL)
    assert stat.S_IMODE((tmp_path / "mails").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "mails" / "0190-1.eml").stat().st_mode) == 0o600


async def test_a_mail_that_is_sent_twice_is_one_file(mailer: FilesMailer, tmp_path: Path) -> None:
    await mailer.send(MAIL)
    await mailer.send(MAIL)
    assert [file.name for file in (tmp_path / "mails").iterdir()] == ["0190-1.eml"]


async def test_a_failed_write_leaves_nothing_behind(
    mailer: FilesMailer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        await mailer.send(MAIL)
    assert list((tmp_path / "mails").iterdir()) == []


async def test_the_readmes_command_prints_the_newest_mail(tmp_path: Path) -> None:
    [command] = blocks("../plugins/teamchat-email-files/README.md", "sh")
    async with open_files(FilesOptions(path=str(tmp_path / "teamchat-data" / "mails"))) as mailer:
        for number in (1, 3, 2):
            await mailer.send(Mail(f"0190-{number}", "bob@example.org", "Grüße", f"text {number}", "html"))
    with trio.fail_after(20):
        ran = await trio.run_process(["bash", "-euc", command], cwd=tmp_path, capture_stdout=True)
    assert ran.stdout.decode().replace("\r", "").split("\n") == ["bob@example.org", "Grüße", "text 3", "", ""]


async def test_an_id_never_leads_out_of_the_directory(mailer: FilesMailer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="id"):
        await mailer.send(Mail("../outside", "bob@example.org", "Hello", "text", "html"))
    assert os.listdir(tmp_path) == ["mails"]
    assert os.listdir(tmp_path / "mails") == []


async def test_an_unusable_directory_or_sender_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SettingsError, match=r"email\.path"):
        async with open_files(FilesOptions(path=str(tmp_path / "file"))):
            pass
    with pytest.raises(SettingsError, match=r"email\.sender"):
        async with open_files(FilesOptions(path=str(tmp_path / "mails"), sender="nobody")):
            pass
