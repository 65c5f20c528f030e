"""How a command ends: its exit code, and at most one line on stderr.

What the operator can fix is one line and exit code 1. An unexpected error is logged by type and place, never
with its message, and has exit code 1 too. If a signal ended the command, the code is 128 plus its number, and
nothing is said; the same if nobody reads what is printed any more, as behind ``head`` (SIGPIPE to a shell).
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable

from teamchat.cli.printing import complain
from teamchat.errors import OperatorError
from teamchat.observability import logs


def ended(command: Callable[[], int]) -> int:
    """Run a command to its end, and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # Where there is no sign for an emoji, its number.
    code, error = 0, None
    try:
        code = command()
    except BaseException as caught:
        error = caught
    unprinted = _print("\n" if isinstance(error, OSError) else "")  # Is it the output that refused?
    if unprinted is not None and isinstance(error, OSError | SystemExit | None):
        return _code_of_unprinted(unprinted)
    return code if error is None else _code_of(error)


def _print(text: str) -> OSError | None:
    """Print what is not printed yet, and more; return why that can't be done, and print nothing more."""
    try:
        if sys.stdout is not None:
            sys.stdout.write(text)
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def _code_of_unprinted(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    complain(OperatorError(f"What was done can't be printed ({error.strerror})."))
    return 1


def _code_of(error: BaseException) -> int:
    """Tell the operator, and return the exit code. What is no error of ours is raised again."""
    known = _operator_error(error)
    if known is not None:
        complain(known)
        return 1
    if _is_interrupt(error):
        return 128 + signal.SIGINT
    if not isinstance(error, Exception):
        raise error
    logs.configure()
    logs.get_logger("teamchat.cli").critical("an unexpected error ended teamchat", exc_info=error)
    return 1


def _operator_error(error: BaseException) -> OperatorError | None:
    """Return what the operator should read, also from a group that holds nothing unexpected."""
    if isinstance(error, OperatorError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [_operator_error(inner) for inner in error.exceptions]
        return found[0] if all(found) else None
    return None


def _is_interrupt(error: BaseException) -> bool:
    """Return whether it is Ctrl-C, also from a group that holds nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_interrupt(inner) for inner in error.exceptions)
    return isinstance(error, KeyboardInterrupt)
