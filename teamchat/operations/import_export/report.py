"""What became of everything that was to be imported: counted, and named if the operator has to know.

It contains no text that anybody wrote; operators look things up by names, ids and places in the export. Notes
go to a file as they come, so a million of them take no memory, and those of an interrupted import remain. No
report replaces another.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from teamchat.errors import OperatorError

KINDS = (
    *("users", "channels", "private channels", "groups", "notes", "conversations"),
    *("messages", "replies", "reactions", "images"),
)
_NAMED_IF_ANY = {"private channels", "groups", "notes"}
GUEST = "a guest, and users here see all public channels: deactivated, for an admin to activate"
"""What becomes of who was let in there for some channels alone."""
LEFT_OUT, CHANGED, MERGED = "left out", "changed", "merged"
_SAID_OF = {LEFT_OUT: "Left out", CHANGED: "Not quite as it was", MERGED: "Merged with what is here"}
_MOST_REASONS = 500
_MOST_CHARACTERS = 200
_MOST_ADMINS = 10


class Note(Struct, frozen=True):
    """What became of one thing: `outcome`, what it is, where it stood in the export, and why."""

    outcome: str
    what: str
    where: str
    why: str


class Report:
    """Counts what was brought over, and notes what was not, or not as it was.

    `file` gets a note a line; `path` is where that is.
    """

    def __init__(self, file: IO[bytes] | None = None, path: Path | None = None) -> None:
        self.path = path
        self._file = file
        self._created: Counter[str] = Counter()
        self._there: Counter[str] = Counter()
        self._notes: Counter[tuple[str, str, str]] = Counter()
        self._admins: list[str] = []

    @property
    def has_notes(self) -> bool:
        """Whether there is anything to be named."""
        return bool(self._notes)

    def create(self, kind: str, count: int = 1) -> None:
        """Count what is there now and was not before."""
        self._created[kind] += count

    def find(self, kind: str, count: int = 1) -> None:
        """Count what was there before, as after an import that is given again."""
        self._there[kind] += count

    def make_admin(self, email: str) -> None:
        """Note who came in as an admin."""
        self._admins.append(email)

    def omit(self, what: str, where: str, why: str) -> None:
        """Note what was left out."""
        self._note(LEFT_OUT, what, where, why)

    def change(self, what: str, where: str, why: str) -> None:
        """Note what was brought over, and is not what it was."""
        self._note(CHANGED, what, where, why)

    def merge(self, what: str, where: str, why: str) -> None:
        """Note what became one with something that was here."""
        self._note(MERGED, what, where, why)

    def _note(self, outcome: str, what: str, where: str, why: str) -> None:
        key = outcome, what, why
        if key not in self._notes and len(self._notes) >= _MOST_REASONS:
            key = outcome, "of other kinds", "see the report"
        self._notes[key] += 1
        if self._file is not None:
            note = Note(outcome, what, where[:_MOST_CHARACTERS], why)
            with _refusing("The report"):
                self._file.write(msgspec.json.encode(note) + b"\n")

    def lines(self) -> list[str]:
        """Return what is to be said."""
        said = [f"Imported: {_counts(self._created)}."]
        if self._there.total():
            said.append(f"There already: {_counts(self._there)}.")
        if self._admins:
            more = f" and {len(self._admins) - _MOST_ADMINS:,} more" if self._admins[_MOST_ADMINS:] else ""
            said.append(f"Admins from now on: {', '.join(self._admins[:_MOST_ADMINS])}{more}.")
        for outcome, sentence in _SAID_OF.items():
            for (noted, what, why), count in sorted(self._notes.items()):
                if noted == outcome:
                    said.append(f"{sentence}: {count:,} × {what} ({why})")
        return said


def _counts(counted: Counter[str]) -> str:
    of_capabilities = sorted(set(counted) - set(KINDS))
    named = [kind for kind in KINDS if counted[kind] or kind not in _NAMED_IF_ANY]
    return ", ".join(f"{counted[kind]:,} {kind}" for kind in (*named, *of_capabilities))


@contextmanager
def reporting(path: Path | None) -> Iterator[Report]:
    """Write a report to a file that is there before anything is imported, and goes if it names nothing.

    Where there is a file already, a number is added to the name.  Raises `OperatorError` if the file can't
    be written.
    """
    if path is None:
        yield Report()
        return
    with _refusing(path):
        file, path = _made(path)
    report = Report(file, path)
    try:
        yield report
    finally:
        with _refusing(path):
            file.close()
            if path.is_file() and not path.is_symlink() and not report.has_notes:
                path.unlink()


def _made(path: Path) -> tuple[IO[bytes], Path]:
    """Make the file, or open what is there and no file, such as ``/dev/stdout``; return it and its name."""
    if path.exists() and not path.is_file():
        return path.open("wb"), path
    free, number = path, 1
    while True:
        with suppress(FileExistsError):
            return os.fdopen(os.open(free, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"), free
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")


@contextmanager
def _refusing(path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OperatorError(f"{path} can't be written ({reason}). Give another --report.") from error
