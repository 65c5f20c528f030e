"""Optional fields of users that capabilities bring, read for all users at once (extension L-3)."""

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
"""Returns by what other names people look for users, by the users' ids."""


@dataclass(frozen=True, kw_only=True)
class UserFields:
    """Fields that users have besides: those of `kind`, a struct of which every field may be missing.

    `read` is given the ids of users, or None for all there are, and returns the fields of those that have
    any; one statement should do. They stand in ``GET /users``, ``GET /me`` and, null where one is missing, in
    UPDATE_USER, which is sent when a capability calls `app.accounts.users.changed_in`.
    """

    kind: type[Struct]
    read: Callable[[Transaction, Sequence[str] | None], Awaitable[Mapping[str, Struct]]]


class FieldsOfUsers:
    """All fields of all capabilities; without any, nothing is asked."""

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
        """Return users with their fields; `are_all` says that these are all users there are."""
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
