"""G-1, G-2 and G-6: uploads, whose they are, and their limits, on either storage."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_files.removal import Removal
from teamchat_files.stored import DAY_MS

from teamchat import Transaction
from teamchat.model import now_ms
from teamchat.observability import metrics
from tests.web.client import Client

_tus = import_module("plugins.teamchat-files.tests.uploading")
about, OFFSET, TUS = _tus.about, _tus.OFFSET, _tus.TUS
_world = import_module("plugins.teamchat-files.tests.world")
World, opened = _world.World, _world.opened


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
        nothing = await world.patch(id_, at, b"")
        assert (nothing.status, nothing.headers["upload-offset"]) == (204, str(at))
        for announce in (True, False):
            given = {**OFFSET, "Upload-Offset": str(at)}.items()
            beyond = await world.ada.call(
                "PATCH", f"/uploads/{id_}", pieces=[b"more"], announce=announce, headers=given
            )
            assert beyond.problem(413)


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


async def test_what_is_said_of_a_file_in_two_headers_is_one_list(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        place, name = about(world.channel).split(",")
        for second, status in ((name, 201), (f"{name},{place}", 400)):
            said = [("Upload-Metadata", one) for one in (place, second)]
            given = [*TUS.items(), ("Upload-Length", "1"), *said]
            assert (await world.ada.call("POST", "/uploads", headers=given)).status == status


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


async def cut(world: Any, method: str, path: str, data: bytes, **headers: str) -> None:
    """Send some bytes of a request, and no more of it."""
    parts: list[dict[str, Any]] = [
        {"type": "http.request", "body": data, "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        return parts.pop(0)

    async def send(_: Any) -> None:
        pass

    given = {**OFFSET, **headers, "Authorization": f"Bearer {world.ada.token}"}
    scope = {
        "type": "http", "method": method, "path": path, "query_string": b"", "http_version": "1.1",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("192.0.2.7", 1), "extensions": {},
    }  # fmt: skip
    await world.site(scope, receive, send)


async def test_of_a_line_that_is_cut_what_came_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(200_000)).headers["location"].rpartition("/")[2]
        path, data = f"/uploads/{id_}", b"a" * 70_000
        await cut(world, "PATCH", path, data, **{"Upload-Offset": "0", "Content-Length": "200000"})
        assert await world.offset(id_) == 70_000
        # With a checksum nobody knows whether it is right, so nothing is kept.
        digest = base64.b64encode(hashlib.sha256(b"all").digest()).decode()
        given = {"Upload-Offset": "70000", "Content-Length": "130000", "Upload-Checksum": f"sha256 {digest}"}
        await cut(world, "PATCH", path, data, **given)
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


async def test_b6_an_upload_to_a_channel_that_was_archived_goes_no_further_and_can_be_ended(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        begun = (await world.begin(10)).headers["location"]
        whole = f"/uploads/{await world.upload()}"
        await world.ada.ok("POST", f"/channels/{world.channel}/archive")
        assert (await world.patch(begun.rpartition("/")[2], 0, b"12345")).status == 403
        for target in (begun, whole):
            assert (await world.ada.call("DELETE", target, headers=TUS.items())).status == 204
        assert await world.keys() == set()


async def test_x13_a_retried_post_is_the_same_upload(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        key = {"Idempotency-Key": "once"}
        made = [await world.begin(10, **key) for _ in range(2)]
        assert made[0].headers["location"] == made[1].headers["location"]
        assert (await world.begin(11, **key)).problem(400)
        others = {"placeId": world.channel, "filename": "a.bin", "filetype": "text/plain"}
        assert (await world.begin(10, **key, **{"Upload-Metadata": _tus.metadata(**others)})).problem(400)
        assert (await world.begin(10, who=world.bob, **key)).headers["location"] != made[0].headers[
            "location"
        ]


async def test_x13_an_upload_that_was_ended_is_not_begun_again_under_its_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = (await world.begin(10, **{"Idempotency-Key": "once"})).headers["location"].rpartition("/")[2]
        assert (await world.ada.call("DELETE", f"/uploads/{id_}", headers=TUS.items())).status == 204
        assert (await world.begin(10, **{"Idempotency-Key": "once"})).problem(400)
        assert (await world.begin(10, **{"Idempotency-Key": "another"})).status == 201


def creation(world: Any, size: int) -> dict[str, str]:
    return {"Upload-Length": str(size), "Upload-Metadata": about(world.channel), "Idempotency-Key": "once"}


@pytest.mark.parametrize("size", [5, 9])
async def test_x13_a_post_is_retried_with_the_same_bytes_alone(tmp_path: Path, size: int) -> None:
    async with opened(tmp_path) as world:

        async def create(data: bytes | None) -> Any:
            given = {**(TUS if data is None else OFFSET), **creation(world, size)}
            return await world.ada.call("POST", "/uploads", raw=data or b"", headers=given.items())

        made = [await create(b"hello") for _ in range(2)]
        assert [one.status for one in made] == [201, 201]
        assert [one.headers["upload-offset"] for one in made] == ["5", "5"]
        assert made[0].headers["location"] == made[1].headers["location"]
        for other in (b"hallo", b"hell", b"hello!", b"", None):
            assert (await create(other)).problem(400), other
        id_ = made[0].headers["location"].rpartition("/")[2]
        if size == 9:
            assert (await world.patch(id_, 5, b" you")).status == 204
            again = await create(b"hello")
            assert (again.status, again.headers["upload-offset"]) == (201, "9")
        read = await world.ada.call("GET", f"/files/{id_}")
        assert read.body == b"hello you"[:size]


async def test_x13_a_post_whose_line_was_cut_is_retried_with_what_had_come(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    async with opened(tmp_path) as world:
        given = creation(world, len(data))
        await cut(world, "POST", "/uploads", data[:70_000], **given, **{"Content-Length": str(len(data))})

        async def again(sent: bytes) -> Any:
            headers = {**OFFSET, **given}.items()
            return await world.ada.call("POST", "/uploads", raw=sent, headers=headers)

        other = bytes([data[69_999] ^ 1])
        assert (await again(data[:69_999] + other + data[70_000:])).problem(400)
        answer = await again(data)
        assert (answer.status, answer.headers["upload-offset"]) == (201, "70000")
        id_ = answer.headers["location"].rpartition("/")[2]
        assert (await world.patch(id_, 70_000, data[70_000:])).status == 204
        assert (await world.ada.call("GET", f"/files/{id_}")).body == data


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


async def test_of_many_uploads_at_once_few_write_to_the_database_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, most = 0, 0
    async with opened(tmp_path) as world:
        write = world.app.storage.write

        @asynccontextmanager
        async def counted() -> AsyncIterator[Transaction]:
            nonlocal writing, most
            writing += 1
            most = max(most, writing)
            try:
                async with write() as tx:
                    yield tx
            finally:
                writing -= 1

        monkeypatch.setattr(world.app.storage, "write", counted)
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(world.upload)
    assert most <= 2


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


async def test_metrics_count_what_becomes_of_uploads_and_their_bytes(tmp_path: Path) -> None:
    def counted() -> dict[str, float]:
        tables = [*metrics.uploads, *metrics.files_looked_at]
        bytes_ = {"in": metrics.file_bytes_received.value, "out": metrics.file_bytes_sent.value}
        return {name: count for (name,), count in tables} | bytes_ | {"reads": metrics.file_reads.value}

    before = counted()
    async with opened(tmp_path, max_bytes=1000, total_bytes=100, bytes_per_day=200) as world:
        world.store.room = 5_000_000_000
        id_ = await world.ready(b"0123456789")
        assert (await world.ada.call("GET", f"/files/{id_}", headers=[("Range", "bytes=0-3")])).status == 206
        assert await world.status(id_, world.ada) == 200
        for size, status in ((1001, 413), (91, 507), (90, 201), (101, 429)):
            assert (await world.begin(size)).status == status
        other = (await world.begin(0)).headers["location"]
        assert (await world.ada.call("DELETE", other, headers=TUS.items())).status == 204
        await world.rows("update files_uploads set expires_at = 1")
        removal = Removal(world.app, world.options)
        await removal.sweep()
        await removal.measure()
        assert (metrics.files_stored.value, metrics.files_stored_bytes.value) == (1, 10)
        assert (metrics.files_free_bytes.value, metrics.files_reserve_bytes.value) == (5e9, 2**30)
    grown = {name: count - before.get(name, 0) for name, count in counted().items()}
    assert grown == {
        "begun": 3, "finished": 2, "too large": 1, "no room": 1, "over quota": 1, "expired": 1,
        "ready": 1, "in": 10, "out": 14, "reads": 2,
    } | {name: 0 for name in before if name in {"ended", "blocked", "failed"}}  # fmt: skip
