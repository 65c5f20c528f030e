"""The server: it says when it is ready, stops cleanly whatever its clients do, never lives by halves."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.errors import OperatorError, ServiceCrashed, SettingsError
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.plugins import Plugins
from teamchat.server import serve
from teamchat.settings import AuthSettings, ServerSettings, Settings, StorageSettings, TlsSettings
from tests.storages import STORAGE_PLUGIN, storage_settings

PATIENCE = 30


@dataclass
class Entry:
    """An entry point that was never installed."""

    name: str
    module: Any
    dist: None = None

    def load(self) -> Any:
        if isinstance(self.module, str):
            __import__(self.module)
            return sys.modules[self.module]
        return self.module


def plugins(*more: Any) -> Plugins:
    modules = [
        STORAGE_PLUGIN,
        "teamchat.server.maintenance",
        "teamchat_auth_dev",
        "teamchat_auth_password",
        "teamchat_images_files",
        *more,
        "teamchat_files_directory",
    ]
    loaded = Plugins.load((), [Entry(f"plugin-{number}", module) for number, module in enumerate(modules)])
    loaded.require()
    return loaded


def settings(directory: Path, mode: str = "dev", port: int = 0) -> Settings:
    return Settings(
        auth=AuthSettings(auth_mode=mode),
        server=ServerSettings(port=port),
        storage=storage_settings(directory),
    )


class Offering:
    """A plugin that offers services."""

    def __init__(self, *services: Any) -> None:
        self._services = services

    @hookimpl
    def services(self, app: Any) -> Sequence[Any]:
        return self._services


class Crashing:
    """A service that raises when told to, before or after it has started."""

    name = "clockwork"

    def __init__(self, *, at_start: bool = False) -> None:
        self.told = trio.Event()
        self._at_start = at_start

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        if self._at_start:
            raise RuntimeError("a spring broke")
        task_status.started()
        await self.told.wait()
        raise RuntimeError("a spring broke")


class Full(io.StringIO):
    """What is written to a file on a disk that is full."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def ask(port: int, request: str) -> str:
    """Send a request, then nothing more, and return all that comes until the server closes or answers."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request.encode())
        with trio.fail_after(PATIENCE):
            return (await stream.receive_some()).decode("latin-1")


_LOADED = """
import pathlib, sys, trio
from teamchat.plugins import Plugins
from teamchat.server import serve
from teamchat.settings import load

async def main():
    async with trio.open_nursery() as nursery:
        stop = trio.Event()
        await nursery.start(lambda task_status: serve(settings, plugins, stop=stop, task_status=task_status))
        stop.set()

