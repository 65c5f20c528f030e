"""The page on the benchmarks: its commands are understood, and it tells of every scenario there is."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from benchmarks import __main__ as command
from benchmarks.scenarios import SCENARIOS
from benchmarks.server import EMAIL
from benchmarks.sizes import Sizes
from tests.docs.pages import DOCS, blocks
from tests.docs.recipes import recipe

PAGE = "how-to/run-the-benchmarks.md"
ALL, ONE, PEER, COMPANY, SIMULATED, TWO_VERSIONS = blocks(PAGE, "sh")
[OF_PEER] = blocks(PAGE, "json")


def given(typed: str) -> list[str]:
    """Return the arguments that `make` hands on to the benchmarks."""
    program, module, name, *arguments = shlex.split(recipe(typed)[-1])
    assert [program, module, name] == [".venv/bin/python", "-m", "benchmarks"]
    return arguments


@pytest.mark.parametrize(
    ("typed", "only", "sizes"),
    [
        (ALL, None, Sizes()),
        (ONE, ["fan-out"], Sizes(streams=(1000,), posts=100)),
        (PEER, ["peer"], Sizes(peer="http://127.0.0.1:9002")),
        (COMPANY, ["company"], Sizes(times_real=1)),
    ],
)
def test_the_commands_are_understood(typed: str, only: list[str] | None, sizes: Sizes) -> None:
    understood = command._parser().parse_args(given(typed))
    assert understood.only == only
    assert command._sizes(understood) == sizes


def test_the_peer_is_where_it_is_measured_and_lets_in_who_measures_it() -> None:
    settings, sizes = json.loads(OF_PEER), command._sizes(command._parser().parse_args(given(PEER)))
    assert f"http://{settings['server']['host']}:{settings['server']['port']}" == sizes.peer
    assert settings["auth"]["appUrl"] == sizes.peer
    assert settings["chat"]["initialUser"]["email"] == EMAIL


def test_the_command_for_a_simulation_is_understood() -> None:
    assert command._parser().parse_args(given(SIMULATED)).simulate == [100_000, 1_000_000]


def test_the_command_for_two_versions_is_understood() -> None:
    understood = command._parser().parse_args(given(TWO_VERSIONS))
    assert (understood.against, understood.only) == ("HEAD~20", ["posts", "requests"])


def test_every_scenario_is_told_of_and_every_flag_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / PAGE).read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == [*SCENARIOS]
    [shown] = re.findall(r"`(make bench ARGS=--help)`", page)
    with pytest.raises(SystemExit):
        command._parser().parse_args(given(shown))
    helped = capsys.readouterr().out
    for flag in re.findall(r"`(--[a-z]+)", page):
        assert flag in helped
