"""Reading the documents that a provider publishes: its metadata and its keys.

They are asked for at its own addresses alone: no redirect is followed, no proxy of the environment is used,
an answer has 1 MiB at most, and all of it comes within 10 seconds.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import httpx2
import msgspec
import trio

from teamchat.web.outgoing import BoundedTransport
from teamchat_oidc.failures import NotBelieved

if TYPE_CHECKING:
    import ssl

PATIENCE_SECONDS = 10.0
_HEADERS = {"Accept": "application/json", "User-Agent": "teamchat"}
T = TypeVar("T")

# It would tell of every request.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@cache
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


async def read(url: str, kind: type[T]) -> T:
    """Return the JSON document at an address. Raises `NotBelieved` for whatever goes wrong."""
    try:
        with trio.fail_after(PATIENCE_SECONDS):
            async with httpx2.AsyncClient(
                transport=BoundedTransport(_tls()),
                timeout=PATIENCE_SECONDS,
                headers=_HEADERS,
                follow_redirects=False,
                trust_env=False,
            ) as client:
                answer = await client.get(url)
    except Exception as error:
        raise NotBelieved(type(error).__name__) from error
    if answer.status_code != 200:
        raise NotBelieved(f"HTTP {answer.status_code}")
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotBelieved("a document of another form") from error
