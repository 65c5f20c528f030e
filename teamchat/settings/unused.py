"""Environment variables that look like keys but are not, so that nobody waits for them to take effect.

They are named in a warning, not refused: container platforms set such variables for a service named teamchat
or teamchat-server (``TEAMCHAT_SERVER_PORT=tcp://…``), and operators may have others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import get_args

import msgspec

from teamchat.settings.keys import Settings

PREFIX = "TEAMCHAT_"
_PLATFORM = re.compile(r"(?:.*_)?SERVICE_(?:HOST|PORT(?:_.*)?)|(?:.*_)?PORT_\d+_(?:TCP|UDP|SCTP)(?:_.*)?")
_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://")
_TOOLS = re.compile(r"CONFIG|TEST_.*|RESUME|FAILOVER|SCREENS|SPECIFICATION")
"""What other parts of teamchat read: the command line, the tests, the benchmarks."""


def unused(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each variable that begins as a key does and names none; never its value."""
    for name in sorted(environ):
        rest = name[len(PREFIX) :].upper()
        if not name.upper().startswith(PREFIX) or "__" in rest or _TOOLS.fullmatch(rest):
            continue
        if _PLATFORM.fullmatch(rest) or _ADDRESS.match(environ[name]):
            continue
        meant = _meant(rest)
        hint = (
            f"Is {meant} meant?" if meant else "A key has two underscores before it: TEAMCHAT_SERVER__PORT."
        )
        yield f"The environment variable {name} is not used. {hint}"


def _meant(rest: str) -> str | None:
    """Return the variable that would set a key, if the name is one but for its underscores."""
    section, _, key = rest.partition("_")
    key = key.replace("_", "")
    for field in msgspec.structs.fields(Settings):
        if field.encode_name.upper() == section and key in _keys_of(field.type):
            return f"{PREFIX}{section}__{key}"
    return None


def _keys_of(section: object) -> set[str]:
    kinds = [kind for kind in (get_args(section) or (section,)) if isinstance(kind, type)]
    tables = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
    names = {field.encode_name.upper() for table in tables for field in msgspec.structs.fields(table)}
    return names - {"OPTIONS"}
