"""The area that the modules of this package add their checks to, and how a group is come by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import FIELDS, KNOWN, Channel
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.expect import told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

AT = "/groups"

area = Area(
    "GRP",
    "Groups",
    capability="groups",
    endpoints=(
        Endpoint("POST", AT, known={"channel": KNOWN, "isNew": None}),
        Endpoint("POST", f"{AT}/:channelId/members", known={"channel": KNOWN}),
        Endpoint("POST", f"{AT}/:channelId/convert", fields=(Field("name"),), known={"channel": KNOWN}),
    ),
    fields=FIELDS,
)


def ids_of(*others: Actor) -> dict[str, list[str]]:
    return {"userIds": [one.user_id for one in others]}


async def group(by: Actor, *others: Actor) -> Channel:
    """Return the group of these people."""
    return told(await by.post(AT, ids_of(*others)), "channel")


async def people(run: Run, number: int) -> list[Actor]:
    return [await run.new_user(name=f"person {one}") for one in range(number)]
