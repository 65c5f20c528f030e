"""Signing in with a link that comes by mail (interface, part 5 rules 2 and 10; decisions D-15, D-16, D-18).

A request answers, costs and writes the same whether or not the email has an account,
and the mail goes to the account's own spelling of the email, never to one that is merely equal without
regard to case.  Where invites are not required the account is made when the link comes back, not before.
"""

from __future__ import annotations

from typing import Final

from teamchat.accounts import (
    Accounts,
    account_by_email,
    attempt,
    network_requester,
    unusable,
    user_by_email,
)
from teamchat.model import SignedIn, text
from teamchat.observability.logs import get_logger

WAY: Final = "magic-link"

_log = get_logger(__name__)


class MagicLinks:
    """Asking for a link, and coming back with it."""

    def __init__(self, accounts: Accounts) -> None:
        self._storage = accounts.storage
        self._users = accounts.users
        self._proofs = accounts.proofs
        self._limits = accounts.limits
        self._mail_limits = accounts.mail_limits
        self._links = accounts.links
        self._is_invite_required = accounts.settings.is_invite_required

    async def request(self, email: str, ip: str) -> None:
        """Queue a sign-in link for whoever may sign in with `email`; nobody is told whether that is so.

        Raises `BadRequest` for what can't be an email, `TooManyRequests` for an address that asks too often.
        """
        text.email(email)
        async with self._storage.write() as tx:
            if await self._mail_limits.admit_in(tx, email, ip):
                account = await account_by_email(tx, email)
                is_decoy = account.is_deactivated if account else self._is_invite_required
                to = account.user.email if account and not is_decoy else email
                await self._links.issue_in(
                    tx, "magic", to, requester=network_requester(ip), is_decoy=is_decoy
                )
        self._links.announce()

    async def verify(
        self, email: str, token: str, ip: str, user_agent: str, code: str | None = None
    ) -> SignedIn:
        """Spend a link's token and sign in, as a new user if need be and allowed.

        Raises `BadRequest` for a token that does not work, `SecondFactorNeeded` for who has a second factor,
        which leaves the token good, `TooManyRequests` beyond the limits.
        """
        tried = attempt(email, ip, WAY)
        async with self._limits.guarding(tried):
            await self._links.check(["magic"], email, token)
            async with self._storage.read() as tx:
                known = await user_by_email(tx, email)
            passed = await self._proofs.verify(tried, known.id if known else None, code)
            async with self._storage.write() as tx:
                await self._limits.succeed_in(tx, tried)
                link = await self._links.spend_in(tx, ["magic"], email, token)
                user = await self._users.find_or_create_in(tx, link.email)
                if not text.is_same_mailbox(user.email, link.email):  # They came after the mail was sent.
                    raise unusable()
                signed_in = await self._proofs.sign_in_in(tx, user.id, ip, user_agent, passed=passed)
        _log.info("signed in", user=user.id, way=WAY, ip=ip)
        return signed_in
