"""Requests to the server under test, every one of them recorded.

Nothing is asked but through here (streams and broken HTTP have modules of their own,
and record too), no redirect is followed, no cookie is kept, and what a secret was is known to the recorder
before anything is written to a report.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2

from teamchat_conformance import __version__
from teamchat_conformance.expect import Answered
from teamchat_conformance.verdicts import Miss

_MOST_BODY = 16_384
_UNSET = object()


@dataclass
class Exchange:
    """One request and what came of it. Bodies are cut at 16 KiB; times are in seconds of the run."""

    number: int
    scenario: str
    actor: str
    method: str
    target: str
    request_headers: list[tuple[str, str]]
    request_body: bytes
    started: float
    ended: float = 0.0
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    failure: str = ""


class Recorder:
    """All exchanges of a run, and those who look at each as it ends."""

    def __init__(self, run_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = run_id
        self.exchanges: list[Exchange] = []
        self.scenario = "set-up"
        self.secrets: dict[str, str] = {}
        self.watchers: list[Callable[[Answered, Exchange], None]] = []
        self._clock = clock
        self._began = clock()

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._clock() - self._began

    def last(self) -> int:
        """Return the number of the last exchange."""
        return len(self.exchanges)

    def begin(
        self, actor: str, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> Exchange:
        """Start the record of a request."""
        exchange = Exchange(
            len(self.exchanges) + 1,
            self.scenario,
            actor,
            method,
            target,
            list(headers),
            body[:_MOST_BODY],
            self.now(),
        )
        self.exchanges.append(exchange)
        return exchange

    def secret(self, value: str, label: str) -> str:
        """Remember that `value` must stand in no report but as `label`, and return it."""
        if len(value) >= 8:
            self.secrets[value] = label
        return value

    def redact(self, text: str) -> str:
        """Return a text with every secret replaced by its label."""
        for value, label in self.secrets.items():
            if value in text:
                text = text.replace(value, f"<{label}>")
        return text

    def ended(self, exchange: Exchange, answered: Answered) -> None:
        """Take what came, and let everyone look who watches."""
        exchange.ended = self.now()
        exchange.status = answered.status
        exchange.headers = list(answered.headers)
        exchange.body = answered.body[:_MOST_BODY]
        for watcher in self.watchers:
            watcher(answered, exchange)


@cache
def _tls(verifies: bool) -> ssl.SSLContext:
    """Return what every client has in common; to read the trusted certificates takes 50 ms."""
    return httpx2.create_ssl_context(verify=verifies)


class Client:
    """Asks as one actor from one address. `token` stands in the Authorization header while it is there."""

    def __init__(
        self,
        base_url: str,
        recorder: Recorder,
        *,
        actor: str = "nobody",
        token: str | None = None,
        source_address: str | None = None,
        seconds: float = 10.0,
        verify_tls: bool = True,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        self.actor = actor
        self.token = token
        self.base_url = base_url.rstrip("/")
        self.recorder = recorder
        self._extra = dict(extra_headers or {})
        self._http = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(
                local_address=source_address,
                verify=_tls(verify_tls),
                limits=httpx2.Limits(max_connections=200),
            ),
            timeout=httpx2.Timeout(seconds, connect=5.0),
            follow_redirects=False,
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, target: str, **options: Any) -> Answered:
        """Send a GET."""
        return await self.ask("GET", target, **options)

    async def post(self, target: str, body: Any = _UNSET, **options: Any) -> Answered:
        """Send a POST with a JSON body, if one is given."""
        return await self.ask("POST", target, body, **options)

    async def put(self, target: str, body: Any = _UNSET, **options: Any) -> Answered:
        """Send a PUT with a JSON body, if one is given."""
        return await self.ask("PUT", target, body, **options)

    async def delete(self, target: str, body: Any = _UNSET, **options: Any) -> Answered:
        """Send a DELETE, with a JSON body if one is given."""
        return await self.ask("DELETE", target, body, **options)

    async def ask(
        self,
        method: str,
        target: str,
        body: Any = _UNSET,
        *,
        raw: bytes | None = None,
        headers: Sequence[tuple[str, str]] | Mapping[str, str] = (),
        token: Any = _UNSET,
        seconds: float | None = None,
    ) -> Answered:
        """Send one request and return what came. `raw` is sent as it is; `token` None sends none.

        Raises `Miss` if no answer comes.
        """
        content = raw if raw is not None else b"" if body is _UNSET else json.dumps(body).encode()
        given = self._headers(body is not _UNSET, headers, self.token if token is _UNSET else token)
        exchange = self.recorder.begin(self.actor, method, target, given, content)
        try:
            response = await self._http.request(
                method,
                self.base_url + target,
                content=content,
                headers=given,
                timeout=self._http.timeout if seconds is None else httpx2.Timeout(seconds, connect=5.0),
            )
        except httpx2.HTTPError as error:
            exchange.failure = type(error).__name__
            raise Miss(f"{method} {target}: no answer ({type(error).__name__})") from error
        answered = Answered(
            method,
            target,
            self.actor,
            response.status_code,
            [(name.lower(), value) for name, value in response.headers.multi_items()],
            response.content,
            exchange.number,
        )
        self.recorder.ended(exchange, answered)
        return answered

    def _headers(
        self, has_body: bool, headers: Sequence[tuple[str, str]] | Mapping[str, str], token: str | None
    ) -> list[tuple[str, str]]:
        given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        names = {name.lower() for name, _ in given}
        own = [
            ("User-Agent", f"teamchat-conformance/{__version__} ({self.recorder.run_id})"),
            ("X-Conformance-Check", f"{self.recorder.scenario}"),
            *self._extra.items(),
        ]
        if has_body and "content-type" not in names:
            own.append(("Content-Type", "application/json"))
        if token is not None and "authorization" not in names:
            own.append(("Authorization", f"Bearer {token}"))
        return [(name, value) for name, value in own if name.lower() not in names] + given
