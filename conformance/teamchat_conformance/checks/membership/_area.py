"""The area that the modules of this package add their checks to, and what its capability adds."""

from __future__ import annotations

from teamchat_conformance.checks.places import FIELDS, KNOWN, MEMBER
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.events import EventType
from teamchat_conformance.expect import array, optional, text
from teamchat_conformance.registry import Area

_MEMBER = dict.fromkeys(MEMBER)
_CHANNEL = {"channel": KNOWN}
_AT = "/channels/:channelId"

area = Area(
    "MEM",
    "Membership of channels",
    capability="membership",
    endpoints=(
        Endpoint("GET", _AT, known=_CHANNEL),
        Endpoint("POST", f"{_AT}/join", known=_CHANNEL),
        Endpoint("POST", f"{_AT}/leave"),
        Endpoint("GET", f"{_AT}/members", known={"next": None, "count": None, "members": _MEMBER}),
        Endpoint("POST", f"{_AT}/members", known={"added": None, "alreadyMembers": None}),
        Endpoint("PUT", f"{_AT}/members/:userId", fields=(Field("role"),), known={"member": _MEMBER}),
        Endpoint("DELETE", f"{_AT}/members/:userId"),
    ),
    events=(
        EventType(
            "CHANNEL_MEMBERS_ADDED",
            "ADDED",
            {"channelId": text, "members": array(MEMBER), "by": text, "reason": optional(text)},
            f"POST {_AT}/members",
            area="MEM",
        ),
        EventType(
            "CHANNEL_MEMBER_REMOVED",
            "GONE",
            {"channelId": text, "userId": text, "by": text},
            f"DELETE {_AT}/members/:userId",
            area="MEM",
        ),
        EventType(
            "CHANNEL_MEMBER_UPDATED",
            "ROLE",
            {"channelId": text, "userId": text, "role": text},
            f"PUT {_AT}/members/:userId",
            area="MEM",
        ),
    ),
    fields=FIELDS,
)
area.required(
    "MEM-ADDED-01",
    "B",
    "CHANNEL_MEMBERS_ADDED holds channelId, members and by",
    words=["| CHANNEL_MEMBERS_ADDED | channelId, members (≤ 200), by, [reason] |"],
)
area.required(
    "MEM-GONE-01",
    "B",
    "CHANNEL_MEMBER_REMOVED holds channelId, userId and by",
    words=["| CHANNEL_MEMBER_REMOVED | channelId, userId, by |"],
)
area.required(
    "MEM-ROLE-01",
    "B",
    "CHANNEL_MEMBER_UPDATED holds channelId, userId and role",
    words=["| CHANNEL_MEMBER_UPDATED | channelId, userId, role |"],
)
area.monitor("MEM-ADDED-01", "MEM-GONE-01", "MEM-ROLE-01")
