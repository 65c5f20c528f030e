"""Servers that the suite starts: configured as asked, restarted on their data, ended whatever happens."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat_conformance.instance import Launch
from teamchat_conformance.launch import Launcher, LaunchError, Server, flat, free_port, is_free, nested, toml

SERVER = textwrap.dedent(
    """
    import http.server, json, os, pathlib, signal, sys, tomllib

    text = pathlib.Path(sys.argv[1]).read_text("utf-8")
    told = json.loads(text) if sys.argv[1].endswith(".json") else tomllib.loads(text)
    print("the server says hello", flush=True)
    if told.get("refuses"):
        sys.exit("this is refused")
    if told.get("lingers"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    starts = pathlib.Path(told["storage"]["path"], "starts")
    starts.write_text(str(int(starts.read_text() if starts.exists() else 0) + 1))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(
                {"config": told, "pid": os.getpid(), "starts": starts.read_text(), "argv": sys.argv[2:],
                 "env": {k: v for k, v in os.environ.items() if "INITIAL" in k or "TOLD_" in k}}
            ).encode()
            self.send_response(503 if told.get("ill") else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    if told.get("deaf"):
        signal.pause()
    http.server.HTTPServer((told["server"]["host"], told["server"]["port"]), Handler).serve_forever()
    """
)


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    program = tmp_path / "server.py"
    program.write_text(SERVER, "utf-8")
    return ("{python}", str(program), "{config}")


async def told_by(server: Server) -> dict[str, Any]:
    async with httpx2.AsyncClient() as client:
        answer: dict[str, Any] = (await client.get(f"{server.base_url}/health")).json()
        return answer


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("config_format", ["json", "toml"])
async def test_a_server_is_told_its_keys_by_the_names_it_has_for_them(
    command: tuple[str, ...], config_format: Any
) -> None:
    launch = Launch(
        command,
        config_format=config_format,
        keys={"auth.authMode": "sign.in.mode", "auth.appUrl": ""},
        config={"log": {"file": "{data}/log"}, "auth.x": "overridden"},
        env={"TOLD_PORT": "{port}"},
    )
    keys = {"auth.authMode": "dev", "auth.appUrl": "http://a", "auth.x": [{"id": 'a"b'}], "auth.y": None}
    async with Launcher(launch).serving(keys, env={"TOLD_MORE": "more"}, arguments=["--flag"]) as server:
        told = await told_by(server)
        config = told["config"]
        assert config["server"] == {"host": "127.0.0.1", "port": server.port}
        assert config["storage"] == {"path": str(server.data)}
        assert config["sign"] == {"in": {"mode": "dev"}}
        assert config["auth"] == {"x": [{"id": 'a"b'}]}
        assert config["log"] == {"file": f"{server.data}/log"}
        assert told["env"] == {"TOLD_PORT": str(server.port), "TOLD_MORE": "more"}
        assert told["argv"] == ["--flag"]
        assert "the server says hello" in server.said()


async def test_a_password_in_our_own_environment_is_kept_from_servers(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INITIAL_USER_PASSWORD", "ours")
    async with Launcher(Launch(command)).serving({}) as server:
        assert (await told_by(server))["env"] == {}


async def test_a_server_is_gone_with_its_data_when_the_context_is_left(command: tuple[str, ...]) -> None:
    async def fail_beside(pids: list[int], ports: list[int], data: list[Path]) -> None:
        async with Launcher(Launch(command)).serving({}) as server:
            pids.append((await told_by(server))["pid"])
            ports.append(server.port)
            data.append(server.data)
            raise ZeroDivisionError

    pids: list[int] = []
    ports: list[int] = []
    data: list[Path] = []
    with pytest.raises(ZeroDivisionError):
        await fail_beside(pids, ports, data)
    assert not is_alive(pids[0])
    assert is_free(ports[0])
    assert not data[0].exists()


async def test_a_server_is_gone_when_the_run_is_cancelled(command: tuple[str, ...]) -> None:
    pids = []
    with trio.CancelScope() as scope:
        async with Launcher(Launch(command)).serving({}) as server:
            pids.append((await told_by(server))["pid"])
            scope.cancel()
            await trio.sleep_forever()
    assert not is_alive(pids[0])


@pytest.mark.slow
async def test_one_that_lingers_is_killed(command: tuple[str, ...]) -> None:
    async with Launcher(Launch(command), factor=0.25).serving(
        {"lingers": True, "ready": 1}, port=free_port()
    ) as server:
        pid = (await told_by(server))["pid"]
        assert await server.stop() == -9
    assert not is_alive(pid)


@pytest.mark.parametrize("kill", [False, True])
async def test_a_restart_keeps_the_data_and_changes_keys(command: tuple[str, ...], kill: bool) -> None:
    async with Launcher(Launch(command)).serving({"auth.x": 1, "auth.y": 1}) as server:
        before = await told_by(server)
        await server.restart({"auth.x": 2}, kill=kill)
        after = await told_by(server)
    assert (before["starts"], after["starts"]) == ("1", "2")
    assert after["config"]["auth"] == {"x": 2, "y": 1}
    assert before["pid"] != after["pid"]


async def test_one_that_refuses_to_start_is_told_with_its_last_words(command: tuple[str, ...]) -> None:
    with pytest.raises(
        LaunchError, match="exit code 1:\n  the server says hello\n  this is refused"
    ) as caught:
        async with Launcher(Launch(command)).serving({"refuses": True}):
            pytest.fail("it started")
    assert caught.value.exit_code == 1


async def test_any_answer_says_that_a_server_is_there(command: tuple[str, ...]) -> None:
    async with Launcher(Launch(command)).serving({"ill": True}) as server:
        assert (await told_by(server))["starts"] == "1"


async def test_one_that_never_answers_is_ended(command: tuple[str, ...]) -> None:
    with pytest.raises(
        LaunchError, match=r"nothing answered at http://127\.0\.0\.1:\d+/health within 1 seconds"
    ) as caught:
        async with Launcher(Launch(command, ready_seconds=1)).serving({"deaf": True}):
            pytest.fail("it started")
    assert caught.value.exit_code is None


async def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(LaunchError, match=r"launch\.command can't be run"):
        async with Launcher(Launch(("no-such-program-anywhere",))).serving({}):
            pytest.fail("it started")


def test_a_program_beside_the_interpreter_is_found() -> None:
    from teamchat_conformance.launch import _found

    assert _found(Path(sys.executable).name) == str(Path(sys.executable))
    assert _found("no-such-program-anywhere") == "no-such-program-anywhere"
    assert _found("/some/where") == "/some/where"


def test_ports_are_free_and_given_once() -> None:
    ports = [free_port() for _ in range(20)]
    assert len(set(ports)) == 20
    assert all(map(is_free, ports))


def test_dotted_keys_become_tables() -> None:
    tree = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert nested({"a.b": 1, "a.c.d": 2, "e": 3, "": 4}) == tree
    assert flat(tree) == {"a.b": 1, "a.c.d": 2, "e": 3}


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=4))
def test_what_is_written_as_toml_is_read_as_what_it_was(tree: dict[str, Any]) -> None:
    assert tomllib.loads(toml(tree)) == json.loads(json.dumps(tree))
