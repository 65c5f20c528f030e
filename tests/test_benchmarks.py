"""The benchmarks run, and count rightly. No test here asks how fast anything is."""

from __future__ import annotations

import itertools
import json
import random
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import against, capacity, server, yardsticks
from benchmarks.asking import Asker
from benchmarks.client import Answer, ask, request
from benchmarks.company import DAY, PAGE, POST, READ_MARK, Company, Person, moments, planned, rates
from benchmarks.counting import MARK, Tail, Tally, Witness, marked
from benchmarks.loop import Loop
from benchmarks.report import Report, medians, percentile
from benchmarks.scenarios import SCENARIOS
from benchmarks.sizes import QUICK
from benchmarks.streams import Streams

ROOT = Path(__file__).parent.parent

ROWS = {
    "fan-out": {"20 streams"},
    "saturation": {"teamchat", yardsticks.SENDER, "the reading process alone"},
    "memory": {"20 streams"},
    "requests": {"pages, no history, native", "posts, 100 messages, hypercorn", "the load generator alone"},
    "posts": {"nobody listens", "20 streams"},
    "stalled": {"readers alone", "beside 4 stalled"},
    "unread": {"not reading", "reading 1.3 KiB/s", "HTTP/2 without windows"},
    "reconnect": {"server lived on", "after SIGKILL"},
    "shutdown": {"0 stalled", "2 stalled"},
    "writes": {"posts, 1 server, 4 connections", "read marks, 2 servers, 32 connections"},
    "restarts": {"start, no tables yet", "start, tables there", "database crashed"},
    "drivers": {"psycopg on Trio, a commit each", "triopg, a commit each", "the storage, shared commits"},
    "enumeration": {"password-login, with a password", "request-password-reset", "login (magic link)"},
    "hidden": {
        f"{storage}: {what}"
        for storage in ("sqlite", "postgres")
        for what in (
            "the page of a private channel",
            "an edit of a direct message",
            "a conversation of others",
        )
    },
    "reading": {
        *("a post", "all places", "what has changed since", "a place is read, or marked"),
        *("20 users read at once", "a post at that pace, nobody reads", "a post at that pace, all read"),
    },
    "search": {"sqlite: backfill", "sqlite: a rare word", "postgres: two characters of Chinese"},
    "files": {"up", "down", "3 uploads at once"},
    "peer": {"pages, teamchat", "posts, the peer", "the last of all streams, teamchat"},
    "steps": {"Trio", "statements", "the commit, in its thread", "in all", "the least"},
    "log": {"1 server", "4 servers", "16 servers"},
    "long": {
        f"{storage}: {what}"
        for storage in ("sqlite", "postgres")
        for what in (
            *("quiet", "100 messages are deleted", "a message with 40 replies is deleted"),
            "a channel of 20 members is deleted",
        )
    },
    "scale": {
        "sqlite: start",
        "postgres: adding 5 people",
        "sqlite: a post to 30, of whom 30 listen",
        "sqlite: a post to ten, 20 streams of scope=joined elsewhere",
    },
    "company": {
        f"{storage}: {what}"
        for storage in ("sqlite", "postgres")
        for what in ("a post", "a page", "a read mark", "an event at the last", "the load generator")
    }
    | {"sqlite: the server", "postgres: server 1", "postgres: server 2", "postgres: the database"},
    "simulation": {"measured: a post", "2 servers, 667 times: commits", "2 servers, 667 times: bytes"},
    "presence": {"presence off: quiet", "presence on: the 20 s after a restart"},
    "tls": {
        "pages, plain",
        "new connections, TLS",
        "pages, HTTP/2",
        "deliveries, at an even pace, TLS on Hypercorn",
        "idle streams, TLS",
    },
    "pushes": {"sqlite: quiet", "sqlite: 20 devices", "postgres: 20 devices"},
    "workers": {"sqlite, 1 worker", "sqlite, 2 workers", "postgres, 1 worker", "postgres, 2 workers"},
}


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of another server; what it is does not matter where nothing is measured."""
    with server.running(tmp_path_factory.mktemp("peer"), http1=server.HYPERCORN) as other:
        yield f"http://127.0.0.1:{other.port}"


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_scenario_runs_and_has_its_rows(name: str, request: pytest.FixtureRequest) -> None:
    sizes = replace(QUICK, peer=request.getfixturevalue("peer")) if name == "peer" else QUICK
    report = SCENARIOS[name](sizes)
    assert ROWS[name] <= set(report.rows)
    assert all(row for row in report.rows.values())
    # What is lost or comes twice is told beside the times; at this size it must be nothing.
    assert not any(row.get("missing") or row.get("missing or twice") for row in report.rows.values())


@pytest.mark.parametrize(
    "address", ["", "http://127.0.0.1", "http://127.0.0.1:99999", "http://chat.example.org:80"]
)
def test_a_peer_is_another_server_on_this_machine(address: str) -> None:
    with pytest.raises(RuntimeError, match=r"--peer is to be http://127\.0\.0\.1:PORT"):
        SCENARIOS["peer"](replace(QUICK, peer=address))


@contextmanager
def answering(pieces: list[bytes]) -> Iterator[int]:
    """Answer one request in these pieces, at the port that is yielded."""

    def answer() -> None:
        connected, _ = listener.accept()
        with connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.recv(1000)
            for piece in pieces:
                connected.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_an_answer_may_come_in_chunks_however_they_are_torn() -> None:
    body = b'{"content": "0"}'
    head = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: Chunked\r\n\r\n"
    sent = head + b"3\r\n" + body[:3] + b"\r\nd;more=1\r\n" + body[3:] + b"\r\n0\r\n\r\n"
    for piece in (1, 7, len(sent)):
        with answering([sent[at : at + piece] for at in range(0, len(sent), piece)]) as port, Loop() as loop:
            assert ask(loop, port, request("GET", "/")) == Answer(201, body)


@pytest.mark.slow
def test_the_command_writes_its_figures_as_json(tmp_path: Path) -> None:
    output = tmp_path / "new" / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--streams", "3", "--only", "memory"]
    done = subprocess.run(
        [*command, "--output", output], cwd=ROOT, capture_output=True, text=True, check=True
    )
    figures = json.loads(output.read_text())
    assert figures["sizes"]["streams"] == [3]
    assert figures["machine"]["cores"] > 0
    assert figures["versions"]["teamchat"]
    assert figures["scenarios"]["memory"]["rows"]["3 streams"]["MiB after"] > 0
    assert "3 streams" in done.stdout


@pytest.mark.parametrize("sequence", [0, 7, 123_456])
@pytest.mark.parametrize("size", [60, 16_000])
def test_a_post_has_one_mark_and_the_size_asked_for(sequence: int, size: int) -> None:
    content = marked(sequence, size).encode()
    assert content.count(MARK) == 1
    assert len(content) == size


def test_the_witness_tells_the_order_however_the_stream_is_torn() -> None:
    stream = b"".join(b'data: {"content":"%s"}\n\n' % marked(n, 60).encode() for n in (2, 0, 1))
    for length in range(1, 40):
        witness = Witness()
        for begun in range(0, len(stream), length):
            witness(stream[begun : begun + length])
        assert witness.sequences == [2, 0, 1]


def test_the_tally_keeps_the_first_and_the_last_delivery_of_each_post() -> None:
    tally = Tally()
    tally.add(0, 2, 1.0)  # One stream gets two posts at once,
    tally.add(0, 1, 2.0)  # another one after the other.
    tally.add(1, 1, 5.0)
    assert tally.first == [1.0, 1.0]
    assert tally.last == [2.0, 5.0]
    assert tally.count == [2, 2]


def test_the_tail_of_a_stream_has_its_last_id_and_its_end() -> None:
    tail = Tail()
    tail(b"HTTP/1.1 200 OK\r\n\r\n20\r\nid: 7\ndata: {}\n\n\r\n20\r\nid: 1")
    tail(b"2\ndata: {}\n\n\r\n")
    assert tail.last_id == "12"
    assert not tail.is_final
    tail(b"0\r\n\r\n")
    assert tail.is_final


def test_a_witness_may_tell_each_post_as_it_comes() -> None:
    seen: list[int] = []
    witness = Witness(seen.append)
    for piece in (b"data: ^00000", b"07;", b"..^0000008; ^0000009;"):
        witness(piece)
    assert seen == [7, 8, 9]
    assert not witness.sequences


def heard_from(command: list[str]) -> list[list[bytes]]:
    heard: list[list[bytes]] = [[] for _ in range(5)]
    with (
        Loop() as loop,
        yardsticks.sending(command, 5, 400) as port,
        Streams(loop, port, hear=lambda number: heard[number].append) as streams,
    ):
        streams.open([request("GET", "/")] * 5)
        streams.wait(200)
        assert not streams.ended
    return heard


def test_every_yardstick_sends_whole_chunks_to_all_streams(tmp_path: Path) -> None:
    for command in yardsticks.senders(tmp_path).values():
        for pieces in heard_from(command):
            chunks = b"".join(pieces).partition(b'"CONNECTED"}\n\n')[2].split(MARK)[:-1]
            assert len(chunks) >= 200
            assert set(chunks) == {b"x" * 399}


def test_without_a_compiler_the_yardstick_in_c_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert set(yardsticks.senders(tmp_path)) == {yardsticks.SENDER}


def test_the_generator_knows_its_own_limits() -> None:
    assert capacity.deliveries(5, 400) > 0
    assert capacity.deliveries(5, 400, joined=3) > 0
    assert capacity.requests(2, 0.05) > 0


def test_while_many_streams_come_at_once_requests_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the generator does by itself must not be told as the server's time."""
    monkeypatch.setattr("benchmarks.streams._OPEN_DEADLINE", 0.2)
    begun: list[int] = []
    with Loop() as loop, socket.create_server(("127.0.0.1", 0)) as deaf:
        loop.at(0, lambda: begun.append(len(streams.all)))
        with (
            Streams(loop, deaf.getsockname()[1]) as streams,
            pytest.raises(RuntimeError, match="only 0 of 40"),
        ):
            streams.open([request("GET", "/events")] * 40, at_once=40)
    assert begun == [16]
    assert len(streams.all) == 40


