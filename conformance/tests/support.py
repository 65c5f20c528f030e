"""What several tests of the suite have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import trio

from conformance.tests.proxy import Fault, Proxy
from conformance.tests.servers import running
from teamchat_conformance.registry import Registry, load
from teamchat_conformance.run import PASSWORD

ADMIN = "admin@conformance.test"
ADMIN_PASSWORD = PASSWORD


class Background:
    """Servers in threads of their own, for tests of what has a loop of its own. Each kind is started once."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], None]] = []
        self._addresses: dict[str, str] = {}

    def serve(self, kind: str = "dev", faults: Sequence[Fault] = ()) -> str:
        """Return the address of a server of a kind, behind a proxy with these faults if there are any."""
        if kind not in self._addresses:
            self._addresses[kind] = self._in_thread(kind, ())
        return self._in_thread(self._addresses[kind], faults) if faults else self._addresses[kind]

    def end(self) -> None:
        """End all of them, the newest first."""
        while self._ends:
            self._ends.pop()()

    def _in_thread(self, what: str, faults: Sequence[Fault]) -> str:
        told: SimpleQueue[tuple[str, trio.lowlevel.TrioToken, trio.Event]] = SimpleQueue()

        async def main() -> None:
            end = trio.Event()
            token = trio.lowlevel.current_trio_token()
            if faults:
                async with Proxy.serving(what, faults) as proxy:
                    told.put((proxy.base_url, token, end))
                    await end.wait()
            else:
                async with running(what) as server:
                    told.put((server.instance.base_url, token, end))
                    await end.wait()

        thread = threading.Thread(target=trio.run, args=(main,))
        thread.start()
        base_url, token, end = told.get(timeout=120)

        def stop() -> None:
            trio.from_thread.run_sync(end.set, trio_token=token)
            thread.join(60)

        self._ends.append(stop)
        return base_url


def areas(*names: str) -> Registry:
    """Return a registry of some areas alone."""
    return Registry([area for area in load().areas if area.name in names])
