"""Nothing that the specification says is forgotten, and nothing is required that it does not say."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from teamchat_conformance import spec_map
from teamchat_conformance.registry import Area, Registry, load
from teamchat_conformance.spec_map import SpecMap, Statement, digest_of

TEXT = "# A title\n\nThings are made.\nThings are private.\n"


def a_registry() -> Registry:
    area = Area("XX", "things")
    area.required("XX-ONE-01", "§1", "a thing is made")
    area.recommended("XX-ONE-02", "D-01", "a thing is quick")
    return Registry([area])


def a_map(*checks: str, why: str = "") -> SpecMap:
    words = "Things are made."
    statement = Statement("§1", 3, "things are made", digest_of(words), checks, why, words)
    return SpecMap(digest_of(TEXT), (statement,))


def test_every_statement_is_tested_and_every_required_check_tests_one() -> None:
    assert spec_map.load().problems(load()) == []


def test_the_map_is_of_all_parts_of_the_specification() -> None:
    sections = {statement.section.split()[0] for statement in spec_map.load().statements}
    assert {f"§{part}" for part in range(1, 10)} <= sections


def test_statements_are_short() -> None:
    assert [one.says for one in spec_map.load().statements if not 5 < len(one.says) < 220] == []


def test_the_map_is_of_the_specification_that_is_kept_with_the_suite() -> None:
    known = spec_map.load()
    assert known.changed(spec_map.text()) == []
    assert digest_of(spec_map.text()) == known.digest


def test_the_words_of_every_statement_stand_in_its_line_of_the_specification() -> None:
    lines = spec_map.text().splitlines()
    of_digest = {digest_of(line): line for line in lines}
    wrong = [one for one in spec_map.load().statements if one.line and one.words not in of_digest[one.digest]]
    assert wrong == []
    assert [one for one in spec_map.load().statements if one.line and len(one.words.split()) < 2] == []


def test_every_required_check_quotes_the_specification_or_a_decision_and_no_other_check_does() -> None:
    decisions = {f"{one.section}: {one.words}" for one in spec_map.load().statements if one.is_decision}
    text = spec_map.text()
    for check in load().checks.values():
        if check.level == "required" and check.capability:
            assert check.words, check.id
        elif check.level == "required":
            assert check.words, check.id
            assert all(words in text or words in decisions for words in check.words), check.id
        else:
            assert check.words == (), f"{check.id} is not required, and quotes words as if it were"


def test_the_words_of_a_decision_stand_under_its_id_in_the_docs() -> None:
    told = decisions_in_the_docs()
    for one in spec_map.load().statements:
        if one.is_decision:
            assert one.words in told[one.section], one.section
            assert one.says, f"{one.section} does not say why it is as binding as the specification"


def test_what_a_check_of_a_capability_cites_stands_under_its_id_in_the_docs() -> None:
    told = parts_of("extensions.md", r"[A-Z](?:-\d+)?")
    cited = {
        id
        for check in load().checks.values()
        if check.capability
        for id in re.findall(r"\b[A-CELX](?:-\d+)?\b", check.spec)
    }
    assert {"A", "B-3", "C-1", "L", "X-3"} <= cited
    assert cited <= {id for id, text in told.items() if text}


def test_every_decision_that_a_check_names_is_in_the_docs() -> None:
    named = {id for check in load().checks.values() for id in re.findall(r"D-\d{2}[a-z]?", check.spec)}
    assert named <= decisions_in_the_docs().keys()


def decisions_in_the_docs() -> dict[str, str]:
    """Return each decision's text by its id, without the line ends."""
    return parts_of("decisions.md", r"D-\S+")


def parts_of(page: str, ids: str) -> dict[str, str]:
    """Return the text under each heading of a page of the reference that is an id."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / page).read_text("utf-8")
    parts = re.split(rf"^### ({ids})$", text, flags=re.MULTILINE)
    return {id: " ".join(text.split()) for id, text in zip(parts[1::2], parts[2::2], strict=True)}


# Each was a fault that a run let pass with a warning, or did not see at all.
NO_WARNING_ONLY = {
    "pages of a conversation come newest first": "CONV-MSG-13",
    "pages of a thread come newest first": "THR-GET-11",
    "pages of a channel come newest first": "MSG-PAGE-09",
    "updatedAt: null is left out": "MSG-FORM-02",
    "DELETE_THREAD_REPLY has the threadMeta of before": "EVT-DELREPLY-03",
    "the access token of a session that has ended lives on": "SESS-OUT-07",
    "the access token of a user who was removed lives on": "AUTH-TOK-18",
    "a refresh token works twice": "SESS-REF-09",
    "a stream is in another order": "SSE-ORDER-01",
    "NEW_CONVERSATION reaches a third": "SSE-DM-06",
    "the second stream of a user is deaf": "SSE-LIFE-05",
    "the image of a deleted message lives on": "IMG-REF-02",
}


@pytest.mark.parametrize("id", NO_WARNING_ONLY.values(), ids=NO_WARNING_ONLY)
def test_what_a_client_would_notice_is_no_warning(id: str) -> None:
    assert load().checks[id].level == "required"


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        (a_map(), "§1 line 3 has neither a check nor a reason"),
        (a_map("XX-ONE-01", "XX-ONE-09"), "§1 line 3 names XX-ONE-09, which there is not"),
        (a_map("XX-ONE-01", "XX-ONE-01"), "§1 line 3 names a check twice"),
        (a_map("XX-ONE-02"), "XX-ONE-01 is required and quotes no words"),
        (a_map(why="nobody can see it"), "XX-ONE-01 is required and quotes no words"),
    ],
)
def test_a_gap_is_found(known: SpecMap, problem: str) -> None:
    assert problem in known.problems(a_registry())


def test_a_recommended_check_needs_no_statement() -> None:
    assert a_map("XX-ONE-01").problems(a_registry()) == []


def test_a_statement_without_words_makes_no_check_required() -> None:
    ground = dataclasses.replace(a_map("XX-ONE-01").statements[0], words="")
    known = SpecMap("", (ground,))
    assert known.problems(a_registry()) == ["XX-ONE-01 is required and quotes no words"]


def test_the_words_of_a_decision_come_with_its_id() -> None:
    decision = Statement("D-08", 0, "why", "", ("XX-ONE-01",), "", "Oldest first.")
    assert SpecMap("", (decision,)).words_of("XX-ONE-01") == ("D-08: Oldest first.",)


def test_a_changed_statement_is_named_and_one_that_has_moved_is_not() -> None:
    known = a_map("XX-ONE-01")
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
    known = a_map("XX-ONE-01")
    other = dataclasses.replace(known.statements[0], checks=())
    assert SpecMap(known.digest, (*known.statements, other)).of("XX-ONE-01") == list(known.statements)
