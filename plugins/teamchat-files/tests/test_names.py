"""Names of files."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_files.names import disposition, file_name

from teamchat import BadRequest


@pytest.mark.parametrize("name", ["", "  ", ".", "..", "a\nb", "a\0", "\x7f", "a\x9fx", "x" * 256])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadRequest):
        file_name(name)


def test_a_name_is_kept_as_it_was_given_in_one_form() -> None:
    assert file_name(" Übersicht/2 \u202e.pdf ") == "Übersicht/2 \u202e.pdf"
    assert file_name("U\u0308") == "Ü"
    assert len(file_name("x" * 255)) == 255


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a b.pdf", "attachment; filename*=UTF-8''a%20b.pdf"),
        ("Grüße.txt", "attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt"),
        ("../../etc/passwd", "attachment; filename*=UTF-8''etcpasswd"),
        ("..\\x", "attachment; filename*=UTF-8''x"),
        ("gpj.\u202eexe", "attachment; filename*=UTF-8''gpj.exe"),
        ("../", "attachment; filename*=UTF-8''file"),
        ("a'b\"c;%", "attachment; filename*=UTF-8''a%27b%22c%3B%25"),
        ("👩\u200d💻.png", "attachment; filename*=UTF-8''%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB.png"),
    ],
)
def test_the_header_of_a_download_holds_a_name_for_a_disk(name: str, header: str) -> None:
    assert disposition(name, is_inline=False) == header


def test_what_is_shown_has_a_name_for_saving_too() -> None:
    assert disposition("a.png", is_inline=True) == "inline; filename*=UTF-8''a.png"


HEADER = re.compile(r"(?:inline|attachment); filename\*=UTF-8''((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+)\Z")
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(max_size=300))
def test_every_name_makes_a_header_of_one_line_that_reads_back(name: str) -> None:
    found = HEADER.match(disposition(name, is_inline=False))
    assert found is not None
    kept = unquote(found[1], errors="strict")
    assert not set(kept) & ({"/", "\\"} | BIDI)
    assert not any(unicodedata.category(character) == "Cc" for character in kept)
    assert not kept.startswith(".")
    assert set(kept) <= set(name) | set("file")


@given(st.text(max_size=300))
def test_a_name_is_refused_or_stays_the_same_when_given_again(name: str) -> None:
    try:
        kept = file_name(name)
    except BadRequest:
        return
    assert file_name(kept) == kept
    assert 0 < len(kept) <= 255
