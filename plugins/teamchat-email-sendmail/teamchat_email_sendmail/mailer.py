"""The mailer ``sendmail``: a process of the machine's own mail program for each mail.

The recipient is one plain address, the last argument, and never taken for an option.  The program gets the
mail on its input, no shell is between, and of the environment it gets what every program has and none of the
server's secrets.  What it prints is thrown away, for it may name the recipient.  A program that does not end
is killed, with all it has started.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from email.headerregistry import Address
from typing import Annotated

import trio
from msgspec import Meta, Struct, field

from teamchat import Mail, MailDelayed, MailRefused, OperatorError, SettingsError
from teamchat.accounts.message import message, sender

PROGRAMS_AT_ONCE = 8

# The codes of sysexits.h that are about this mail: as EX_DATAERR, EX_NOUSER, EX_NOHOST and EX_UNAVAILABLE
# programs tell what another server refused.
_REFUSED = {
    os.EX_DATAERR: "EX_DATAERR",
    os.EX_NOUSER: "EX_NOUSER",
    os.EX_NOHOST: "EX_NOHOST",
    os.EX_UNAVAILABLE: "EX_UNAVAILABLE",
}
# What another server said, or did not say, of this recipient. A program without a queue says so as well when
# no server can be reached; then each mail waits for itself. Every other status is about the program.
_DELAYED = {os.EX_TEMPFAIL: "EX_TEMPFAIL", os.EX_PROTOCOL: "EX_PROTOCOL"}
_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class SendmailFailed(OperatorError):
    """The program takes no mail now, and may later. The sentence tells how it ended."""


class SendmailOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of ``[email]`` for the backend ``sendmail``.

    `command` is the program, and arguments that it needs beside ``-i``, ``-f`` and the recipient;
    `deadline_seconds` is how long it may take for one mail.
    """

    command: Annotated[list[str], Meta(min_length=1)] = field(default_factory=lambda: ["/usr/sbin/sendmail"])
    sender: str | None = None
    deadline_seconds: _Seconds = 60.0


class SendmailMailer:
    """`teamchat.Mailer` over the sendmail program. Made by `open_sendmail`."""

    def __init__(self, command: list[str], sender: Address, deadline: float) -> None:
        self._command = command
        self._sender = sender
        self._deadline = deadline
        self._turns = trio.CapacityLimiter(PROGRAMS_AT_ONCE)
        self._environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}

    async def send(self, mail: Mail) -> None:
        made = message(mail, self._sender)
        if mail.recipient.startswith("-"):  # Not every program honours the two hyphens before it.
            raise MailRefused("The recipient begins with a hyphen.")
        arguments = ["-i", "-f", self._sender.addr_spec, "--", mail.recipient]
        # Programs on Unix expect Unix's ends of lines.
        data = made.as_bytes(policy=made.policy.clone(linesep="\n"))
        async with self._turns:
            with trio.move_on_after(self._deadline) as waiting:
                status = await self._run([*self._command, *arguments], data)
        if waiting.cancelled_caught:
            # It may be the recipient's server that it waits for.
            raise MailDelayed(f"The program of email.command did not end in {self._deadline:g} seconds.")
        _expect_success(status)

    async def _run(self, command: list[str], data: bytes) -> int:
        try:
            ended = await trio.run_process(
                command,
                stdin=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                env=self._environment,
                cwd="/",
                start_new_session=True,  # so that what it has started can be ended with it
                deliver_cancel=_kill,
            )
        except OSError as error:
            raise SendmailFailed(
                f"The program of email.command can't be started ({type(error).__name__})."
            ) from error
        return ended.returncode


@asynccontextmanager
async def open_sendmail(options: SendmailOptions) -> AsyncIterator[SendmailMailer]:
    """Look for the program; nothing is sent yet. Raises `SettingsError` for what can't work."""
    program = shutil.which(options.command[0])
    if program is None:
        raise SettingsError("email.command names no program that this user may run. Give its full path.")
    command = [os.path.abspath(program), *options.command[1:]]  # noqa: ASYNC240 - it does not ask the disk
    if any("\0" in argument for argument in command):
        raise SettingsError("email.command must be of text.")
    yield SendmailMailer(command, sender(options.sender), options.deadline_seconds)


async def _kill(process: trio.Process) -> None:
    with suppress(ProcessLookupError):  # It has just ended by itself.
        os.killpg(process.pid, signal.SIGKILL)


def _expect_success(status: int) -> None:
    if status == os.EX_OK:
        return
    if status in _REFUSED:
        raise MailRefused(f"The program of email.command refused the mail ({_REFUSED[status]}, {status}).")
    if status in _DELAYED:
        raise MailDelayed(f"The program of email.command delays the mail ({_DELAYED[status]}, {status}).")
    ending = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise SendmailFailed(f"The program of email.command {ending}.")
