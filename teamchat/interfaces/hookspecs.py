"""Every hook a plugin may implement, on one page.

A plugin is a module found through the entry-point group ``teamchat``.  Its hooks are plain functions
marked with `teamchat.hookimpl`.  Each is called once, at start; it returns offers and does no work itself.
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
    """Offer storages. ``storage.backend`` chooses one; the default is ``sqlite``."""


@hookspec
def image_stores() -> Sequence[Backend[ImageStore]]:  # type: ignore[empty-body]
    """Offer image stores. ``images.backend`` chooses one; the default is ``files``.

    `ImagesInFiles` makes an image store of a store of files.
    """


@hookspec
def file_stores() -> Sequence[Backend[FileStore]]:  # type: ignore[empty-body]
    """Offer stores for files. ``files.backend`` chooses one; the default is ``directory``.

    Its options are read from the table of the plugin that offers it, ``[plugins.<name>]``. If there is an
    option `path` and it is None, it becomes the directory ``files`` in ``storage.path``.
    """


@hookspec
def mailers() -> Sequence[Backend[Mailer]]:  # type: ignore[empty-body]
    """Offer mailers. ``email.backend`` chooses one, if there is a table ``[email]``; default ``smtp``."""


@hookspec
def auth_modes() -> Sequence[Backend[AuthMode]]:  # type: ignore[empty-body]
    """Offer ways to sign in. ``auth.authMode`` chooses one, and only the routes of that one exist.

    An `AuthBackend` tells the rest of the server what it is like by its `SignInTraits`. A plain `Backend`
    counts as one that has no passwords and no registration, and hands out refresh tokens.
    """


@hookspec
def oauth_providers() -> Sequence[OAuthProvider]:  # type: ignore[empty-body]
    """Offer identity providers. Those with credentials in ``oauth.presets`` are shown at sign-in."""


@hookspec
def routes(app: Teamchat) -> Sequence[Routes]:  # type: ignore[empty-body]
    """Offer sections of endpoints (`teamchat.web.Section`), or Quart blueprints; all are served.

    A blueprint's views run in Quart. Functions that it registers before and after requests, with
    ``before_app_request`` too, run around its own views only.

    If an address or a name is already taken, by teamchat or by another plugin, the server does not start, and
    the error names both. The same goes for an address that another one covers, such as ``GET /menus/today``
    of one plugin and ``GET /menus/<day>`` of another. ``/<path:rest>`` answers whatever nobody else does.

    While an endpoint of a section serves a caller, ``app.storage.write()`` begins by checking them again: a
    caller who was removed or signed out meanwhile writes nothing (decision D-39). In a plain Quart view, the
    same holds within ``async with teamchat.web.signed_in(app, request) as caller``.
    """


@hookspec
def capabilities() -> Sequence[Capability]:  # type: ignore[empty-body]
    """Offer capabilities: whole extensions, announced by name and version at ``GET /capabilities``.

    Everything that one brings (limits, endpoints, tables, events and so on) is in its `Capability`.  Its
    configuration table is named after the plugin: ``[pins]``, or in full ``[plugins.pins]``.  With
    ``enabled = false`` there, the capability is absent and its data are kept.
    """


@hookspec
def services(app: Teamchat) -> Sequence[Service]:  # type: ignore[empty-body]
    """Offer services. All of them run in the server's nursery."""


@hookspec
def message_filters(app: Teamchat) -> Sequence[MessageFilter]:  # type: ignore[empty-body]
    """Offer filters. Every message passes all of them, in the plugins' name order, before it is stored.

    `Posting.room_kind` and `Posting.is_private` say where it is posted: in a ``channel``, which may be
    private, a ``group``, ``notes``, or a ``direct`` conversation.
    """


@hookspec
def file_checks(app: Teamchat) -> Sequence[FileCheck]:  # type: ignore[empty-body]
    """Offer checks of files, such as virus scanners.

    Every uploaded file has to pass all of them, in the order of the plugins' names, before anybody but its
    uploader can have it. A check that returns False blocks the file for good; while one fails, the file
    waits.
    """


@hookspec
def event_listeners(app: Teamchat) -> Sequence[EventListener]:  # type: ignore[empty-body]
    """Offer listeners. Each receives every event after its commit, at its own pace.

    That includes the events of private rooms.  A listener that sends events elsewhere looks at
    `event.is_private`, at `event.room_id`, and at `event.room_kind` (``channel``, ``group``, ``notes``,
    ``direct``; None for an event that is about no room, or is for users whom it names), and leaves out what
    is private unless it is configured otherwise.

    A listener that receives nothing for longer than ``events.retentionSeconds``, because its plugin was
    disabled or because it took that long, misses what has left the log. The log warns of this. If the
    listener also has a method ``async def missed(self, first, last)`` (`MissedEventsListener`), it is given
    the numbers of these events.
    """


@hookspec
def commands() -> Sequence[Command]:  # type: ignore[empty-body]
    """Offer verbs for the command line, ``teamchat <name>``."""
