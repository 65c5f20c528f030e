"""How passwords are hashed: scrypt, with its parameters in every hash (interface, part 5 rule 3; D-17).

A hash takes 16 MiB and some 130 ms of a core, so it runs in threads of its own, a few at once, behind a
bounded queue; if the queue is full, the request is refused at once. Checking a password costs the same
whether or not there is a hash to check it against.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import trio

from teamchat.errors import BadRequest, TooManyRequests
from teamchat.observability import metrics

MIN_PASSWORD = 8
MAX_PASSWORD = 1024
SALT_BYTES = 16
KEY_BYTES = 64
MAX_WAITING = 50

_T = TypeVar("_T")

# The PHC string format: $scrypt$ln=14,r=8,p=5$<salt>$<key>, base64 without padding.
_FORMAT = re.compile(r"\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)\Z")


class Cost(NamedTuple):
    """The parameters of scrypt; `log_n` is the logarithm of N to the base 2."""

    log_n: int
    r: int
    p: int


COST = Cost(14, 8, 5)
"""What new hashes are made with."""


class PasswordHash(NamedTuple):
    """A derived key with all that is needed to derive it again."""

    log_n: int
    r: int
    p: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        salt, key = _base64(self.salt), _base64(self.key)
        return f"$scrypt$ln={self.log_n},r={self.r},p={self.p}${salt}${key}"

    @classmethod
    def parse(cls, stored: str) -> PasswordHash:
        """Read a stored hash. Raises `ValueError` if it is none."""
        match = _FORMAT.match(stored)
        if match is None:
            raise ValueError("not a scrypt hash")
        log_n, r, p, salt, key = match.groups()
        return cls(int(log_n), int(r), int(p), _unbase64(salt), _unbase64(key))

    @classmethod
    def make(cls, password: str) -> PasswordHash:
        """Hash a password with the parameters of today and a new salt."""
        blank = cls(*COST, secrets.token_bytes(SALT_BYTES), bytes(KEY_BYTES))
        return blank._replace(key=blank.derive(password))

    @classmethod
    def of_nobody(cls) -> PasswordHash:
        """Return a hash that no password matches and that costs as much to check as any."""
        return cls(*COST, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(KEY_BYTES))

    def derive(self, password: str) -> bytes:
        """Derive the key of `password`, normalised NFKC."""
        return hashlib.scrypt(
            _normalised(password).encode("utf-8", "surrogatepass"),
            salt=self.salt,
            n=2**self.log_n,
            r=self.r,
            p=self.p,
            maxmem=2 * 128 * 2**self.log_n * self.r + 128 * self.r * self.p,
            dklen=len(self.key),
        )

    def matches(self, password: str) -> bool:
        """Tell, in time that does not depend on the answer, whether this is the hash of `password`."""
        return hmac.compare_digest(self.derive(password), self.key)


class Hasher:
    """Runs scrypt in threads: half the cores at once, `MAX_WAITING` callers waiting, no more."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._limiter = trio.CapacityLimiter(max(2, (os.cpu_count() or 2) // 2))
        self._max_waiting = max_waiting
        self._nobody = nobodys_hash()

    async def hash(self, password: str) -> str:
        """Return the hash to store. Raises `BadRequest` if `password` can't be a password (D-17)."""
        check_password(password)
        self._refuse_overflow()
        return str(await self._in_thread(PasswordHash.make, password))

    async def matches(self, stored: str | None, password: str) -> bool:
        """Return whether `password` is the stored one; None stands for no account or no password."""
        self._refuse_overflow()
        # Normalising takes quadratic time in the worst case, so nothing longer than a password reaches it.
        if len(password) > MAX_PASSWORD:
            stored, password = None, ""
        against = PasswordHash.parse(self._nobody if stored is None else stored)
        matched = await self._in_thread(against.matches, password)
        return matched and stored is not None

    async def _in_thread(self, work: Callable[[str], _T], password: str) -> _T:
        metrics.passwords_waiting.value += 1
        try:
            return await trio.to_thread.run_sync(work, password, limiter=self._limiter)
        finally:
            metrics.passwords_waiting.value -= 1

    def _refuse_overflow(self) -> None:
        if self._limiter.statistics().tasks_waiting >= self._max_waiting:
            raise TooManyRequests(retry_after=1)


def check_password(password: str, field: str = "password") -> None:
    """Raise `BadRequest` unless this may be a password: 8 to 1,024 characters of Unicode (D-17)."""
    if len(password) < MIN_PASSWORD:
        raise BadRequest(f"{field} is shorter than {MIN_PASSWORD} characters.")
    if len(password) > MAX_PASSWORD:
        raise BadRequest(f"{field} is longer than {MAX_PASSWORD} characters.")
    if any("\ud800" <= character <= "\udfff" for character in password):
        raise BadRequest(f"{field} holds a lone surrogate.")


def nobodys_hash() -> str:
    """Return a hash to store that no password matches."""
    return str(PasswordHash.of_nobody())


def is_same(one: str, other: str) -> bool:
    """Return whether two ways to write a password are one (D-17); `other` has passed `check_password`."""
    # Normalising takes quadratic time in the worst case.
    return len(one) <= MAX_PASSWORD and _normalised(one) == _normalised(other)


def _normalised(password: str) -> str:
    return unicodedata.normalize("NFKC", password)


def _base64(raw: bytes) -> str:
    return b64encode(raw).rstrip(b"=").decode()


def _unbase64(encoded: str) -> bytes:
    return b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
