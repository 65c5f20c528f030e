"""The plugin that offers the mailer ``files``: each mail becomes a file, for development.

A file stands under its name only when it holds the whole mail, and a mail that is sent
twice is one file.  Its links sign people in, so the directory and its files are for their owner alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from email.headerregistry import Address
from pathlib import Path

import trio
from msgspec import Struct

from teamchat import Backend, Mail, Mailer, SettingsError, hookimpl
from teamchat.accounts.message import message, sender

__all__ = ["FilesMailer", "FilesOptions", "mailers", "open_files"]

_SENDER = "teamchat@localhost"


class FilesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of ``[email]`` for the backend ``files``. `path` is the directory of the mails."""

    path: str = "teamchat-data/mails"
    sender: str | None = None


class FilesMailer:
    """`teamchat.Mailer` on a directory. Made by `open_files`."""

    def __init__(self, directory: Path, sender: Address) -> None:
        self._directory = directory
        self._sender = sender

    async def send(self, mail: Mail) -> None:
        made = message(mail, self._sender)
        await trio.to_thread.run_sync(_write, self._directory / f"{mail.id}.eml", made.as_bytes())


@asynccontextmanager
async def open_files(options: FilesOptions) -> AsyncIterator[FilesMailer]:
    """Open (or make) the directory `options.path`. Raises `SettingsError` if it can't be used."""
    directory = Path(options.path)
    from_address = sender(options.sender or _SENDER)
    try:
        await trio.to_thread.run_sync(_prepare, directory)
    except OSError as error:
        raise SettingsError(
            f"email.path: the directory can't be used ({type(error).__name__}). "
            "Give one that this user may write to."
        ) from error
    yield FilesMailer(directory, from_address)


def _prepare(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".writing-{secrets.token_hex(16)}")
    try:
        with open(temporary, "xb", opener=_owner_only) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@hookimpl
def mailers() -> Sequence[Backend[Mailer]]:
    """Offer ``files``."""
    return [Backend("files", open_files, FilesOptions)]
