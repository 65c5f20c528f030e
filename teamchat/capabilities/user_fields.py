"""Extra fields of users that capabilities bring, read for many users at once (extension L-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

from teamchat.errors import PluginError
from teamchat.interfaces import Transaction
from teamchat.model import ListedUser, User

AnyUser = TypeVar("AnyUser", bound=User)
NamesOfUsers = Callable[[Transaction], Awaitable[Mapping[str, Sequence[str]]]]
"""Returns other names by which users can be searched for, by the users' ids."""


@dataclass(frozen=True, kw_only=True)
class UserFields:
    """Extra fields of users, in ``GET /users``, ``GET /me`` and the event UPDATE_USER.

    The event is sent when a capability calls `app.accounts.users.changed_in`; a field that is missing is null
    in it.
    """

    kind: type[Struct]
    """A struct in which every field may be missing."""
    read: Callable[[Transaction, Sequence[str] | None], Awaitable[Mapping[str, Struct]]]
    """Gets the ids of users, or None for all users, and returns the fields of those that have any; one
    statement should do."""


class FieldsOfUsers:
    """All fields of all capabilities. If there are none, nothing is read."""

    def __init__(self, offered: Sequence[UserFields] = ()) -> None:
        self.offered = tuple(offered)
        names = [field.encode_name for one in offered for field in msgspec.structs.fields(one.kind)]
        names += [field.encode_name for field in msgspec.structs.fields(ListedUser)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise PluginError(
                f"Two capabilities add the field {twice[0]} to users, or it is there already. "
                "Turn one of them off."
            )
        self.names = tuple(
            field.encode_name for one in self.offered for field in msgspec.structs.fields(one.kind)
        )
        """What the fields are called in JSON."""
        self._extended = cache(self._extend)

    async def added(
        self, tx: Transaction, users: Sequence[AnyUser], *, are_all: bool = False
    ) -> list[AnyUser]:
        """Return users with their fields; `are_all` says that these are all the users."""
        values = await self._read(tx, None if are_all else [user.id for user in users])
        return [self._with(user, values.get(user.id)) for user in users]

    async def of(self, tx: Transaction, user_id: str) -> dict[str, Any]:
        """Return the fields of one user as JSON has them, with None for those that are missing."""
        values = (await self._read(tx, [user_id])).get(user_id, {})
        told: dict[str, Any] = {}
        for one in self.offered:
            for field in msgspec.structs.fields(one.kind):
                value = values.get(field.name, UNSET)
                told[field.encode_name] = None if value is UNSET else msgspec.to_builtins(value)
        return told

    async def _read(self, tx: Transaction, ids: Sequence[str] | None) -> dict[str, dict[str, Any]]:
        values: dict[str, dict[str, Any]] = {}
        for one in self.offered:
            for user_id, fields in (await one.read(tx, ids)).items():
                values.setdefault(user_id, {}).update(msgspec.structs.asdict(fields))
        return values

    def _with(self, user: AnyUser, values: Mapping[str, Any] | None) -> AnyUser:
        if values is None or all(value is UNSET for value in values.values()):
            return user
        extended: AnyUser = self._extended(type(user))(**msgspec.structs.asdict(user), **values)
        return extended

    def _extend(self, base: type[Any]) -> type[Any]:
        fields = [
            (field.name, field.type, UNSET)
            for one in self.offered
            for field in msgspec.structs.fields(one.kind)
        ]
        return msgspec.defstruct(base.__name__, fields, bases=(base,), frozen=True, rename="camel")
