"""What plugins offer that is given the configuration, or the server: ways to sign in, and commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from teamchat.interfaces.protocols import NO_TRAITS, Backend, Routes, SignInTraits, Transaction

if TYPE_CHECKING:
    import argparse

    from teamchat.interfaces.api import Teamchat
    from teamchat.settings import Settings


@dataclass(frozen=True)
class AuthBackend(Backend["AuthMode"]):
    """A `Backend` of a way to sign in, with what the rest of the server has to know of it.

    A way that is open beside the chosen one says by `is_beside` whether these settings want it.
    `secret_changed_in` ends what was begun with the signing secret before, in the transaction that notes
    another one.
    """

    traits: SignInTraits = NO_TRAITS
    is_beside: Callable[[Settings], bool] | None = None
    secret_changed_in: Callable[[Transaction], Awaitable[None]] | None = None


class AuthMode(Protocol):
    """A way to sign in, chosen by ``auth.authMode``; only the chosen mode's routes exist."""

    def check(self, settings: Settings) -> None:
        """Raise `SettingsError` if the settings can't work with this mode."""

    def routes(self, app: Teamchat) -> Routes:
        """Return the mode's endpoints."""


@dataclass(frozen=True)
class Command:
    """A verb of the command line, ``teamchat <name>``; `help` is its line in ``teamchat --help``.

    `run` is given the settings and the arguments, and returns the exit code; it may raise an `OperatorError`,
    which is printed in one line.  `arguments` adds to the parser; ``--config`` is there already.
    """

    name: str
    help: str
    run: Callable[[Settings, argparse.Namespace], int]
    arguments: Callable[[argparse.ArgumentParser], object] = lambda _: None
