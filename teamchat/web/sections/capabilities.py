"""What the server can do besides the core, and what the caller may do (extensions A-1 to A-4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from teamchat.accounts import has_password_in
from teamchat.application import Application
from teamchat.capabilities import Announced
from teamchat.model import Caller, User
from teamchat.web.endpoints import Answer, Section
from teamchat.web.responses import Response

section = Section("capabilities")
_encode = msgspec.json.Encoder().encode


class MyRights(Answer, frozen=True):
    """The caller, and what they may do. `as_of` is the position in the log at which this was so.

    `has_password` is there where passwords sign in, and never for a token.
    """

    user: User
    role: str
    may: Sequence[str]
    as_of: str
    has_password: bool | UnsetType = UNSET


@section.endpoint("GET", "/capabilities", answer=Announced, open=True, statuses=[304])
async def list_capabilities(app: Application) -> Response:
    """Read which capabilities the server offers, each with its version and its limits."""
    data = _encode(app.announced())
    etag = hashlib.sha256(data).hexdigest()[:32]
    return Response(data, "application/json", headers={"Cache-Control": "no-cache"}, etag=etag)


@section.endpoint("GET", "/me", within_places=True, answer=MyRights)
async def my_rights(app: Application, caller: Caller) -> MyRights:
    """Read who is signed in, and what they may do."""
    as_of = await app.storage.position()  # before what is read: nothing is missed after it
    async with app.storage.read() as tx:
        may = {*await app.capabilities.may(tx, caller), *app.chat.may(caller)}
        user = await app.accounts.users.whole_in(tx, caller.user)
        has_password: bool | UnsetType = UNSET
        if app.sign_in.asks_for_passwords and caller.scopes is None:
            has_password = await has_password_in(tx, user.id)
    role = "admin" if caller.user.is_admin else "user"
    return MyRights(user, role, sorted(may), str(as_of), has_password)
