"""Offers that need the configuration or the server: ways to sign in, image stores in files, commands."""

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
    """A `Backend` for a way to sign in, with what the rest of the server has to know of it."""

    traits: SignInTraits = NO_TRAITS
    """What this way is like."""
    is_beside: Callable[[Settings], bool] | None = None
    """For a way that can be open beside the chosen one: returns whether these settings want it."""
    secret_changed_in: Callable[[Transaction], Awaitable[None]] | None = None
    """Ends what was begun under the previous signing secret, in the transaction that records the new one."""


def _opened_by_its_store(_: object) -> AbstractAsyncContextManager[ImageStore]:
    raise AssertionError("a store of files is opened in its place")


@dataclass(frozen=True)
class ImagesInFiles(Backend[ImageStore]):
    """Offers a store of files as an image store, with that store's options in ``[images]``.

    Of the store, images need `FileStore.put`, `FileStore.read` and `FileStore.remove` only.
    """

    open: Callable[[Any], AbstractAsyncContextManager[ImageStore]] = _opened_by_its_store
    store: str = ""
    """The name of the store of files."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Options of the store that are fixed for images."""


class AuthMode(Protocol):
    """A way to sign in, chosen by ``auth.authMode``. Only the routes of the chosen mode exist."""

    def check(self, settings: Settings) -> None:
        """Raise `SettingsError` if the settings can't work with this mode."""

    def routes(self, app: Teamchat) -> Routes:
        """Return the mode's endpoints."""


@dataclass(frozen=True)
class Command:
    """A verb of the command line, ``teamchat <name>``."""

    name: str
    help: str
    """Its line in ``teamchat --help``."""
    run: Callable[[Settings, argparse.Namespace], int]
    """Does the work and returns the exit code. An `OperatorError` that it raises is printed on one line."""
    arguments: Callable[[argparse.ArgumentParser], object] = lambda _: None
    """Adds arguments to the parser, which already has ``--config``."""
