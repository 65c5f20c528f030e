"""A fault that fails many checks is told once, and what turns most of them green comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from teamchat_conformance.report.causes import Cause, Failure, Request, causes

RECORDED = Path(__file__).parent / "data" / "mikrochat-3.json"
"""What a run found of MikroChat 3.0.0: what was not as it should be, with the exchange that showed it."""


def failure(id: str, message: str, request: Request | None = None, **fields: Any) -> Failure:
    told = {"level": "required", "spec": "§4", "text": f"what {id} says", "outcome": "fail", **fields}
    return Failure(id=id, message=message, request=request, **told)


def recorded() -> list[Failure]:
    found = []
    for one in json.loads(RECORDED.read_text("utf-8")):
        asked = one.pop("request")
        found.append(Failure(**one, request=Request(**asked) if asked else None))
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, Cause]:
    return {one.title: one for one in causes(recorded())}


class TestOfAServerThatIsNotOurs:
    def test_its_failures_have_few_causes(self, found: dict[str, Cause]) -> None:
        required = [one for one in recorded() if one.level == "required" and one.outcome == "fail"]
        assert len(required) > 70
        assert len([one for one in found.values() if one.required]) < len(required) / 2

    @pytest.mark.parametrize(
        ("title", "checks"),
        [
            ("A field that is no text is taken", {"SET-PUT-03", "CHAN-NEW-03", "HOOK-NEW-06", "NEG-TYPE-02"}),
            (
                "The map of reactions is another than from each reaction to the ids of those who gave it",
                {"REACT-ADD-02", "REACT-ADD-15", "REACT-DEL-02", "PROP-ACK-02"},
            ),
            (
                "Errors are no JSON object with the one text error",
                {"ERR-SHAPE-02", "ERR-SHAPE-03", "GEN-HTTP-02"},
            ),
            ("400 is answered where it is to be 403", {"AUTH-ADM-03", "AUTH-ADM-05", "AUTH-ADM-08"}),
            ("POST /auth/refresh fails with 500", {"SESS-REF-05", "SESS-REF-06", "NEG-TYPE-08"}),
            (
                "updatedAt of a message that was never edited is not null",
                {"MSG-FORM-02", "CONV-MSG-12", "PROP-MODEL-02"},
            ),
        ],
    )
    def test_one_fault_is_one_cause(self, found: dict[str, Cause], title: str, checks: set[str]) -> None:
        assert checks <= set(found[title].alone)

    def test_what_turns_most_required_checks_green_comes_first(self, found: dict[str, Cause]) -> None:
        assert [one.required for one in found.values()] == sorted(
            (one.required for one in found.values()), reverse=True
        )

    def test_every_failure_is_told_and_turned_green_by_one_cause_at_most(
        self, found: dict[str, Cause]
    ) -> None:
        alone = [id for one in found.values() for id in one.alone]
        assert len(alone) == len(set(alone))
        assert {id for one in found.values() for id in (*one.alone, *one.partly)} == {
            one.id for one in recorded()
        }

    def test_the_clearest_is_one_of_its_checks_that_says_what_was_sent(self, found: dict[str, Cause]) -> None:
        messages = {one.id: one.message for one in recorded()}
        told = found["400 is answered where it is to be 403"]
        assert "; got 400" in messages[told.clearest]
        assert told.clearest not in told.others

    def test_what_is_only_noted_comes_after_all_that_failed(self, found: dict[str, Cause]) -> None:
        has_failed = [one.failed > 0 for one in found.values()]
        assert has_failed == sorted(has_failed, reverse=True)


def test_a_monitor_that_lists_several_things_waits_for_all_of_them() -> None:
    told = causes(
        [
            failure("ERR-CODE-02", "3 of 9: GET /a answers 500; POST /b answers 503"),
            failure(
                "AA-01", "GET /auth/me by U: expected 401; got 500 x", Request("GET", "/auth/me", "", 500)
            ),
        ]
    )
    assert [one.title for one in told] == [
        "GET /auth/me fails with 500", "GET /a fails with 500", "POST /b fails with 500",
    ]  # fmt: skip
    assert [one.partly for one in told] == [(), ("ERR-CODE-02",), ("ERR-CODE-02",)]


@pytest.mark.parametrize(
    ("message", "request_", "title"),
    [
        ("user V: no NEW_MESSAGE within 5 s; came: CONNECTED", None, "NEW_MESSAGE does not come"),
        ("user W, an outsider, got NEW_CONVERSATION", None, "NEW_CONVERSATION reaches who takes no part"),
        (
            "POST /channels by admin A: expected 400; got 200 {}",
            Request("POST", "/channels", '{"name": ""}', 200),
            "A field that is missing or empty is taken",
        ),
        (
            "POST /channels by admin A: expected 400; got 200 {}",
            Request("POST", "/channels", '{"name": "General"}', 200),
            "POST /channels takes what is to be refused with 400",
        ),
        (
            "GET /channels by nobody: expected 200; got 401 {}",
            Request("GET", "/channels", "", 401),
            "GET /channels refuses with 401 what is to be taken",
        ),
        (
            "GET /conversations by U: the body.conversations[3].otherUser has no userName; got 200 {}",
            Request("GET", "/conversations", "", 200),
            "GET /conversations: conversations[].otherUser.userName is not as it should be",
        ),
        ("something of its own", None, "what AA-01 says"),
    ],
)
def test_a_failure_has_the_cause_that_its_message_and_exchange_tell(
    message: str, request_: Request | None, title: str
) -> None:
    assert [one.title for one in causes([failure("AA-01", message, request_)])] == [title]


def test_what_rests_on_a_decision_is_kept_apart_from_what_rests_on_another() -> None:
    asked = Request("POST", "/channels", '{"name": "x"}', 200)
    message = "POST /channels by admin A: expected 400; got 200 {}"
    told = causes(
        [failure("AA-01", message, asked, spec="D-24"), failure("AA-02", message, asked, spec="D-04")]
    )
    assert {one.title[-6:] for one in told} == {"(D-24)", "(D-04)"}


def test_what_passed_has_no_cause() -> None:
    assert causes([failure("AA-01", "", outcome="pass"), failure("AA-02", "", outcome="blocked")]) == []
