"""What every check of files must do, whatever it looks for."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing

import pytest
import trio

from teamchat.interfaces import CheckedFile, FileCheck

CHUNK_BYTES = 64 * 1024
_SECONDS = 20.0
_PATIENCE_SECONDS = 0.05
CONTENTS = (
    b"",
    b"hello",
    b"\0" * CHUNK_BYTES,
    bytes(range(256)) * 1024,
    b"a" * (1024 * 1024 + 1),
)
"""Harmless files of several sizes."""


def a_file(content: bytes, name: str = "notes.txt", media_type: str = "text/plain") -> CheckedFile:
    """Return what a check is told of a file with this content."""
    return CheckedFile("00112233445566778899aabbccddeeff", name, media_type, len(content))


async def in_chunks(content: bytes) -> AsyncGenerator[bytes]:
    """Yield the bytes as a store does."""
    for at in range(0, len(content), CHUNK_BYTES):
        yield content[at : at + CHUNK_BYTES]
        await trio.lowlevel.checkpoint()


class FileCheckContract(ABC):
    """Tests of a check of files. Subclass it with a name that begins with ``Test`` and give one method::

    class TestScanner(FileCheckContract):
        @asynccontextmanager
        async def open_check(self):
            async with a_scanner() as address:
                yield Scanner(address)
    """

    @abstractmethod
    def open_check(self) -> AbstractAsyncContextManager[FileCheck]:
        """Return the check, as the hook ``file_checks`` does, with what it needs around it."""

    async def test_it_has_a_name(self) -> None:
        async with self.open_check() as check:
            assert check.name, "a check needs a name: the log names the one that fails"

    @pytest.mark.parametrize("content", CONTENTS, ids=lambda content: f"{len(content)} bytes")
    async def test_a_file_of_any_size_gets_a_verdict(self, content: bytes) -> None:
        async with self.open_check() as check:
            assert isinstance(await self.verdict(check, content), bool), (
                "check() must return True or False, and raise when it can't tell"
            )

    async def test_many_files_may_be_checked_at_once(self) -> None:
        contents = [f"number {number}".encode() * 50_000 for number in range(8)]
        async with self.open_check() as check:
            alone = [await self.verdict(check, content) for content in contents]
            together: dict[int, bool] = {}

            async def ask(number: int) -> None:
                together[number] = await self.verdict(check, contents[number])

            async with trio.open_nursery() as nursery:
                for number in range(len(contents)):
                    nursery.start_soon(ask, number)
        assert [together[number] for number in range(len(contents))] == alone, (
            "asked about many files at once, the check says other things than of each alone"
        )

    async def test_a_file_that_can_not_be_read_to_its_end_is_not_let_pass(self) -> None:
        was_told = False

        async def broken() -> AsyncGenerator[bytes]:
            nonlocal was_told
            yield b"a" * CHUNK_BYTES
            was_told = True
            raise OSError("the store is away")

        async with self.open_check() as check:
            with trio.fail_after(_SECONDS):
                try:
                    async with aclosing(broken()) as chunks:
                        verdict = await check.check(a_file(b"a" * 3 * CHUNK_BYTES), chunks)
                except Exception:
                    return
        # It may have seen enough to block it, or never have looked so far.
        assert not (verdict and was_told), "the check lets a file pass whose bytes it could not read"

    async def test_who_asks_may_stop_waiting(self) -> None:
        async def endless() -> AsyncGenerator[bytes]:
            yield b"a"
            await trio.sleep_forever()

        async with self.open_check() as check:
            with trio.move_on_after(_PATIENCE_SECONDS):
                async with aclosing(endless()) as chunks:
                    await check.check(a_file(b"aa"), chunks)
            await self.verdict(check, b"hello")

    async def verdict(
        self, check: FileCheck, content: bytes, name: str = "notes.txt", media_type: str = "text/plain"
    ) -> bool:
        """Have a file checked, as the server does: a check may have seen enough before its end."""
        with trio.move_on_after(_SECONDS):
            async with aclosing(in_chunks(content)) as chunks:
                return await check.check(a_file(content, name, media_type), chunks)
        raise AssertionError(f"check() gave no verdict within {_SECONDS:g} seconds")
