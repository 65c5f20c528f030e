"""Every hook a plugin may implement, on one page.

A plugin is a module found through the entry-point group ``teamchat``.  Its hooks are plain functions
marked with `teamchat.hookimpl`, called once at start; they return offers and do no work of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from teamchat.capabilities import Capability
    from teamchat.interfaces import (
        Backend,
        EventListener,
        FileCheck,
        FileStore,
        ImageStore,
        Mailer,
        MessageFilter,
        OAuthProvider,
        Routes,
        Service,
        Storage,
    )
    from teamchat.interfaces.api import Teamchat
    from teamchat.interfaces.offers import AuthMode, Command

hookspec = pluggy.HookspecMarker("teamchat")
hookimpl = pluggy.HookimplMarker("teamchat")


@hookspec
def storages() -> Sequence[Backend[Storage]]:  # type: ignore[empty-body]
    """Offer storages. One is chosen by ``storage.backend``; the default is ``sqlite``."""


@hookspec
def image_stores() -> Sequence[Backend[ImageStore]]:  # type: ignore[empty-body]
    """Offer image stores. One is chosen by ``images.backend``; the default is ``files``.

    `ImagesInFiles` offers a store of files as one.
    """


@hookspec
def file_stores() -> Sequence[Backend[FileStore]]:  # type: ignore[empty-body]
    """Offer stores for files. One is chosen by ``files.backend``; the default is ``directory``.

    Its options are read from the table of the plugin that offers it, ``[plugins.<name>]``. An option `path`
    that is None there is given the directory ``files`` in ``storage.path``.
    """


@hookspec
def mailers() -> Sequence[Backend[Mailer]]:  # type: ignore[empty-body]
    """Offer mailers. One is chosen by ``email.backend`` if there is a table ``[email]``; default ``smtp``."""


@hookspec
def auth_modes() -> Sequence[Backend[AuthMode]]:  # type: ignore[empty-body]
    """Offer ways to sign in. One is chosen by ``auth.authMode``, and only its routes exist.

    An `AuthBackend` describes itself to the rest of the server by its `SignInTraits`; a plain
    `Backend` stands for one without passwords and registration, which hands out refresh tokens.
    """


@hookspec
def oauth_providers() -> Sequence[OAuthProvider]:  # type: ignore[empty-body]
    """Offer providers of identities. Those with credentials in ``oauth.presets`` are shown at sign-in."""


@hookspec
def routes(app: Teamchat) -> Sequence[Routes]:  # type: ignore[empty-body]
    """Offer sections of endpoints (`teamchat.web.Section`), or blueprints of Quart's; all are served.

    A blueprint's views run in Quart, and what it has called before and after requests, ``before_app_request``
    too, is called around its own views alone.

    An address or a name that is teamchat's own, or another plugin's, ends the start with an
    error that names both. So does an address that another one covers: ``GET /menus/today`` of one plugin
    beside ``GET /menus/<day>`` of another. ``/<path:rest>`` is for what nobody else answers.

    While an endpoint of a section serves a caller, ``app.storage.write()`` begins by asking for them again:
    who was removed or signed out meanwhile writes nothing (decision D-39). In a plain Quart view the same
    holds within ``async with teamchat.web.signed_in(app, request) as caller``.
    """


@hookspec
def capabilities() -> Sequence[Capability]:  # type: ignore[empty-body]
    """Offer capabilities: whole extensions, announced by name and version at ``GET /capabilities``.

    What one brings (limits, endpoints, tables, events, and so on) stands in the one `Capability`.  Its table
    of the configuration is called after the plugin: ``[pins]`` or, at more length, ``[plugins.pins]``; with
    ``enabled = false`` there it is absent, and its data are kept.
    """


@hookspec
def services(app: Teamchat) -> Sequence[Service]:  # type: ignore[empty-body]
    """Offer services; all run in the server's nursery."""


@hookspec
def message_filters(app: Teamchat) -> Sequence[MessageFilter]:  # type: ignore[empty-body]
    """Offer filters. Every message passes all of them, in the plugins' name order, before it is stored.

    `Posting.room_kind` and `Posting.is_private` say where it is said: a ``channel``, which may be private, a
    ``group``, ``notes``, or a ``direct`` conversation.
    """


@hookspec
def file_checks(app: Teamchat) -> Sequence[FileCheck]:  # type: ignore[empty-body]
    """Offer checks of files, such as scanners for viruses.

    Each file that was uploaded is put before all of them, in the plugins' name order, before anybody but its
    uploader may have it. One that answers False blocks the file for good; while one fails, the file waits.
    """


@hookspec
def event_listeners(app: Teamchat) -> Sequence[EventListener]:  # type: ignore[empty-body]
    """Offer listeners. Each receives every event after its commit, at its own pace.

    Those of private rooms are among them.  A listener that sends them elsewhere looks at `event.is_private`,
    `event.room_kind` (``channel``, ``group``, ``notes``, ``direct``; None for what is about no room, or for
    users whom it names) and `event.room_id`, and leaves out what is private unless it was told otherwise.

    One that receives nothing for longer than ``events.retentionSeconds``, as the plugin was disabled or the
    listener took that long, misses what left the log. The log warns of it; a listener that has a method
    ``async def missed(self, first, last)`` too (`MissedEventsListener`) gets the numbers of these events.
    """


@hookspec
def commands() -> Sequence[Command]:  # type: ignore[empty-body]
    """Offer verbs of the command line, ``teamchat <name>``."""
