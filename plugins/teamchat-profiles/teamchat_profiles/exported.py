"""Profiles in ``teamchat export`` and ``teamchat import``: a record a user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from teamchat import BadRequest, ExportPart, Imported, Transaction
from teamchat.model import text

_PAGE = 100
_AFTER = """select user_id, full_name, title, pronouns, timezone, locale from profiles
where user_id > $1 order by user_id limit $2"""
_STORE = """insert into profiles (user_id, full_name, title, pronouns, timezone, locale)
values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning user_id"""
_MOST = 100


class PortableProfile(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a user says of themself. Statuses and pictures stay where they are."""

    user_id: str
    full_name: str = ""
    title: str = ""
    pronouns: str = ""
    timezone: str = ""
    locale: str = ""


class ProfilesExported(ExportPart):
    """What the users of an installation say of themselves."""

    record = PortableProfile

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableProfile], None]:
        """Yield it in the order of the users."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortableProfile(*row) for row in rows]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortableProfile], imported: Imported) -> None:
        """Take up the profiles of those who have none here."""
        for record in records:
            user = await imported.account(tx, record.user_id)
            texts = (record.full_name, record.title, record.pronouns, record.timezone, record.locale)
            if user is None:
                imported.omit(record.user_id, "by nobody who has an account here")
            elif not all(_can_stand(one) for one in texts):
                imported.omit(record.user_id, "a field can't stand in a profile")
            else:
                (imported.create if await tx.fetch(_STORE, user, *texts) else imported.find)()


def _can_stand(one: str) -> bool:
    try:
        return text.label("field", one, most=_MOST) == one
    except BadRequest:
        return False
