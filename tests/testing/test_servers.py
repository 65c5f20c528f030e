"""What an author gets from a real server under test: answers, events, mails, and words when it fails."""

from __future__ import annotations

import json
import signal
import socket
import struct
import sys
from pathlib import Path

import httpx2
import pytest
import teamchat_metrics
import trio

from teamchat.testing import ADMIN, SentMail, listening, mailed, running, servers

STREAM = b'HTTP/1.1 200 OK\r\n\r\ndata: {"type": "CONNECTED", "payload": {"connectionId": "x"}}\n\n'


@pytest.mark.slow
async def test_a_server_has_a_directory_a_port_and_settings_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAMCHAT_AUTH__AUTHMODE", "password")  # of whoever runs the tests
    one, other = {"maxMessageLength": 10}, {"maxMessageLength": 20}
    async with (
        running(tmp_path / "one", chat=one) as first,
        running(tmp_path / "other", chat=other) as second,
    ):
        assert first.base != second.base
        for server, most in ((first, 10), (second, 20)):
            async with await server.sign_in() as ada:
                [channel] = (await ada.get("/channels")).json()["channels"]
                address = f"/channels/{channel['id']}/messages"
                assert (await ada.post(address, json={"content": "x" * most})).status_code == 200
                assert (await ada.post(address, json={"content": "x" * (most + 1)})).status_code == 400
    assert (tmp_path / "one" / "data").is_dir()


async def test_a_server_that_does_not_start_fails_the_test_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the server did not start") as failed:
        async with running(tmp_path, auth={"authMode": "palmistry"}):
            pass
    [note] = failed.value.__notes__
    assert "auth.authMode" in note


@pytest.mark.slow
async def test_a_server_that_hangs_at_its_start_fails_the_test_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "hangs"
    hangs.write_text("#!/bin/sh\necho waiting for the moon >&2\nexec sleep 600\n")
    hangs.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(hangs))
    monkeypatch.setattr(servers, "DEADLINE", 3.0)
    with pytest.raises(AssertionError, match="the server did not start within 3 seconds") as failed:
        async with running(tmp_path):
            pass
    [note] = failed.value.__notes__
    assert "waiting for the moon" in note


@pytest.mark.slow
async def test_a_proxy_of_the_environment_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with running(tmp_path) as server, await server.sign_in() as ada, listening(ada):
        assert (await ada.get("/health")).text == "OK"


@pytest.mark.slow
async def test_a_server_that_ends_badly_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"the server ended with the status -{signal.SIGABRT}"):
        async with running(tmp_path) as server:
            server.process.send_signal(signal.SIGABRT)


@pytest.mark.slow
async def test_what_fails_while_a_server_runs_is_told_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(KeyError) as failed:  # noqa: PT012
        async with running(tmp_path) as server:
            await (await server.sign_in()).aclose()
            raise KeyError
    [note] = failed.value.__notes__
    assert "signed in" in note
    assert server.process.returncode is not None


@pytest.mark.slow
async def test_the_plugin_under_test_must_be_installed(tmp_path: Path) -> None:
    async with running(tmp_path, plugin=teamchat_metrics, plugins={"metrics": {}}):
        pass
    with pytest.raises(
        AssertionError, match=r"json is not installed as a plugin: .*pip install --editable \."
    ):
        async with running(tmp_path, plugin=json):
            pass


@pytest.mark.slow
async def test_events_are_waited_for_one_by_one_or_by_type(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        async with listening(ada, last_event_id="") as events:
            for name in ("Lobby", "Kitchen"):
                await ada.post("/channels", json={"name": name})
            assert (await events.next())["payload"]["name"] == "Lobby"
            seen = events.last_id
            assert (await events.until("NEW_CHANNEL"))["name"] == "Kitchen"
            await ada.put("/server/settings", json={"name": "Kitchen talk"})
            with pytest.raises(
                AssertionError, match=r"no DELETE_CHANNEL within 2 seconds; there came: UPDATE_SER"
            ):
                await events.until("DELETE_CHANNEL", seconds=2)
            with pytest.raises(trio.TooSlowError):
                await events.next(seconds=0.01)
            await ada.put("/server/settings", json={"name": "Talk"})
            assert (await events.next())["payload"] == {"name": "Talk"}, "what was given up goes on"
        async with listening(ada, last_event_id=seen) as events:
            assert (await events.next())["payload"]["name"] == "Kitchen"


@pytest.mark.slow
async def test_a_stream_that_is_refused_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as server, server.client("no-token") as nobody:
        with pytest.raises(AssertionError, match="the stream was refused with the status 401"):
            async with listening(nobody):
                pass


@pytest.mark.slow
async def test_a_stream_whose_server_was_killed_has_ended(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada, listening(ada) as events:
        server.process.kill()
        with pytest.raises(AssertionError, match="the stream ended"):
            await events.next()


async def test_a_stream_whose_connection_was_reset_has_ended() -> None:
    is_heard = trio.Event()

    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(STREAM)
        await is_heard.wait()
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.socket.close()

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, answer, [listener])
        base = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        headers = {"Authorization": "Bearer token"}
        async with httpx2.AsyncClient(base_url=base, headers=headers) as ada, listening(ada) as events:
            is_heard.set()
            with pytest.raises(AssertionError, match="the stream ended") as failed:
                await events.next()
        assert isinstance(failed.value.__cause__, trio.BrokenResourceError)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
async def test_mails_are_waited_for(tmp_path: Path) -> None:
    auth = {"authMode": "magic-link"}
    async with running(tmp_path, auth=auth, email={"backend": "files"}) as server, server.client() as client:
        await client.post("/auth/login", json={"email": ADMIN})
        mail = await mailed(server.mails, ADMIN)
        assert mail.subject
        assert mail.link in mail.text
        assert "token=" in mail.link
        with pytest.raises(AssertionError, match=r"1 of 2 mails to admin@localhost came within 0\.1 seconds"):
            await mailed(server.mails, ADMIN, 2, seconds=0.1)
    with pytest.raises(AssertionError, match="there is no link in the mail 'Hello'"):
        SentMail("Hello", "Nothing to click.").link  # noqa: B018
