"""Statuses, error bodies and shapes: what is let pass and what is a miss."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat_conformance.checks.steps import the_only
from teamchat_conformance.expect import (
    Answered,
    any_text,
    array,
    boolean,
    check_shape,
    integer,
    milliseconds,
    optional,
    require,
    text,
)
from teamchat_conformance.verdicts import Miss

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


def answered(body: Any, status: int = 200, **headers: str) -> Answered:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answered("GET", "/x", "U", status, list(headers.items()), data, 1)


def test_a_miss_says_who_asked_for_what_and_what_came() -> None:
    with pytest.raises(Miss, match=r"GET /x by U: expected 201; got 200 \{\"a\": 1\}"):
        answered({"a": 1}).expect(201)


def test_a_long_answer_is_cut_in_a_miss() -> None:
    with pytest.raises(Miss) as caught:
        answered(b"x" * 100_000).ok()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_a_miss(body: bytes) -> None:
    with pytest.raises(Miss, match="not JSON"):
        answered(body).ok()


@pytest.mark.parametrize("body", [{}, {"error": 1}, {"message": "no"}, ["error"], "error", None])
def test_an_error_needs_a_text_under_its_name(body: Any) -> None:
    with pytest.raises(Miss, match=r'expected \{"error": text\}'):
        answered(body, 400).error(400)


def test_headers_are_found_by_name_and_the_media_type_without_parameters() -> None:
    answer = Answered("GET", "/x", "U", 200, [("content-type", "Application/JSON; charset=utf-8")], b"", 1)
    assert answer.header("Content-Type") == "Application/JSON; charset=utf-8"
    assert answer.media_type == "application/json"
    assert answer.header("etag") is None


@pytest.mark.parametrize(
    ("value", "wanted", "wrong"),
    [
        ({"a": 1}, {"a": integer}, ""),
        ({"a": 1, "b": 2}, {"a": integer}, ""),
        ({}, {"a": integer}, "the body has no a"),
        ({"a": True}, {"a": integer}, "the body.a should be integer, and is true"),
        ({"a": 1.5}, {"a": integer}, "the body.a should be integer, and is 1.5"),
        ({"a": "1"}, {"a": integer}, 'the body.a should be integer, and is "1"'),
        ([], {"a": integer}, "the body should be an object"),
        ({"a": {"b": ""}}, {"a": {"b": text}}, 'the body.a.b should be text, and is ""'),
        ({"a": ""}, {"a": any_text}, ""),
        ({"a": 0}, {"a": boolean}, "the body.a should be boolean, and is 0"),
        ({"a": [1, 2]}, {"a": array(integer)}, ""),
        ({"a": [1, "2"]}, {"a": array(integer)}, "the body.a[1] should be integer, and is another text"),
        ({"a": [{"b": "x"}, {}]}, {"a": array({"b": text})}, "the body.a[1] has no b"),
        (
            {"a": [{"b": {"c": 1}}]},
            {"a": array({"b": {"c": text}})},
            "the body.a[0].b.c should be text, and is 1",
        ),
        (
            {"a": [{"b": ["x", 1]}]},
            {"a": array({"b": array(text)})},
            "the body.a[0].b[1] should be text, and is 1",
        ),
        ({"a": {}}, {"a": array()}, "the body.a should be an array, and is {}"),
        ({"a": None}, {"a": optional(integer)}, ""),
        ({}, {"a": optional(integer)}, ""),
        ({"a": "x"}, {"a": optional(integer)}, 'the body.a should be null or as it should be, and is "x"'),
        ({"a": 1}, {"a": True}, "the body.a should be true, and is 1"),
        ({"a": 1_763_000_000_000}, {"a": milliseconds}, ""),
        ({"a": 1_763_000_000}, {"a": milliseconds}, "the body.a should be milliseconds, and is 1763000000"),
    ],
)
def test_a_shape_says_what_is_wrong_and_where(value: Any, wanted: Any, wrong: str) -> None:
    assert check_shape(value, wanted) == wrong


@given(JSON)
def test_every_value_has_its_own_shape(value: Any) -> None:
    assert check_shape(value, value) == ""


@given(JSON, st.sampled_from([integer, text, boolean, array(integer), {"a": text}, {"a": {"b": integer}}]))
def test_a_shape_can_be_asked_of_anything(value: Any, wanted: Any) -> None:
    assert isinstance(check_shape(value, wanted), str)


def test_a_list_that_should_have_one_item_and_does_not_is_a_miss() -> None:
    assert the_only(["one"], "items") == "one"
    for listed in ([], ["one", "two"]):
        with pytest.raises(Miss, match=f"items: one is wanted, and there are {len(listed)}"):
            the_only(listed, "items")


def test_a_condition_that_holds_is_no_miss() -> None:
    require([1], "not said")
    with pytest.raises(Miss, match="said"):
        require([], "said")


@pytest.mark.parametrize("status", [405, 414, 431])
def test_a_refusal_of_the_http_layer_needs_no_body(status: int) -> None:
    answer = answered(b"", status)
    assert answer.is_of_the_http_layer
    assert answer.error(404, accept=(status,)) is answer


@pytest.mark.parametrize(("status", "body"), [(429, b""), (404, b""), (500, b""), (431, b"too large")])
def test_an_error_of_the_interface_and_one_with_a_body_have_the_shape(status: int, body: bytes) -> None:
    with pytest.raises(Miss):
        answered(body, status).error(status)
