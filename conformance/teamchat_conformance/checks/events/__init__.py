"""EVT: one by one the events of the table (interface, part 6): form, trigger, recipients."""

from __future__ import annotations

from teamchat_conformance.checks.events import channels, direct, people, threads
from teamchat_conformance.checks.events._area import area

__all__ = ["area", "channels", "direct", "people", "threads"]
