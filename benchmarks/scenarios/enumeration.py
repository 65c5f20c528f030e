"""Whether the time of an answer tells which emails have an account (decision D-16).

Known and unknown emails are asked for in random order on one connection, one at a time, by who wants to know.
"known sooner" is how often an answer for a known email came sooner than one for an unknown email: 0.5 if the
time tells nothing.  "p" is how likely a share as far from 0.5 is where there is no difference (Mann-Whitney,
two-sided): a thousand samples show what a patient stranger could see.  "after it" is the next request, which
would be slower if work were left over for one of them.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Row, middle, ms
from benchmarks.server import EMAIL, running
from benchmarks.sizes import Sizes

_PASSWORD = "a password of the benchmark"
_MOST_PEOPLE = 20
_SEED = 16
_ENDLESS = {"attempts": 1_000_000, "windowSeconds": 900}
_WARM_UP = 20

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
    chance = random.Random(_SEED)  # an order, no secret
    warm_up = min(_WARM_UP, sizes.samples)
    order = [True, False] * (sizes.samples + warm_up)
    chance.shuffle(order)
    took: dict[bool, list[float]] = {True: [], False: []}
    after: dict[bool, list[float]] = {True: [], False: []}
    for number, is_known in enumerate(order):
        email = chance.choice(known if is_known else unknown)
        seconds, _ = _ask(connection, path, body(email))
        next_seconds, _ = _ask(connection, "/health", None)
        if number >= 2 * warm_up:
            took[is_known].append(seconds)
            after[is_known].append(next_seconds)
    report.rows[name] = _row(took)
    report.rows[f"{name}, after it"] = _row(after)


def _row(took: dict[bool, list[float]]) -> Row:
    share, p = mann_whitney(took[True], took[False])
    return {
        "known ms": ms(middle(took[True])),
        "unknown ms": ms(middle(took[False])),
        "known sooner": round(share, 3),
        "p": round(p, 4),
    }


def mann_whitney(ones: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Return how often one of `ones` is less than one of `others`, and the two-sided p of that share.

    A tie counts half.  The p is that of the normal approximation without a correction for ties.
    """
    pairs = len(ones) * len(others)
    ordered = sorted([(value, 0) for value in ones] + [(value, 1) for value in others])
    ranks, at = [0.0, 0.0], 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        for _, side in ordered[at:end]:
            ranks[side] += (at + 1 + end) / 2
        at = end
    greater = ranks[0] - len(ones) * (len(ones) + 1) / 2
    deviation = math.sqrt(pairs * (len(ones) + len(others) + 1) / 12)
    z = (greater - pairs / 2) / deviation
    return 1 - greater / pairs, math.erfc(abs(z) / math.sqrt(2))


def _ask(connection: HTTPConnection, path: str, body: Any, token: str = "") -> tuple[float, Any]:
    """Return how many seconds an answer took, and its JSON."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    payload = None if body is None else json.dumps(body)
    began = time.perf_counter()
    connection.request("GET" if body is None else "POST", path, payload, headers)
    answer = connection.getresponse()
    data = answer.read()
    seconds = time.perf_counter() - began
    if answer.status not in {200, 401}:
        raise RuntimeError(f"{path} answered {answer.status}: {data[:200]!r}")
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
