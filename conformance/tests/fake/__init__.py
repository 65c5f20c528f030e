"""A small server of the interface, in memory, to try the suite on.

It is written from the specification alone and shares no code with any other server.  What must stay true:
without switches it passes every required check; each mutation breaks one thing and no more; and with
``contrary=True`` it decides the other way wherever the specification leaves a choice, and still conforms.
"""

from __future__ import annotations

from conformance.tests.fake.server import Fake, Settings

__all__ = ["Fake", "Settings"]
