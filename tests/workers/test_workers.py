"""Several processes serve as one: whoever is asked, and whatever becomes of one of them."""

from __future__ import annotations

import json
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.server.workers.count import how_many
from teamchat.server.workers.supervisor import DRAIN_SECONDS
from teamchat.testing import Events, listening
from tests.bare import open_stream, read_all, refuses_connections
from tests.postgres import shared
from tests.storages import ONE_STORAGE, sqlite_only
from tests.test_tls import certificate
from tests.workers.several import Several, gone, several, until

PATIENCE = 60
BOTH_SERVERS = pytest.mark.parametrize("kind", ["native", "hypercorn"])


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=sqlite_only(ONE_STORAGE)),
        pytest.param("postgres", marks=pytest.mark.slow),
    ]
)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The section ``[storage]`` of each of the storages."""
    section = {"backend": request.param, "path": str(tmp_path / "data")}
    return section | ({"url": shared().url(shared().new_database())} if request.param == "postgres" else {})


def token_of(client: httpx2.AsyncClient) -> str:
    return str(client.headers["Authorization"]).removeprefix("Bearer ")


@asynccontextmanager
async def listening_at(server: Several, worker: int, client: httpx2.AsyncClient) -> AsyncIterator[Events]:
    """Open the stream at this worker."""
    async with AsyncExitStack() as stack:
        with server.only(worker):
            events = await stack.enter_async_context(listening(client))
        yield events


@pytest.mark.slow
async def test_ready_is_said_once_and_a_signal_ends_all_with_success(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        workers = server.workers()
        assert len(workers) == 2
        assert await server.end() == 0
        await gone(workers)
    assert server.said == f"teamchat is ready on {server.base}\n"
    assert server.logged() == []


@pytest.mark.slow
async def test_each_worker_answers(tmp_path: Path) -> None:
    async with several(tmp_path, server={"workers": 3}) as server:
        workers = server.workers()
        assert len(workers) == 3
        for worker in workers:
            await server.serves(worker)


@pytest.mark.slow
async def test_auto_is_one_worker_for_each_processor(tmp_path: Path) -> None:
    count = how_many("auto")
    async with several(tmp_path, server={"workers": "auto"}) as server:
        assert len(server.workers()) == (count if count > 1 else 0)


@pytest.mark.slow
async def test_d35_what_is_posted_at_one_worker_reaches_the_streams_of_all(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    async with several(tmp_path, storage=storage) as server, await server.sign_in() as ada:
        one, other = server.workers()
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        async with (
            listening_at(server, other, ada) as events,
            server.client_at(one, token_of(ada)) as poster,
        ):
            for number in range(20):
                posted = await poster.post(path, json={"content": str(number)})
                assert posted.status_code == 200
                # Before the next one is posted: it comes at once, not with what comes later.
                assert (await events.until("NEW_MESSAGE"))["content"] == str(number)


@pytest.mark.slow
async def test_d09_a_session_that_ends_at_one_worker_ends_at_all(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    async with several(tmp_path, storage=storage) as server, await server.sign_in() as ada:
        one, other = server.workers()
        token = token_of(ada)
        async with (
            listening_at(server, other, ada) as events,
            server.client_at(one, token) as here,
            server.client_at(other, token) as there,
        ):
            assert (await there.get("/auth/me")).status_code == 200
            assert (await here.delete("/auth/sessions")).status_code == 200
            assert (await there.get("/auth/me")).status_code == 401, "at once"
            with pytest.raises(AssertionError, match="the stream ended"):
                await events.until("NEW_MESSAGE")


@pytest.mark.slow
async def test_what_one_worker_wrote_another_reads_at_once(tmp_path: Path, storage: dict[str, Any]) -> None:
    async with several(tmp_path, storage=storage) as server, await server.sign_in() as ada:
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        one, other = server.workers()
        async with (
            server.client_at(one, token_of(ada)) as here,
            server.client_at(other, token_of(ada)) as there,
        ):
            for number in range(20):
                writer, reader = (here, there) if number % 2 else (there, here)
                await writer.post(path, json={"content": str(number)})
                page = (await reader.get(path)).json()["messages"]
                assert [message["content"] for message in page] == [str(n) for n in range(number + 1)]


@pytest.mark.slow
async def test_a_worker_that_is_killed_is_replaced_and_logged(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        victim, other = server.workers()
        os.kill(victim, signal.SIGKILL)
        new = await server.replaced(victim, {other})
        assert server.workers() == {other, new}
        [line] = server.logged()
        assert line["process"] == victim
        assert line["how"] == "killed by SIGKILL"
        assert line["level"] == "error"


@pytest.mark.slow
async def test_a_worker_may_be_killed_by_a_signal_that_has_no_name(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        victim, other = server.workers()
        os.kill(victim, signal.SIGRTMIN + 6)
        await server.replaced(victim, {other})
        [line] = server.logged()
        assert line["how"] == f"killed by signal {signal.SIGRTMIN + 6}"


@pytest.mark.slow
async def test_a_worker_that_is_told_to_end_ends_its_streams_well_and_is_replaced(tmp_path: Path) -> None:
    async with several(tmp_path) as server, await server.sign_in() as ada:
        worker, other = server.workers()
        with server.only(worker):
            stream = await open_stream(server, token_of(ada))
        os.kill(worker, signal.SIGTERM)
        assert (await read_all(stream)).endswith(b"0\r\n\r\n")
        new = await server.replaced(worker, {other})
        assert server.workers() == {other, new}
        [line] = server.logged()
        assert line["level"] == "info"


@pytest.mark.slow
async def test_a_worker_that_starts_later_has_the_settings_of_the_start(tmp_path: Path) -> None:
    async with several(tmp_path, chat={"maxMessageLength": 10}) as server, await server.sign_in() as ada:
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        (tmp_path / "teamchat.json").write_text(json.dumps({"nonsense": True}))
        for victim in server.workers():
            others = server.workers() - {victim}
            os.kill(victim, signal.SIGKILL)
            new = await server.replaced(victim, others)
            async with server.client_at(new, token_of(ada)) as client:
                refused = await client.post(path, json={"content": "longer than ten"})
                assert refused.status_code == 400


@pytest.mark.slow
async def test_no_secret_stands_in_a_command_line_or_an_environment(tmp_path: Path) -> None:
    secret = "a secret of more than thirty-two bytes, surely"
    async with several(tmp_path, auth={"jwtSecret": secret}) as server:
        for worker in server.workers():
            assert secret.encode() not in shown_of(worker)


def shown_of(pid: int) -> bytes:
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))


@pytest.mark.slow
async def test_workers_hold_nothing_of_one_another(tmp_path: Path) -> None:
    """Were another's end of a line inherited, that other would not notice that the supervisor is gone."""
    async with several(tmp_path, server={"workers": 3}) as server:
        for worker in server.workers():
            held = sockets(worker)
            for other in server.workers() - {worker}:
                shared_by_both = held & sockets(other)
                assert len(shared_by_both) == 1, "the listening socket alone"


