"""Sign-ins under way: each is one random state, good once, for ten minutes (decision D-20).

Only hashes are kept, of the state and of the browser's cookie; whatever comes with a
state spends it; and a state works for the provider, the client address and the browser it was made for.
The PKCE verifier and the nonce are not kept: they are worked out from the state and a key of the server's.
"""

from __future__ import annotations

import re
import secrets
from typing import NamedTuple

from teamchat import Transaction
from teamchat.accounts import keys

LIFETIME_MS = 600_000
_TOKEN_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}\Z")


class Party(NamedTuple):
    """Who signs in where: the provider's id, the client's address, the browser's cookie."""

    provider: str
    ip: str
    browser: str


class Proofs(NamedTuple):
    """What ties a provider's answers to one sign-in: the PKCE verifier (RFC 7636) and the nonce."""

    verifier: str
    nonce: str


def proofs(key: bytes, state: str) -> Proofs:
    """Return the proofs that belong to a state; nobody without the key can work them out."""
    return Proofs(keys.token(key, f"pkce:{state}"), keys.token(key, f"nonce:{state}"))


def new_token() -> str:
    """Return 32 random bytes, written as 43 URL-safe characters."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def is_token(text: str | None) -> bool:
    """Return whether `new_token` could have made this."""
    return text is not None and _TOKEN.match(text) is not None


async def begin_in(tx: Transaction, party: Party, now: int) -> str:
    """Return a new state for a sign-in, and remove those whose time is over."""
    await sweep_in(tx, now)
    state = new_token()
    await tx.fetch(
        """insert into oauth_states (state_hash, provider, network, browser_hash, created_at)
           values ($1, $2, $3, $4, $5)""",
        keys.digest(state),
        party.provider,
        party.ip,
        keys.digest(party.browser),
        now,
    )
    return state


async def spend_in(tx: Transaction, state: str, party: Party, now: int) -> bool:
    """Spend a state, and tell whether it was good for this party, now."""
    rows = await tx.fetch(
        """delete from oauth_states where state_hash = $1
           returning provider, network, browser_hash, created_at""",
        keys.digest(state),
    )
    if not rows:
        return False
    provider, ip, browser_hash, created_at = rows[0]
    made_for = (provider, ip, browser_hash) == (party.provider, party.ip, keys.digest(party.browser))
    return made_for and now < created_at + LIFETIME_MS


async def sweep_in(tx: Transaction, now: int) -> None:
    """Remove the states whose time is over."""
    await tx.fetch("delete from oauth_states where created_at <= $1", now - LIFETIME_MS)


async def forget_in(tx: Transaction) -> None:
    """End every sign-in under way: with another secret its proofs can't be worked out any more."""
    await tx.fetch("delete from oauth_states")
