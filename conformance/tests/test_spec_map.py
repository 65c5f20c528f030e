"""Nothing that the specification says is forgotten, and nothing is required that it does not say."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from teamchat_conformance import spec_map
from teamchat_conformance.registry import Area, Registry, load
from teamchat_conformance.spec_map import SpecMap, Statement, digest_of

TEXT = "# A title\n\nThings are made.\nThings are private.\n"


def a_registry() -> Registry:
    area = Area("XX", "things")
    area.required("XX-A-01", "§1", "a thing is made")
    area.recommended("XX-A-02", "D-01", "a thing is quick")
    return Registry([area])


def a_map(*checks: str, why: str = "") -> SpecMap:
    statement = Statement("§1", 3, "things are made", digest_of("Things are made."), checks, why)
    return SpecMap(digest_of(TEXT), (statement,))


def test_every_statement_is_tested_and_every_required_check_tests_one() -> None:
    assert spec_map.load().problems(load()) == []


def test_the_map_is_of_all_parts_of_the_specification() -> None:
    sections = {statement.section.split()[0] for statement in spec_map.load().statements}
    assert {f"§{part}" for part in range(1, 10)} <= sections


def test_statements_are_short() -> None:
    assert [one.says for one in spec_map.load().statements if not 5 < len(one.says) < 220] == []


# The specification is not part of this repository: whoever has it names its file.
if "TEAMCHAT_SPECIFICATION" in os.environ:

    def test_the_specification_has_not_changed() -> None:
        text = Path(os.environ["TEAMCHAT_SPECIFICATION"]).read_text("utf-8")
        known = spec_map.load()
        assert known.changed(text) == []
        assert digest_of(text) == known.digest


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        (a_map(), "§1 line 3 has neither a check nor a reason"),
        (a_map("XX-A-01", "XX-A-09"), "§1 line 3 names XX-A-09, which there is not"),
        (a_map("XX-A-01", "XX-A-01"), "§1 line 3 names a check twice"),
        (a_map("XX-A-02"), "XX-A-01 is required and tests no statement"),
        (a_map(why="nobody can see it"), "XX-A-01 is required and tests no statement"),
    ],
)
def test_a_gap_is_found(known: SpecMap, problem: str) -> None:
    assert problem in known.problems(a_registry())


def test_a_recommended_check_needs_no_statement() -> None:
    assert a_map("XX-A-01").problems(a_registry()) == []


def test_a_changed_statement_is_named_and_one_that_has_moved_is_not() -> None:
    known = a_map("XX-A-01")
    assert known.changed(TEXT) == []
    assert known.changed(f"Something new.\n{TEXT}") == []
    assert known.changed(TEXT.replace("are made", "can be made")) == list(known.statements)


def test_a_changed_text_ends_the_command_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "interface.md"
    file.write_text("Another text.")
    assert spec_map.main([str(file)]) == 1
    assert "another text than the map was made from" in capsys.readouterr().out
    assert spec_map.main([]) == 2


def test_the_statements_of_a_check_are_found() -> None:
    known = a_map("XX-A-01")
    other = dataclasses.replace(known.statements[0], checks=())
    assert SpecMap(known.digest, (*known.statements, other)).of("XX-A-01") == list(known.statements)
