"""`teamchat.testing` and its reference page tell of the same names."""

from __future__ import annotations

import re
from pathlib import Path

from teamchat import testing

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "testing.md"


def test_every_public_name_has_its_place_on_the_page_and_no_other_has() -> None:
    assert set(re.findall(r"^### `(\w+)", PAGE.read_text(), re.MULTILINE)) == set(testing.__all__)


def test_nothing_is_told_by_the_number_of_a_decision_which_readers_do_not_have() -> None:
    assert not re.findall(r"\bD-\d+", PAGE.read_text())


def test_every_public_name_says_what_it_is_for() -> None:
    entries = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert not [entry for entry in entries if len(entry.split("\n\n")[1].split()) < 5]
