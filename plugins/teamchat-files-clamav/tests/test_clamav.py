"""What is asked of clamd, and what is made of its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import teamchat_files_clamav
import trio
from teamchat_files_clamav import ClamAV, Options
from teamchat_files_clamav.scanning import ScanFailed

from teamchat import CheckedFile, FileCheck, SettingsError
from teamchat.testing import FileCheckContract, running

_tus = import_module("plugins.teamchat-files.tests.uploading")
# In two pieces, for scanners look at sources too.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD" + rb"-ANTIVIRUS-TEST-FILE!$H+H*"
STREAM_MAX = 2 * 1024 * 1024


class Clamd:
    """Speaks the protocol of clamd(8) as far as INSTREAM goes: chunks with their lengths, up to a limit."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.answer: bytes | None = None
        self.is_silent = False
        self.scanned = 0

    async def run(self, *, task_status: trio.TaskStatus[tuple[str, str]]) -> None:
        tcp = await trio.open_tcp_listeners(0, host="127.0.0.1")
        path = str(self._directory / "clamd.ctl")
        unix = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
        await unix.bind(path)
        unix.listen()
        task_status.started((path, f"127.0.0.1:{tcp[0].socket.getsockname()[1]}"))
        await trio.serve_listeners(self._serve, [*tcp, trio.SocketListener(unix)])

    async def _serve(self, stream: trio.SocketStream) -> None:
        async with stream:
            try:
                await self._scan(stream)
            except trio.BrokenResourceError:
                return

    async def _scan(self, stream: trio.SocketStream) -> None:
        held = bytearray()

        async def take(length: int) -> bytes:
            while len(held) < length:
                piece = await stream.receive_some(65536)
                if not piece:
                    raise trio.BrokenResourceError
                held.extend(piece)
            taken = bytes(held[:length])
            del held[:length]
            return taken

        assert await take(10) == b"zINSTREAM\0"
        if self.is_silent:
            await trio.sleep_forever()
        data = bytearray()
        while length := int.from_bytes(await take(4), "big"):
            if len(data) + length > STREAM_MAX:
                return await stream.send_all(b"INSTREAM size limit exceeded. ERROR\0")
            data += await take(length)
        self.scanned += 1
        found = b"stream: Eicar-Test-Signature FOUND\0" if EICAR in data else b"stream: OK\0"
        await stream.send_all(found if self.answer is None else self.answer)
        return None


@asynccontextmanager
async def a_clamd(directory: Path) -> AsyncIterator[tuple[Clamd, str, str]]:
    clamd = Clamd(directory)
    async with trio.open_nursery() as nursery:
        path, address = await nursery.start(clamd.run)
        yield clamd, path, address
        nursery.cancel_scope.cancel()


def a_file(size: int) -> CheckedFile:
    return CheckedFile("00112233445566778899aabbccddeeff", "a.txt", "text/plain", size)


async def in_chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 65536):
        yield data[at : at + 65536]


async def verdict(check: FileCheck, data: bytes) -> bool:
    with trio.fail_after(30):
        async with aclosing(in_chunks(data)) as chunks:  # type: ignore[type-var]
            return await check.check(a_file(len(data)), chunks)


class TestClamAV(FileCheckContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.directory = tmp_path

    @asynccontextmanager
    async def open_check(self) -> AsyncIterator[FileCheck]:
        async with a_clamd(self.directory) as (_, path, _):
            yield ClamAV(Options(address=path))


@pytest.mark.parametrize("by", ["path", "address"])
async def test_a_virus_is_blocked_and_a_letter_is_not(tmp_path: Path, by: str) -> None:
    async with a_clamd(tmp_path) as (clamd, path, address):
        check = ClamAV(Options(address=path if by == "path" else address))
        assert await verdict(check, b"Dear all,")
        assert not await verdict(check, EICAR)
        assert not await verdict(check, bytes(65536 - 20) + EICAR + bytes(100_000)), "across two pieces"
        assert await verdict(check, b"")
        assert clamd.scanned == 4


@pytest.mark.parametrize("too_large", ["block", "pass"])
async def test_what_clamd_does_not_take_is_dealt_with_as_the_settings_say(
    tmp_path: Path, too_large: str
) -> None:
    async with a_clamd(tmp_path) as (_, path, _):
        check = ClamAV(Options(address=path, too_large=too_large))  # type: ignore[arg-type]
        assert await verdict(check, bytes(STREAM_MAX))
        assert await verdict(check, bytes(3 * STREAM_MAX)) is (too_large == "pass")


@pytest.mark.parametrize("answer", [b"", b"stream: Can't allocate memory ERROR\0", b"x" * 10_000, b"\xff\0"])
async def test_any_other_answer_leaves_the_file_waiting(tmp_path: Path, answer: bytes) -> None:
    async with a_clamd(tmp_path) as (clamd, path, _):
        clamd.answer = answer
        with pytest.raises(ScanFailed):
            await verdict(ClamAV(Options(address=path)), b"text")


async def test_a_clamd_that_is_away_or_silent_leaves_the_file_waiting(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await verdict(ClamAV(Options(address=str(tmp_path / "clamd.none"))), b"text")
    async with a_clamd(tmp_path) as (clamd, path, _):
        clamd.is_silent = True
        with pytest.raises(ScanFailed):
            await verdict(ClamAV(Options(address=path, answer_seconds=0.2)), b"text")
        clamd.is_silent = False
        assert await verdict(ClamAV(Options(address=path)), b"text")


@pytest.mark.parametrize("address", ["clamd.ctl", "localhost", "127.0.0.1:", ":3310", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_told_at_start(address: str) -> None:
    with pytest.raises(SettingsError, match=r"plugins\.files-clamav\.address must be"):
        ClamAV(Options(address=address))


async def test_a_server_without_an_address_checks_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, plugin=teamchat_files_clamav) as server, await server.sign_in() as ada:
        assert (await ada.get("/channels")).status_code == 200


@pytest.mark.slow
async def test_others_have_a_file_once_clamd_has_let_it_pass_and_never_a_virus(tmp_path: Path) -> None:
    async with a_clamd(tmp_path) as (clamd, path, _):
        clamd.answer = b"stream: Can't open database ERROR\0"
        settings = {"files-clamav": {"address": path}}
        async with (
            running(tmp_path, plugin=teamchat_files_clamav, plugins=settings) as server,
            await server.sign_in() as ada,
            await server.sign_in("grace@example.org") as grace,
        ):
            place = await _tus.first_channel(ada)
            letter, virus = [await _tus.upload(ada, place, data) for data in (b"Dear all,", EICAR)]
            await _tus.post(ada, place, [letter, virus])
            assert (await grace.get(f"/files/{letter}")).status_code == 404
            clamd.answer = None
            with trio.fail_after(90):
                while (state := await _state(ada, letter)) != "ready" or await _state(
                    ada, virus
                ) == "checking":
                    assert state in {"checking", "ready"}
                    await trio.sleep(0.2)
            assert (await grace.get(f"/files/{letter}")).content == b"Dear all,"
            assert await _state(ada, virus) == "blocked"
            assert (await grace.get(f"/files/{virus}")).status_code == 404
        log = (tmp_path / "server.log").read_text()
        assert "Eicar-Test-Signature" in log


async def _state(client: Any, file_id: str) -> str:
    return str((await client.get(f"/files/{file_id}/info")).json()["file"]["state"])
