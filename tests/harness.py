"""What the tests here need beside `teamchat.testing`: a server on the storage that they run on."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from teamchat import testing
from teamchat.testing import Server
from tests.storages import storage_section


def running(directory: Path, **sections: Mapping[str, Any]) -> AbstractAsyncContextManager[Server]:
    """Run a server as `teamchat.testing.running` does, on the storage that the tests run on."""
    given = sections.get("storage", {})
    if "backend" not in given:
        sections["storage"] = storage_section(directory / "data") | dict(given)
    return testing.running(directory, **sections)


def free_port() -> int:
    """Return a port that is free now, for a server that must come back on the same one."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])
