"""What the processes that serve one storage know of each other, and what they must agree on."""

from __future__ import annotations

from teamchat.cluster.agreement import IMAGES_KEY, agree_on_images, agree_on_secret
from teamchat.cluster.members import Members

__all__ = ["IMAGES_KEY", "Members", "agree_on_images", "agree_on_secret"]
