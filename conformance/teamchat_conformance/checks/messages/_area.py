"""The area that the modules of this package add their checks to."""

from __future__ import annotations

from teamchat_conformance.registry import Area

area = Area("MSG", "Channel messages")
