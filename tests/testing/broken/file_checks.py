"""Checks of files with one thing wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from teamchat import CheckedFile, FileCheck
from teamchat.testing import FileCheckContract
from tests.testing.faults import found_by


class Right:
    """`teamchat.FileCheck`. What is wrong is in the subclasses."""

    name = "right"

    async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> Any:
        async for chunk in chunks:
            if b"virus" in chunk:
                return False
        return True


class Contract(FileCheckContract):
    asked: type[Any]

    @asynccontextmanager
    async def open_check(self) -> AsyncIterator[FileCheck]:
        yield self.asked()


@found_by(test_it_has_a_name="a check needs a name")
class TestHasNoName(Contract):
    class asked(Right):  # noqa: N801
        name = ""


@found_by(test_a_file_of_any_size_gets_a_verdict="check() must return True or False")
class TestSaysNothing(Contract):
    class asked(Right):  # noqa: N801
        async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> Any:
            return None if file.size == 0 else await super().check(file, chunks)


@found_by(test_many_files_may_be_checked_at_once="the check says other things than of each alone")
class TestMixesFiles(Contract):
    class asked(Right):  # noqa: N801
        under_way = 0

        async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> Any:
            self.under_way += 1
            try:
                await trio.lowlevel.checkpoint()
                return self.under_way == 1
            finally:
                self.under_way -= 1


@found_by(test_a_file_that_can_not_be_read_to_its_end_is_not_let_pass="could not read")
class TestTakesSilenceForConsent(Contract):
    class asked(Right):  # noqa: N801
        async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> Any:
            try:
                return await super().check(file, chunks)
            except OSError:
                return True


@found_by(test_who_asks_may_stop_waiting="no verdict within")
class TestIsStuckOnceSomebodyLeft(Contract):
    class asked(Right):  # noqa: N801
        is_stuck = False

        async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> Any:
            if self.is_stuck:
                await trio.sleep_forever()
            try:
                return await super().check(file, chunks)
            except trio.Cancelled:
                self.is_stuck = True
                raise
