"""What the processes that serve one storage know of each other, and what they must agree on."""

from __future__ import annotations

from teamchat.cluster.agreement import (
    NAME_KEY,
    PlaceOfFiles,
    PlaceOfImages,
    agree_on_place,
    agree_on_secret,
)
from teamchat.cluster.members import Members

__all__ = ["NAME_KEY", "Members", "PlaceOfFiles", "PlaceOfImages", "agree_on_place", "agree_on_secret"]
