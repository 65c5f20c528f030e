"""A browser that signs in through the suite's identity provider, and the client addresses it may use.

Cookies are kept here and sent back, since the suite's clients keep none; and no address
begins so many sign-ins that the server's limit (interface, part 8) could come in between.  A sign-in is
counted twice, for its start and its callback, where there are several addresses; where there is but one,
once, and then what it is used for first matters most.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit
from weakref import WeakKeyDictionary

from teamchat_conformance.checks.signing_in import Session, session_of
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.fixtures.provider import Grant, Provider, profile
from teamchat_conformance.fixtures.provider_http import Reply
from teamchat_conformance.http import Client
from teamchat_conformance.instance import OAuthProvider
from teamchat_conformance.run import Run
from teamchat_conformance.verdicts import Miss

SPENT = "the limit on sign-ins leaves no more for it; give several client addresses"

_addresses: WeakKeyDictionary[Run, Addresses] = WeakKeyDictionary()


@dataclass
class Browser:
    """Somebody's browser, at one client address."""

    run: Run
    client: Client
    cookies: dict[str, str] = field(default_factory=dict)

    async def start(self, provider_id: str, **query: str) -> Answered:
        """Begin a sign-in."""
        return await self.get(at("auth", "oauth", provider_id, **query))

    async def callback(
        self, provider_id: str, query: Mapping[str, str], *, seconds: float = 20.0
    ) -> Answered:
        """Come back from the provider."""
        target = at("auth", "oauth", provider_id, "callback", **query)
        return await self.get(target, seconds=self.run.wait(seconds))

    async def get(self, target: str, **options: Any) -> Answered:
        """Open an address of the server's, with the cookies it gave."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = await self.client.get(target, headers={"Cookie": cookies} if cookies else {}, **options)
        for name, value in answer.headers:
            if name == "set-cookie":
                self._keep(value)
        return answer

    def _keep(self, set_cookie: str) -> None:
        pair, *attributes = (part.strip() for part in set_cookie.split(";"))
        name, _, value = pair.partition("=")
        self.cookies[name] = value
        if not value or "max-age=0" in (attribute.lower().replace(" ", "") for attribute in attributes):
            self.cookies.pop(name)


class Addresses:
    """The client addresses of a run, and how many sign-ins each may still begin."""

    def __init__(self, run: Run) -> None:
        network = run.instance.network
        self._run = run
        self._header = network.client_ip_header
        self._sources = network.source_addresses or ("",)
        self._most = run.instance.oauth.rate_limit - 1
        self._cost = 2 if run.has("ips") else 1
        self._spent: Counter[str] = Counter()
        self._invented = _invented()

    def browser(self, sign_ins: int, *, is_fresh: bool = False) -> Browser | None:
        """Return a browser at an address that may begin so many sign-ins, or None if none may.

        A fresh address is one from which nothing was begun before; nothing is from then on.
        """
        cost = sign_ins * self._cost
        if self._header:
            headers = {self._header: next(self._invented)}
            return Browser(self._run, self._run.client("a browser", extra_headers=headers))
        for address in self._sources:
            if (not is_fresh and self._spent[address] + cost <= self._most) or not self._spent[address]:
                self._spent[address] += self._most if is_fresh else cost
                return Browser(self._run, self._run.client("a browser", source_address=address or None))
        return None


def addresses_of(run: Run) -> Addresses:
    """Return the client addresses of a run."""
    return _addresses.setdefault(run, Addresses(run))


def _invented() -> Iterator[str]:
    """Yield addresses of the network for benchmarks (RFC 2544, appendix C.2.2)."""
    network = secrets.randbelow(2**17)
    for number in count(network):
        yield f"198.{18 + number // 65_536 % 2}.{number // 256 % 256}.{number % 256}"


def provider(run: Run) -> Provider:
    """Return the suite's identity provider."""
    if run.provider is None:
        raise Miss("the suite has no identity provider")
    return run.provider


def first(run: Run) -> OAuthProvider:
    """Return the first of the declared providers."""
    return run.instance.oauth.provider[0]


async def agree(run: Run, browser: Browser, person: Mapping[str, Any], **replies: Reply) -> Grant:
    """Begin a sign-in at the first provider and agree to it, as the person of a profile."""
    return agreed(run, await browser.start(first(run).id), person, **replies)


def agreed(run: Run, start: Answered, person: Mapping[str, Any], **replies: Reply) -> Grant:
    """Agree to a sign-in that has begun. `replies` are what `Provider.grant` takes."""
    grant = provider(run).grant(location(start), person, **replies)
    run.recorder.secret(grant.access_token, "provider access token")
    return grant


async def come_in(run: Run, browser: Browser, person: Mapping[str, Any], **replies: Reply) -> Answered:
    """Go all the way from the button to the application, as the person of a profile."""
    grant = await agree(run, browser, person, **replies)
    return await browser.callback(first(run).id, grant.callback)


async def sign_in_as(run: Run, browser: Browser, email: str) -> Session:
    """Sign in as the owner of an email."""
    return arrived(run, await come_in(run, browser, profile(email)))


def location(answer: Answered) -> str:
    """Return where a redirect leads. Raises `Miss` if this is none."""
    found = answer.expect(302).header("location")
    if not found:
        raise answer.miss("a redirect without Location")
    return found


def told(answer: Answered) -> dict[str, str]:
    """Return the query of where a redirect leads, each name once."""
    fields = parse_qs(urlsplit(location(answer)).query, keep_blank_values=True)
    if any(len(values) > 1 for values in fields.values()):
        raise answer.miss("a parameter of the redirect stands there twice")
    return {name: values[0] for name, values in fields.items()}


def arrived(run: Run, answer: Answered) -> Session:
    """Require that a sign-in succeeded, and return its session."""
    found = told(answer)
    if not found.get("access_token") or not found.get("refresh_token"):
        raise answer.miss(f"a redirect with tokens was expected; oauth_error is {found.get('oauth_error')}")
    return session_of(run, found["access_token"], found["refresh_token"])


def denied(answer: Answered) -> str:
    """Require that a sign-in failed with a redirect that says so, and return what it says."""
    found = told(answer)
    if found.keys() & {"access_token", "refresh_token"}:
        raise answer.miss("a sign-in that should fail has succeeded")
    if not found.get("oauth_error"):
        raise answer.miss("a redirect with oauth_error was expected")
    return found["oauth_error"]


def leads_to_application(run: Run, answer: Answered) -> None:
    """Require that a redirect stays at the origin of ``auth.appUrl``."""
    led, wanted = urlsplit(location(answer)), urlsplit(run.instance.auth.app_url)
    require(
        not wanted.netloc or led[:2] == wanted[:2],
        f"the redirect leads to {led.scheme}://{led.netloc}{led.path}",
    )
