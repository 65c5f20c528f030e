"""A sendmail for the tests: a shell script that writes down its arguments, its environment and its input."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

SCRIPT = """#!/bin/sh
for last in "$@"; do :; done
case "$last" in
  status-*) status=${last%%@*}; exit "${status#status-}" ;;
  silent@*) echo $$ > "HERE/pid"; mv "HERE/pid" "HERE/silent.pid"; exec sleep 600 ;;
  waiting@*) sleep 600 & echo $! > "HERE/pid"; mv "HERE/pid" "HERE/silent.pid"; wait ;;
  killed@*) kill -9 $$ ;;
  deaf@*) exit 0 ;;
  chatty@*) head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2 ;;
esac
name=$(mktemp "HERE/writing.XXXXXX")
cat > "$name"
printf '%s\\n' "$@" > "$name.arguments"
env > "$name.environment"
mv "$name" "HERE/$(date +%s%N)-$$.eml"
mv "$name.arguments" "HERE/arguments"
mv "$name.environment" "HERE/environment"
"""


class Sendmail:
    """The program, and what it was given."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.program = directory / "sendmail"
        self.program.write_text(SCRIPT.replace("HERE", str(directory)))
        self.program.chmod(0o700)

    def messages(self) -> list[EmailMessage]:
        files = sorted(self.directory.glob("*.eml"))
        return [message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]

    def raw(self) -> bytes:
        [file] = self.directory.glob("*.eml")
        return file.read_bytes()

    def arguments(self) -> list[str]:
        return (self.directory / "arguments").read_text().splitlines()

    def environment(self) -> dict[str, str]:
        lines = (self.directory / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def silent_pid(self) -> int | None:
        """Return the process that says nothing, or None while there is none."""
        file = self.directory / "silent.pid"
        return int(file.read_text()) if file.exists() else None


@pytest.fixture
def sendmail_in():
    """Make the program in a directory."""
    return Sendmail


@pytest.fixture
def sendmail(tmp_path: Path) -> Sendmail:
    return Sendmail(tmp_path / "sendmail")
