"""RFC 6238 and RFC 4226, by their own vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_second_factor import totp

SECRET = b"12345678901234567890"
TIMES = st.integers(min_value=300_000, max_value=2**45)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_rfc_6238_appendix_b(seconds: int, code: str) -> None:
    assert totp.code_at(SECRET, totp.step_at(seconds * 1000)) == code


@pytest.mark.parametrize(
    ("counter", "code"),
    list(
        enumerate(
            [
                "755224",
                "287082",
                "359152",
                "969429",
                "338314",
                "254676",
                "287922",
                "162583",
                "399871",
                "520489",
            ]
        )
    ),
)
def test_rfc_4226_appendix_d(counter: int, code: str) -> None:
    assert totp.code_at(SECRET, counter) == code


@given(TIMES, st.integers(-3, 3), st.integers(-3, 3))
def test_a_code_is_of_a_step_around_now_that_is_later_than_the_last(now: int, steps: int, last: int) -> None:
    here = totp.step_at(now)
    found = totp.step_of(SECRET, totp.code_at(SECRET, here + steps), now, here + last)
    assert found is None or (abs(found - here) <= totp.AROUND and found > here + last)
    if abs(steps) <= totp.AROUND and steps > last:
        assert found is not None


@given(st.text(max_size=20), TIMES)
def test_whatever_is_typed_is_answered(typed: str, now: int) -> None:
    found = totp.step_of(SECRET, typed, now, 0)
    assert found is None or totp.code_at(SECRET, found) == typed
