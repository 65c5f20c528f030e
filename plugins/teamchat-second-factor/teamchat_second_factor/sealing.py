"""How secrets are kept: encrypted with a key that is made from the server's signing secret (AES-256-GCM).

Who has the database alone can make no codes of it.  With another signing secret they can't be opened: no code
of an app is right then, and recovery codes, which hang on no key, still are.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12


class Sealer:
    """Seals and opens secrets. `key` has 32 bytes; `about` says whose a secret is, and is kept beside it."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @cached_property
    def _cipher(self) -> AESGCM:
        # Loaded when somebody uses a second factor: most servers have no need of its 8 MiB.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key)

    def seal(self, secret: bytes, about: str) -> str:
        """Return what is kept of a secret."""
        nonce = os.urandom(_NONCE_BYTES)
        return b64encode(nonce + self._cipher.encrypt(nonce, secret, about.encode())).decode()

    def open(self, sealed: str, about: str) -> bytes | None:
        """Return the secret; None for one of another key or somebody else's."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = b64decode(sealed, validate=True)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError):
            return None
