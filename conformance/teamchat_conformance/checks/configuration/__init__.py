"""CFG: the configuration keys of the specification, and what must outlive a restart.

Every scenario starts servers of its own, with the keys it is about, and looks at nothing
but them.
"""

from __future__ import annotations

from teamchat_conformance.checks.configuration import administrator, durable, lifetimes, mails, modes
from teamchat_conformance.checks.configuration._area import area

__all__ = ["administrator", "area", "durable", "lifetimes", "mails", "modes"]
