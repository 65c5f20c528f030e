"""What /metrics shows, to whom, and what it never shows."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import teamchat_metrics
import trio
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from teamchat_metrics.exposition import Reading, rendered
from teamchat_metrics.sharing import Shared
from teamchat_metrics.watch import LAG_SECONDS, Watch, measure_lag

from teamchat import SettingsError, StorageError
from teamchat.observability import metrics
from teamchat.settings import PluginsSettings, ServerSettings, Settings, StorageSettings
from teamchat.testing import DEADLINE, RoutesContract, Server, ServiceContract, listening
from teamchat.testing.auth import application
from tests.harness import running

TOKEN = "the-token-of-the-metrics"
SECTION = {"metrics": {"token": TOKEN}}
ITS = '# HELP a b\n# TYPE a gauge\na{{worker="{}"}} {}\n'
SETTINGS = Settings(plugins=PluginsSettings(options=SECTION))

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class TestRoutes(RoutesContract):
    def settings(self) -> Settings:
        return SETTINGS

    def routes(self, app):
        return teamchat_metrics.routes(app)


class TestWatch(ServiceContract):
    def settings(self) -> Settings:
        return SETTINGS

    def make_service(self, app) -> Watch:
        [service] = teamchat_metrics.services(app)
        return service


@asynccontextmanager
async def serving(directory: Path, **sections) -> AsyncIterator[Server]:
    async with running(directory, plugins=SECTION, **sections) as server:
        yield server


async def read(server: Server) -> str:
    async with server.client(TOKEN) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.text


def samples(text: str) -> Samples:
    """Read the text as Prometheus does."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[name, frozenset(labels.items())]


@pytest.mark.slow
async def test_requests_streams_and_commits_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, await server.sign_in() as client:
        [channel] = (await client.get("/channels")).json()["channels"]
        address = f"/channels/{channel['id']}/messages"
        async with listening(client) as events:
            for number in range(3):
                assert (await client.post(address, json={"content": f"hello {number}"})).status_code == 200
                await events.until("NEW_MESSAGE")
            assert (await client.post(address, json={})).status_code == 400
            assert (await client.get("/no/such/thing")).status_code == 404
            text = await read(server)
        posts = {"endpoint": "/channels/<channelId>/messages", "method": "POST"}
        assert value(text, "teamchat_requests_total", **posts, status="200") == 3
        assert value(text, "teamchat_requests_total", **posts, status="400") == 1
        assert value(text, "teamchat_request_seconds_count", **posts) == 4
        assert value(text, "teamchat_request_seconds_bucket", **posts, le="+Inf") == 4
        assert 0 < value(text, "teamchat_request_seconds_sum", **posts) < DEADLINE
        unknown = {"endpoint": "none", "method": "GET", "status": "404"}
        assert value(text, "teamchat_requests_total", **unknown) == 1
        stream = {"endpoint": "/events", "method": "GET", "status": "200"}
        assert value(text, "teamchat_requests_total", **stream) == 1
        assert value(text, "teamchat_streams") == 1
        assert value(text, "teamchat_connections") >= 2
        assert value(text, "teamchat_deliveries_total") >= 3
        assert value(text, "teamchat_log_position") >= 3
        assert value(text, "teamchat_commit_seconds_count") >= 3
        assert value(text, "teamchat_writes_total") >= value(text, "teamchat_commit_seconds_count")
        assert value(text, "teamchat_mails_waiting") == 0
        assert value(text, "teamchat_passwords_waiting") == 0
        assert value(text, "process_open_fds") > 3
        assert value(text, "process_resident_memory_bytes") > 1_000_000
        assert value(text, "teamchat_info", version="0.1.0") == 1
        await ended(server)
        assert await server.end() == 0


async def ended(server: Server) -> None:
    """Wait until it is counted that a client has left its stream."""
    with trio.fail_after(DEADLINE):
        while True:
            found = samples(await read(server))
            if (
                found.get(("teamchat_streams_ended_total", frozenset({("reason", "the client has left")})))
                == 1
            ):
                return
            await trio.sleep(0.02)


