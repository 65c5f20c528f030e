"""Hypercorn in this server's nursery: for HTTP/2, and for everything if ``server.http1`` says so.

HTTP/2 is negotiated within TLS; our own server then hands the connection over (`Http2`). Only this package
knows Hypercorn.

Hypercorn's Trio connection is right except for a few things, which the subclass in `connection` fixes:

* A write to a client that stopped reading waits for ever, shielded from every deadline, and SIGTERM waits
  with it. Here a write that makes no progress for 30 seconds drops the connection.
* If an application is cancelled while its response ends (as quart-trio is), the keep-alive timer is not
  renewed, and idle connections live for ever. Here the connection's own work is shielded.
* The headers of a request get 10 seconds from their first byte, an idle connection 75. One task per
  connection watches both, where Hypercorn starts a new one with every request.
* The head of a response waits for the first bytes of its body, so that most responses are one write.
* A live stream can write to the socket itself, as on `teamchat.http.http1`, but only over plain HTTP/1.1.
* What can't be read as a request is answered in JSON, like every error, where Hypercorn sends an empty body.
* A short body that nobody read is skipped, where Hypercorn silently closes the connection.
* When the server stops, connections get a limited time to finish, and are then dropped.
* An HTTP/2 client that opens no window holds an answer up although its socket takes everything; Hypercorn
  then takes the whole answer into memory. Here its writer waits, for as long as it would for a socket; then
  the stream is reset, and the rest of the connection goes on (`http2`).
* HTTP/2 limits how many requests are open, but a request that the client cancels is not counted although it
  still runs here (CVE-2023-44487). A connection with twice the limit running is dropped.

HTTP/2 without TLS, which Hypercorn accepts and proxies pass through, is cut off. A request with both
Content-Length and Transfer-Encoding is refused, because a proxy in front might believe the other one. No
request and no message of an error is logged.
"""

from teamchat.http.hypercorn.server import Http2, HttpServer

__all__ = ["Http2", "HttpServer"]
