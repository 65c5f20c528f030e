"""Searching messages, people and channels: the capability `search`, version 1 (extension F)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import Meta

from teamchat import Capability, Command, Options, Parts, Service, hookimpl
from teamchat_search.command import SEARCH
from teamchat_search.endpoints import section_for
from teamchat_search.following import MIGRATIONS, Following
from teamchat_search.index import index_of
from teamchat_search.indexing import Indexing
from teamchat_search.limits import Limits
from teamchat_search.names import Names
from teamchat_search.search import Search

if TYPE_CHECKING:
    from teamchat import SpeaksDialect, Teamchat


class SearchOptions(Options, frozen=True, kw_only=True):
    """The keys of ``[search]``. `per_minute`: how many searches a user may make a minute."""

    per_minute: Annotated[
        int, Meta(ge=1, description="How many searches of messages a user may make a minute.")
    ] = 60


def parts(app: Teamchat, options: SearchOptions) -> Parts:
    """Return what the capability brings to one server."""
    search = Search(app, Limits(options.per_minute))
    return Parts(
        limits={"perMinute": options.per_minute},
        routes=[section_for(search, Names(app))],
        changes=Following(),
    )


SEARCHING = Capability(
    name="search", version=1, options=SearchOptions, tables=MIGRATIONS, client="client", parts=parts
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [SEARCHING]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer the service that keeps the index, where the database has one and the capability is on."""
    index = index_of(cast("SpeaksDialect", app.storage).dialect)
    if index is None or "search" not in app.announced().capabilities:
        return []
    return [Indexing(app, index)]


@hookimpl
def commands() -> Sequence[Command]:
    """Offer ``teamchat search``."""
    return [SEARCH]
