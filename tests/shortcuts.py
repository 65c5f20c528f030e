"""What every server of the tests does alike, done once or done cheaply: four fifths of a start.

Passwords are hashed with scrypt at the least cost; a test about the cost itself asks for `real_hashes`. The
files of the web client are made ready for sending once for all servers that are forks of one process. What
makes addresses out of rules is compiled when an address is wanted: hardly ever. The authorities that vouch
for servers are read once for all HTTP clients of a process: else each would take 35 ms.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from httpx2._transports import default as transports
from teamchat_web import site
from werkzeug.routing import Rule

from teamchat.accounts import scrypt

REAL_COST = scrypt.COST
LEAST_COST = scrypt.Cost(1, 1, 1)


def take() -> None:
    """Take them in this process, and in those that it forks."""
    scrypt.COST = LEAST_COST
    site._slim = cache(site._slim)
    Rule._compile_builder = _when_wanted(Rule._compile_builder)
    transports.create_ssl_context = _read_once(transports.create_ssl_context)


def _read_once(create: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    @cache
    def usual(trust_env: bool, *_where: str | None) -> ssl.SSLContext:
        return create(trust_env=trust_env)

    def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert:
            return create(verify, cert, trust_env)
        return usual(trust_env, *map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))

    return context


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
