"""What a user's devices are told of their drafts: ids and versions, and nothing of the text."""

from teamchat import Payload


class DraftChanged(Payload, frozen=True):
    """A draft was saved, or is gone because it was deleted or sent."""

    type = "DRAFT_CHANGED"
    id: str
    version: int
    deleted: bool
