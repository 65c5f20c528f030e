"""How a check is decided: by what is missed inside of it, and by nothing else."""

from __future__ import annotations

import pytest
import trio

from teamchat_conformance.expect import Answered
from teamchat_conformance.verdicts import Finding, Miss, Verdicts, note


def verdicts(*ids: str) -> Verdicts:
    made = Verdicts()
    made._allowed = frozenset(ids)
    return made


def an_answer(status: int) -> Answered:
    return Answered("GET", "/x", "U", status, [("content-type", "application/json")], b'{"error": "no"}', 1)


def test_a_check_in_which_nothing_is_missed_passes() -> None:
    found = verdicts("XX-01")
    with found.of("XX-01"):
        pass
    assert found.findings["XX-01"].outcome == "pass"


def test_a_miss_fails_its_check_and_the_scenario_goes_on() -> None:
    found = verdicts("XX-01", "XX-02")
    with found.of("XX-01"):
        raise Miss("nothing came")
    with found.of("XX-02"):
        pass
    assert (found.findings["XX-01"].outcome, found.findings["XX-01"].message) == ("fail", "nothing came")
    assert found.findings["XX-02"].outcome == "pass"


def test_a_check_that_a_fault_of_the_suite_ends_has_not_passed() -> None:
    found = verdicts("XX-01")
    with pytest.raises(ZeroDivisionError), found.of("XX-01"):
        _ = 1 / 0
    assert found.findings["XX-01"].outcome == "error"
    assert "ZeroDivisionError" in found.findings["XX-01"].message


async def test_a_check_that_is_cut_off_has_not_passed() -> None:
    found = verdicts("XX-01")
    with trio.CancelScope() as scope, found.of("XX-01"):
        scope.cancel()
        await trio.lowlevel.checkpoint()
    assert found.findings["XX-01"].outcome == "error"
    assert "cut off" in found.findings["XX-01"].message


def test_a_miss_beside_a_fault_of_the_suite_is_still_a_failure() -> None:
    found = verdicts("XX-01")
    with pytest.raises(ExceptionGroup), found.of("XX-01"):
        raise ExceptionGroup("both", [Miss("nothing came"), ZeroDivisionError()])
    assert found.findings["XX-01"].outcome == "fail"


def test_a_field_that_an_answer_lacks_is_a_miss() -> None:
    with pytest.raises(Miss, match="an answer or event has no message, but error"):
        an_answer(400).json["message"]


def test_an_accepted_status_is_a_note_and_a_strict_one_none() -> None:
    found = verdicts("XX-01", "XX-02", "XX-03")
    for id, status in (("XX-01", 403), ("XX-02", 404), ("XX-03", 500)):
        with found.of(id):
            an_answer(status).error(403, accept=(400, 404))
    assert [one.outcome for one in found.findings.values()] == ["pass", "note", "fail"]
    assert "404 where 403 is the strict answer" in found.findings["XX-02"].message


def test_the_worst_of_several_outcomes_is_kept() -> None:
    found = verdicts("XX-01")
    for said in ("first", "", "second"):
        with found.of("XX-01"):
            if said:
                raise Miss(said)
            note("all but perfect")
    assert (found.findings["XX-01"].outcome, found.findings["XX-01"].message) == ("fail", "first")


def test_a_note_does_not_hide_a_miss_that_follows() -> None:
    found = verdicts("XX-01")
    with found.of("XX-01"):
        note("all but perfect")
        raise Miss("and then wrong")
    assert (found.findings["XX-01"].outcome, found.findings["XX-01"].message) == ("fail", "and then wrong")


def test_a_note_outside_of_any_check_is_nobodys() -> None:
    note("nobody listens")


def test_a_scenario_decides_no_check_that_it_does_not_name() -> None:
    found = Verdicts()
    with found.only(frozenset({"XX-01"})):
        with pytest.raises(LookupError, match="does not name XX-02"), found.of("XX-02"):
            pass
        with pytest.raises(LookupError, match="does not name XX-02"):
            found.record("XX-02", 1)
    with pytest.raises(LookupError, match="does not name XX-01"), found.of("XX-01"):
        pass


def test_a_recorded_check_holds_what_was_seen() -> None:
    found = verdicts("XX-01")
    found.record("XX-01", {"order": "oldest first"})
    assert (found.findings["XX-01"].outcome, found.findings["XX-01"].value) == (
        "recorded",
        {"order": "oldest first"},
    )


def test_a_finding_knows_the_requests_it_is_about() -> None:
    numbers = iter([3, 5])
    found = Verdicts(lambda: next(numbers))
    with found.only(frozenset({"XX-01"})), found.of("XX-01"):
        pass
    assert found.findings["XX-01"].exchanges == [4, 5]


@pytest.mark.parametrize("outcome", ["pass", "note", "fail"])
def test_an_outcome_only_ever_gets_worse(outcome: str) -> None:
    finding = Finding("XX-01", "fail", "broken")
    finding.worsen(outcome, "later")  # type: ignore[arg-type]
    assert (finding.outcome, finding.message) == ("fail", "broken")


def test_a_miss_says_which_exchange_showed_it_and_one_that_does_not_means_the_last() -> None:
    found = Verdicts(lambda: 9)
    with found.only(frozenset({"XX-ONE-01", "XX-ONE-02"})):
        with found.of("XX-ONE-01"):
            raise Miss("no", exchange=7)
        with found.of("XX-ONE-02"):
            raise Miss("no")
    assert [found.findings[id].failing for id in ("XX-ONE-01", "XX-ONE-02")] == [7, 9]
