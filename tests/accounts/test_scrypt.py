"""How passwords are hashed, and what can be one (decision D-17)."""

from __future__ import annotations

import re

import pytest
import trio

from teamchat.accounts.scrypt import Hasher, PasswordHash, check_password
from teamchat.errors import BadRequest, TooManyRequests

pytestmark = pytest.mark.usefixtures("real_hashes")
PASSWORD = "correct horse battery"


def test_d17_a_hash_keeps_its_parameters_salt_and_key() -> None:
    made = PasswordHash.make(PASSWORD)
    assert (2**made.log_n, made.r, made.p, len(made.salt), len(made.key)) == (16384, 8, 5, 16, 64)
    assert re.fullmatch(r"\$scrypt\$ln=14,r=8,p=5\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{86}", str(made))
    assert PasswordHash.parse(str(made)) == made
    assert made.matches(PASSWORD)
    assert not made.matches(PASSWORD + " ")


def test_d17_a_hash_with_other_parameters_is_checked_with_those() -> None:
    old = PasswordHash(10, 4, 1, b"salt of 16 bytes", bytes(64))
    stored = str(old._replace(key=old.derive(PASSWORD)))
    assert PasswordHash.parse(stored).matches(PASSWORD)


@pytest.mark.parametrize("stored", ["", "x", "$scrypt$ln=14,r=8,p=5$$", "$2b$12$abc"])
def test_what_is_no_hash_is_an_error(stored: str) -> None:
    with pytest.raises(ValueError, match="not a scrypt hash"):
        PasswordHash.parse(stored)


def test_d17_two_ways_to_write_one_password_are_one() -> None:
    assert PasswordHash(4, 1, 1, b"", bytes(64)).derive("ｐässwörd") == PasswordHash(
        4, 1, 1, b"", bytes(64)
    ).derive("pa\u0308sswo\u0308rd")


@pytest.mark.parametrize("password", ["1234567", "", "x" * 1025, "12345678\ud800"])
def test_d17_what_cannot_be_a_password(password: str) -> None:
    with pytest.raises(BadRequest, match="password"):
        check_password(password)


@pytest.mark.parametrize("password", ["12345678", "x" * 1024, "🔑" * 8, "nul \x00 is fine", " " * 8])
def test_d17_what_can_be_a_password(password: str) -> None:
    check_password(password)


async def test_nothing_matches_an_account_without_a_password() -> None:
    hasher = Hasher()
    assert not await hasher.matches(None, "")
    assert not await hasher.matches(await hasher.hash(PASSWORD), "\ud800" * 8)
    assert not await hasher.matches(await hasher.hash(PASSWORD), PASSWORD + "x" * 250_000)


async def test_a_full_queue_of_hashes_refuses_at_once() -> None:
    hasher = Hasher(max_waiting=2)
    outcomes: list[str] = []

    async def check() -> None:
        try:
            await hasher.matches(None, PASSWORD)
        except TooManyRequests:
            outcomes.append("refused")
        else:
            outcomes.append("checked")

    async with trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(check)
    room = int(hasher._limiter.total_tokens) + 2
    assert outcomes.count("checked") == min(room, 40)
    if room < 40:
        assert outcomes[0] == "refused", "who is refused need not wait"


async def test_hashing_leaves_the_event_loop_free() -> None:
    hasher, turns = Hasher(), 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await hasher.hash(PASSWORD)
        nursery.cancel_scope.cancel()
    assert turns > 10
