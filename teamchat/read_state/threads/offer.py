"""The capability `threads`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, Options, Parts
from teamchat.read_state.tables import COUNTED_UP_TO
from teamchat.read_state.threads.endpoints import section_for
from teamchat.read_state.threads.events import ThreadStateChanged
from teamchat.read_state.threads.exported import ThreadStatesExported
from teamchat.read_state.threads.following import Following
from teamchat.read_state.threads.replying import Replying
from teamchat.read_state.threads.service import FollowedThreads
from teamchat.read_state.threads.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    replying = Replying(app)
    return Parts(
        limits={"countedUpTo": COUNTED_UP_TO},
        routes=[section_for(FollowedThreads(app))],
        changes=Following(replying),
        services=[replying],
    )


THREADS = Capability(
    name="threads",
    version=1,
    needs=["read-state"],
    tables=MIGRATIONS,
    events=[ThreadStateChanged],
    checks=CHECKS,
    export=ThreadStatesExported(),
    parts=parts,
)
