"""An identity provider over HTTP, for tests of OAuth sign-in: strict where a provider must be strict.

It listens on a free port of the loopback address, in the test's own Trio loop. Authlib implements the
protocol (`teamchat.testing.authorization`); whoever comes to ``/authorize`` agrees at once. Every other
address answers what the test has put there, and a test can replace any answer.
"""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import h11
import trio

from teamchat.testing.authorization import Answer, Authorization, Client

SECRET = "the client secret of the tests, long enough to sign"  # noqa: S105 - of no real client
_CHUNK = b"." * 65_536


@dataclass(frozen=True)
class Reply:
    """A response that a test puts in the place of the right one.

    `hangs`: never answers. `drips`: sends the body a byte at a time, that many seconds apart. `is_endless`:
    the body never ends.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    hangs: bool = False
    drips: float = 0.0
    is_endless: bool = False


@dataclass(frozen=True)
class Received:
    """A request that the provider got."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: str

    @property
    def form(self) -> dict[str, str]:
        """The fields of the body, each of which must be there once."""
        fields = parse_qs(self.body, keep_blank_values=True)
        assert all(len(values) == 1 for values in fields.values()), fields
        return {name: values[0] for name, values in fields.items()}


class Provider:
    """A running provider. Set its attributes at any time; they count from the next request on.

    `profile` is what ``/userinfo`` answers, any JSON; `pages` are further answers by path, such as
    ``"/user/emails"``.  Both are given to bearers of an access token alone, and so is ``/userinfo``.
    `claims` go into the ID token over the right ones, whose ``sub`` is the profile's (a null is as good as a
    missing claim).
    `denied` is the error with which ``/authorize`` sends the browser back, if any; `tells_issuer` whether it
    adds ``iss`` (RFC 9207).  `instead` holds replies by path.  `requests` are all that came.
    """

    def __init__(self, base: str, client: Client) -> None:
        self.base = self.issuer = base
        self.client_id, self.client_secret = client.client_id, client.client_secret
        self.authorization_url = f"{base}/authorize"
        self.token_url = f"{base}/token"
        self.user_info_url = f"{base}/userinfo"
        self.profile: Any = {"sub": "248289761001", "email": "jane@example.org", "email_verified": True}
        self.pages: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.denied: str | None = None
        self.tells_issuer = False
        self.instead: dict[str, Reply] = {}
        self.requests: list[Received] = []
        self.authorization = Authorization(client, base, self._claims)

    def _claims(self) -> dict[str, Any]:
        subject = self.profile.get("sub") if isinstance(self.profile, dict) else None
        return {"sub": subject or "nobody"} | self.claims

    def hits(self, path: str) -> int:
        """Return how many requests this address has had."""
        return sum(1 for request in self.requests if request.path == path)

    def approve(self, location: str) -> str:
        """Return where the browser is sent that was sent to `location` and whose user agreed."""
        assert location.startswith(f"{self.authorization_url}?"), location
        answer = self.authorize(location.removeprefix(self.base))
        assert answer.status == 302, answer.body
        return dict(answer.headers)["Location"]

    def authorize(self, target: str) -> Answer:
        """Answer the authorization endpoint."""
        answer = self.authorization.authorize(target)
        if answer.status != 302:
            return answer
        back = urlsplit(dict(answer.headers)["Location"])
        query = dict(parse_qsl(back.query))
        if self.denied is not None:
            del query["code"]
            query["error"] = self.denied
        if self.tells_issuer:
            query["iss"] = self.issuer
        return Answer(302, "", [("Location", back._replace(query=urlencode(query)).geturl())])

    def answer(self, request: Received) -> Answer:
        """Answer any request."""
        if request.path == "/authorize":
            return self.authorize(f"{request.path}?{request.query}")
        if request.path == "/token":
            return self.authorization.exchange(request.method, request.path, request.headers, request.body)
        pages = {"/userinfo": self.profile} | self.pages
        if request.path not in pages:
            return Answer(404, {"error": "not found"}, [])
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token not in self.authorization.tokens:
            return Answer(401, {"error": "invalid_token"}, [("WWW-Authenticate", "Bearer")])
        return Answer(200, pages[request.path], [])


@asynccontextmanager
async def provider(
    *, client_id: str = "the-client", client_secret: str = SECRET, redirect_uris: tuple[str, ...] = ()
) -> AsyncIterator[Provider]:
    """Run a provider of identities on the loopback address, for as long as the context lasts::

        async with provider() as idp:
            custom = CustomProvider(
                id="acme",
                name="Acme",
                authorization_url=idp.authorization_url,
                token_url=idp.token_url,
                user_info_url=idp.user_info_url,
                client_id=idp.client_id,
                client_secret=idp.client_secret,
            )
            idp.profile = {"sub": "1", "email": "jane@example.org", "email_verified": True}
            ...  # start a sign-in, which answers 302 to `location`
            callback = idp.approve(location)  # the address the browser comes back to
            ...  # GET it
            assert idp.hits("/token") == 1
            idp.instead["/token"] = Reply(hangs=True)

    With `redirect_uris` only those are accepted.
    """
    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        host, port = listener.socket.getsockname()[:2]
        client = Client(client_id, client_secret, list(redirect_uris))
        running = Provider(f"http://{host}:{port}", client)

        async def handle(stream: trio.SocketStream) -> None:
            async with stream:
                await _Exchange(running, stream).run()

        nursery.start_soon(trio.serve_listeners, handle, [listener])
        yield running
        nursery.cancel_scope.cancel()


class _Exchange:
    """One request and its response, after which the connection is closed."""

    def __init__(self, running: Provider, stream: trio.SocketStream) -> None:
        self._provider = running
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def run(self) -> None:
        try:
            received = await self._receive()
            if received is None:
                return
            self._provider.requests.append(received)
            reply = self._provider.instead.get(received.path)
            await self._send(reply or _reply(self._provider.answer(received)))
        except (trio.BrokenResourceError, h11.RemoteProtocolError):
            return  # the client went away, as it does from a provider that misbehaves

    async def _receive(self) -> Received | None:
        request: h11.Request | None = None
        body = b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._stream.receive_some())
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return _received(request, body)
            else:
                return None

    async def _send(self, reply: Reply) -> None:
        if reply.hangs:
            await trio.sleep_forever()
        headers = {**reply.headers, "Connection": "close"}
        if not reply.is_endless:
            headers["Content-Length"] = str(len(reply.body))
        head = h11.Response(status_code=reply.status, headers=list(headers.items()))
        await self._stream.send_all(self._http.send(head) or b"")
        if reply.drips:
            for place in range(len(reply.body)):
                await self._send_data(reply.body[place : place + 1])
                await trio.sleep(reply.drips)
        else:
            await self._send_data(reply.body)
        while reply.is_endless:
            await self._send_data(_CHUNK)
        await self._stream.send_all(self._http.send(h11.EndOfMessage()) or b"")

    async def _send_data(self, data: bytes) -> None:
        await self._stream.send_all(self._http.send(h11.Data(data)) or b"")


def _received(request: h11.Request, body: bytes) -> Received:
    path, _, query = request.target.decode().partition("?")
    headers = {name.decode().title(): value.decode("latin1") for name, value in request.headers}
    return Received(request.method.decode(), path, query, headers, body.decode())


def _reply(answer: Answer) -> Reply:
    headers = {"Content-Type": "application/json", **dict(answer.headers)}
    body = b"" if answer.body == "" else json.dumps(answer.body).encode()
    return Reply(answer.status, body, headers)
