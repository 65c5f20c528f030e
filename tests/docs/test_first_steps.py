"""The first steps: what the README and the first tutorial say to type, and what they say comes then."""

from __future__ import annotations

import re

import pytest

from tests.docs.machine import Machine, like
from tests.docs.pages import blocks
from tests.docs.recipes import recipe

[RUN] = blocks("tutorials/first-server.md", "console")
[SAID] = blocks("tutorials/first-server.md", "text")
[MAKE] = blocks("../README.md", "console")
[SAID_IN_README] = blocks("../README.md", "")


def typed(block: str) -> list[str]:
    """Return what stands behind the prompts, without the comments."""
    return re.findall(r"^\$ (.*?)(?: +#.*)?$", block, re.MULTILINE)


@pytest.mark.slow
def test_the_first_start_says_what_the_pages_show(machine: Machine) -> None:
    run, test = typed(MAKE)
    assert typed(RUN) == [run]
    assert any("-m pytest" in command for command in recipe(test))
    machine.install(".venv/bin")
    machine.environment = {}
    with machine.serves(recipe(run)[-1]) as server:
        assert server.end() == 0
    assert SAID == SAID_IN_README
    first, ready = server.said.splitlines()
    shown_first, shown_ready = SAID.splitlines()
    before, after = shown_first.split("…")
    assert re.fullmatch(re.escape(before) + r"\S+" + re.escape(after), first)
    assert like(shown_ready).fullmatch(ready)
