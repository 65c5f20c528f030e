"""Idempotency-Keys that stood in tables of their own hold after the upgrade to the one of all."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from teamchat_bots.tables import MIGRATIONS as BOTS
from teamchat_files.tables import MIGRATIONS as FILES
from teamchat_second_factor.tables import MIGRATIONS as SECOND_FACTOR
from teamchat_tokens.tables import MIGRATIONS as TOKENS
from teamchat_web_push.tables import MIGRATIONS as WEB_PUSH

from teamchat import BadRequest, Conflict, KeyedRequest, Migration
from teamchat.model import now_ms
from teamchat.storage.capability_tables import CapabilityTables, upgrade
from tests.storages import open_storage


class Body(Struct):
    """A body of a request."""

    name: str


ASKED = Body("Phone")
DIGEST = sha256(msgspec.json.encode(ASKED)).hexdigest()
USER = """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at)
values ('ada', 'Ada', 'ada', 'a@example.org', 'a@example.org', 0, 1)"""
ROOM = "insert into rooms (id, kind, created_at) values ('place', 'channel', 1)"


class Answered(Exception):
    """What was made before was looked for, under this id."""


async def answer(id_: str) -> None:
    raise Answered(id_)


async def make() -> str:
    pytest.fail("it is made again")


@pytest.mark.parametrize(
    ("capability", "migrations", "sql", "values", "made"),
    [
        ("bots", BOTS, "insert into bots_keys values ('ada', 'key', 'Phone', 'made', $1)", (), "made"),
        ("tokens", TOKENS, "insert into tokens_keys values ('ada', 'key', $1)", (), None),
        (
            "second-factor",
            SECOND_FACTOR,
            "insert into second_factor_keys values ('ada', 'key', $1)",
            (),
            None,
        ),
        (
            *("web-push", WEB_PUSH),
            "insert into web_push_requests values ('ada', 'key', $2, 'made', $1)",
            *((DIGEST,), "made"),
        ),
        (
            *("files", FILES),
            """insert into files_uploads (id, place_id, uploader_id, key, name, declared, size, written,
               writer, is_whole, is_over, created_at, expires_at, request_key, request_hash)
               values ('made', 'place', 'ada', 'k', 'n', '', 1, 0, '', 0, 0, $1, $1, 'key', 'asked')""",
            *((), "made"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
async def test_a_key_of_before_holds(
    tmp_path: Path,
    capability: str,
    migrations: Sequence[Migration],
    sql: str,
    values: Sequence[Any],
    made: str | None,
) -> None:
    async with open_storage(tmp_path) as storage:
        await upgrade(storage, [CapabilityTables(capability, migrations[:-1], "the plugin")])
        async with storage.write() as tx:
            await tx.fetch(USER)
            await tx.fetch(ROOM)
            await tx.fetch(sql, now_ms(), *values)
        await upgrade(storage, [CapabilityTables(capability, migrations, "the plugin")])
        request = KeyedRequest("ada", capability, "key")
        async with storage.write() as tx:
            if made is None:
                with pytest.raises(Conflict):
                    await request.spend(tx)
            else:
                with pytest.raises(Answered, match=made):
                    await request.once(tx, ASKED, make, answer)
            if DIGEST in values:
                with pytest.raises(BadRequest):
                    await request.once(tx, Body("Another"), make, answer)
