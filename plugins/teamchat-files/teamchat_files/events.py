"""What is told of files in messages: they change by themselves, once they were looked at or have expired."""

from msgspec import UNSET, UnsetType

from teamchat import Payload


class FileChanged(Payload, frozen=True):
    """A file of a message has another state, or a thumbnail now. Nothing that somebody wrote is in it."""

    type = "FILE_CHANGED"
    changes_pages_of = "place_id"
    id: str
    message_id: str
    place_id: str
    state: str
    media_type: str
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET
    duration: int | UnsetType = UNSET
    has_thumbnail: bool | UnsetType = UNSET
