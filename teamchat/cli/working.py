"""Doing a verb's work on the installation that the command line names, and breaking it off properly.

What is written is readable only by its owner, wherever it is. Whatever ends the work (Ctrl-C, SIGTERM or
SIGHUP, the end of the terminal), it first removes what it has half written. What ``nohup`` made it ignore
stays ignored.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import trio

from teamchat.cli.options import config_file
from teamchat.cli.printing import printable
from teamchat.cli.progress import Progress

if TYPE_CHECKING:
    from teamchat.operations.installation import Installation

T = TypeVar("T")
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def installation(options: argparse.Namespace) -> Installation:
    """Return the installation that ``--config`` or this directory names. Raises an `OperatorError`."""
    from teamchat.operations.installation import Installation

    os.umask(0o077)
    return Installation.load(config_file(options), os.environ)


def work(operation: Callable[[Progress], Awaitable[T]]) -> T:
    """Run an operation, show its progress, and return what it does."""
    with _broken_off_by_signals(), Progress() as progress:
        return trio.run(operation, progress)


def say(lines: Iterable[str]) -> None:
    """Print lines that may hold what came from outside."""
    for line in lines:
        print(printable(line))


@contextmanager
def _broken_off_by_signals() -> Iterator[None]:
    """Have signals that would end the process at once do what Ctrl-C does."""
    came: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        came.append(number)
        signal.raise_signal(signal.SIGINT)

    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    for ending in _ENDING:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            handlers[ending] = interrupt
    # A shell has its scripts' background jobs ignore SIGINT, by which SIGTERM has to end them all the same.
    handlers[signal.SIGINT] = signal.default_int_handler
    before = [(number, signal.signal(number, handler)) for number, handler in handlers.items()]
    try:
        yield
    except BaseException:
        if came:
            raise SystemExit(128 + came[0]) from None
        raise
    finally:
        for number, handler in before:
            signal.signal(number, handler)
