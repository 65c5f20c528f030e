"""Whether the time of an answer tells which emails have an account (decision D-16).

Known and unknown emails are asked for on one connection, by who wants to know; `benchmarks.comparing` says
how to read the table.  "after it" is the next request, which would be slower if work were left over for one
of them.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.comparing import compared, sampled, timed
from benchmarks.report import Report
from benchmarks.server import EMAIL, running
from benchmarks.sizes import Sizes

_PASSWORD = "a password of the benchmark"
_MOST_PEOPLE = 20
_ENDLESS = {"attempts": 1_000_000, "windowSeconds": 900}

Body = Callable[[str], dict[str, str]]


def run(sizes: Sizes) -> Report:
    """Ask every endpoint that takes an email, in each mode."""
    report = Report(f"Enumeration: {sizes.samples} samples of each kind")
    with tempfile.TemporaryDirectory() as directory:
        _password_mode(report, Path(directory), sizes)
    with tempfile.TemporaryDirectory() as directory:
        _magic_links(report, Path(directory), sizes)
    return report


def _password_mode(report: Report, directory: Path, sizes: Sizes) -> None:
    sections: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "password", "rateLimit": _ENDLESS},
        "email": {"backend": "files"},
        "chat": {"initialUser": {"email": EMAIL, "password": _PASSWORD}},
    }
    with _talking(directory, sections) as connection:
        _, told = _ask(connection, "/auth/password-login", {"email": EMAIL, "password": _PASSWORD})
        with_password = _add(connection, told["accessToken"], "with", sizes, {"password": _PASSWORD})
        without = _add(connection, told["accessToken"], "without", sizes, {})
        unknown = _emails("unknown", sizes)
        wrong: Body = lambda email: {"email": email, "password": "a wrong password"}  # noqa: E731
        for name, known in (("with a password", with_password), ("without one", without)):
            label = f"password-login, {name}"
            _compare(report, label, connection, "/auth/password-login", wrong, known, unknown, sizes)
        _compare(
            report, "request-password-reset", connection, "/auth/request-password-reset", _email_alone,
            with_password, unknown, sizes,
        )  # fmt: skip


def _magic_links(report: Report, directory: Path, sizes: Sizes) -> None:
    sections: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev"},
        "email": {"backend": "files"},
        "chat": {"initialUser": {"email": EMAIL}},
    }
    with _talking(directory, sections) as connection:
        token = _ask(connection, "/auth/dev-login", {"email": EMAIL})[1]["token"]
        known = _add(connection, token, "known", sizes, {})
    sections["auth"] = {"authMode": "magic-link", "rateLimit": _ENDLESS}
    with _talking(directory, sections) as connection:
        unknown = _emails("unknown", sizes)
        _compare(report, "login (magic link)", connection, "/auth/login", _email_alone, known, unknown, sizes)


@contextmanager
def _talking(directory: Path, sections: dict[str, dict[str, Any]]) -> Iterator[HTTPConnection]:
    with (
        running(directory, sections=sections) as server,
        closing(HTTPConnection("127.0.0.1", server.port)) as connection,
    ):
        yield connection


def _compare(
    report: Report,
    name: str,
    connection: HTTPConnection,
    path: str,
    body: Body,
    known: Sequence[str],
    unknown: Sequence[str],
    sizes: Sizes,
) -> None:
    def ask(is_known: bool, chance: random.Random) -> tuple[float, float]:
        email = chance.choice(known if is_known else unknown)
        seconds, _ = _ask(connection, path, body(email))
        next_seconds, _ = _ask(connection, "/health", None)
        return seconds, next_seconds

    took = sampled(sizes.samples, ask)
    for label, number in ((name, 0), (f"{name}, after it", 1)):
        ones, others = ([one[number] for one in took[is_known]] for is_known in (True, False))
        report.rows[label] = compared("known", ones, "unknown", others)


def _ask(connection: HTTPConnection, path: str, body: Any, token: str = "") -> tuple[float, Any]:
    """Return how many seconds an answer took, and its JSON."""
    method = "GET" if body is None else "POST"
    seconds, data = timed(connection, method, path, body, token, expected={200, 401})
    return seconds, None if body is None else json.loads(data)


def _add(
    connection: HTTPConnection, token: str, kind: str, sizes: Sizes, more: dict[str, str]
) -> Sequence[str]:
    emails = _emails(kind, sizes)
    for email in emails:
        _ask(connection, "/users/add", {"email": email} | more, token)
    return emails


def _emails(kind: str, sizes: Sizes) -> Sequence[str]:
    # As long as each other: a longer one takes longer to read.
    people = min(_MOST_PEOPLE, sizes.samples)
    return [f"{kind:x<8}{number:03}@example.org" for number in range(people)]


def _email_alone(email: str) -> dict[str, str]:
    return {"email": email}