@pytest.mark.slow
async def test_rooms_are_counted_by_kind_and_memberships_but_not_of_what_everybody_is_in(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as server, await server.sign_in() as ada:
        others = []
        for name in ("grace", "alan"):
            async with await server.sign_in(f"{name}@example.org") as one:
                others.append((await one.get("/auth/me")).json()["user"]["id"])
        assert (await ada.post("/private-channels", json={"name": "Secret"})).status_code == 200
        assert (await ada.post("/channels", json={"name": "Few", "isDefault": False})).status_code == 200
        assert (await ada.post("/groups", json={"userIds": others})).status_code == 200
        assert (await ada.put("/me/notes")).status_code == 200
        assert (await ada.post("/conversations", json={"targetUserId": others[0]})).status_code == 200
        text = await read(server)
        kinds = {"public": 2, "private": 1, "group": 1, "notes": 1, "direct": 1}
        assert {kind: value(text, "teamchat_rooms", kind=kind) for kind in kinds} == kinds
        # Ada manages three channels, three are in the group, and one has notes.
        assert value(text, "teamchat_memberships") == 3 + 3 + 1
        assert "Secret" not in text


@pytest.mark.slow
async def test_what_is_shown_names_nobody_and_nothing_that_was_said(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, await server.sign_in("carol@example.org") as client:
        [channel] = (await client.get("/channels")).json()["channels"]
        await client.post(f"/channels/{channel['id']}/messages", json={"content": "a quiet word"})
        for odd in ("/%22%0Aevil%7B%7D", "/channels/carol@example.org/messages?token=secret"):
            await client.get(odd)
        await client.request("BREW", "/health")
        text = await read(server)
        for private in (
            "carol",
            "example.org",
            "quiet",
            "evil",
            "secret",
            channel["id"],
            "127.0.0.1",
            "BREW",
        ):
            assert private not in text
        assert TOKEN not in text


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wrong-token-of-the-metrics", f"Basic {TOKEN}"])
async def test_without_the_token_nothing_is_shown(tmp_path: Path, header: str | None) -> None:
    async with application(SETTINGS, tmp_path) as app:
        from teamchat.web.app import create_app

        site = create_app(app, list(teamchat_metrics.routes(app)))
        answer = await site.test_client().get("/metrics", headers={"Authorization": header} if header else {})
        assert answer.status_code == 401
        assert list(await answer.get_json()) == ["error"]
        right = await site.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert right.status_code == 200


async def test_an_access_token_of_an_admin_is_not_the_token(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, await server.sign_in() as client:
        assert (await client.get("/metrics")).status_code == 401


async def test_without_a_token_in_the_configuration_there_is_no_such_endpoint(tmp_path: Path) -> None:
    async with application(Settings(), tmp_path) as app:
        assert teamchat_metrics.routes(app) == []
        assert teamchat_metrics.services(app) == []


@pytest.mark.parametrize("token", ["", "short", "with spaces in it, and long", "ümlaut-and-long-enough"])
async def test_a_token_that_could_be_guessed_or_not_be_sent_is_told_and_not_shown(
    tmp_path: Path, token: str
) -> None:
    settings = Settings(plugins=PluginsSettings(options={"metrics": {"token": token}}))
    async with application(settings, tmp_path) as app:
        with pytest.raises(SettingsError, match=r"plugins\.metrics\.token") as caught:
            teamchat_metrics.routes(app)
    assert not token or token not in str(caught.value)
    assert TOKEN not in repr(teamchat_metrics.Options(token=TOKEN))


class Away:
    """An outbox whose storage is away, or never answers."""

    def __init__(self, *, answers: bool) -> None:
        self._answers = answers

    async def waiting(self) -> int:
        if self._answers:
            raise StorageError("away")
        await trio.sleep_forever()
        raise AssertionError


@pytest.mark.parametrize("answers", [True, False])
async def test_a_storage_that_is_away_leaves_out_its_own_number_alone(
    tmp_path: Path, answers: bool, autojump_clock: trio.testing.MockClock
) -> None:
    class Hub:
        position = 7

        def __len__(self) -> int:
            return 3

    class Accounts:
        outbox = Away(answers=answers)

    class Application:
        hub, accounts = Hub(), Accounts()

    with trio.fail_after(5):
        text = await Reading(Application()).text()  # type: ignore[arg-type]
    assert "teamchat_mails_waiting" not in text
    assert "teamchat_rooms" not in text
    assert value(text, "teamchat_log_position") == 7
    assert value(text, "teamchat_streams") == 3


async def test_every_measure_is_shown_and_each_has_its_help(tmp_path: Path) -> None:
    async with application(SETTINGS, tmp_path) as app:
        families = {
            family.name: family for family in text_string_to_metric_families(await Reading(app).text())
        }
    for measure in metrics.ALL:
        assert families[measure.name].documentation == measure.help


async def test_a_late_event_loop_is_seen() -> None:
    seen: list[float] = []
    clock = trio.lowlevel.current_clock()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(measure_lag, seen.append)
        await trio.testing.wait_all_tasks_blocked()
        busy_until = clock.current_time() + LAG_SECONDS + 0.3
        while clock.current_time() < busy_until:
            pass
        with trio.fail_after(5):
            while not seen:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert seen[0] >= 0.25


def shared(directory: Path) -> Shared:
    settings = Settings(server=ServerSettings(workers=2), storage=StorageSettings(path=str(directory)))
    found = Shared.of(settings)
    assert found is not None
    return found


async def test_a_worker_that_has_ended_is_left_out(tmp_path: Path) -> None:
    mine = shared(tmp_path)
    await trio.to_thread.run_sync(mine.clear)
    [directory] = (tmp_path / "metrics").iterdir()
    (directory / "1.prom").write_text(ITS.format(1, 5))
    ended = await trio.run_process(["/bin/sh", "-c", "echo $$"], capture_stdout=True)
    (directory / f"{int(ended.stdout)}.prom").write_text(ITS.format(int(ended.stdout), 6))
    text = await mine.together(ITS.format(2, 4))
    assert samples(text) == {
        ("a", frozenset({("worker", "1")})): 5.0,
        ("a", frozenset({("worker", "2")})): 4.0,
    }
    assert [path.name for path in directory.iterdir()] == ["1.prom"]


async def test_a_worker_that_ends_while_it_is_read_is_left_out(tmp_path: Path) -> None:
    mine = shared(tmp_path)
    await trio.to_thread.run_sync(mine.clear)
    [directory] = (tmp_path / "metrics").iterdir()
    (directory / "1.prom").symlink_to(tmp_path / "taken back")  # as a file is that was there a moment ago
    assert samples(await mine.together(ITS.format(2, 4))) == {("a", frozenset({("worker", "2")})): 4.0}


@pytest.mark.slow
async def test_what_workers_tell_is_put_together_as_fast_as_it_is_read(tmp_path: Path) -> None:
    mine = shared(tmp_path)
    table = CounterMetricFamily("teamchat_requests", "Requests.", labels=("endpoint",))
    for number in range(5_000):
        table.add_metric((f"# HELP /channels/{number}\n# HELP",), number)
    text = rendered([table], mine.labels)
    await trio.to_thread.run_sync(mine.clear)
    [directory] = (tmp_path / "metrics").iterdir()
    (directory / "1.prom").write_text(text.replace(f'worker="{os.getpid()}"', 'worker="1"'))
    began = trio.current_time()
    together = await mine.together(text)
    assert trio.current_time() - began < 0.2  # Parsing would take a second, in which nobody is served.
    assert len(samples(together)) == 10_000
    assert together.count("# TYPE teamchat_requests_total counter") == 1


async def test_what_earlier_supervisors_left_is_removed_and_other_machines_are_left_alone(
    tmp_path: Path,
) -> None:
    mine = shared(tmp_path)
    ended = await trio.run_process(["/bin/sh", "-c", "echo $$"], capture_stdout=True)
    machine = mine._directory.name.rpartition("-")[0]
    old, others = (tmp_path / "metrics" / f"{name}-{int(ended.stdout)}" for name in (machine, "elsewhere"))
    for directory in (old, others):
        directory.mkdir(parents=True)
    await trio.to_thread.run_sync(mine.clear)
    assert not old.exists()
    assert others.exists()


@pytest.mark.slow
async def test_each_worker_tells_the_values_of_all(tmp_path: Path) -> None:
    async with serving(tmp_path, server={"host": "127.0.0.1", "port": 0, "workers": 2}) as server:
        with trio.fail_after(2 * DEADLINE):
            while True:
                text = await read(server)
                positions = {
                    dict(labels)["worker"]
                    for name, labels in samples(text)
                    if name == "teamchat_log_position"
                }
                if len(positions) == 2:
                    break
                await trio.sleep(0.1)
        assert all("worker" in dict(labels) for _, labels in samples(text))
        assert text.count("# TYPE teamchat_log_position gauge") == 1
        assert await server.end() == 0
    assert list((tmp_path / "data" / "metrics").rglob("*.prom")) == []


def test_nothing_of_a_label_can_break_a_line() -> None:
    family = GaugeMetricFamily("a", "b", labels=("c",))
    family.add_metric(('quote " and\nline',), 1)
    assert value(rendered([family]), "a", c='quote " and\nline') == 1
