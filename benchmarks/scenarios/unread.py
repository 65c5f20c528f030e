"""What a user holds of the server's memory who asks for large pages and does not read them.

The page has 12 MiB.  It is asked for on many connections that read nothing, on some that read 1.3 KiB a
second, and over HTTP/2 on ten connections with as many streams each, whose windows are 0; and so is an older
page, which is not kept in memory.  Meanwhile somebody else reads a small page over and over.  Wanted: the
server's memory grows by less than 150 MiB, and the other's slowest request stays under a second.
"""

from __future__ import annotations

import shutil
import ssl
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from benchmarks import unread
from benchmarks.chat import Chat
from benchmarks.client import ask
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, ms
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.unread import Page, PageAttack
from tests.certificates import certified

MIB = 1024 * 1024
_CONNECTIONS = 10  # of HTTP/2


def run(sizes: Sizes) -> Report:
    """Make each attack on a server of its own, with the same data."""
    report = Report(f"Pages that nobody reads: {sizes.unread_messages} messages of 64 KB, times in ms")
    unread_ones = partial(unread.not_reading, connections=sizes.unread)
    without_windows = partial(unread.without_windows, connections=_CONNECTIONS, streams=min(99, sizes.unread))
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "prepared"
        data.mkdir()
        with running(data) as server:
            page, older, other = _prepare(server, sizes.unread_messages)
        for name, attack, asked, certificate in (
            ("not reading", unread_ones, page, None),
            ("not reading, older page", unread_ones, older, None),
            ("reading 1.3 KiB/s", unread.reading_slowly, page, None),
            ("HTTP/2 without windows", without_windows, page, _certificate(data)),
        ):
            shutil.copytree(data, copy := data.with_name(name.partition("/")[0]))
            with running(copy, certificate=certificate) as server:
                tls = None if certificate is None else ssl.create_default_context(cafile=certificate[0])
                asked, other = (replace(one, port=server.port, tls=tls) for one in (asked, other))
                report.rows[name] = trio.run(_attacked, server, attack, asked, other, 3 * sizes.seconds)
    return report


def _prepare(server: Server, messages: int) -> tuple[Page, Page, Page]:
    """Return two large pages of one person, and a small one of the administrator."""
    with Loop() as loop:
        chat = Chat(loop, server)
        token = chat.token_of(0)
        for _ in range(messages):
            posted = ask(loop, server.port, unread.post(token, chat.channel_id)).json()
        quiet = ask(loop, server.port, chat.post_to("/channels", {"name": "quiet"})).json()["channel"]["id"]
        newest = Page(server.port, token, f"{chat.messages}?limit={messages}")
        older = replace(newest, path=f"{newest.path}&before={posted['message']['id']}")
        return newest, older, Page(server.port, chat.token, f"/channels/{quiet}/messages")


async def _attacked(server: Server, attack: PageAttack, page: Page, other: Page, seconds: float) -> Row:
    async def read_other() -> None:
        if await unread.read(other) != 200:
            raise RuntimeError("the other's request was refused")

    await read_other()
    effect = await unread.watch(server.process.pid, read_other, partial(attack, page), seconds)
    return {
        "MiB before": round(effect.memory[0] / MIB),
        "MiB grown": round(effect.grown / MIB),
        "other's slowest": ms(max(effect.seconds, default=0.0)),
    }


def _certificate(data: Path) -> tuple[Path, Path]:
    files = data / "chat.pem", data / "chat.key"
    for file, content in zip(files, certified("localhost"), strict=True):
        file.write_bytes(content)
    return files
