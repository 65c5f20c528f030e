"""IMG: images (interface, part 4, Images; part 8)."""

from __future__ import annotations

from teamchat_conformance.checks.images import direct, serving, uploading
from teamchat_conformance.checks.images._area import area

__all__ = ["area", "direct", "serving", "uploading"]
