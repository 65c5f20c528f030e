"""The area that the modules of this package add their checks to, and what its capability adds."""

from __future__ import annotations

from teamchat_conformance.checks.places import FIELDS, KNOWN
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.registry import Area

_LISTED = dict.fromkeys(
    ("id", "name", "isPrivate", "isArchived", "createdAt", "createdBy", "memberCount", "lastMessageAt")
)

area = Area(
    "PRIV",
    "Private channels",
    capability="private-channels",
    endpoints=(
        Endpoint("POST", "/private-channels", fields=(Field("name"),), known={"channel": KNOWN}),
        Endpoint("PUT", "/channels/:channelId/privacy", known={"channel": KNOWN}),
        Endpoint(
            "GET", "/admin/channels", admin_only=True,
            known={"next": None, "count": None, "channels": _LISTED},
        ),
        Endpoint(
            "POST", "/admin/channels/:channelId/enter", admin_only=True, fields=(Field("reason"),),
            known={"channel": KNOWN},
        ),
        Endpoint("DELETE", "/admin/channels/:channelId", admin_only=True),
    ),
    fields=FIELDS,
)  # fmt: skip
