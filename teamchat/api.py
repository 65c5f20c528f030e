"""`Teamchat`: what hooks are given as `app`, and all of the server that a plugin may rely on.

A member that is not here is private, and may change with any version; docs/reference/api.md tells of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from teamchat.accounts import Accounts
    from teamchat.capabilities import Announced
    from teamchat.interfaces import Storage
    from teamchat.settings import Settings
    from teamchat.stream import Hub

T = TypeVar("T", bound=Struct)


class Teamchat(Protocol):
    """One server, as plugins see it."""

    @property
    def settings(self) -> Settings:
        """The configuration, read only."""

    @property
    def storage(self) -> Storage:
        """The database. While an endpoint serves a caller, `write` begins by asking for them again (D-39)."""

    @property
    def accounts(self) -> Accounts:
        """Users and sessions, for ways to sign in: ``sign_in`` makes a session for an email."""

    @property
    def hub(self) -> Hub:
        """The live stream: ``len()`` is how many streams are open in this process."""

    def plugin_options(self, name: str, kind: type[T]) -> T:
        """Return the keys of ``[plugins.<name>]`` as `kind`, a msgspec struct with a default for each.

        Secrets may be ``{file = …}`` or ``{env = …}`` there. Raises `SettingsError` for an unknown key or a
        wrong value.
        """

    @property
    def client_folders(self) -> Sequence[tuple[str, Traversable]]:
        """The parts of the web client that capabilities bring: a name and a folder, in the names' order.

        A folder holds ``main.js``, ``style.css`` and ``strings/<language>.json``; all but the first may be
        missing.
        """

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers: the capabilities that are on, with their limits."""
