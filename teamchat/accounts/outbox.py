"""The mails that wait to be sent, each beside the link it carries, in the transaction that caused it."""

from __future__ import annotations

from collections.abc import Callable

from teamchat.interfaces import Storage, Transaction


class Outbox:
    """The table ``mails``."""

    def __init__(self, storage: Storage, clock: Callable[[], int]) -> None:
        self._storage = storage
        self._clock = clock

    async def put_in(self, tx: Transaction, link_id: str, *, is_decoy: bool = False) -> None:
        """Queue the mail of a link, in a transaction that is open. A decoy is dropped instead of sent."""
        await tx.fetch(
            "insert into mails (link_id, is_decoy, due_at) values ($1, $2, $3)",
            link_id,
            int(is_decoy),
            self._clock(),
        )

    def announce(self) -> None:
        """Wake the sender: to be called once the transaction has committed."""
