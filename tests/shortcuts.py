"""What every server of the tests does alike, done once or done cheaply: four fifths of a start.

Passwords are hashed with scrypt at the least cost; a test about the cost itself asks for `real_hashes`. The
files of the web client are made ready for sending once for all servers that are forks of one process. What
makes addresses out of rules is compiled when an address is wanted: hardly ever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from teamchat_web import site
from werkzeug.routing import Rule

from teamchat.accounts import scrypt

REAL_COST = scrypt.COST
LEAST_COST = scrypt.Cost(1, 1, 1)


def take() -> None:
    """Take them in this process, and in those that it forks."""
    scrypt.COST = LEAST_COST
    site._slim = cache(site._slim)
    site._file = cache(site._file)
    Rule._compile_builder = _when_wanted(Rule._compile_builder)


_Build = Callable[..., tuple[str, str]]


def _when_wanted(compile_builder: Callable[[Rule, bool], _Build]) -> Callable[..., _Build]:
    def later(rule: Rule, append_unknown: bool = True) -> _Build:
        @cache
        def build() -> _Build:
            return compile_builder(rule, append_unknown)

        return lambda rule, **values: build()(rule, **values)

    return later


@pytest.fixture
def real_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed in this process as they are outside of the tests."""
    monkeypatch.setattr(scrypt, "COST", REAL_COST)