def test_a_request_whose_time_has_come_waits_on_the_clock_that_is_told() -> None:
    """A server that takes long must not look fast because it was asked less."""
    with (
        Loop() as loop,
        yardsticks.answering() as port,
        Asker(loop, port, lambda _: request("GET", "/"), connections=1) as asker,
    ):
        asker.paced(1_000_000, 50)  # Due all at once, on one connection: each waits for all before it.
        times = [asker.answered[number] - asker.begun[number] for number in range(50)]
    assert times == sorted(times)


@contextmanager
def refused_asker(refused: Callable[[Answer], object] | None) -> Iterator[Asker]:
    def make(number: int) -> bytes:
        return request("GET", "/refused" if number == 1 else "/")

    with (
        Loop() as loop,
        yardsticks.answering() as port,
        Asker(loop, port, make, connections=1, refused=refused) as asker,
    ):
        yield asker


def test_a_refusal_ends_the_run_or_is_counted_and_is_no_answer() -> None:
    refusals: list[int] = []
    with refused_asker(lambda answer: refusals.append(answer.status)) as asker:
        asker.flood(0.05)
        assert refusals == [503]
        assert asker.refusals == 1
        assert 1 not in asker.answered
        assert not asker.outstanding
    with refused_asker(None) as asker, pytest.raises(RuntimeError, match="answered 503"):
        asker.flood(0.05)