settings = load(pathlib.Path(sys.argv[1]))
plugins = Plugins.load([])
plugins.require()
trio.run(main)
print("loaded:", *{name.partition(".")[0] for name in sys.modules})
"""


def test_a_server_with_every_plugin_loads_what_its_configuration_has_a_use_for_alone(tmp_path: Path) -> None:
    file = tmp_path / "teamchat.toml"
    file.write_text(f'[server]\nport = 0\n[storage]\npath = "{tmp_path}"\n')
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(file)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = set(done.stdout.partition("loaded: ")[2].split())
    assert {"trio", "httptools", "apsw", "teamchat_web_push", "teamchat_files_s3"} <= loaded
    without_use = {"quart", "flask", "werkzeug", "hypercorn", "jinja2", "httpx2", "httpcore2", "psycopg"}
    without_use |= {"cryptography", "prometheus_client", "joserfc", "PIL", "segno", "backports"}
    assert not loaded & without_use


async def test_ready_is_said_once_with_the_bound_port(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nursery: trio.Nursery
) -> None:
    stop, ended = trio.Event(), trio.Event()

    async def main(task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        await serve(settings(tmp_path), plugins(), stop=stop, task_status=task_status)
        ended.set()

    with trio.fail_after(PATIENCE):
        port = await nursery.start(main)
        assert (await ask(port, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")).startswith("HTTP/1.1 200")
        stop.set()
        await ended.wait()
    assert capsys.readouterr().out == f"teamchat is ready on http://127.0.0.1:{port}\n"


async def test_d23_the_generated_password_is_shown_on_the_first_start_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shown in (True, False):
        await start_and_stop(settings(tmp_path, "password"))
        said = capsys.readouterr().out.splitlines()
        assert ("admin@localhost" in said[0]) is shown
        assert len(said) == 1 + shown


async def start_and_stop(chosen: Settings) -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: serve(chosen, plugins(), task_status=task_status))
            nursery.cancel_scope.cancel()


async def test_a_port_in_use_names_its_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [taken] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with taken:
        port = taken.socket.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"server\.port: .*{port}"):
            await serve(settings(tmp_path, "password", port), plugins())
    assert "password" not in capsys.readouterr().out, "what was shown once must not be lost to this"


async def test_an_address_of_elsewhere_names_its_key(tmp_path: Path) -> None:
    chosen = Settings(server=ServerSettings(host="192.0.2.1"), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.host"):
        await serve(chosen, plugins())


async def test_a_server_that_does_not_exist_names_its_key(tmp_path: Path) -> None:
    chosen = Settings(server=ServerSettings(http1="gopher"), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.http1 must be"):
        await serve(chosen, plugins())


async def test_a_certificate_that_is_missing_names_its_key_before_anything_is_done(tmp_path: Path) -> None:
    missing = TlsSettings(str(tmp_path / "none.pem"), str(tmp_path / "none.key"))
    chosen = Settings(server=ServerSettings(tls=missing), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.tls\.certificate"):
        await serve(chosen, plugins())


async def test_a_service_that_crashes_ends_the_server_and_is_named(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    service = Crashing()
    raised: list[BaseException] = []

    async def main(task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        try:
            await serve(settings(tmp_path), plugins(Offering(service)), task_status=task_status)
        except ServiceCrashed as error:
            raised.append(error)

    with trio.fail_after(PATIENCE):
        port = await nursery.start(main)
        async with await trio.open_tcp_stream("127.0.0.1", port) as idle:
            service.told.set()
            assert await idle.receive_some() == b"", "its connections end with it"
        while not raised:
            await trio.lowlevel.checkpoint()
    assert "clockwork" in str(raised[0])
    assert "spring" not in str(raised[0])
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", port)


async def test_a_service_that_crashes_at_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceCrashed, match=r'clockwork.* of the plugin .*disabled = \["plugin-5"\]'):
        await serve(settings(tmp_path), plugins(Offering(Crashing(at_start=True))))


async def test_a_service_that_ends_before_it_has_started_is_named(tmp_path: Path) -> None:
    class Lazy:
        name = "sloth"

        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            await trio.lowlevel.checkpoint()

    with pytest.raises(ServiceCrashed, match="sloth"):
        await serve(settings(tmp_path), plugins(Offering(Lazy())))


@pytest.mark.parametrize("stdout", [Full(), None])
async def test_a_server_that_can_not_print_serves_and_says_how_its_first_user_gets_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdout: Full | None
) -> None:
    monkeypatch.setattr(sys, "stdout", stdout)
    with pytest.raises(OperatorError, match="teamchat user reset-password admin@localhost --generate"):
        await serve(settings(tmp_path, "password"), plugins())
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve, settings(tmp_path, "password"), plugins())
        assert "200" in await ask(port, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        nursery.cancel_scope.cancel()


async def test_a_service_that_does_not_start_is_named_while_the_server_waits_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery
) -> None:
    class Idle:
        name = "statue"

        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            await trio.sleep_forever()

    monkeypatch.setattr("teamchat.server.server.SLOW_START_SECONDS", 0)
    nursery.start_soon(serve, settings(tmp_path), plugins(Offering(Idle())))
    with trio.fail_after(PATIENCE):
        while not (told := [fields for fields in logged(caplog) if fields.get("service") == "statue"]):
            await trio.lowlevel.checkpoint()
    assert "plugin-5" in told[0]["of"]
    nursery.cancel_scope.cancel()


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the fields of the lines of the log."""
    return [record.__dict__.get("teamchat_fields", {}) for record in caplog.records]
