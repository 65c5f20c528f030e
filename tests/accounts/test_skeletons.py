"""Which names look alike (decision D-41; UTS 39, section 4)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.accounts.skeletons import skeleton, skeletons
from tests.accounts.making_confusables import TABLE, prototypes, table

ALIKE = json.loads(TABLE.read_text("ascii"))["alike"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Admin", "\u0410dmin"),  # a Cyrillic A
        ("paypal", "p\u0430yp\u0430l"),
        ("Admin", "\u0410DMIN"),
        ("Ivan", "lvan"),  # a capital I and a small L
        ("ivan", "\u0406VAN"),  # a Cyrillic letter that looks like a capital I
        ("corn", "com"),
        ("B0b", "BOb"),
        ("Ada", "Ad\u200ba"),
        ("Ada", "A\u00add\ufe0fa"),
        ("Ada Lovelace", "Ada  Lovelace \u200b"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("omega", "\u03bfmega"),
    ],
)
def test_d41_names_that_look_alike_share_a_skeleton(one: str, other: str) -> None:
    assert skeletons(one) & skeletons(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ada", "Ida"), ("lvan", "ivan"), ("bob", "bab"), ("Jörg", "Jorg"), ("山田", "山口"), ("bob2", "bob3")],
)
def test_d41_names_that_differ_for_the_eye_share_none(one: str, other: str) -> None:
    assert not skeletons(one) & skeletons(other)


@given(st.text(max_size=20))
def test_d41_the_skeleton_of_a_skeleton_is_itself(name: str) -> None:
    assert skeleton(skeleton(name)) == skeleton(name)


def test_no_prototype_has_a_prototype() -> None:
    sources = {one for alike in ALIKE.values() for one in alike}
    assert len(sources) > 6000
    assert not [prototype for prototype in ALIKE if sources & set(prototype)]


def test_the_table_is_made_of_pairs_that_go_both_ways() -> None:
    pairs = {
        "m": [{"c": "rn", "n": "LATIN SMALL LETTER R, N"}],
        "rn": [{"c": "m", "n": "LATIN SMALL LETTER M"}],
        "0": [{"c": "O", "n": "LATIN CAPITAL LETTER O"}],
        "O": [{"c": "0", "n": "DIGIT ZERO"}, {"c": "\u041e", "n": "CYRILLIC CAPITAL LETTER O"}],
        "\u041e": [{"c": "O", "n": "LATIN CAPITAL LETTER O"}],
        "\u200e\u07c0\u200e": [{"c": "x", "n": "X"}],
        "x": [{"c": "\u200e\u07c0\u200e", "n": "NKO DIGIT ZERO"}],
    }
    made = prototypes(pairs)
    assert made == {"m": "rn", "0": "O", "\u041e": "O", "\u07c0": "x"}
    assert json.loads(table(made))["alike"] == {"O": "0\u041e", "rn": "m", "x": "\u07c0"}
