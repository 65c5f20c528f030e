"""The plugin that offers the mailer ``files``: each mail becomes a file, for development.

A file stands under its name only when it holds the whole mail, and a mail that is sent
twice is one file.  Its links sign people in, so the directory and its files are for their owner alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from email.headerregistry import Address
from pathlib import Path

import trio
from msgspec import Struct

from teamchat import Backend, Mail, Mailer, SettingsError, hookimpl
from teamchat.accounts.message import message, sender
from teamchat.storage.disk import make_directory, write_file

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
        await trio.to_thread.run_sync(write_file, self._directory / f"{mail.id}.eml", made.as_bytes())


@asynccontextmanager
async def open_files(options: FilesOptions) -> AsyncIterator[FilesMailer]:
    """Open (or make) the directory `options.path`. Raises `SettingsError` if it can't be used."""
    directory = Path(options.path)
    from_address = sender(options.sender or _SENDER)
    try:
        await trio.to_thread.run_sync(make_directory, directory)
    except OSError as error:
        raise SettingsError(
            f"email.path: the directory can't be used ({type(error).__name__}). "
            "Give one that this user may write to."
        ) from error
    yield FilesMailer(directory, from_address)


@hookimpl
def mailers() -> Sequence[Backend[Mailer]]:
    """Offer ``files``."""
    return [Backend("files", open_files, FilesOptions)]
