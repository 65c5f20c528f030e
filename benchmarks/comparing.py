"""Whether two kinds of requests can be told apart by how long their answers take.

They are sent in random order, one at a time.  "sooner" is how often one of the first kind was answered
sooner than one of the second: 0.5 if the time tells nothing.  "p" is how likely a share as far from 0.5 is
where there is no difference (Mann-Whitney, two-sided): a thousand samples show what a patient stranger could
see.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Collection, Sequence
from http.client import HTTPConnection
from typing import Any, TypeVar

from benchmarks.report import Row, middle, ms

T = TypeVar("T")
_SEED = 16
_WARM_UP = 20


def sampled(samples: int, ask: Callable[[bool, random.Random], T]) -> dict[bool, list[T]]:
    """Return what `ask` gives for either kind so many times; the first few of each are left out."""
    chance = random.Random(_SEED)  # an order, no secret
    warm_up = min(_WARM_UP, samples)
    order = [True, False] * (samples + warm_up)
    chance.shuffle(order)
    found: dict[bool, list[T]] = {True: [], False: []}
    for number, kind in enumerate(order):
        one = ask(kind, chance)
        if number >= 2 * warm_up:
            found[kind].append(one)
    return found


def compared(first: str, ones: Sequence[float], second: str, others: Sequence[float]) -> Row:
    """Return the row that says whether the seconds of two kinds of requests differ."""
    share, p = mann_whitney(ones, others)
    return {
        f"{first} ms": ms(middle(ones)),
        f"{second} ms": ms(middle(others)),
        f"{first} sooner": round(share, 3),
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


def timed(
    connection: HTTPConnection,
    method: str,
    path: str,
    body: Any = None,
    token: str = "",
    *,
    expected: Collection[int] = (200,),
) -> tuple[float, bytes]:
    """Return how many seconds an answer took, and its body. Raises `RuntimeError` for another status."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    payload = None if body is None else json.dumps(body)
    began = time.perf_counter()
    connection.request(method, path, payload, headers)
    answer = connection.getresponse()
    data = answer.read()
    seconds = time.perf_counter() - began
    if answer.status not in expected:
        raise RuntimeError(f"{method} {path} answered {answer.status}: {data[:200]!r}")
    return seconds, data
