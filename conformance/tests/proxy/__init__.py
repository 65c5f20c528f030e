"""A proxy before a real server, which can be told to be wrong in one way at a time.

Without a fault it passes on the bytes of both sides as they are, what is no HTTP included.  A fault sees the
requests of its route whole, and answers each: by what the server said, by that with something changed, by
asking as somebody else, or by not asking at all.  What comes over the event stream it sees event by event.
"""

from __future__ import annotations

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward
from conformance.tests.proxy.server import Proxy

__all__ = ["Answer", "Ask", "Fault", "Forward", "Proxy"]
