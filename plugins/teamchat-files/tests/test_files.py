"""G-1 to G-8: uploads, files in messages, sight, limits and what goes, on either storage."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from teamchat_files import FILES, seeing, stored
from teamchat_files import parts as make_parts
from teamchat_files.options import FilesOptions
from teamchat_files.processing import Processing
from teamchat_files.removal import Removal
from teamchat_files.stored import DAY_MS

from teamchat import Capability, CheckedFile, Parts, Storage, Unauthorized
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message, now_ms
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract
from teamchat.web.app import create_app
from tests.storages import open_storage
from tests.web.client import Answer, Client

_tus = import_module("plugins.teamchat-files.tests.uploading")
about, OFFSET, TUS = _tus.about, _tus.OFFSET, _tus.TUS


class TestFiles(CapabilityContract):
    def capability(self) -> Capability:
        return FILES

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        id_ = f"{message.id[:-4]}f11e"
        async with app.storage.write() as tx:
            await stored.insert(tx, row_of(id_, message.channel_id, caller.user.id))
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

    class Given(TestFiles):
        __test__ = False

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


# Uploads


async def test_what_uploads_can_do_is_told_to_everybody(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        answer = await Client(world.site).call("OPTIONS", "/uploads")
        assert answer.status == 204
        told = {name: answer.headers[f"tus-{name}"] for name in ("version", "extension", "max-size")}
        assert told == {
            "version": "1.0.0",
            "extension": "creation,creation-with-upload,expiration,checksum,termination",
            "max-size": str(100 * 1024 * 1024),
        }


async def test_an_upload_goes_on_part_by_part_and_is_a_file_when_all_is_there(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    async with opened(tmp_path) as world:
        made = await world.begin(len(data))
        assert (made.status, made.headers["upload-offset"]) == (201, "0")
        assert made.headers["tus-resumable"] == "1.0.0"
        id_ = made.headers["location"].rpartition("/")[2]
        at = 0
        for size in (1, 99_999, 100_000, 100_000):
            assert await world.status(id_, world.ada, "/info") == 404
            answer = await world.patch(id_, at, data[at : at + size])
            at += size
            assert (answer.status, answer.headers["upload-offset"]) == (204, str(at))
            assert await world.offset(id_) == at
        assert (await world.ada.call("GET", f"/files/{id_}")).body == data
        assert await world.offset(id_) == len(data)


async def test_an_upload_of_nothing_is_a_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        made = await world.begin(0)
        id_ = made.headers["location"].rpartition("/")[2]
        await world.look_at(id_)
        read = await world.ada.call("GET", f"/files/{id_}")
        assert (read.status, read.body, read.headers["content-length"]) == (200, b"", "0")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Tus-Resumable": "0.2.2"}, 412),
        ({"Tus-Resumable": ""}, 412),
        ({"Upload-Length": "-1"}, 400),
        ({"Upload-Length": "1e3"}, 400),
        ({"Upload-Length": "١"}, 400),
        ({"Upload-Length": str(100 * 1024 * 1024 + 1)}, 413),
        ({"Upload-Metadata": ""}, 400),
        ({"Upload-Metadata": "placeId !!"}, 400),
        ({"Upload-Metadata": "placeId"}, 400),
        ({"Upload-Defer-Length": "1"}, 400),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Upload-Checksum": "md5 AAAA"}, 400),
        ({"Idempotency-Key": "k" * 256}, 400),
    ],
)
async def test_a_post_that_is_wrong_makes_nothing(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with opened(tmp_path) as world:
        given = {**TUS, "Upload-Length": "5", "Upload-Metadata": about(world.channel), **headers}
        if not any(not value.isascii() for value in given.values()):
            answer = await world.ada.call("POST", "/uploads", raw=b"", headers=given.items())
            assert answer.problem(status)
        assert await world.rows("select id from files_uploads") == []


@pytest.mark.parametrize("name", ["", "a\nb", "a\0", "x" * 256])
async def test_a_name_that_can_be_none_is_refused(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as world:
        answer = await world.begin(1, **{"Upload-Metadata": about(world.channel, name)})
        assert answer.status == 400


async def test_g1_a_wrong_offset_version_size_or_checksum_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        assert (await world.patch(id_, 0, b"01234")).status == 204
        wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
        for answer, status in (
            (await world.patch(id_, 0, b"x"), 409),
            (await world.patch(id_, 6, b"x"), 409),
            (await world.patch(id_, 5, b"567890"), 413),
            (await world.patch(id_, 5, b"56789", **{"Tus-Resumable": "2.0.0"}), 412),
            (await world.patch(id_, 5, b"56789", **{"Content-Type": "application/json"}), 415),
            (await world.patch(id_, 5, b"56789", **{"Upload-Checksum": f"sha256 {wrong}"}), 460),
            (await world.patch(id_, 5, b"56789", **{"Upload-Checksum": "sha1 !"}), 400),
        ):
            assert answer.problem(status)
            assert answer.headers["tus-resumable"] == "1.0.0"
        assert await world.offset(id_) == 5
        right = base64.b64encode(hashlib.sha256(b"56789").digest()).decode()
        assert (await world.patch(id_, 5, b"56789", **{"Upload-Checksum": f"sha256 {right}"})).status == 204
        assert (await world.ada.call("GET", f"/files/{id_}")).body == b"0123456789"


async def test_of_a_line_that_is_cut_what_came_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(200_000)).headers["location"].rpartition("/")[2]
        upload = f"/uploads/{id_}"
        given = {**OFFSET, "Upload-Offset": "0", "Content-Length": "200000"}

        async def receive() -> dict[str, Any]:
            return parts.pop(0)

        parts: list[dict[str, Any]] = [
            {"type": "http.request", "body": b"a" * 70_000, "more_body": True},
            {"type": "http.disconnect"},
        ]
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        headers.append((b"authorization", f"Bearer {world.ada.token}".encode()))
        scope = {
            "type": "http", "method": "PATCH", "path": upload, "query_string": b"", "headers": headers,
            "http_version": "1.1", "client": ("192.0.2.7", 1), "extensions": {},
        }  # fmt: skip
        await world.site(scope, receive, send)
        assert await world.offset(id_) == 70_000
        # With a checksum nobody knows whether it is right, so nothing is kept.
        parts = [
            {"type": "http.request", "body": b"a" * 70_000, "more_body": True},
            {"type": "http.disconnect"},
        ]
        digest = base64.b64encode(hashlib.sha256(b"all").digest())
        scope["headers"] = [
            (
                name,
                b"70000" if name == b"upload-offset" else b"130000" if name == b"content-length" else value,
            )
            for name, value in headers
        ] + [(b"upload-checksum", b"sha256 " + digest)]
        await world.site(scope, receive, send)
        assert await world.offset(id_) == 70_000


async def test_a_newer_request_goes_on_where_an_older_one_still_hangs(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        hangs, answers = trio.Event(), []

        async def held() -> None:
            hangs.set()
            await trio.sleep_forever()

        async def older() -> None:
            given = {**OFFSET, "Upload-Offset": "0"}
            answers.append(
                await world.ada.call(
                    "PATCH", f"/uploads/{id_}", pieces=[b"01234", b"56789"], headers=given.items(), held=held
                )
            )

        async with trio.open_nursery() as nursery:
            nursery.start_soon(older)
            await hangs.wait()
            with trio.fail_after(60):
                newer = await world.patch(id_, 0, b"abcdefghij")
            assert newer.status == 204
            nursery.cancel_scope.cancel()
        assert (await world.ada.call("GET", f"/files/{id_}")).body == b"abcdefghij"


async def test_g1_an_upload_is_its_uploaders_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        nobodys = "f" * 32
        for method, headers in (
            ("HEAD", TUS), ("DELETE", TUS), ("PATCH", {**OFFSET, "Upload-Offset": "0"}),
        ):  # fmt: skip
            answers = [
                await world.bob.call(method, f"/uploads/{one}", raw=b"12345", headers=headers.items())
                for one in (id_, nobodys)
            ]
            assert [(one.status, one.body) for one in answers] == [(404, answers[0].body)] * 2
        assert await world.offset(id_) == 0


async def test_x2_the_place_of_an_upload_is_one_that_its_uploader_may_write_in(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private()
        answers = [await world.begin(5, place, world.bob) for place in (secret, "f" * 32)]
        assert [(one.status, one.body) for one in answers] == [(404, answers[0].body)] * 2
        bob = await world.app.accounts.authenticate(world.bob.token or "")
        added = await world.ada.call("POST", f"/channels/{secret}/members", {"userIds": [bob.user.id]})
        assert added.status == 200, added.body
        id_ = (await world.begin(10, secret, world.bob)).headers["location"].rpartition("/")[2]
        whole = await world.upload(b"seen", secret, world.bob)
        removed = await world.ada.call("DELETE", f"/channels/{secret}/members/{bob.user.id}")
        assert removed.status == 200, removed.body
        assert (await world.patch(id_, 0, b"12345", world.bob)).status == 404
        assert await world.status(whole, world.bob) == 404


async def test_another_pairs_conversation_is_403_and_an_archived_channel_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        bob = await world.app.accounts.authenticate(world.bob.token or "")
        ada = await world.app.accounts.authenticate(world.ada.token or "")
        await world.app.accounts.users.add(ada, "eve@example.org")
        eve = (await world.app.accounts.sign_in("eve@example.org", "192.0.2.1", "tests"))[1]
        opened_ = await world.ada.ok("POST", "/conversations", {"targetUserId": bob.user.id})
        place = opened_["conversation"]["id"]
        assert (await world.begin(5, place, Client(world.site, eve.access_token))).status == 403
        assert (await world.begin(5, place, world.bob)).status == 201
        made = await world.ada.ok("POST", "/channels", {"name": "Old"})
        assert (await world.ada.call("POST", f"/channels/{made['channel']['id']}/archive")).status == 200
        assert (await world.begin(5, made["channel"]["id"])).status == 403


async def test_x13_a_retried_post_is_the_same_upload(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        key = {"Idempotency-Key": "once"}
        made = [await world.begin(10, **key) for _ in range(2)]
        assert made[0].headers["location"] == made[1].headers["location"]
        assert (await world.begin(11, **key)).status == 400
        assert (await world.begin(10, who=world.bob, **key)).headers["location"] != made[0].headers[
            "location"
        ]


async def test_ending_an_upload_frees_what_it_had_reserved(tmp_path: Path) -> None:
    async with opened(tmp_path, total_bytes=10) as world:
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        await world.patch(id_, 0, b"0123")
        assert (await world.begin(1)).problem(507)
        ended = await world.ada.call("DELETE", f"/uploads/{id_}", headers=TUS.items())
        assert ended.status == 204
        assert await world.keys() == set()
        assert (await world.ada.call("HEAD", f"/uploads/{id_}", headers=TUS.items())).status == 404
        assert (await world.begin(10)).status == 201


async def test_g6_ten_at_once_do_not_pass_a_limit_together(tmp_path: Path) -> None:
    for limit, status in (("total_bytes", 507), ("bytes_per_day", 429)):
        async with opened(tmp_path / limit, **{limit: 35}) as world:
            told: list[int] = []

            async def ask(world: World = world, told: list[int] = told) -> None:
                told.append((await world.begin(10)).status)

            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(ask)
            assert sorted(told) == [201] * 3 + [status] * 7


async def test_the_disk_keeps_what_is_reserved_for_the_database(tmp_path: Path) -> None:
    async with opened(tmp_path, reserve_bytes=1000) as world:
        world.store.room = 1009
        assert (await world.begin(10)).problem(507)
        world.store.room = 1010
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        assert (await world.begin(1)).problem(507)  # What is reserved is not there twice.
        world.store.room = 1004
        assert (await world.patch(id_, 0, b"01234")).problem(507)
        assert await world.offset(id_) == 0


async def test_a_part_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with opened(tmp_path, chunk_bytes=65536) as world:
        id_ = (await world.begin(100_000)).headers["location"].rpartition("/")[2]
        answer = await world.patch(id_, 0, bytes(65537))
        assert (answer.status, answer.pulled) == (413, 0)
        other = await world.patch("f" * 32, 0, bytes(1000))
        assert (other.status, other.pulled) == (404, 0)


async def test_an_upload_expires_and_says_so_for_a_while(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(10)).headers["location"].rpartition("/")[2]
        await world.patch(id_, 0, b"0123")
        await world.rows("update files_uploads set expires_at = $1", now_ms() - 1)
        assert (await world.patch(id_, 4, b"4")).problem(410)
        removal = Removal(world.app, world.options)
        await removal.sweep()
        assert await world.keys() == set()
        assert (await world.patch(id_, 4, b"4")).problem(410)
        await world.rows("update files_uploads set expires_at = $1", now_ms() - 8 * DAY_MS)
        await removal.sweep()
        assert (await world.patch(id_, 4, b"4")).problem(404)


# In messages


async def test_g2_a_file_is_its_uploaders_alone_until_it_stands_in_a_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = await world.ready()
        for rest in ("", "/info"):
            assert await world.status(id_, world.ada, rest) == 200
            assert await world.status(id_, world.bob, rest) == 404
        message = await world.posted(id_)
        assert await world.status(id_, world.bob) == 200
        page = await world.bob.ok("GET", f"/channels/{world.channel}/messages")
        [shown] = [one["files"] for one in page["messages"] if one["id"] == message]
        assert shown == [(await world.bob.ok("GET", f"/files/{id_}/info"))["file"]]


async def test_g2_only_ones_own_of_the_same_place_is_attached_and_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        mine, theirs = await world.ready(), await world.upload(who=world.bob)
        elsewhere = await world.ready(place=await world.private())
        told = {(await world.post([one])).body for one in (theirs, elsewhere, "f" * 32, "")}
        assert len(told) == 1
        assert (await world.post([mine, mine])).problem(400)
        message = await world.posted(mine)
        assert {(await world.post([mine])).body} == told
        again = await world.ada.call("PUT", f"/messages/{message}", {"content": "", "files": [mine]})
        assert again.status == 200
        assert (await world.post([], content=" ")).problem(400)
        ids = [await world.ready() for _ in range(11)]
        assert (await world.post(ids)).problem(400)
        assert (await world.post(ids[:10])).status == 200


async def test_g3_what_is_edited_out_or_deleted_is_gone_with_its_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first, second = await world.ready(b"one"), await world.ready(b"two")
        message = await world.posted(first, second)
        await world.ada.ok("PUT", f"/messages/{message}", {"content": "text"})
        assert await world.shown(message) == [first, second]
        await world.ada.ok("PUT", f"/messages/{message}", {"content": "text", "files": [second]})
        assert await world.shown(message) == [second]
        assert [await world.status(one) for one in (first, second)] == [404, 200]
        assert len(await world.keys()) == 1
        await world.ada.call("DELETE", f"/messages/{message}")
        assert await world.status(second) == 404
        assert await world.keys() == set()
        async with world.app.storage.read() as tx:
            for one in await logged_in(tx, 0, 1000):
                assert "a.bin" not in one.payload


@pytest.mark.parametrize("way", ["retention", "channel", "user"])
async def test_g3_files_go_with_what_they_hang_on(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private()
        await world.posted(await world.ready(place=secret), place=secret)
        begun = (await world.begin(10, secret)).headers["location"].rpartition("/")[2]
        await world.patch(begun, 0, b"01234")
        await world.ready(place=secret)
        left = set()
        if way == "channel":
            assert (await world.ada.call("DELETE", f"/channels/{secret}")).status == 200
        elif way == "retention":
            await Retention(world.app.storage, -1, world.app.capabilities).sweep()
            left = {"an upload", "a loose file"}
        else:
            ada = await world.app.accounts.authenticate(world.ada.token or "")
            async with world.app.storage.write() as tx:
                await tx.fetch("update users set is_admin = 1")
            bob = await world.app.accounts.authenticate(world.bob.token or "")
            await world.app.accounts.users.remove(bob, ada.user.id)
            left = {"a file in a message"}
        assert len(await world.keys()) == {"channel": 0, "retention": 2, "user": 1}[way], left


async def test_an_unattached_file_goes_after_a_day(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        loose, attached = await world.ready(), await world.ready()
        await world.posted(attached)
        await world.rows("update files set created_at = $1", now_ms() - DAY_MS - 1)
        await Removal(world.app, world.options).sweep()
        assert [await world.status(one, world.ada) for one in (loose, attached)] == [404, 200]
        assert len(await world.keys()) == 1


async def test_g7_a_file_that_has_had_its_time_leaves_its_entry(tmp_path: Path) -> None:
    async with opened(tmp_path, retention_days=30) as world:
        id_ = await world.ready()
        message = await world.posted(id_)
        [shown] = (await world.post([await world.ready()])).json()["message"]["files"]
        assert shown["expiresAt"] == shown["createdAt"] + 30 * DAY_MS
        await world.rows("update files set created_at = $1 where id = $2", now_ms() - 30 * DAY_MS, id_)
        await Removal(world.app, world.options).sweep()
        page = await world.bob.ok("GET", f"/channels/{world.channel}/messages")
        [[shown]] = [one["files"] for one in page["messages"] if one["id"] == message]
        assert (shown["id"], shown["state"], shown["name"]) == (id_, "expired", "a.bin")
        assert await world.status(id_) == 410
        assert len(await world.keys()) == 1
        async with world.app.storage.read() as tx:
            told = [one for one in await logged_in(tx, 0, 1000) if one.type == "FILE_CHANGED"]
        assert [msgspec.json.decode(one.payload)["state"] for one in told] == ["expired"]


# Looking at them


class Checking:
    """A check that answers what it is told to."""

    name = "checking"

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[tuple[CheckedFile, bytes]] = []

    async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> bool:
        self.seen.append((file, b"".join([chunk async for chunk in chunks])))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_g8_others_have_a_file_once_every_check_has_let_it_pass(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        check = Checking(OSError("away"), True)
        world.app.file_checks.append(check)
        id_ = await world.upload(b"what is checked")
        with pytest.RaisesGroup(OSError):
            await world.look_at(id_)
        message = await world.posted(id_)
        assert await world.status(id_) == await world.status(id_, rest="/info") == 404
        await world.look_at(id_)
        assert len(check.seen) == 1  # Not yet: its turn comes later.
        await world.rows("update files set claimed_until = 0")
        await world.look_at(id_)
        assert check.seen[1][1] == b"what is checked"
        assert await world.status(id_) == 200
        async with world.app.storage.read() as tx:
            told = [one for one in await logged_in(tx, 0, 1000) if one.type == "FILE_CHANGED"]
        [payload] = [msgspec.json.decode(one.payload) for one in told]
        assert (payload["id"], payload["messageId"], payload["state"]) == (id_, message, "ready")


async def test_g8_what_a_check_blocks_is_nobodys_and_its_bytes_are_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.app.file_checks.append(Checking(False))
        id_ = await world.upload()
        message = await world.posted(id_)
        await world.look_at(id_)
        assert await world.status(id_) == await world.status(id_, world.ada) == 404
        assert await world.keys() == set()
        page = await world.bob.ok("GET", f"/channels/{world.channel}/messages")
        [[shown]] = [one["files"] for one in page["messages"] if one["id"] == message]
        assert shown["state"] == "blocked"
        assert (await world.post([id_])).problem(400)


# Serving


async def test_g4_serving_lets_nothing_run(tmp_path: Path) -> None:
    hostile = {
        "a.html": b"<script>alert(1)</script>", "a.png": b"<!DOCTYPE html><p>", "a.pdf": b"%PDF-1.7\n",
        "a.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>', "a.txt": b"plain words", "a.exe": b"MZ\0\1",
    }  # fmt: skip
    async with opened(tmp_path) as world:
        for name, data in hostile.items():
            id_ = await world.ready(data, name=name)
            for target in (f"/files/{id_}", f"/files/{id_}?download=1"):
                read = await world.ada.call("GET", target)
                assert read.body == data
                is_shown = name == "a.txt" and "download" not in target
                kind = read.headers["content-disposition"].partition(";")[0]
                assert kind == ("inline" if is_shown else "attachment"), name
                assert read.headers["content-security-policy"] == "sandbox; default-src 'none'"
                assert read.headers["x-content-type-options"] == "nosniff"
                assert read.headers["cross-origin-resource-policy"] == "same-site"
                assert "Authorization" in ",".join(read.all("vary"))


async def test_g4_parts_and_conditions(tmp_path: Path) -> None:
    data = bytes(range(200))
    async with opened(tmp_path) as world:
        id_ = await world.ready(data)
        target = f"/files/{id_}"
        tag = (await world.ada.call("GET", target)).headers["etag"]
        for headers, status, body in (
            ({"Range": "bytes=0-9"}, 206, data[:10]),
            ({"Range": "bytes=190-"}, 206, data[190:]),
            ({"Range": "bytes=190-500"}, 206, data[190:]),
            ({"Range": "bytes=-5"}, 206, data[-5:]),
            ({"Range": "bytes=-500"}, 206, data),
            ({"Range": "bytes=0-1,4-5"}, 200, data),
            ({"Range": "bytes=9-3"}, 200, data),
            ({"Range": "words=0-1"}, 200, data),
            ({"Range": "bytes=0-9", "If-Range": tag}, 206, data[:10]),
            ({"Range": "bytes=0-9", "If-Range": '"x"'}, 200, data),
            ({"Range": "bytes=0-9", "If-Range": f"W/{tag}"}, 200, data),
            ({"If-None-Match": tag}, 304, b""),
            ({"If-None-Match": "*", "Range": "bytes=500-"}, 304, b""),
        ):
            read = await world.ada.call("GET", target, headers=headers.items())
            assert (read.status, read.body) == (status, body), headers
        for past in ("bytes=200-", "bytes=-0"):
            beyond = await world.ada.call("GET", target, headers=[("Range", past)])
            assert beyond.problem(416)
            assert beyond.headers["content-range"] == "bytes */200"
        head = await world.ada.call("HEAD", target, headers=[("Range", "bytes=0-9")])
        assert (head.status, head.headers["content-length"], head.body) == (200, "200", b"")


async def test_g5_a_link_is_for_one_file_and_ends_with_its_session_and_with_sight(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_, other = await world.ready(b"linked"), await world.ready()
        message = await world.posted(id_)
        await world.posted(other)
        nobody = Client(world.site)
        links = [(await world.bob.ok("POST", f"/files/{id_}/link"))["url"] for _ in range(2)]
        assert links[0] != links[1]
        part = await nobody.call("GET", links[0], headers=[("Range", "bytes=0-1")])
        assert (part.status, part.body) == (206, b"li")
        ticket = links[0].partition("=")[2]
        assert (await nobody.call("GET", f"/files/{other}?ticket={ticket}")).status == 404
        assert (await nobody.call("GET", f"/files/{id_}?ticket=x{ticket}")).status == 404
        assert (await nobody.call("GET", f"/files/{id_}")).status == 401
        assert await world.rows("select hash from files_tickets where hash = $1", ticket) == []
        await world.rows("update files_tickets set expires_at = $1", now_ms())
        assert (await nobody.call("GET", links[0])).status == 404
        fresh = (await world.bob.ok("POST", f"/files/{id_}/link"))["url"]
        bob = await world.app.accounts.authenticate(world.bob.token or "")
        await world.app.accounts.sessions.end(bob, bob.session_id)
        assert (await nobody.call("GET", fresh)).status == 404
        fresh = (await world.ada.ok("POST", f"/files/{id_}/link"))["url"]
        assert (await nobody.call("GET", fresh)).status == 200
        await world.ada.call("DELETE", f"/messages/{message}")
        assert (await nobody.call("GET", fresh)).status == 404


async def test_l1_a_download_ends_with_the_session_that_it_was_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeing, "ASK_SECONDS", 0)
    chunk = b"x" * 65_536

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield chunk

    async with opened(tmp_path) as world:
        bob = await world.app.accounts.authenticate(world.bob.token or "")
        reading = seeing.while_signed_in(world.app, bob, chunks())
        assert [await anext(reading) for _ in range(3)] == [chunk] * 3
        async with world.app.storage.write() as tx:
            await world.app.accounts.sessions.end_all_in(tx, bob.user.id)
        with pytest.raises(Unauthorized):
            await anext(reading)


async def test_a_draft_without_files_is_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        ada = await world.app.accounts.authenticate(world.ada.token or "")
        message = await world.app.chat.messages.post(ada, world.channel, Draft("hello"))
        assert getattr(message, "files", msgspec.UNSET) is msgspec.UNSET
