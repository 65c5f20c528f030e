"""The ids of streams that CONNECTED tells: from an id, each process knows whose session it belongs to.

So a request about a stream can come to any process on the storage, and the id of another session's stream is
answered there like one that never existed (extension I-1).
"""

from __future__ import annotations

import secrets
from hashlib import blake2b
from hmac import compare_digest

_HALF_BYTES = 8


class ConnectionIds:
    """Makes and checks them. `key` is the same in all processes on one storage."""

    def __init__(self, key: bytes) -> None:
        self._key = blake2b(key, digest_size=32, person=b"connection ids").digest()

    def new(self, session_id: str) -> str:
        """Return the id of a new stream of a session: 32 hexadecimal digits."""
        own = secrets.token_hex(_HALF_BYTES)
        return own + self._proof(own, session_id)

    def is_of(self, connection_id: str, session_id: str) -> bool:
        """Tell whether it was made for a stream of this session, open or not."""
        own, proof = connection_id[: 2 * _HALF_BYTES], connection_id[2 * _HALF_BYTES :]
        return compare_digest(proof.encode(), self._proof(own, session_id).encode())

    def _proof(self, own: str, session_id: str) -> str:
        about = f"{own} {session_id}".encode("utf-8", "surrogatepass")
        return blake2b(about, digest_size=_HALF_BYTES, key=self._key).hexdigest()
