"""Who is asking: the bearer token, the caller it stands for, and the client's address.

A token is read only from the Authorization header. The address is the peer's, unless the peer is a proxy in
``server.trustedProxies``: then X-Forwarded-For is read from the right, past further trusted proxies, and
whatever is left of the first untrusted address is the client's own claim and ignored (decision D-19).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from teamchat.accounts.acting import acting_for
from teamchat.accounts.attempts import network_of
from teamchat.accounts.audit import asked_by
from teamchat.accounts.scopes import SESSION_ALONE, check_within_places
from teamchat.errors import Unauthorized
from teamchat.web.budget import USER, Owner
from teamchat.web.limits import RequestLimit, Windows

if TYPE_CHECKING:
    from teamchat.accounts import Accounts
    from teamchat.application import Application
    from teamchat.interfaces import Storage
    from teamchat.model import Caller
    from teamchat.settings import Settings

# In any case is its first word alone: to look at a whole token so takes four microseconds more.
_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9\-._~+/]+=*) *\Z")
BOT_CHANGES_A_SECOND = 10
"""How many requests of a bot's that change something a process takes in a second (extension K, traps)."""
_MOST_USER_AGENT = 512

Address = IPv4Address | IPv6Address


class HasHeaders(Protocol):
    """A request of any framework: its headers are asked with ``getlist(name)``."""

    headers: Any


class Visitor(Struct, frozen=True):
    """Where a request comes from. `ip` is the client's address, `user_agent` what it says of itself."""

    ip: str
    user_agent: str


class Guard:
    """Tells who is asking, and limits how often one address may (``server.rateLimit``)."""

    def __init__(self, settings: Settings, accounts: Accounts, storage: Storage) -> None:
        self._accounts = accounts
        self._proxies = [ip_network(text, strict=False) for text in settings.server.trusted_proxies]
        self.bot_changes = Windows(BOT_CHANGES_A_SECOND, 1.0)
        limit = settings.server.rate_limit
        self._limit = RequestLimit(storage, limit) if limit is not None else None

    async def caller(
        self,
        headers: Any,
        *,
        before_password_change: bool = False,
        scopes: Collection[str] = SESSION_ALONE,
    ) -> Caller:
        """Return the caller a request's access token stands for, or raise `Unauthorized`.

        `before_password_change` and `scopes` are as in `Accounts.authenticate`.
        """
        token = bearer(headers)
        if token is None:
            raise Unauthorized
        return await self._accounts.authenticate(
            token, before_password_change=before_password_change, scopes=scopes
        )

    def admit_token(self, caller: Caller, scope: Any, *, within_places: bool) -> None:
        """Note the use of a token; `within_places` is of the endpoint.

        Raises `Forbidden` for one that is limited to places where the endpoint is not about these alone, and
        `TooManyRequests` for a bot that changes something too often.
        """
        if not within_places:
            check_within_places(caller)
        if caller.is_bot and scope["method"] not in {"GET", "HEAD"}:
            self.bot_changes.count(caller.user.id)
        self._accounts.used(caller, self.client_address(scope))

    async def ask_again(self, caller: Caller) -> Caller:
        """Return a caller as they are now (decision D-39). Raises `Unauthorized`, `Forbidden`."""
        return await self._accounts.ask_again(caller)

    def visitor(self, scope: Any) -> Visitor:
        """Return where the request comes from."""
        return Visitor(self.client_address(scope), _user_agent(scope))

    def client_address(self, scope: Any) -> str:
        """Return the client's address."""
        peer = (scope.get("client") or ("local",))[0]
        address = _address(peer)
        if not self._proxies or address is None or not self._trusts(address):
            return str(address or peer)
        for hop in _forwarded(scope):
            earlier = _address(hop)
            if earlier is None:
                break
            address = earlier
            if not self._trusts(address):
                break
        return str(address)

    def owner(self, scope: Any) -> Owner:
        """Return who has a share in what a request takes: its caller, and the network of its client.

        This machine and trusted proxies speak for many, and have one only for those whom nobody knows.
        """
        user, client = scope.get(USER), self.client_address(scope)
        address = _address(client)
        if user is not None and (address is None or address.is_loopback or self._trusts(address)):
            return Owner(user, None)
        return Owner(user, network_of(client))

    def is_proxy(self, scope: Any) -> bool:
        """Whether the request comes straight from a trusted proxy."""
        address = _address((scope.get("client") or ("",))[0])
        return address is not None and self._trusts(address)

    async def admit(self, scope: Any) -> None:
        """Count the request; raise `TooManyRequests` if its address has sent too many (decision D-18)."""
        if self._limit is not None:
            await self._limit.count(network_of(self.client_address(scope)))

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._proxies)


@asynccontextmanager
async def signed_in(
    app: Application, request: HasHeaders, scopes: Collection[str] = SESSION_ALONE
) -> AsyncIterator[Caller]:
    """Act for the caller of a request within the context, in a plain Quart view; endpoints do it themselves.

    Enter it when the body has been read: it tells who asks, as they are at that moment, and what is written
    in it asks for them again (decision D-39).  `scopes` are those of which a token needs one that is no
    session's (extension K-1): without any none is taken.  Raises `Unauthorized`, also if their session has
    ended since, and `Forbidden` if they are an admin no longer.
    """
    token = bearer(request.headers)
    if token is None:
        raise Unauthorized
    caller = await app.accounts.authenticate(token, scopes=scopes)
    check_within_places(caller)
    with acting_for(caller), asked_by(caller.user.id):
        yield caller


def bearer(headers: Any) -> str | None:
    """Return the token of ``Authorization: Bearer …``; None if there is none, or more than one."""
    values = headers.getlist("Authorization")
    match = _BEARER.match(values[0]) if len(values) == 1 else None
    return match.group(1) if match else None


def _forwarded(scope: Any) -> Iterator[str]:
    """Yield the hops of X-Forwarded-For, nearest first."""
    values = [value.decode("latin1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    yield from (hop.strip() for hop in reversed(",".join(values).split(",")))


def _address(text: str) -> Address | None:
    """Read an address that may carry a port or brackets."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _user_agent(scope: Any) -> str:
    for name, value in scope["headers"]:
        if name == b"user-agent":
            text = value.decode("latin1")[:_MOST_USER_AGENT]
            return "".join(c for c in text if c.isprintable())
    return ""