def a_company() -> Company:
    """Two people, who share a channel and a conversation; one of them is in another channel too."""
    people = [Person("a@example.org", ["all", "one"], ["dm:ab"]), Person("b@example.org", ["all"], ["dm:ab"])]
    messages = {room: [f"{room} {number}" for number in range(1000)] for room in ("all", "one", "dm:ab")}
    return Company(people, messages, {"all": 2, "one": 1, "dm:ab": 2}, ["word"], Counter())


def test_a_company_asks_at_a_rate_for_each_of_its_people_and_a_kind() -> None:
    assert sum(rates(5000).values()) == pytest.approx(109.8, abs=0.1)
    assert rates(5000, 10)[READ_MARK] == pytest.approx(625)
    assert rates(10_000)[POST] == 2 * rates(5000)[POST]


def test_arrivals_come_by_chance_at_their_mean_rate() -> None:
    came = list(moments(200, 50, random.Random(1)))
    assert came == sorted(came)
    assert came[-1] < 50
    assert len(came) == pytest.approx(10_000, rel=0.05)
    gaps = [later - sooner for sooner, later in itertools.pairwise(came)]
    assert min(gaps) < 0.001 < 0.02 < max(gaps), "no even pace"


def test_a_day_is_planned_with_everybody_in_their_own_rooms() -> None:
    company = a_company()
    asked = planned(company, dict.fromkeys(DAY, 100.0), 5, random.Random(1))
    assert [one.due for one in asked] == sorted(one.due for one in asked)
    assert {one.kind for one in asked} == set(DAY)
    for one in asked:
        person = company.people[one.who]
        assert one.room in (*person.channels, *person.direct)
        if one.kind in (POST, PAGE):
            kind = "conversations" if one.room.startswith("dm:") else "channels"
            assert one.path == f"/{kind}/{one.room}/messages"
    posts = [one for one in asked if one.kind == POST]
    assert [one.number for one in posts] == list(range(len(posts)))
    assert all(marked(one.number, 60) == one.body["content"] for one in posts)


