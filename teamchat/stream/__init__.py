"""The live event stream: the hub follows the log and hands its events to the clients' streams.

`hub` decides who gets what, `delivery` hands it out, `stream` is one client's side of it, and `transport` the
way to its socket. `recent` and `missed` have what a client missed while it was away; `sse` is the format on
the wire. `registry` enforces the limit of streams across processes, `showing` handles what a client says
about its stream, and `activity` knows who is there, in all processes.
"""

from teamchat.stream.hub import Hub
from teamchat.stream.registry import StreamRegistry
from teamchat.stream.stream import Stream
from teamchat.stream.transport import DirectStream, Transport, transport_for

__all__ = ["DirectStream", "Hub", "Stream", "StreamRegistry", "Transport", "transport_for"]
