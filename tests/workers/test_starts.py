"""What is wrong at the start is told once; what keeps ending is started again, ever less often."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.server.workers import supervisor
from teamchat.server.workers.count import how_many
from teamchat.server.workers.supervisor import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    OTHERS_SECONDS,
    STEADY_SECONDS,
    Pauses,
    Supervisor,
)
from teamchat.settings import Settings
from tests.workers.several import command, environment, several, until

PATIENCE = 60


def install_plugin(directory: Path) -> Path:
    """Put a plugin into `directory` that does what a file tells it, whenever a worker starts."""
    told = directory / "told"
    information = directory / "clumsy-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: clumsy\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[teamchat]\nclumsy = clumsy\n")
    (directory / "clumsy.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "from teamchat import SettingsError, hookimpl\n"
        "@hookimpl\n"
        "def services(app):\n"
        f"    told = Path({str(told)!r})\n"
        "    if told.exists():\n"
        "        with told.open('a') as file:\n"
        "            file.write('again ')\n"
        "        if told.read_text().startswith('explain'):\n"
        "            raise SettingsError('clumsy.key: it is not what it should be.')\n"
        "        os._exit(7)\n"
        "    return []\n"
    )
    return told


async def started(directory: Path, settings: dict[str, Any]) -> Any:
    """Run a server that is not expected to live."""
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    with trio.fail_after(PATIENCE):
        return await trio.run_process(
            command(config),
            check=False,
            capture_stdout=True,
            capture_stderr=True,
            env=environment(directory),
        )


def sections(directory: Path, **server: Any) -> dict[str, Any]:
    return {
        "auth": {"authMode": "password"},
        "server": {"port": 0, "workers": 2} | server,
        "storage": {"path": str(directory / "data")},
    }


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_port_in_use_is_told_in_one_line_before_anything_is_shown_or_made(
    tmp_path: Path, workers: int
) -> None:
    [taken] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with taken:
        port = taken.socket.getsockname()[1]
        ended = await started(tmp_path, sections(tmp_path, port=port, workers=workers))
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert ended.stderr.startswith(b"teamchat: server.port: another program already listens")
    assert f"sport = :{port}".encode() in ended.stderr
    assert b"server.port or --port" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
async def test_a_storage_that_can_not_be_used_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    ended = await started(tmp_path, sections(tmp_path))
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert b"storage.path" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.slow
async def test_what_only_a_worker_finds_wrong_is_told_in_one_line_too(tmp_path: Path) -> None:
    install_plugin(tmp_path).write_text("explain ")
    ended = await started(tmp_path, sections(tmp_path))
    assert ended.returncode == 1
    assert b"ready" not in ended.stdout
    assert ended.stderr == b"teamchat: clumsy.key: it is not what it should be.\n"


@pytest.mark.slow
async def test_a_worker_that_dies_before_any_was_ready_ends_the_start(tmp_path: Path) -> None:
    install_plugin(tmp_path).write_text("die ")
    ended = await started(tmp_path, sections(tmp_path))
    assert ended.returncode == 1
    assert ended.stderr == b"teamchat: A worker ended before any was ready (exit status 7).\n"


@pytest.mark.slow
async def test_the_first_users_password_is_shown_once(tmp_path: Path) -> None:
    async with several(tmp_path, auth={"authMode": "password"}, chat={"initialUser": {}}) as server:
        pass
    assert server.logged() == []
    assert server.said.count("with the password") == 1
    assert server.said.count("is ready on") == 1


@pytest.mark.slow
async def test_a_worker_that_can_not_start_is_tried_again_while_the_others_serve(tmp_path: Path) -> None:
    told = install_plugin(tmp_path)
    async with several(tmp_path) as server:
        victim, other = server.workers()
        told.write_text("explain ")
        os.kill(victim, signal.SIGKILL)
        await until(lambda: told.read_text().count("again") >= 2)
        await server.serves(other)
        told.unlink()
        with server.without({other}):
            await server.answers()
    kill, *others = server.logged()
    assert kill["how"] == "killed by SIGKILL"
    assert len(others) >= 2
    assert {line["reason"] for line in others} == {"clumsy.key: it is not what it should be."}


@pytest.mark.slow
@pytest.mark.parametrize(("count", "said"), [(2, 8), (5, OTHERS_SECONDS + 3)])
async def test_ready_is_said_when_all_serve_or_a_while_after_the_first_if_one_never_does(
    count: int, said: float, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery
) -> None:
    """One is ready after 3 seconds, one after 8, and nobody else."""
    when: list[float] = []
    monkeypatch.setattr(supervisor, "say_ready", lambda *_: when.append(trio.current_time()))
    watched = Supervisor(Settings(), count)
    nursery.start_soon(watched._announce, 3000)
    await trio.sleep(3)
    watched._is_ready(0)
    await trio.sleep(5)
    watched._is_ready(1)
    await trio.sleep(60)
    assert when == [pytest.approx(said)]
    nursery.cancel_scope.cancel()


def test_one_that_lived_is_replaced_at_once_and_one_that_keeps_dying_ever_less_often() -> None:
    pauses = Pauses()
    assert pauses.after(STEADY_SECONDS) == 0
    waited = [pauses.after(0.1) for _ in range(12)]
    assert waited[:4] == [0, FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS, 4 * FIRST_PAUSE_SECONDS]
    assert waited == sorted(waited)
    assert waited[-1] == LONGEST_PAUSE_SECONDS
    assert pauses.after(STEADY_SECONDS) == 0
    assert pauses.after(0.1) == 0, "what was long ago counts no more"


@pytest.mark.parametrize(
    ("processors", "share", "count"),
    [
        (4, "max 100000\n", 4),
        (4, "200000 100000\n", 2),
        (4, "150000 100000\n", 2),
        (1, "max 100000\n", 1),
        (2, "800000 100000\n", 2),
        (8, "10000 100000\n", 1),
        (3, None, 3),
        (3, "nonsense", 3),
    ],
)
def test_auto_counts_the_processors_that_this_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int, share: str | None, count: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    file = tmp_path / "cpu.max"
    if share is not None:
        file.write_text(share)
    assert how_many("auto", file) == count
    assert how_many(5, file) == 5


@pytest.mark.slow
async def test_a_worker_can_not_be_started_by_hand() -> None:
    ended = await trio.run_process(
        [sys.executable, "-m", "teamchat.server.workers"], check=False, capture_stderr=True
    )
    assert ended.returncode == 1
    assert b"only `teamchat serve` can do" in ended.stderr
