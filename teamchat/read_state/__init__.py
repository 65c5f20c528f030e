"""Read states: how far everybody has read in each place, on all their devices (the capability `read-state`).

Two capabilities go with it: `threads`, which does the same for followed threads, and `notification-levels`,
which says what is worth a notification. All three are on or off together, because a read state includes the
level, and the places say how many threads are unread.

It is part of the server, because a count depends on who sees what (`teamchat.chat.sight`); but it is offered
by the same hooks as any other capability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, Options, Parts
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.read_state.endpoints import section_for
from teamchat.read_state.events import ReadStateChanged
from teamchat.read_state.exported import ReadStatesExported
from teamchat.read_state.following import Following, Upkeep
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.places import unread_among
from teamchat.read_state.service import ReadStates
from teamchat.read_state.tables import CHECKS, COUNTED_UP_TO, MIGRATIONS
from teamchat.read_state.threads.offer import THREADS

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"countedUpTo": COUNTED_UP_TO},
        routes=[section_for(ReadStates(app))],
        changes=Following(),
        message_tests={"is:unread": unread_among},
        jobs=[Upkeep(app.storage).run],
    )


READ_STATE = Capability(
    name="read-state",
    version=1,
    tables=MIGRATIONS,
    events=[ReadStateChanged],
    checks=CHECKS,
    export=ReadStatesExported(),
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capabilities."""
    return [READ_STATE, THREADS, LEVELS]
