"""HTTP on sockets: our own HTTP/1.1 server, Hypercorn for HTTP/2, and the limits on connections to both."""
