"""F-1, F-2: the definition, asked of nothing but texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from teamchat_search.grammar import Item, parsed
from teamchat_search.grams import asked, grams
from teamchat_search.matching import Terms, holds
from teamchat_search.normal import mapped, normal

FOUND = [
    ("Das ist die Straße.", "STRASSE"),
    ("STRASSE", "straße"),
    ("Αθήνα, ΑΘΗΝΑ", "αθηνα"),
    ("ο δρόμος της Αθήνας", "ΑΘΗΝΑΣ"),
    ("İstanbul", "istanbul"),
    ("ISTANBUL", "İstanbul"),
    ("naïve café", "NAIVE"),
    ("naive cafe", "café"),
    ("Ёжик", "ежик"),
    ("我去上海玩", "上海"),
    ("我去上海玩", "海"),
    ("東京タワー", "タワ"),
    ("ｶﾞｷﾞ", "ガギ"),
    ("안녕하세요", "녕"),
    ("한국어를 배워요", "한국어"),
    ("สวัสดีครับ", "ดี"),
    ("see db.json today", "db.json"),
    ("I write C++ code", "C++"),
    ("foo_bar", "o_b"),
    ("my t-shirt", "t-shirt"),
    ("ask QA now", "qa"),
    ("(Go)", "go"),
    ("the PR.", "PR"),
    ("well done 👍🏽!", "👍"),
    ("مرحبا بالعالم", "بالعالم"),
    ("שלום עולם", "עולם"),
    ("नमस्ते दुनिया", "दुनिया"),
    ("ﬁnd the ﬂoor", "find"),
    ("ＡＢＣ", "abc"),
    ("x² + 1", "x2"),
    ("two  words", "two  words"),
]
NOT_FOUND = [
    ("aqua", "qa"),
    ("qa_team", "qa"),
    ("going", "go"),
    ("gо", "go"),  # Cyrillic о
    ("two words", "two  words"),
    ("db-json", "db.json"),
    ("上 海", "上海"),
    ("कि", "की"),  # marks of Devanagari are letters to who reads it
    ("café", "cafés"),
]
SCRIPTS = (
    "Hello World Straße ﬁsh İıIi ΑΘΉΝΑ ςσΣ ἄνθρωπος Привет "
    "Ёлка йод Հայերեն ქართული ᏣᎳᎩ العربية مُحَمَّد עברית שָׁלוֹם "
    "नमस्ते हिन्दी বাংলা தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ไทยภาษา ລາວ မြန်မာ "
    "ខ្មែរ བོད་ 上海東京 漢字かな カタカナ ｶﾞ 한국어 각 አማርኛ "
    "👍🏽👩‍👩‍👧 ☃ C++ db.json foo_bar t-shirt 12 ½ ² "
    "\u200d \u00ad _ - \" ' e\u0301 a\u0308\u0323 \u1100\u1161\u11a8"
)
texts = st.text(st.sampled_from(sorted(set(SCRIPTS))), max_size=40)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize(("text", "term"), FOUND)
def test_f1_a_text_that_holds_a_term_is_found(text: str, term: str) -> None:
    assert holds(normal(text), normal(term))
    assert set(asked(normal(term))) <= grams(normal(text))


@pytest.mark.parametrize(("text", "term"), NOT_FOUND)
def test_f1_a_text_that_does_not_hold_it_is_not(text: str, term: str) -> None:
    assert not holds(normal(text), normal(term))


@given(st.one_of(texts, anything))
def test_the_grams_of_a_text_are_those_of_its_words(text: str) -> None:
    """By which words are cut up that were said before: no gram holds white space."""
    form = normal(text)
    assert grams(form) == {gram for word in form.split() for gram in grams(word)}


def by_the_book(text: str) -> str:
    """N(x), step by step as the specification has it."""
    text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    kept, base = "", ""
    for one in text:
        if unicodedata.category(one)[0] == "M":
            if unicodedata.category(base or " ")[0] == "L" and unicodedata.name(base, "").split(" ")[0] in (
                "LATIN",
                "GREEK",
                "CYRILLIC",
            ):
                continue
        else:
            base = one
        kept += one
    return unicodedata.normalize("NFC", kept)


@given(st.one_of(texts, anything))
def test_f1_n_is_what_the_specification_says(text: str) -> None:
    assert normal(text) == by_the_book(text)


def brute_force(text: str, term: str) -> bool:
    """Look at every position; of short words, at both neighbours."""

    def is_letter(one: str) -> bool:
        from teamchat_search.normal import is_unspaced

        return unicodedata.category(one)[0] in "LN" and not is_unspaced(one)

    short = len(term) <= 2 and all(map(is_letter, term))
    for at in range(len(text) - len(term) + 1):
        if text[at : at + len(term)] == term:
            around = text[max(0, at - 1) : at] + text[at + len(term) : at + len(term) + 1]
            if not short or not any(is_letter(one) or one == "_" for one in around):
                return True
    return False


@given(st.one_of(texts, anything), st.data())
def test_f7_the_grams_of_a_term_are_among_those_of_every_text_that_holds_it(
    text: str, data: st.DataObject
) -> None:
    n = normal(text)
    start = data.draw(st.integers(0, len(n)))
    term = n[start : start + data.draw(st.integers(1, 12))]
    if term.strip():
        assert holds(n, term) == brute_force(n, term)
        if holds(n, term):
            assert set(asked(term)) <= grams(n)


@given(st.one_of(texts, anything))
@example("İ ß ﬁ ½")
@example("\u1100\u1161\u11a8x")
def test_f1_every_character_of_n_has_its_place_in_the_text(text: str) -> None:
    form = mapped(text)
    assert form.text == normal(text)
    assert len(form.starts) == len(form.ends) == len(form.text)
    assert all(0 <= start < end <= len(text) for start, end in zip(form.starts, form.ends, strict=True))
    assert list(form.starts) == sorted(form.starts)


@pytest.mark.parametrize(
    ("content", "term", "highlighted"),
    [
        ("Die Straße hier", "STRASSE", ["Straße"]),
        ("ﬁnd ﬁsh", "fi", []),
        ("ﬁnd ﬁsh", "fin", ["ﬁn"]),
        ("İstanbul ist İ", "istanbul", ["İstanbul"]),
        ("e\u0301tude étude", "etude", ["e\u0301tude", "étude"]),
        ("上海海上", "海", ["海海"]),
        ("aaaa", "aaa", ["aaa"]),
        ("ok 👍🏽 ok", "👍", ["👍"]),
        ("nothing", "else", []),
    ],
)
def test_highlights_are_of_the_text_itself(content: str, term: str, highlighted: list[str]) -> None:
    places = Terms((normal(term),)).places({"content": content})
    joined = [content[one.offset : one.offset + one.length] for one in places]
    if term == "海":
        joined = ["".join(joined)]
    assert joined == highlighted


def test_f4_a_whole_word_counts_more_than_a_beginning_and_that_more_than_the_inside() -> None:
    def score(text: str, *terms: str) -> int:
        return Terms(tuple(map(normal, terms))).score([normal(text)])

    assert [score(text, "data") for text in ("data", "database", "metadata", "metadata data")] == [4, 2, 1, 4]
    assert score("my data base", "data", "base") == 8
    assert score("去上海玩", "上海") == 1
    assert score("C++ rocks", "c++") == 4


def test_f2_the_grammar() -> None:
    def words(query: str) -> list[tuple[str | None, str, bool]]:
        return [(item.name, item.text, item.is_excluded) for item in parsed(query)]

    assert words('one  "two words" -three') == [
        (None, "one", False),
        (None, "two words", False),
        (None, "three", True),
    ]
    assert words('-"a b" -from:me') == [(None, "a b", True), ("from", "me", True)]
    assert words('in:"#two words" x') == [("in", "#two words", False), (None, "x", False)]
    assert words('FROM:me "open to the end') == [("from", "me", False), (None, "open to the end", False)]
    assert words("https://x t-shirt a-b - -") == [
        (None, "https://x", False),
        (None, "t-shirt", False),
        (None, "a-b", False),
        (None, "-", False),
        (None, "-", False),
    ]
    assert words("from: x:y") == [(None, "from:", False), (None, "x:y", False)]
    assert words('"" "  "   ') == []
    assert words('say"hi') == [(None, 'say"hi', False)]
    assert parsed("-in:#x y")[0].as_term == Item("in:#x", True, None, "in:#x")


@given(st.one_of(texts, anything, st.text('ab:"- from in', max_size=30)))
def test_f2_every_query_is_read_and_nothing_of_it_is_lost(query: str) -> None:
    items = parsed(query)
    assert all(item.text.strip() for item in items)
    assert bool(items) == bool(query.replace('"', "").strip()) or '"' in query
