"""What a server announces beyond the core is asked for by areas that others bring, and only that."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from conformance.tests.proxy import Answer, Ask, Fault, Forward
from conformance.tests.proxy.asking import as_json, refused
from conformance.tests.proxy.streams import Frame
from conformance.tests.support import ADMIN, Background
from teamchat_conformance import cli, instance
from teamchat_conformance.capabilities import Announced, AreaError, Interface, everything
from teamchat_conformance.registry import Area, Registry, load
from teamchat_conformance.report import compose
from teamchat_conformance.report.results_json import tree
from teamchat_conformance.runner import Options, Result, play_all
from tests.docs.pages import blocks

PAGE = "how-to/test-an-extension.md"
[MODULE] = blocks(PAGE, "python")
[ENTRY_POINT] = blocks(PAGE, "toml")
[ANNOUNCED] = blocks(PAGE, "json")
[CLAIM] = blocks(PAGE, "text")
NAME = "org.example.polls"


class Polls:
    """A server's polls, put before a real server by the proxy: what it announces, and what it does wrong."""

    def __init__(self, *wrong: str, **versions: int) -> None:
        self.wrong = wrong
        self.announced = {name.replace("_", "."): {"version": number} for name, number in versions.items()}
        self.polls: list[dict[str, str]] = []

    def faults(self) -> list[Fault]:
        """Return what the proxy is to answer; a stream must stand in it, to be told of polls."""
        return [
            Fault("capabilities", "GET /capabilities", self._capabilities),
            Fault("listing polls", "GET /polls", self._listed),
            Fault("making polls", "POST /polls", self._made),
            Fault("telling of polls", hear=lambda _, frame: [frame]),
        ]

    async def _capabilities(self, ask: Ask, forward: Forward) -> Answer:
        if "garbage" in self.wrong:
            return Answer(200, [("Content-Type", "text/html")], b"<!doctype html>")
        if not self.announced:
            return refused(404)
        return announced(ask, {"capabilities": self.announced, "links": {"openapi": "/openapi.json"}})

    async def _listed(self, ask: Ask, forward: Forward) -> Answer:
        return as_json({"polls": self.polls[::-1]}) if ask.token else refused(401)

    async def _made(self, ask: Ask, forward: Forward) -> Answer:
        if not isinstance(ask.json.get("question"), str) and "takes anything" not in self.wrong:
            return as_json({"message": "No"} if "errors" in self.wrong else {"error": "No"}, 400)
        poll = {"id": f"p-{len(self.polls)}", "question": ask.json["question"]}
        self.polls.append(poll)
        payload = {"id": poll["id"]} if "event" in self.wrong else poll
        text = json.dumps({"type": "NEW_POLL", "payload": payload})
        for listener in ask.proxy.listeners:
            await listener.send([Frame(f"data: {text}".encode())])
        return as_json({"poll": poll})


class Rooms:
    """What a server announces of what it has: the endpoints of all other capabilities are not there."""

    AREAS = ("CAP", "ME", "MEM", "PRIV", "ARCH", "GRP", "NOTE", "ROLE")

    def __init__(self, *names: str) -> None:
        self.names = names

    def faults(self) -> list[Fault]:
        capabilities = Fault("capabilities", "GET /capabilities", self._capabilities)
        others = [
            endpoint.name
            for area in load().areas
            if area.capability and area.capability not in self.names
            for endpoint in area.endpoints
        ]
        return [capabilities, *(Fault(f"no {name}", name, self._missing) for name in others)]

    async def _capabilities(self, ask: Ask, forward: Forward) -> Answer:
        told = (await forward(ask.without_header("if-none-match"))).json
        told["capabilities"] = {name: told["capabilities"][name] for name in self.names}
        return announced(ask, told)

    async def _missing(self, ask: Ask, forward: Forward) -> Answer:
        return refused(404)

    def play(self, background: Background, *areas: str) -> Result:
        """Play the checks of rooms, or those of some areas, against a server that has nothing else."""
        given = instance_at(background.serve("dev", self.faults()))
        options = Options(areas=areas or self.AREAS, seed=1)
        return trio.run(partial(play_all, load(), given, options))


def announced(ask: Ask, told: Any) -> Answer:
    """Answer what is announced as a server should, unchanged without a body."""
    answer = as_json(told).with_header("ETag", '"1"').with_header("Cache-Control", "no-cache")
    answer = answer.with_header("Access-Control-Allow-Origin", "*")
    return Answer(304, answer.headers, b"") if ask.header("if-none-match") == '"1"' else answer


