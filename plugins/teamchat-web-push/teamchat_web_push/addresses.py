"""Which addresses pushes go to: of no private network, unless the operator has named the host (J-8).

A subscription names an address of somebody else's choice, so the server must not be made to ask things of
its own network.  The connection goes to an address that was checked (`teamchat_web_push.connection`), for a
name may be resolved otherwise a moment later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import SOCK_STREAM, getaddrinfo
from typing import NamedTuple
from urllib.parse import urlsplit

import trio

from teamchat import BadRequest

MOST_ENDPOINT = 2048
_PORTS = {"https": 443, "http": 80}
_NAT64 = IPv6Network("64:ff9b::/96")
# Of protocols alone (RFC 6890), which older Pythons know in part: services of some clouds answer there.
_PROTOCOLS = IPv4Network("192.0.0.0/24")


Origin = tuple[str, int, bool]
"""A host, a port, and whether it is spoken to under TLS."""


class Refused(Exception):
    """A host is in a private network, and was not named."""


class Target(NamedTuple):
    """Where an endpoint is.

    `is_allowed` says that the operator has named the host, `authority` is host and port as they were written.
    """

    host: str
    port: int
    is_allowed: bool
    is_tls: bool
    authority: str
    path: str

    @property
    def origin(self) -> Origin:
        """Whom a connection leads to."""
        return self.host, self.port, self.is_tls


def target_of(endpoint: str, allowed: Collection[str]) -> Target:
    """Return where an endpoint is. Raises `BadRequest` for one that no push is sent to."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
        host.encode("idna")  # No name has labels that are empty or longer than 63 characters.
    except ValueError:
        host = ""
    if (
        not host
        or port == 0
        or not endpoint.isascii()
        or len(endpoint) > MOST_ENDPOINT
        or not endpoint.isprintable()
    ):
        raise BadRequest("endpoint is no address of a push service.")
    if " " in endpoint or parts.username is not None or parts.fragment:
        raise BadRequest("endpoint is no address of a push service.")
    is_allowed = host in {one.lower().strip("[]") for one in allowed}
    if parts.scheme != "https" and not (parts.scheme == "http" and is_allowed):
        raise BadRequest("endpoint must begin with https://.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_tls = parts.scheme == "https"
    return Target(host, port, is_allowed, is_tls, parts.netloc, path)


async def addresses_of(target: Target, lookups: trio.CapacityLimiter) -> Sequence[str]:
    """Resolve a host and return its addresses, those alone that may be connected to.

    Somebody else chose the name, and who answers for it may take a minute: so `lookups` holds a place for
    each that is being resolved, also when nobody waits for it any more, and no other thread is taken.

    Raises `Refused` if there is none of these, `OSError` if the name can't be resolved now.
    """
    resolve = partial(getaddrinfo, target.host, target.port, type=SOCK_STREAM)
    found = await trio.to_thread.run_sync(resolve, limiter=lookups, abandon_on_cancel=True)
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    public = [one for one in addresses if target.is_allowed or is_public(one)]
    if not public:
        raise Refused
    return public


def is_public(address: str) -> bool:
    """Return whether an address is one of the Internet, whichever way it is written or packed."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if (packed := _packed(found)) is not None:
            return is_public(str(packed))
        if found.is_site_local:  # fec0::/10, given up for fc00::/7 (RFC 3879), and still some network's own.
            return False
    elif found in _PROTOCOLS:
        return False
    return found.is_global and not found.is_multicast and not found.is_reserved


def _packed(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour
