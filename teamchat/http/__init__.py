"""HTTP on sockets: the own HTTP/1.1 server, Hypercorn for HTTP/2, and the connections both let in."""
