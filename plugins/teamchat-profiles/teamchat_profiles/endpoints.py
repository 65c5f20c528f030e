"""The endpoints of profiles."""

from __future__ import annotations

from msgspec import Struct

from teamchat import BadRequest
from teamchat.model import Caller, User
from teamchat.web import Answer, Response, Section
from teamchat_profiles.avatars import SIZES, Avatars
from teamchat_profiles.profiles import NewStatus, ProfileChange, Profiles

_DEFAULT = "128"


class NewAvatar(Struct, frozen=True):
    """A picture in JPG, PNG or WebP as Base64, of at most 2 MiB."""

    image: str


class Changed(Answer, frozen=True):
    """The caller after a change."""

    user: User


def section_for(profiles: Profiles, avatars: Avatars) -> Section:
    """Return the endpoints of one server."""
    section = Section("profiles")

    @section.endpoint("PUT", "/me/profile", body=ProfileChange, answer=Changed)
    async def change_profile(caller: Caller, body: ProfileChange) -> Changed:
        """Change one's profile; an empty text takes a field away."""
        return Changed(await profiles.change(caller, body))

    @section.endpoint("PUT", "/me/status", body=NewStatus, answer=Changed)
    async def set_status(caller: Caller, body: NewStatus) -> Changed:
        """Say what one is at, and until when."""
        return Changed(await profiles.set_status(caller, body))

    @section.endpoint("DELETE", "/me/status", answer=Changed)
    async def end_status(caller: Caller) -> Changed:
        """Take one's status away."""
        return Changed(await profiles.end_status(caller))

    @section.endpoint("PUT", "/me/avatar", body=NewAvatar, answer=Changed, upload=True)
    async def set_avatar(caller: Caller, body: NewAvatar) -> Changed:
        """Set one's picture; it is cut to a square, and made anew in three sizes."""
        return Changed(await avatars.set(caller, body.image))

    @section.endpoint("DELETE", "/me/avatar", answer=Changed)
    async def remove_avatar(caller: Caller) -> Changed:
        """Take one's picture away."""
        return Changed(await avatars.remove(caller))

    async def check_face(caller: Caller, id: str) -> None:  # noqa: ARG001
        await avatars.check(id)

    @section.endpoint(
        "GET", "/users/:id/avatar", within_places=True, answer=bytes, query=("size", "v"), first=check_face
    )
    async def read_avatar(
        caller: Caller,  # noqa: ARG001
        id: str,
        size: str | None,
        v: str | None,
    ) -> Response:
        """Read a user's picture (WebP). With its version as `v` the answer never changes."""
        if (size or _DEFAULT) not in map(str, SIZES):
            raise BadRequest("size is 64, 128 or 512.")
        side = int(size or _DEFAULT)
        face = await avatars.get(id, side)
        # Another version may be asked for than there is: what is answered must not be kept for that one.
        lasting = "private, max-age=31536000, immutable" if v == face.version else "private, no-cache"
        headers = {"Cache-Control": lasting, "X-Content-Type-Options": "nosniff"}
        return Response(face.data, "image/webp", headers=headers, etag=f"{face.version}-{side}")

    return section