def sockets(pid: int) -> set[str]:
    links = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        link = os.readlink(f"/proc/{pid}/fd/{number}")
        if link.startswith("socket:"):
            links.append(link)
    return set(links)


@pytest.mark.slow
async def test_over_tls_each_worker_answers(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    section = {"certificate": made.certificate, "key": made.key}
    trusting = ssl.create_default_context(cafile=made.certificate)
    async with several(tmp_path, server={"workers": 2, "tls": section}) as server:
        assert server.base.startswith("https://127.0.0.1:")
        for worker in server.workers():
            with server.only(worker):
                async with httpx2.AsyncClient(verify=trusting, timeout=PATIENCE) as client:
                    answer = await client.get(f"https://localhost:{server.port}/health")
            assert answer.text.strip() == "OK"


# The end


@pytest.mark.slow
@BOTH_SERVERS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_streams_of_all_workers_with_their_last_chunk(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    async with several(tmp_path, server={"workers": 2, "http1": kind}) as server:
        async with await server.sign_in() as ada:
            streams = []
            for worker in server.workers():
                with server.only(worker):
                    streams += [await open_stream(server, token_of(ada)) for _ in range(3)]
        workers = server.workers()
        server.process.send_signal(number)
        for stream in streams:
            assert (await read_all(stream)).endswith(b"0\r\n\r\n")
        with trio.fail_after(PATIENCE):
            assert await server.process.wait() == 0
        await gone(workers)
        assert server.logged() == []


@pytest.mark.slow
async def test_while_the_workers_finish_what_they_do_nobody_new_waits_in_the_queue(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        unfinished = await begin_a_request(server)
        server.process.send_signal(signal.SIGTERM)
        await refuses_connections(server.port)
        assert server.process.returncode is None, "the request is still waited for"
        await unfinished.send_all(b'"email": "grace@example.org"}' + b" " * 22)
        assert b" 200 " in await read_all(unfinished)
        with trio.fail_after(PATIENCE):
            assert await server.process.wait() == 0


@pytest.mark.slow
async def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        workers = server.workers()
        async with await begin_a_request(server):
            server.process.send_signal(signal.SIGTERM)
            await refuses_connections(server.port)
            server.process.send_signal(signal.SIGTERM)
            with trio.fail_after(PATIENCE):
                assert await server.process.wait() == 128 + signal.SIGTERM
        await gone(workers)


async def begin_a_request(server: Several) -> trio.SocketStream:
    """Send a request whose body does not come: a server that stops waits five seconds for it."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    head = "POST /auth/dev-login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    await stream.send_all(f"{head}Content-Length: 52\r\n\r\n{{".encode())
    for worker in server.workers():
        await server.serves(worker)  # By now each has taken what came before.
    return stream


@pytest.mark.slow
async def test_a_supervisor_that_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    async with several(tmp_path) as server:
        async with await server.sign_in() as ada:
            workers = server.workers()
            with server.only(next(iter(workers))):
                stream = await open_stream(server, token_of(ada))
        server.process.kill()
        assert (await read_all(stream)).endswith(b"0\r\n\r\n"), "they end as at a signal"
        await gone(workers)


@pytest.mark.slow
async def test_a_worker_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """What the kernel has stopped keeps none of a worker's own deadlines."""
    (tmp_path / "impatient.py").write_text(
        "from teamchat.server.workers import supervisor\nsupervisor.DRAIN_SECONDS = 0.5\n"
    )
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nif 'serve' in sys.orig_argv:\n    import impatient\n"
    )
    async with several(tmp_path) as server:
        stopped, other = server.workers()
        os.kill(stopped, signal.SIGSTOP)
        began = trio.current_time()
        assert await server.end() == 0
        assert trio.current_time() - began < DRAIN_SECONDS, "the test's own deadline is a shorter one"
        await until(lambda: not Path(f"/proc/{stopped}").exists())
        await gone({other})
