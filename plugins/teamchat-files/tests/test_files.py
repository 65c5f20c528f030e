"""G-2 to G-8: files in messages, who reads them, how they are served, and what goes, on either storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from teamchat_files import seeing, stored
from teamchat_files.processing import Processing
from teamchat_files.processing import _Found as Found
from teamchat_files.removal import Removal
from teamchat_files.stored import DAY_MS, keep_key, small_key
from teamchat_files.thumbnails import Thumbnails

from teamchat import CheckedFile, Unauthorized
from teamchat.chat import Draft
from teamchat.chat.retention import Retention
from teamchat.model import Caller, now_ms
from teamchat.storage.log import logged_in
from tests.web.client import Answer, Client

_world = import_module("plugins.teamchat-files.tests.world")
opened = _world.opened
_location = import_module("plugins.teamchat-files.tests.test_location")


class TestFiles(_world.FilesContract):
    """The contract of capabilities."""


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


async def test_g2_forwarding_makes_a_new_file_that_shares_the_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path, total_bytes=5) as world:
        hidden = await world.private()
        first = await world.ready()
        message = await world.posted(first)

        async def forward(id_: str, place: str, who: Client | None = None, **headers: str) -> Answer:
            path, body = f"/files/{id_}/forward", {"placeId": place}
            return await (who or world.ada).call("POST", path, body, headers=headers.items())

        again = {"idempotency-key": "once"}
        made = (await forward(first, hidden, **again)).json()["file"]
        assert made["id"] != first
        assert (made["name"], made["size"], made["state"]) == ("a.bin", 5, "ready")
        assert (await forward(first, hidden, **again)).json()["file"] == made
        assert (await forward(first, world.channel, **again)).problem(400)
        assert await world.status(made["id"]) == 404
        assert (await world.post([made["id"]])).problem(400), "it is for the other place"
        await world.posted(made["id"], place=hidden)
        assert [await world.status(made["id"], who) for who in (world.ada, world.bob)] == [200, 404]
        unseen, unknown = await forward(made["id"], world.channel, world.bob), await forward("f" * 32, "x")
        assert (unseen.status, unseen.body) == (unknown.status, unknown.body) == (404, unknown.body)
        assert (await forward(first, hidden, world.bob)).status == 404
        await world.ada.call("DELETE", f"/messages/{message}")
        assert (await world.ada.call("GET", f"/files/{made['id']}")).body == b"hello"
        assert len(await world.keys()) == 1
        await world.ada.call("DELETE", f"/private-channels/{hidden}")
        await world.ada.call("DELETE", f"/channels/{hidden}")
        assert await world.keys() == set()


async def test_g2_what_is_not_looked_at_yet_or_expired_is_not_forwarded(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = await world.upload()
        path, body = f"/files/{id_}/forward", {"placeId": world.channel}
        assert (await world.ada.call("POST", path, body)).problem(409)
        await world.look_at(id_)
        await world.rows("update files set state = 'expired', key = '' where id = $1", id_)
        assert (await world.ada.call("POST", path, body)).problem(410)


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


async def test_what_lost_its_file_while_the_capability_was_off_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        gone, kept = await world.ready(), await world.ready()
        message = await world.posted(gone)
        await world.posted(kept)
        for (key,) in await world.rows("select key from files"):  # As if they had thumbnails.
            async with world.app.storage.write() as tx:
                await keep_key(tx, small_key(key), 1)
        await world.rows("delete from messages where id = $1", message)  # Nobody asks the capability.
        await Removal(world.app, world.options).sweep()
        assert len(await world.keys()) == 1
        assert len(await world.rows("select key from files_stored")) == 2
        assert await world.status(kept) == 200


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


async def test_g3_what_is_made_for_a_file_goes_with_it_if_that_goes_meanwhile(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_ = await world.upload(_location.written("JPEG", exif=_location.exif()), name="a.jpg")
        message = await world.posted(id_)

        class Deleting(Checking):
            async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> bool:
                await world.ada.ok("DELETE", f"/messages/{message}")
                return await super().check(file, chunks)

        world.app.file_checks.append(Deleting(True))
        await world.look_at(id_)
        assert await world.keys() == set()


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


async def test_m1_a_link_is_nobodys_who_has_to_set_up_a_second_factor_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as world:
        id_ = await world.ready(b"linked")
        await world.posted(id_)
        link = (await world.bob.ok("POST", f"/files/{id_}/link"))["url"]
        held = {"bob@example.org"}

        async def is_missing(caller: Caller, _: int) -> bool:
            return caller.user.email in held

        monkeypatch.setattr(world.app.accounts.second_steps, "is_missing", is_missing)
        assert (await world.bob.call("GET", f"/files/{id_}")).status == 403
        assert (await Client(world.site).call("GET", link)).status == 404
        held.clear()
        assert (await Client(world.site).call("GET", link)).status == 200


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


async def test_a_process_that_comes_late_takes_away_no_thumbnails_that_another_has_made(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        id_ = await world.upload(name="a.png")
        async with world.app.storage.read() as tx:
            row = await stored.file(tx, id_)
        assert row is not None
        found = Found(row.key, "ready", Thumbnails(5, 5, b"small", b"large"))
        for _ in range(2):
            await Processing(world.app, world.options)._done(row, found)
            assert await world.rows("select key from files_doomed") == []
