"""THR: threads (interface, part 2, Thread; part 4, Threads)."""

from __future__ import annotations

from teamchat_conformance.checks.threads import changing, reading, replying
from teamchat_conformance.checks.threads._area import area

__all__ = ["area", "changing", "reading", "replying"]
