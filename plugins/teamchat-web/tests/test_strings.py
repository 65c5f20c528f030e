"""All words of the client stand in its tables, each in every language, and none stands there for nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from teamchat_web import CLIENT

Words = dict[str, str | dict[str, str]]

PAIR = re.compile(r'^\s*"?([\w.-]+)"?: ("(?:[^"\\]|\\.)*"),?$')
OPENING = re.compile(r'^\s*"([\w.-]+)": \{$')
PLACEHOLDER = re.compile(r"\{(\w+)\}")
# What the client builds at run time: `oauth.${reason}` and the like; and what it names as a literal.
BUILT = re.compile(r"`([a-z_]+\.(?:[a-z_]+_)?)\$\{[^}]*\}([a-z_]*)`")
NAMED = re.compile(r'"([a-z_]+\.[\w-]+)"')


def table(language: str) -> Words:
    """Read the tables of a language, which are JavaScript of one shape alone."""
    found: Words = {}
    forms: dict[str, str] | None = None
    folder = CLIENT / "strings"
    both = [(path / f"{language}.js").read_text() for path in (folder, folder / "more")]
    for line in "".join(both).splitlines():
        if opening := OPENING.match(line):
            forms = {}
            found[opening[1]] = forms
        elif pair := PAIR.match(line):
            into: dict[str, str] | Words = found if forms is None else forms
            assert pair[1] not in into, f"{pair[1]} stands twice"
            into[pair[1]] = json.loads(pair[2])  # type: ignore[index]
        elif line.strip() == "},":
            forms = None
        else:
            assert not line or line.startswith(("//", "export default {", "};")), line
    return found


def sources() -> str:
    files = [path for path in sorted(CLIENT.rglob("*.js")) if "strings" not in path.parent.parts]
    return "\n".join(path.read_text() for path in files)


def forms(words: str | dict[str, str]) -> dict[str, str]:
    return {"other": words} if isinstance(words, str) else words


LANGUAGES = sorted(path.stem for path in (CLIENT / "strings").glob("*.js"))
ENGLISH = table("en")


def test_there_are_english_and_german() -> None:
    assert LANGUAGES == ["de", "en"]
    assert len(ENGLISH) > 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_in_the_same_order(language: str) -> None:
    assert list(table(language)) == list(ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_placeholders(language: str) -> None:
    def placeholders(words: str | dict[str, str]) -> dict[str, set[str]]:
        return {form: set(PLACEHOLDER.findall(text)) for form, text in forms(words).items()}

    told = {key: placeholders(words) for key, words in table(language).items()}
    assert told == {key: placeholders(words) for key, words in ENGLISH.items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_depend_on_a_number_have_all_their_forms(language: str) -> None:
    for key, words in table(language).items():
        if not isinstance(words, str):
            assert set(words) == {"one", "other"}, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_words_are_empty_or_hold_markup(language: str) -> None:
    for key, words in table(language).items():
        for text in forms(words).values():
            assert text.strip() == text, key
            assert text, key
            assert not re.search(r"<\w|&\w+;", text), key


def test_german_is_not_english() -> None:
    same = {key for key, words in table("de").items() if words == ENGLISH[key]}
    assert len(same) < len(ENGLISH) / 10, same


def test_every_key_the_client_names_is_there() -> None:
    sections = {key.partition(".")[0] for key in ENGLISH}
    named = {key for key in NAMED.findall(sources()) if key.partition(".")[0] in sections}
    assert {key for key in named if not key.endswith((".js", ".json"))} <= set(ENGLISH)


def test_no_key_stands_unused() -> None:
    text = sources()
    named = set(NAMED.findall(text))
    built = {(before, after) for before, after in BUILT.findall(text)}

    def is_used(key: str) -> bool:
        return key in named or any(key.startswith(one) and key.endswith(end) for one, end in built)

    assert not {key for key in ENGLISH if not is_used(key)}


def test_no_words_stand_in_the_modules() -> None:
    """Visible words go through `t`: no module gives an element a text of several words."""
    for path in sorted((CLIENT / "view").rglob("*.js")):
        code = re.sub(r"(?m)^\s*(//|\*|/\*).*$", "", path.read_text())
        found = re.findall(r'\}, "([A-Z][a-z]+(?: [a-z]+)*)"', code)
        assert not found, (Path(path).name, found)