def test_each_read_mark_is_further_than_the_last_also_of_a_later_plan() -> None:
    company, seen = a_company(), dict[tuple[int, str], int]()
    for seed in (1, 2):
        for one in planned(company, {READ_MARK: 100.0}, 2, random.Random(seed)):
            number = int(one.body["position"].rpartition(" ")[2])
            assert number > seen.get((one.who, one.room), -1)
            seen[one.who, one.room] = number


def test_a_table_is_told_in_columns() -> None:
    report = Report("Title", {"a": {"rate": 12_345, "ms": 1.5}, "bb": {"rate": 7}}, ["A note."])
    assert report.text() == "Title\n\n      rate   ms\na   12,345  1.5\nbb       7\n\nA note."


def test_medians_keep_counts_whole_and_leave_out_what_is_empty() -> None:
    rows = [{"n": 1, "s": 0.5, "x": ""}, {"n": 3, "s": 0.7, "x": ""}, {"n": 2, "s": 0.1, "x": ""}]
    assert medians(rows) == {"n": 2, "s": 0.5, "x": ""}
    assert percentile([], 0.99) == 0
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0


BETTER_BY = {
    "a second": 1,
    "deliveries/s": 1,
    "median ms": -1,
    "last, p99": -1,
    "KiB a stream": -1,
    "seconds to open": -1,
    "missing": 0,
    "deliveries/s, against one": 0,
}


@pytest.mark.parametrize("column", BETTER_BY)
def test_of_a_figure_it_is_known_what_is_better_or_it_is_not_compared(column: str) -> None:
    assert against.is_better_by(column) == BETTER_BY[column]


@pytest.mark.parametrize(
    ("ratios", "better_by", "verdict"),
    [
        ([0.9, 0.92, 0.95], 1, "worse"),
        ([0.9, 0.92, 0.95], -1, "better"),
        ([1.1, 1.2, 1.04], -1, "worse"),
        ([1.1, 1.2, 1.04], 1, "better"),
        ([0.99, 0.98, 0.98], 1, ""),  # in every turn, and little
        ([0.8, 0.9, 1.01], 1, ""),  # much, and not in every turn
        ([1.0], -1, ""),
    ],
)
def test_a_figure_became_worse_if_it_did_in_every_turn_and_notably(
    ratios: list[float], better_by: int, verdict: str
) -> None:
    assert against.judged(ratios, better_by) == verdict


def test_versions_are_compared_by_what_both_have_measured_in_every_turn() -> None:
    def turn(rate: float, **other: float) -> against.Figures:
        rows = {"pages": {"a second": rate, "missing": 3, "text": "-"}} | {
            name: {"a second": value} for name, value in other.items()
        }
        return against.figures({"scenarios": {"requests": {"title": "", "rows": rows}}})

    turns = [(turn(100, old=1), turn(80, new=1)), (turn(110), turn(90, new=1))]
    before = against.Version("abc", ROOT, Path(sys.executable))
    report = against.told(before, turns)
    assert set(report.rows) == {"requests: pages, a second"}
    assert report.rows["requests: pages, a second"]["ratio"] == 0.809
    assert report.notes[0] == "Worse than the noise: requests: pages, a second."
    assert report.notes[1] == "Better than the noise: nothing."


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(RuntimeError, match="there is no commit nonsense here"):
        against.checked_out("nonsense")


@pytest.mark.slow
def test_a_run_that_fails_is_told_with_what_it_printed() -> None:
    version = against.Version("this", ROOT, Path(sys.executable))
    with pytest.raises(RuntimeError, match=r"(?s)this: .*invalid choice"):
        version.measured(["--only", "nonsense"])


@pytest.mark.slow
def test_two_versions_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    itself = against.Version("itself", ROOT, Path(sys.executable))
    monkeypatch.setattr(against, "checked_out", lambda _: itself)
    report = against.compare("HEAD", 2, ["--quick", "--only", "posts"], ["--core-alone"])
    assert set(report.rows) >= {"posts: nobody listens, median"}


def test_a_core_alone_is_one_without_the_plugins_that_bring_capabilities() -> None:
    brought = server.capabilities()
    assert {"pins", "search", "read-state"} <= set(brought)
    assert not {"storage-sqlite", "auth-dev", "web"} & set(brought)
