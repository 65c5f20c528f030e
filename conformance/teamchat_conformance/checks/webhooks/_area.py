"""The area that the modules of this package add their checks to."""

from __future__ import annotations

from teamchat_conformance.registry import Area

area = Area("HOOK", "Webhooks")
area.required(
    "HOOK-POST-14", "§2 Webhook", "A webhook's token stands in no answer and no event but the first"
)
area.monitor("HOOK-POST-14")
