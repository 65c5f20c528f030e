"""Files in a bucket: the contract, and uploads that go on at another node."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_files_s3 import S3Options, open_s3, store
from teamchat_files_s3.signing import EMPTY, Credentials, query_of, signed
from teamchat_files_s3.store import S3FileStore

from teamchat import FileStore, Gone, Unavailable
from teamchat.testing import FileStoreContract
from teamchat.testing.files import KEY, keep, kept, pieces_of

_images = import_module("plugins.teamchat-files-s3.tests.conftest")
S3Server, ACCOUNT, SECRET, BUCKET = _images.S3Server, _images.ACCOUNT, _images.SECRET, _images.BUCKET
PART = store.PART_BYTES
MIB = 1024 * 1024


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """rclone's S3 server, in a process of its own."""
    made = S3Server()
    yield made
    made.remove()


def options(server: Any, folder: str, **others: Any) -> S3Options:
    given = {
        "bucket": BUCKET,
        "endpoint": server.endpoint,
        "prefix": folder,
        "access_key_id": ACCOUNT,
        "secret_access_key": SECRET,
    }
    return S3Options(**given | others)


class TestS3(FileStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: Any) -> None:
        self.server = server

    def open_store(self, tmp_path: Path) -> AbstractAsyncContextManager[FileStore]:
        return open_s3(options(self.server, f"t{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}"))


def objects(server: Any, prefix: str) -> list[str]:
    return [name for name in server.objects() if name.startswith(prefix + "/")]


async def test_a_file_of_many_parts_and_sizes_comes_back(server: Any) -> None:
    data = os.urandom(2 * PART + 3 * MIB + 17)
    cuts = [0, 100, 3 * MIB, 9 * MIB, 9 * MIB + 1, 18 * MIB, len(data)]
    parts = [data[first:last] for first, last in pairwise(cuts)]
    async with open_s3(options(server, "many")) as opened:
        await keep(opened, KEY, parts)
        assert await kept(opened, KEY) == data
        assert await kept(opened, KEY, PART - 5, PART + 5) == data[PART - 5 : PART + 5]
    assert objects(server, "many") == [f"many/{KEY}"], "tails are left"


async def test_an_upload_goes_on_at_another_node_from_what_was_kept(server: Any) -> None:
    data = os.urandom(PART + 6 * MIB)
    size = len(data)
    state, offset = "", 0
    async with open_s3(options(server, "nodes")) as first:
        state = await first.begin(KEY, size)
        offset, state = await first.write(KEY, size, state, 0, pieces_of(data[: PART + MIB]), PART + 2 * MIB)
        assert offset == PART + MIB, "what came before the line was cut is kept"
        # Written, and never kept by the caller: as if the node had died in between.
        await first.write(KEY, size, state, offset, pieces_of(os.urandom(2 * MIB)), 2 * MIB)
        await first.write(KEY, size, state, offset, pieces_of(data[offset:]), 5 * MIB)
    async with open_s3(options(server, "nodes")) as second:
        while offset < size:
            rest = data[offset : offset + 2 * MIB]
            offset, state = await second.write(KEY, size, state, offset, pieces_of(rest), len(rest))
        await second.finish(KEY, size, state)
    async with open_s3(options(server, "nodes")) as third:
        await third.finish(KEY, size, state)  # Again, as after a crash.
        assert await kept(third, KEY) == data
    assert objects(server, "nodes") == [f"nodes/{KEY}"]


async def test_what_is_abandoned_leaves_nothing(server: Any) -> None:
    async with open_s3(options(server, "left")) as opened:
        state = await opened.begin(KEY, PART)
        _, state = await opened.write(KEY, PART, state, 0, pieces_of(bytes(MIB)), MIB)
        _, state = await opened.write(KEY, PART, state, MIB, pieces_of(bytes(MIB)), MIB)
        await opened.abandon(KEY, state)
        with pytest.raises(Gone):
            await opened.write(KEY, PART, state, 2 * MIB, pieces_of(bytes(6 * MIB)), 6 * MIB)
    assert objects(server, "left") == []


async def test_no_more_than_a_part_waits_on_the_disk(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    plain = store._Spool.body
    monkeypatch.setattr(store._Spool, "body", lambda self: lengths.append(self.length) or plain(self))
    async with open_s3(options(server, "spool")) as opened:
        await keep(opened, KEY, [bytes(20 * MIB)])
    assert lengths == [PART, PART, 4 * MIB]


async def test_the_store_may_be_away_and_come_back() -> None:
    server = S3Server()
    try:
        async with open_s3(options(server, "away", connect_seconds=1)) as opened:
            await keep(opened, KEY, [b"data"])
            server.kill()
            with trio.fail_after(60):
                with pytest.raises(Unavailable, match="can't be reached"):
                    await opened.begin(KEY, 10)
                with pytest.raises(Unavailable):
                    await opened.read(KEY)
            server.start()
            assert await kept(opened, KEY) == b"data"
    finally:
        server.remove()


def test_secrets_are_not_shown(server: Any) -> None:
    assert SECRET not in repr(options(server, "x"))
    assert SECRET not in repr(Credentials("id", SECRET, None, "r"))


def test_the_signature_is_that_of_the_published_example() -> None:
    """The example "GET Object" of Amazon's description of Signature Version 4."""
    credentials = Credentials(
        "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None, "us-east-1"
    )
    headers = signed(
        credentials,
        "GET",
        "examplebucket.s3.amazonaws.com",
        "/test.txt",
        query_of({}),
        {"range": "bytes=0-9"},
        EMPTY,
        datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert headers["authorization"].endswith(
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    )


def test_a_store_is_one_by_its_protocol() -> None:
    made: FileStore = S3FileStore(None)  # type: ignore[arg-type]
    assert made
