"""One connection through the proxy: what a fault wants to see is read whole, all else passes as bytes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import h11
import trio

from conformance.tests.proxy.asking import Answer, Ask, subject_of
from conformance.tests.proxy.streams import Frame, Listener, Splitter

if TYPE_CHECKING:
    from conformance.tests.proxy.server import Proxy

_PIECE = 65_536
_MOST_HEAD = 256 * 1024
_LAST_SECONDS = 5.0
_CLOSED = (trio.BrokenResourceError, trio.ClosedResourceError)
_BODILESS = (204, 304)


class StreamOpened(Exception):
    """The server has opened a stream: there is no answer that a fault could have whole."""

    def __init__(
        self, ask: Ask, server: trio.SocketStream, reader: h11.Connection, response: h11.Response
    ) -> None:
        super().__init__(ask.target)
        self.ask, self.server, self.reader, self.response = ask, server, reader, response


class Connection:
    """A client's connection, and that to the server which belongs to it while bytes pass."""

    def __init__(self, proxy: Proxy, client: trio.SocketStream) -> None:
        self._proxy = proxy
        self._client = client
        self._source = str(client.socket.getpeername()[0])
        self._inbox = bytearray()
        """Bytes of the client that are not used yet."""
        self._upstream: trio.SocketStream | None = None
        self._parser: h11.Connection
        self._fed, self._reads_whole = 0, False

    async def serve(self) -> None:
        """Pass on what comes until either side has had enough."""
        try:
            while await self._one():
                pass
        except* _CLOSED:
            pass
        finally:
            with trio.move_on_after(1, shield=True):
                if self._upstream is not None:
                    await self._upstream.aclose()
                await self._client.aclose()

    async def _one(self) -> bool:
        """Pass one request on, and tell whether there may be another."""
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self._fed, self._reads_whole = 0, False
        try:
            head = await self._event()
        except h11.RemoteProtocolError:
            return await self._tunnel()
        if not isinstance(head, h11.Request):
            return await self._tunnel() if self._inbox else False
        method, target = head.method.decode("latin-1"), head.target.decode("latin-1")
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items()
        ]
        ask = Ask(self._proxy, method, target, headers, b"", self._source)
        is_stream = (method, ask.path) == ("GET", "/events")
        if is_stream and self._proxy.stands_in_the_stream:
            return await self._listen(ask)
        if not is_stream and self._proxy.wants(method, ask.path):
            return await self._handle(ask)
        return await self._pass_on(method)

    async def _event(self) -> object:
        """Return the next event of the request's parser."""
        while True:
            if self._fed < len(self._inbox):
                self._parser.receive_data(bytes(self._inbox[self._fed :]))
                self._fed = len(self._inbox)
            event = self._parser.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._parser.they_are_waiting_for_100_continue and self._reads_whole:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                await self._client.send_all(self._parser.send(go_on))
            piece = bytes(await self._client.receive_some(_PIECE))
            if not piece:
                return h11.ConnectionClosed()
            self._inbox += piece

    def _used(self) -> bytes:
        """Return the bytes that the parser has used since the last time."""
        end = len(self._inbox) - len(self._parser.trailing_data[0])
        used = bytes(self._inbox[:end])
        del self._inbox[:end]
        self._fed -= end
        return used

    # What no fault wants to see.

    async def _server(self) -> trio.SocketStream:
        if self._upstream is None:
            self._upstream = await self._proxy.connect(self._source)
        return self._upstream

    async def _tunnel(self) -> bool:
        """Let both sides say to each other what they like, until the server has had enough."""
        server = await self._server()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._upwards, server)
            await _pump(server, self._client)
            nursery.cancel_scope.cancel()
        return False

    async def _upwards(self, server: trio.SocketStream) -> None:
        with suppress(*_CLOSED):
            await server.send_all(bytes(self._inbox))
            await _pump(self._client, server)
            await server.send_eof()

    async def _pass_on(self, method: str) -> bool:
        """Pass one request and its answer on as bytes; what can't be told apart goes on as a tunnel."""
        server = await self._server()
        is_whole = trio.Event()
        may_go_on = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._body_upwards, server, is_whole)
            may_go_on = await self._answer_downwards(server, method)
            if may_go_on and not is_whole.is_set():
                may_go_on = await self._rest(server, is_whole)
            nursery.cancel_scope.cancel()
        return may_go_on

    async def _rest(self, server: trio.SocketStream, is_whole: trio.Event) -> bool:
        """Wait for the end of a request that is answered already, and tell whether it came."""
        async with trio.open_nursery() as nursery:

            async def until_whole() -> None:
                await is_whole.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(until_whole)
            await _pump(server, self._client)
            nursery.cancel_scope.cancel()
        return is_whole.is_set()

    async def _body_upwards(self, server: trio.SocketStream, is_whole: trio.Event) -> None:
        with suppress(*_CLOSED):
            try:
                while True:
                    await server.send_all(self._used())
                    event = await self._event()
                    if isinstance(event, h11.EndOfMessage):
                        is_whole.set()
                        with trio.move_on_after(_LAST_SECONDS, shield=True):
                            await server.send_all(self._used())
                        break
                    if isinstance(event, h11.ConnectionClosed):
                        await server.send_all(bytes(self._inbox))
                        await server.send_eof()
                        return
            except h11.RemoteProtocolError:
                await self._upwards(server)
                return
            while piece := bytes(await self._client.receive_some(_PIECE)):
                self._inbox += piece
            await server.send_eof()

    async def _answer_downwards(self, server: trio.SocketStream, method: str) -> bool:
        reader = _reader(method)
        while True:
            piece = b""
            with suppress(*_CLOSED):
                piece = bytes(await server.receive_some(_PIECE))
            if not piece:
                return False
            await self._client.send_all(piece)
            reader.receive_data(piece)
            while (event := reader.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.EndOfMessage):
                    return reader.their_state is h11.DONE

    # What a fault wants to see.

    async def _whole(self, ask: Ask) -> Ask | None:
        """Read the request's body."""
        self._reads_whole = True
        body = bytearray()
        self._used()
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                return None
            body += event.data
            self._used()
        self._used()
        return Ask(ask.proxy, ask.method, ask.target, ask.headers, bytes(body), ask.source)

    async def _handle(self, head: Ask) -> bool:
        ask = await self._whole(head)
        if ask is None:
            return False
        answer = await self._proxy.answer(ask)
        await self._client.send_all(self._written(ask.method, answer))
        return self._parser.our_state is h11.DONE

    def _written(self, method: str, answer: Answer) -> bytes:
        skipped = ("content-length", "transfer-encoding", "connection", "keep-alive")
        headers = [(name, value) for name, value in answer.headers if name.lower() not in skipped]
        if answer.status not in _BODILESS:
            length = answer.header("content-length") if method == "HEAD" else str(len(answer.body))
            headers.append(("Content-Length", length))
        data = self._parser.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        if method != "HEAD" and answer.status not in _BODILESS:
            data += self._parser.send(h11.Data(data=answer.body)) or b""
        return data + (self._parser.send(h11.EndOfMessage()) or b"")

    # The stream.

    async def _listen(self, head: Ask) -> bool:
        ask = await self._whole(head)
        if ask is None:
            return False
        try:
            answer = await self._proxy.answer(ask)
        except StreamOpened as opened:
            try:
                await self._relay(opened)
            finally:
                await trio.aclose_forcefully(opened.server)
            return False
        await self._client.send_all(self._written("GET", answer))
        return self._parser.our_state is h11.DONE

    async def _relay(self, opened: StreamOpened) -> None:
        """Pass a stream on, event by event."""
        ask, response = opened.ask, opened.response
        headers = list(response.headers.raw_items())
        head = h11.Response(status_code=response.status_code, headers=headers)
        await self._client.send_all(self._parser.send(head) or b"")
        user_id = subject_of(ask.token or ask.query.get("token", ""))
        resumes = "lastEventId" in ask.query or bool(ask.header("last-event-id"))
        with self._proxy.listening(user_id, resumes, self._client, self._parser) as listener:
            await self._frames(opened.server, opened.reader, listener)

    async def _frames(self, server: trio.SocketStream, reader: h11.Connection, listener: Listener) -> None:
        splitter = Splitter()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._until_closed, server)
            while isinstance(event := await _next(server, reader), h11.Data):
                for raw in splitter.feed(bytes(event.data)):
                    frame = Frame.read(raw)
                    await listener.send(await self._proxy.hear(listener, frame))
            if isinstance(event, h11.EndOfMessage):
                await self._client.send_all(self._parser.send(h11.EndOfMessage()) or b"")
            nursery.cancel_scope.cancel()

    async def _until_closed(self, server: trio.SocketStream) -> None:
        with suppress(*_CLOSED):
            while await self._client.receive_some(_PIECE):
                pass
            await server.send_eof()


