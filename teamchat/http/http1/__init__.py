"""HTTP/1.1 on Trio: serves the requests behind every reverse proxy, unless ``server.http1`` says otherwise.

From the wire up, each module has its own rule: `transport` (a client's socket), `head` (what a request says,
and why it is refused), `body` (where a body ends), `response` (what an answer looks like), `exchange` (one
request as an ASGI application sees it), `connection` (one client, in one task), `server` (all of them).
"""

from teamchat.http.http1.server import HttpServer

__all__ = ["HttpServer"]
