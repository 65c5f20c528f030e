"""Who people are: full names, faces, statuses and more: the capability `profiles`, version 1 (L-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, UserFields, hookimpl
from teamchat_profiles.avatars import MOST_BYTES, SIZES, Avatars
from teamchat_profiles.endpoints import section_for
from teamchat_profiles.exported import ProfilesExported
from teamchat_profiles.fields import ProfileFields, full_names, read_fields
from teamchat_profiles.profiles import Going, Profiles
from teamchat_profiles.tables import CHECKS, MIGRATIONS
from teamchat_profiles.telling import Telling

if TYPE_CHECKING:
    from teamchat import Service, Teamchat

NAME = "profiles"


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"maxAvatarBytes": MOST_BYTES, "avatarPixels": max(SIZES)},
        routes=[section_for(Profiles(app), Avatars(app))],
        changes=Going(),
        user_fields=UserFields(kind=ProfileFields, read=read_fields),
        user_names=full_names,
    )


PROFILES = Capability(
    name=NAME,
    version=1,
    tables=MIGRATIONS,
    checks=CHECKS,
    export=ProfilesExported(),
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [PROFILES]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer what tells of changes whose time has come, where the capability is on."""
    is_on = NAME in app.announced().capabilities
    return [Telling(app)] if is_on else []
