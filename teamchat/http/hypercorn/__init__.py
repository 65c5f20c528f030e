"""Hypercorn in this server's nursery, for HTTP/2, and for all if ``server.http1`` says so.

HTTP/2 is agreed upon within TLS; the own server then gives it the connection (`Http2`).  This is the one
package that knows of it.

Hypercorn's Trio connection is right but for a few things, which the subclass in `connection` mends:

* A write to a client that stopped reading waits for ever, shielded from every deadline, and SIGTERM with
  it.  Here a write that makes no progress for 30 seconds drops the connection.
* An application that is cancelled while its response ends (quart-trio is) takes the renewal of the
  keep-alive timer with it, and idle connections live for ever.  Here the connection's own business is
  shielded.
* A request's headers get 10 seconds from their first byte, an idle connection 75.  One task a connection
  watches over both, where Hypercorn starts a new one with every request.
* The head of a response waits for the first bytes of its body, so that most responses are one write.
* A live stream can write to the socket itself, as it can on `teamchat.http.http1`: over plain HTTP/1.1 alone.
* What can't be read as a request is answered in JSON, as every error, where Hypercorn sends an empty body.
* A short body that nobody read is passed over, where Hypercorn closes the connection without a word.
* When the server stops, connections get a bounded time to finish, and are then dropped.
* A client of HTTP/2 that opens no window holds an answer up though its socket takes all.  Hypercorn then
  takes the whole answer into memory.  Here its writer waits, as long as for a socket; then the stream is
  reset, and what else the connection carries goes on (`http2`).
* HTTP/2 bounds how many requests are open, and one that the client takes back is not, though it still runs
  here (CVE-2023-44487).  A connection that has twice the bound running is dropped.

HTTP/2 without TLS, which Hypercorn takes up and proxies wave through, is cut off.  A request with both
Content-Length and Transfer-Encoding, of which a proxy in front might believe the other one, is refused.  No
request and no message of an error is logged.
"""

from teamchat.http.hypercorn.server import Http2, HttpServer

__all__ = ["Http2", "HttpServer"]
