"""Ways to hold a request up while something else happens, and what came of it (decision D-39)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import trio

from tests.web.client import Answer, Client
from tests.web.endpoints import REQUESTS
from tests.web.scene import Gate, Scene, Victim

_DEADLINE = 30


class Held(NamedTuple):
    """What came of a request that was held up: its answer, its statements, and which tables it changed."""

    answer: Answer
    statements: list[str]
    committed: list[str]
    changed: list[str]


async def held(
    scene: Scene, victim: Victim, how: str, endpoint: tuple[str, str], act: Callable[[], Awaitable[object]]
) -> Held:
    """Send a victim's request, hold it up, `act`, and let it go on.

    Without its last byte (`how` is ``body``), in a message filter (``filter``), or where it waits for the
    write lock behind what `act` writes (``lock``).
    """
    path, body = await REQUESTS[endpoint].of(victim, endpoint[1])
    return await held_up(scene, Sent(victim.client, endpoint[0], path, body), how, act)


async def held_up(scene: Scene, sent: Sent, how: str, act: Callable[[], Awaitable[object]]) -> Held:
    """Send a request as `held` does, whoever it is of."""
    stored, own = set(scene.images.kept), {trio.lowlevel.current_task()}
    scene.watched.written.clear()
    scene.watched.committed.clear()

    async def acting() -> None:
        own.add(trio.lowlevel.current_task())
        await act()

    with trio.fail_after(_DEADLINE):
        async with trio.open_nursery() as nursery:
            before = await _HOLDS[how](scene, sent, acting, nursery)
    statements = _of_others(own, scene.watched.written)
    committed = _of_others(own, scene.watched.committed)
    after = await scene.rows()
    changed = sorted(set(scene.images.kept) ^ stored)
    if before is not None:
        changed += [table for table, rows in after.items() if rows != before[table]]
    assert sent.answer is not None
    return Held(sent.answer, statements, committed, changed)


def _of_others(own: set[trio.lowlevel.Task], ran: Mapping[trio.lowlevel.Task, list[str]]) -> list[str]:
    return [sql for task, statements in ran.items() if task not in own for sql in statements]


class Sent:
    """A request in a task of its own."""

    def __init__(self, client: Client, method: str, path: str, body: Any) -> None:
        self._client = client
        self._method = method
        self._path = path
        self._body = b"" if body is None else json.dumps(body).encode()
        self.answer: Answer | None = None

    async def run(self, gate: Gate | None = None) -> None:
        self.answer = await self._client.call(
            self._method,
            self._path,
            pieces=[self._body[:-1], self._body[-1:]] if self._body else None,
            headers=[("content-type", "application/json")] if self._body else (),
            held=None if gate is None else gate.wait,
        )


Rows = Mapping[str, list[Any]]
Act = Callable[[], Awaitable[object]]


async def _hold_by_body(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> Rows:
    gate = Gate()
    nursery.start_soon(sent.run, gate)
    return await _open_after(scene, gate, act)


async def _hold_by_filter(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> Rows:
    gate = scene.filter.gate = Gate()
    nursery.start_soon(sent.run)
    rows = await _open_after(scene, gate, act)
    scene.filter.gate = None
    return rows


async def _open_after(scene: Scene, gate: Gate, act: Act) -> Rows:
    """Open a gate after the act, and return what was stored by then."""
    await gate.reached.wait()
    await act()
    rows = await scene.rows()
    gate.opened.set()
    return rows


async def _hold_by_lock(scene: Scene, sent: Sent, act: Act, nursery: trio.Nursery) -> None:
    """Have the request wait to write, behind an act that waits to do so too."""
    written, acted = scene.watched.written, trio.Event()

    async def acting() -> None:
        await act()
        acted.set()

    async with scene.watched.unwatched.write():
        nursery.start_soon(acting)
        await _until(lambda: acted.is_set() or bool(written))
        waiting = len(written)
        nursery.start_soon(sent.run)
        await _until(lambda: len(written) > waiting)


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.lowlevel.checkpoint()


_HOLDS: Mapping[str, Any] = {"body": _hold_by_body, "filter": _hold_by_filter, "lock": _hold_by_lock}
