"""A server with files and without a network, and what its users do; and the contract of the capability."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from teamchat_files import FILES, stored
from teamchat_files import parts as make_parts
from teamchat_files.options import FilesOptions
from teamchat_files.processing import Processing
from teamchat_files.removal import Removal

from teamchat import Capability, Parts, Storage
from teamchat.application import Application
from teamchat.model import Caller, Message, now_ms
from teamchat.testing import CapabilityContract
from teamchat.web.app import create_app
from tests.storages import open_storage
from tests.web.client import Answer, Client

_tus = import_module("plugins.teamchat-files.tests.uploading")
about, OFFSET, TUS = _tus.about, _tus.OFFSET, _tus.TUS


class FilesContract(CapabilityContract):
    """What holds of every capability, of this one."""

    def capability(self) -> Capability:
        return FILES

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        id_ = f"{message.id[:-4]}f11e"
        row = row_of(id_, message.channel_id, caller.user.id)

        async def pieces() -> AsyncIterator[bytes]:
            yield b"hello"

        store = app.file_store
        await store.begin(row.key, row.size)
        await store.write(row.key, row.size, "", 0, pieces(), row.size)
        await store.finish(row.key, row.size, "")
        async with app.storage.write() as tx:
            await stored.insert(tx, row)
        body = app.capabilities.drafts.extended(import_module("teamchat.chat").MessageEdit)
        await app.chat.messages.revise(caller, message.id, body(content=message.content, files=[id_]))


def row_of(id_: str, place: str, user: str, size: int = 5) -> stored.FileRow:
    rest = (None,) * 7
    return stored.FileRow(
        id_, place, user, f"k{id_}"[:32], "a name.txt", "text/plain", size, "ready", *rest, now_ms(), None, 0
    )


@dataclass
class World:
    """A server with files, without a network; Ada and Bob, and a channel."""

    app: Application
    site: Any
    ada: Client
    bob: Client
    channel: str
    options: FilesOptions

    @property
    def store(self) -> Any:
        return self.app.file_store

    async def begin(self, size: int, place: str = "", who: Client | None = None, **headers: str) -> Answer:
        given = {**TUS, "Upload-Length": str(size), "Upload-Metadata": about(place or self.channel)}
        return await (who or self.ada).call("POST", "/uploads", headers={**given, **headers}.items())

    async def upload(
        self, data: bytes = b"hello", place: str = "", who: Client | None = None, name: str = "a.bin"
    ) -> str:
        metadata = about(place or self.channel, name)
        given = {**OFFSET, "Upload-Length": str(len(data)), "Upload-Metadata": metadata}
        answer = await (who or self.ada).call("POST", "/uploads", raw=data, headers=given.items())
        assert answer.status == 201, answer.body
        return answer.headers["location"].rpartition("/")[2]

    async def patch(
        self, id_: str, offset: int, data: bytes, who: Client | None = None, **more: str
    ) -> Answer:
        given = {**OFFSET, "Upload-Offset": str(offset), **more}
        return await (who or self.ada).call("PATCH", f"/uploads/{id_}", raw=data, headers=given.items())

    async def offset(self, id_: str) -> int:
        answer = await self.ada.call("HEAD", f"/uploads/{id_}", headers=TUS.items())
        assert answer.status == 200
        return int(answer.headers["upload-offset"])

    async def look_at(self, *ids: str) -> None:
        """Do what a running server does with new files."""
        processing = Processing(self.app, self.options)
        for id_ in ids:
            await processing.look_at(id_)

    async def ready(self, data: bytes = b"hello", place: str = "", name: str = "a.bin") -> str:
        id_ = await self.upload(data, place, name=name)
        await self.look_at(id_)
        return id_

    async def post(self, files: Sequence[str], place: str = "", content: str = "") -> Answer:
        body = {"content": content, "files": list(files)}
        return await self.ada.call("POST", f"/channels/{place or self.channel}/messages", body)

    async def posted(self, *files: str, place: str = "") -> str:
        answer = await self.post(files, place)
        assert answer.status == 200, answer.body
        return str(answer.json()["message"]["id"])

    async def status(self, id_: str, who: Client | None = None, rest: str = "") -> int:
        return (await (who or self.bob).call("GET", f"/files/{id_}{rest}")).status

    async def shown(self, message_id: str) -> list[str]:
        """Return the files of a message, as Bob reads it."""
        page = await self.bob.ok("GET", f"/channels/{self.channel}/messages")
        [message] = [one for one in page["messages"] if one["id"] == message_id]
        return [one["id"] for one in message.get("files", [])]

    async def keys(self) -> set[str]:
        """Return what the store has once all is removed that is to go."""
        await Removal(self.app, self.options).remove_doomed()
        return set(self.store.kept) | set(self.store.unfinished)

    async def rows(self, statement: str, *given: Any) -> Any:
        async with self.app.storage.write() as tx:
            return await tx.fetch(statement, *given)

    async def private(self) -> str:
        made = await self.ada.call("POST", "/private-channels", {"name": "Secret"})
        assert made.status in {200, 201}, made.body
        return str(made.json()["channel"]["id"])


@asynccontextmanager
async def opened(tmp_path: Path, **changed: Any) -> AsyncIterator[World]:
    options = FilesOptions(**changed)

    def parts(app: Any, _: Any) -> Parts:
        return make_parts(app, options)

    class Given(FilesContract):
        def capability(self) -> Capability:
            return replace(FILES, parts=parts)

    contract = Given()
    async with contract.application(tmp_path) as app:

        async def user(email: str) -> Client:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return Client(site, signed_in.access_token)

        site = create_app(app, app.capabilities.routes)
        ada = await user("admin@localhost")
        admin = await app.accounts.authenticate(ada.token or "")
        await app.accounts.users.add(admin, "bob@example.org")
        [channel] = await app.chat.channels.list(admin)
        yield World(app, site, ada, await user("bob@example.org"), channel.id, options)