def instance_at(base_url: str) -> instance.Instance:
    """Describe a server of the kind dev, which is the suite's alone."""
    return instance.parse(
        {
            "instance": {"name": "my server", "version": "1.2", "base_url": base_url},
            "auth": {"mode": "dev"},
            "admin": {"email": ADMIN},
            "isolation": {"exclusive": True},
        }
    )


@pytest.fixture(scope="module")
def background() -> Iterator[Background]:
    servers = Background()
    yield servers
    servers.end()


@pytest.fixture
def polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Install the distribution of the guide, and return the registry with its area."""
    install(tmp_path, monkeypatch, MODULE)
    return everything()


def install(directory: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    [line] = ENTRY_POINT.splitlines()[1:]
    where = line.partition("=")[2].strip().strip('"')
    (directory / f"{where.partition(':')[0]}.py").write_text(module)
    info = directory / "teamchat_polls-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: teamchat-polls\nVersion: 1.0\n")
    group = ENTRY_POINT.partition('"')[2].partition('"')[0]
    (info / "entry_points.txt").write_text(f"[{group}]\npolls = {where}\n")
    monkeypatch.syspath_prepend(str(directory))
    monkeypatch.delitem(sys.modules, where.partition(":")[0], raising=False)


def play(background: Background, registry: Registry, polls: Polls, *select: str) -> Result:
    """Play the checks of polls, and what else is selected, against a server with these polls."""
    given = instance_at(background.serve("dev", polls.faults()))
    options = Options(select=("POLL-*", "CAP-*", *select), seed=1)
    return trio.run(partial(play_all, registry, given, options))


def outcomes(result: Result, *areas: str) -> dict[str, str]:
    return {
        id: one.outcome for id, one in result.findings.items() if id.partition("-")[0] in (areas or ("POLL",))
    }


def claim(result: Result, registry: Registry) -> str:
    """Return the claim about what was selected."""
    chosen = [area for area in registry.areas if area.name in ("POLL", "CAP")]
    return compose([result], Registry(chosen)).claim.line


@pytest.mark.slow
def test_what_is_announced_is_asked_for_and_stands_in_the_claim(
    background: Background, polls: Registry
) -> None:
    result = play(background, polls, Polls(org_example_polls=2))
    assert outcomes(result, "POLL", "CAP") == {
        "POLL-NEW-01": "pass",
        "POLL-NEW-02": "pass",
        "POLL-TOLD-01": "pass",
        "POLL-OLD-01": "pass",
        "CAP-DOC-01": "pass",
        "CAP-DOC-02": "pass",
        "CAP-DOC-03": "pass",
        "CAP-DOC-04": "pass",
        "CAP-DOC-05": "pass",
        "CAP-DOC-06": "pass",
    }
    assert claim(result, polls) == CLAIM.strip()


def test_what_is_announced_is_required(background: Background, polls: Registry) -> None:
    result = play(background, polls, Polls("takes anything", org_example_polls=1))
    assert outcomes(result)["POLL-NEW-02"] == "fail"
    assert claim(result, polls).startswith(
        "non-conforming (1 required): my server 1.2 (core and org.example.polls 1)"
    )


def test_what_is_not_announced_is_not_asked_for(background: Background, polls: Registry) -> None:
    made = Polls("takes anything")
    result = play(background, polls, made)
    assert set(outcomes(result).values()) == {"not-applicable"}
    assert result.findings["POLL-NEW-01"].message == f"the server does not announce {NAME}"
    assert outcomes(result, "CAP")["CAP-DOC-01"] == "pass"
    assert made.polls == []
    assert claim(result, polls) == "conforming: my server 1.2 (core), by teamchat-conformance 0.1.0"


def test_nothing_of_rooms_is_asked_for_that_is_not_announced(background: Background) -> None:
    """Beside what is announced, nothing is asked but what signing users in takes."""
    result = Rooms().play(background)
    found = {id: one for id, one in outcomes(result, *Rooms.AREAS).items() if one != "not-applicable"}
    assert found == {f"CAP-DOC-0{number}": "pass" for number in range(1, 7)}
    asked = {one.target.partition("?")[0] for one in result.recorder.exchanges}
    in_core = {"/health", "/capabilities", "/openapi.json", "/auth/dev-login", "/auth/me", "/users/add"}
    assert {target for target in asked - in_core if not target.startswith("/users/")} == set()


@pytest.mark.parametrize(
    ("names", "areas"),
    [
        (("archive", "roles"), ("ARCH", "ROLE")),
        pytest.param(("membership", "groups", "notes"), ("ME", "MEM", "GRP", "NOTE"), marks=pytest.mark.slow),
    ],
)
def test_what_is_announced_alone_needs_nothing_else(
    background: Background, names: tuple[str, ...], areas: tuple[str, ...]
) -> None:
    found = outcomes(Rooms(*names).play(background, *areas), *areas)
    assert {id: one for id, one in found.items() if one not in ("pass", "recorded", "not-applicable")} == {}
    left_out = {id for id, one in found.items() if one == "not-applicable"}
    assert left_out == {"GRP-CONV-03"} & found.keys()  # becoming public is of private-channels


def test_a_page_in_place_of_the_document_announces_nothing(background: Background, polls: Registry) -> None:
    result = play(background, polls, Polls("garbage"))
    assert set(outcomes(result).values()) == {"not-applicable"}
    assert outcomes(result, "CAP")["CAP-DOC-01"] == "fail"


def test_an_older_version_is_asked_for_what_it_has(background: Background, polls: Registry) -> None:
    result = play(background, polls, Polls(org_example_polls=1))
    assert outcomes(result)["POLL-NEW-01"] == "pass"
    assert result.findings["POLL-OLD-01"].outcome == "not-applicable"
    assert result.findings["POLL-OLD-01"].message == f"since version 2 of {NAME}, and the server announces 1"


def test_what_nobody_has_checks_for_is_named(background: Background, polls: Registry) -> None:
    result = play(background, polls, Polls(org_example_polls=3, org_example_votes=1))
    assert outcomes(result)["POLL-OLD-01"] == "pass"
    said = claim(result, polls)
    assert "(core and org.example.polls 2)" in said
    assert "not looked at: org.example.polls 3 (the checks that are installed know version 2)" in said
    assert "org.example.votes 1 (no checks for it are installed)" in said


def test_endpoints_and_events_of_an_area_are_looked_at_by_the_monitors(
    background: Background, polls: Registry
) -> None:
    result = play(background, polls, Polls("errors", "event", org_example_polls=1), "ERR-SHAPE-01")
    assert result.findings["ERR-SHAPE-01"].message.startswith("1 of 1: POST /polls")
    assert result.findings["ERR-SHAPE-01"].seconds > 0
    assert outcomes(result)["POLL-TOLD-01"] == "fail"
    counted = tree(compose([result], polls))["profiles"][0]["capabilities"][NAME]
    assert counted["endpoints"]["POST /polls"] >= 2
    assert counted["events"] == {"NEW_POLL": 1}


def test_fields_of_an_area_may_stand_in_what_the_core_answers() -> None:
    areas = [Area("XX", "things", capability="things", fields=frozenset({"topic"}))]
    registry = load(areas)
    assert Interface.of(registry, Announced({"things": {"version": 1}})).fields == {"topic"}
    assert Interface.of(registry, Announced()).fields == frozenset()


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import nothing_of_this_name", "polls of teamchat-polls can't be loaded: ModuleNotFoundError"),
        ("area = 7", "polls of teamchat-polls are no Area of a capability"),
        (
            "from teamchat_conformance.registry import Area\narea = Area('MSG', 'x', capability='x')\n"
            "area.recommended('MSG-NEW-01', 'x', 'the same again')",
            "clash with others: declared twice: MSG-NEW-01",
        ),
    ],
)
def test_checks_that_can_not_be_used_end_with_2_and_name_who_brought_them(
    module: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path, monkeypatch, module)
    with pytest.raises(AreaError):
        everything()
    assert cli.main(["list"]) == 2
    assert said in capsys.readouterr().err


def test_installed_checks_are_listed_and_explained(
    polls: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in blocks(PAGE, "console")[0].splitlines():
        assert cli.main(command.split()[2:]) == 0
    said = capsys.readouterr().out
    assert "POLL-OLD-01" in said
    assert f"Asked    of servers that announce {NAME} 1" in said
    assert "Words    POST /polls makes a poll" in said


def test_a_required_check_of_a_capability_quotes_words_and_is_of_a_version_that_the_area_knows() -> None:
    area = Area("XX", "things", capability="things", version=2)
    with pytest.raises(ValueError, match="XX-ONE-01 is required, and no words say so"):
        area.required("XX-ONE-01", "things 1", "it is there")
    with pytest.raises(ValueError, match="is of version 3; the area knows 1 to 2"):
        area.recommended("XX-ONE-01", "things 3", "it is there", since=3)


@pytest.mark.parametrize("told", [{}, {"version": 0}, {"version": True}, {"version": "1"}, 1, None])
def test_what_has_no_version_is_not_announced(told: Any, background: Background) -> None:
    class Told:
        status = 200
        json = {"capabilities": {"things": told}}  # noqa: RUF012

    assert Announced.told_by(Told()).capabilities == {}  # type: ignore[arg-type]


def test_the_document_in_the_guide_announces_what_the_guide_is_about() -> None:
    assert Announced(json.loads(ANNOUNCED)["capabilities"]).version(NAME) == 1
