"""Which text is accepted (decisions D-04, D-05)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import BadRequest
from teamchat.model import text

SURROGATE = "\ud800"


@pytest.mark.parametrize("odd", ["a\0b", f"a{SURROGATE}b", "\udc00"])
def test_d04_nul_and_lone_surrogates_are_refused_in_every_text(odd: str) -> None:
    for refuse in (
        lambda: text.content(odd, most=100),
        lambda: text.name("name", odd),
        lambda: text.reaction(odd),
        lambda: text.email(f"{odd}@example.org"),
    ):
        with pytest.raises(BadRequest):
            refuse()


@pytest.mark.parametrize("odd", ["a\nb", "a\x1bb", "a\u202eb", "a\u2066b", "a\u200fb", "a\x85b"])
def test_d04_names_hold_no_control_and_no_direction_character(odd: str) -> None:
    with pytest.raises(BadRequest, match="userName"):
        text.name("userName", odd)
    assert text.content(odd, most=100) == odd


def test_d04_names_are_trimmed_and_have_their_length() -> None:
    assert text.name("name", "  a b  ") == "a b"
    assert text.name("name", "🦊" * 80) == "🦊" * 80
    for wrong in ("", "   ", "a" * 81):
        with pytest.raises(BadRequest):
            text.name("name", wrong)


def test_d04_content_is_counted_in_characters_and_not_blank() -> None:
    assert text.content("🦊" * 10, most=10) == "🦊" * 10
    assert text.content("  ", most=10, may_be_blank=True) == "  "
    for wrong in ("", " \n\t", "a" * 11):
        with pytest.raises(BadRequest, match="content"):
            text.content(wrong, most=10)


def test_d04_a_reaction_has_1_to_64_characters() -> None:
    assert text.reaction("__proto__") == "__proto__"
    for wrong in ("", " ", "a" * 65):
        with pytest.raises(BadRequest, match="reaction"):
            text.reaction(wrong)


@pytest.mark.parametrize("good", ["a@b", "Ada.Lovelace+x@Example.ORG", "ü@exämple.org", "a" * 252 + "@b"])
def test_d05_an_address_is_returned_as_given(good: str) -> None:
    assert text.email(good) == good


@pytest.mark.parametrize(
    "wrong",
    ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", " a@b", "a@b\u3000", "a\x7f@b", "a" * 253 + "@b"],
)
def test_d05_an_address_has_one_at_and_no_white_space(wrong: str) -> None:
    with pytest.raises(BadRequest, match="email"):
        text.email(wrong)


def test_a_very_long_address_is_refused_without_looking_at_it() -> None:
    """Anybody may send one of 256 KiB, and the server does nothing else meanwhile."""
    begun = time.process_time()
    for _ in range(20):
        with pytest.raises(BadRequest, match="email"):
            text.email("a" * 250_000)
    assert time.process_time() - begun < 0.1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Bob@Example.org", "bob@example.ORG", True),
        ("stra\u00dfe@example.org", "strasse@example.org", False),
        ("bo\u212a@example.org", "bok@example.org", False),
    ],
)
def test_mailboxes_are_the_same_only_if_ascii_letters_differ_in_case(
    one: str, other: str, same: bool
) -> None:
    assert text.is_same_mailbox(one, other) is same
    assert text.fold(one) == text.fold(other), "accounts take them for one"


@pytest.mark.slow
@given(st.emails())
def test_d05_addresses_are_compared_without_regard_to_case(address: str) -> None:
    assert text.fold(address.upper()) == text.fold(address.lower()) == text.fold(address)


# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt): some of each range, and its ends.
_UNSEEN = [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180F, 0x200B, 0x200F, 0x202A, 0x202E, 0x2060]
_UNSEEN += [
    0x206F,
    0x3164,
    0xFE00,
    0xFE0F,
    0xFEFF,
    0xFFA0,
    0xFFF0,
    0xFFF8,
    0x1BCA0,
    0x1BCA3,
    0x1D173,
    0x1D17A,
]
_UNSEEN += [0xE0000, 0xE0041, 0xE01EF, 0xE0FFF, 0x2800]


@pytest.mark.parametrize("code", _UNSEEN)
def test_d41_names_hold_nothing_that_is_not_seen(code: int) -> None:
    for odd in (chr(code), f"a{chr(code)}b"):
        with pytest.raises(BadRequest, match="name"):
            text.name("name", odd)
        assert text.content(f"a{odd}", most=100) == f"a{odd}"


@pytest.mark.parametrize("code", range(0xFFF9, 0xFFFD))
def test_d41_names_hold_no_controls_of_annotations_which_browsers_do_not_show(code: int) -> None:
    with pytest.raises(BadRequest, match="name"):
        text.name("name", f"Ada{chr(code)}")
    assert text.made_name("name", f"Ada{chr(code)}") == "Ada"


@pytest.mark.parametrize("code", [0xAC, 0xAE, 0x350, 0x1161, 0x2010, 0x3165, 0xFFFD, 0x1F98A, 0xE1000])
def test_d41_names_may_hold_their_neighbours(code: int) -> None:
    assert text.name("name", f"a{chr(code)}") == f"a{chr(code)}"


def test_d41_runs_of_white_space_are_one_space() -> None:
    assert text.name("name", " a \u00a0\u3000 b\u2003c ") == "a b c"
    assert text.name("name", "a" + " " * 200 + "b") == "a b", "what is squeezed is not counted"
    with pytest.raises(BadRequest):
        text.name("name", "a \n b")


def test_d41_a_name_that_is_there_may_be_given_again() -> None:
    for present in ("a  b", "a\u200bb", "a\u2066b"):
        assert text.name("name", f" {present} ", present=present) == present
        with pytest.raises(BadRequest, match="name"):
            text.name("name", f"{present}\u200b", present=present)


@given(st.text(max_size=400))
def test_d41_a_made_name_is_a_name_or_refused(odd: str) -> None:
    try:
        made = text.made_name("name", odd)
    except BadRequest:
        return
    assert text.name("name", made) == made
