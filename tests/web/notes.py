"""A plugin that writes by itself, one that only answers, and a plain Quart view."""

from __future__ import annotations

import trio
from msgspec import Struct
from quart import Blueprint, request

from teamchat import Transaction
from teamchat.application import Application
from teamchat.model import Caller
from teamchat.web import Section, signed_in


class Note(Struct):
    """What the plugin of the tests takes."""

    text: str


def plugin(app: Application) -> list[Blueprint]:
    """A plugin that writes by itself, one that only answers, and a plain Quart view."""
    section = Section("notes")

    @section.endpoint("POST", "/notes", body=Note, answer=Note)
    async def add_note(app: Application, caller: Caller, body: Note) -> Note:
        async with app.storage.write() as tx:
            await _keep(tx, caller, body.text)
        return body

    @section.endpoint("POST", "/notes/from-a-task", body=Note, answer=Note)
    async def add_note_from_a_task(app: Application, caller: Caller, body: Note) -> Note:
        async def keep() -> None:
            async with app.storage.write() as tx:
                await _keep(tx, caller, body.text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep)
        return body

    @section.endpoint("POST", "/notes/looked-at", body=Note, answer=Note)
    async def look_at_note(caller: Caller, body: Note) -> Note:
        return Note(f"{caller.user.id}: {body.text}")

    plain = Blueprint("plain notes", __name__)

    @plain.post("/plain-notes")
    async def add_plainly() -> dict[str, bool]:
        text = (await request.get_json())["text"]
        async with signed_in(app, request) as caller, app.storage.write() as tx:
            await _keep(tx, caller, text)
        return {"success": True}

    return [section, plain]


async def _keep(tx: Transaction, caller: Caller, text: str) -> None:
    await tx.fetch(
        """insert into server_settings (name, value) values ($1, $2)
        on conflict (name) do update set value = excluded.value""",
        f"note of {caller.user.id}",
        text,
    )