async def ask_upstream(server: trio.SocketStream, ask: Ask) -> Answer:
    """Send a request on a connection of its own and return the answer.

    Raises `trio.BrokenResourceError` if none comes, and `StreamOpened` if it has no end.
    """
    reader = _reader(ask.method)
    opened: StreamOpened | None = None
    status, headers, body = 0, list[tuple[str, str]](), bytearray()
    async with trio.open_nursery() as nursery:

        async def send() -> None:
            with suppress(*_CLOSED):
                await server.send_all(_sent(ask))

        nursery.start_soon(send)
        while not isinstance(event := await _next(server, reader), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                if dict(event.headers).get(b"content-type", b"").startswith(b"text/event-stream"):
                    opened = StreamOpened(ask, server, reader, event)
                    break
                status = event.status_code
                headers = [
                    (name.decode(), value.decode("latin-1")) for name, value in event.headers.raw_items()
                ]
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.ConnectionClosed):
                status = 0
                break
        nursery.cancel_scope.cancel()
    if opened is not None:
        raise opened
    if not status:
        raise trio.BrokenResourceError("the server closed without an answer")
    return Answer(status, headers, bytes(body))


def _sent(ask: Ask) -> bytes:
    # Faults change what is answered, so it is asked for without a coding.
    hop = ("content-length", "transfer-encoding", "expect", "connection", "accept-encoding")
    lines = [f"{ask.method} {ask.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in ask.headers if name.lower() not in hop]
    if ask.body or ask.method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(ask.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + ask.body


def _reader(method: str) -> h11.Connection:
    """Return a parser of the answer to a request that others have sent."""
    reader = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
    reader.send(
        h11.Request(method="HEAD" if method == "HEAD" else "GET", target="/", headers=[("Host", "x")])
    )
    reader.send(h11.EndOfMessage())
    return reader


async def _next(server: trio.SocketStream, reader: h11.Connection) -> object:
    while True:
        event = reader.next_event()
        if isinstance(event, h11.InformationalResponse):
            continue
        if event is not h11.NEED_DATA:
            return event
        try:
            piece = bytes(await server.receive_some(_PIECE))
        except trio.BrokenResourceError:
            return h11.ConnectionClosed()
        try:
            reader.receive_data(piece)
            if not piece and reader.next_event() is not h11.NEED_DATA:
                return h11.ConnectionClosed()
        except h11.RemoteProtocolError:
            return h11.ConnectionClosed()


async def _pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    with suppress(*_CLOSED):
        while piece := bytes(await source.receive_some(_PIECE)):
            await sink.send_all(piece)
