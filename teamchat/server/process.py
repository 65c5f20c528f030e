"""What a serving process sets up with the system and the interpreter, and the signals that stop it.

The first SIGTERM or SIGINT stops it properly; a second one ends it at once. The first SIGHUP, the end of the
terminal, stops it properly too; the system and the shell both send it, so a second one does nothing. What
``nohup`` made it ignore stays ignored.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import trio

from teamchat.errors import OperatorError
from teamchat.server import systemd

LEAST_FILES = 128
"""With fewer descriptors there would be room for databases and images, and hardly any for clients."""

FILES_AT_FIRST = 16_384
"""For how many open files there is room from the start on: 128 KiB of the system's memory."""


def prepare() -> None:
    """Raise the limits, make room and calm the collector, once everything is imported.

    Raises `OperatorError` where the system lets the process open too few files.
    """
    _raise_file_limit()
    _make_room_for_files()
    _calm_the_collector()


async def until_signalled(
    main: Callable[[trio.Event], Awaitable[object]], at_once: Callable[[], object] = lambda: None
) -> None:
    """Run `main`, and set the event it is given at the first signal.

    The second one calls `at_once` and ends the process.  An operator's error is raised by itself.
    """
    stop = trio.Event()
    ending = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    with trio.open_signal_receiver(*ending) as signals, plain_operator_errors():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_heed, signals, stop, at_once)
            nursery.start_soon(systemd.attend, stop)
            await main(stop)
            nursery.cancel_scope.cancel()


async def _heed(signals: AsyncIterator[int], stop: trio.Event, at_once: Callable[[], object]) -> None:
    async for number in signals:
        if stop.is_set() and number != signal.SIGHUP:
            at_once()
            os._exit(128 + number)
        stop.set()


@contextmanager
def plain_operator_errors() -> Iterator[None]:
    """Raise the operator's error that a nursery wrapped into a group by itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = _first_operator_error(group)
        if found is None:
            raise
        raise found from found.__cause__


def say(line: str) -> None:
    """Tell the operator something, at once. Raises `OSError` if stdout is closed or can't be written to."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _first_operator_error(group: BaseExceptionGroup[BaseException]) -> OperatorError | None:
    for error in group.exceptions:
        if isinstance(error, OperatorError):
            return error
        if isinstance(error, BaseExceptionGroup) and (found := _first_operator_error(error)):
            return found
    return None


def _raise_file_limit() -> None:
    """Allow as many connections as the system does: each takes a file descriptor."""
    with suppress(ImportError):
        import resource

        with suppress(ValueError, OSError):
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit != resource.RLIM_INFINITY and limit < LEAST_FILES:
            raise OperatorError(
                f"Only {limit} files may be open at once here, connections included; teamchat needs "
                f"{LEAST_FILES} at least. Raise the limit: ulimit -Hn, or LimitNOFILE= of the service."
            )


def _make_room_for_files() -> None:
    """Have the system's table of open files be large before there are threads.

    It doubles when it is full, and Linux has a process with threads wait for that: measured, 6 to 19 ms each
    time, five times until 5,000 streams have come.  A file in the last place makes it large at once.
    """
    with suppress(ImportError):
        import fcntl
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = FILES_AT_FIRST if limit == resource.RLIM_INFINITY else min(FILES_AT_FIRST, limit)
        with suppress(OSError), open(os.devnull, "rb") as nothing:
            os.close(fcntl.fcntl(nothing, fcntl.F_DUPFD_CLOEXEC, most - 1))


def _calm_the_collector() -> None:
    """Look for cycles in what requests leave, not again and again in what was loaded at start.

    Measured: an eighth more page reads a second.  All requests wait while it looks at what is new: where
    thousands of streams say what they show, up to 46 ms with 20,000 objects at a time, up to 7 with 5,000.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 80, 50)
