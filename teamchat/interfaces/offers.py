"""What plugins offer that is given the configuration, or the server: ways to sign in, and commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from teamchat.interfaces.protocols import NO_TRAITS, Backend, ImageStore, Routes, SignInTraits, Transaction

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


def _opened_by_its_store(_: object) -> AbstractAsyncContextManager[ImageStore]:
    raise AssertionError("a store of files is opened in its place")


@dataclass(frozen=True)
class ImagesInFiles(Backend[ImageStore]):
    """Offers the store of files named `store` as an image store, with that one's keys in ``[images]``.

    `given` are options of the store that are so for images: they are put at once (`FileStore.put`),
    read and removed, and nothing more.
    """

    open: Callable[[Any], AbstractAsyncContextManager[ImageStore]] = _opened_by_its_store
    store: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)


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
