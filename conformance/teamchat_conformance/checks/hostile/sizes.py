"""NEG-SIZE: more than a server can mean to take: bodies, headers, addresses, patience.

While one asker is a burden the others are served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import messages, messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.rawhttp import head, raw
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("NEG-SIZE-01", "§7", "A message of 32 MB is refused")
area.recommended("NEG-SIZE-02", "D-07a", "A body that is announced and does not come holds up nobody else")
area.recommended("NEG-SIZE-03", "RFC 9110 §15.5.15", "Heads without end are refused, or borne")
area.recommended("NEG-SIZE-04", "§7", "Fifty askers of a byte a second hold up nobody else", "load")

_MEGABYTE = 1_000_000
_SOON_SECONDS = 2.0
_REFUSED = (400, 413, 414, 431)


async def _is_served(run: Run) -> None:
    began = trio.current_time()
    (await run.u.get("/channels")).expect(200)
    took = trio.current_time() - began
    require(took < run.wait(_SOON_SECONDS), f"meanwhile another request took {took:.1f} s")


async def _good_for_posting(run: Run) -> list[tuple[str, str]]:
    """Return the headers of a message by user U, whose token is made sure to be good."""
    await run.u.keep_good()
    return [("Authorization", f"Bearer {run.u.token}"), ("Content-Type", "application/json")]


@area.scenario("NEG-SIZE-01", ALIVE)
async def a_message_of_32_megabytes(run: Run) -> None:
    channel = await run.channel()
    target = messages_at(channel)
    given = await _good_for_posting(run)
    length = 32 * _MEGABYTE
    start, end = b'{"content": "', b'"}'
    piece = b"x" * _MEGABYTE
    filling = [piece] * 31 + [piece[: _MEGABYTE - len(start) - len(end)]]
    with run.verdict("NEG-SIZE-01"):
        async with raw(run, run.u.actor) as connection:
            path = connection.prefix + target
            sent = head("POST", path, *given, ("Content-Length", str(length)), host=connection.host)
            answer = await connection.ask("POST", target, [sent + start, *filling, end], seconds=run.wait(30))
            if answer is None:
                require(connection.has_ended, "a message of 32 MB gets no answer")
                note("the connection was closed and no answer could be read")
            else:
                answer.error(400, accept=(413,))
        require(await messages(run.v, channel) == [], "what was refused is listed")
    await still_alive(run)


@area.scenario("NEG-SIZE-02", ALIVE)
async def a_body_that_does_not_come(run: Run) -> None:
    channel = await run.channel()
    target = messages_at(channel)
    given = await _good_for_posting(run)
    with run.verdict("NEG-SIZE-02"):
        async with raw(run, run.u.actor) as connection:
            path = connection.prefix + target
            sent = head("POST", path, *given, ("Content-Length", str(10**9)), host=connection.host)
            answer = await connection.ask("POST", target, sent + b" " * 1_000, seconds=run.wait(1))
            await _is_served(run)
            if answer is not None:
                answer.error(400, accept=(408, 413))
        require(await messages(run.v, channel) == [], "a message came of it")
    await still_alive(run)


@area.scenario("NEG-SIZE-03", ALIVE)
async def heads_without_end(run: Run) -> None:
    many = tuple((f"X-Header-{number}", "x") for number in range(200))
    given = {
        "a header of 64 kB": ("/health", (("X-Long", "x" * 65_536),)),
        "200 headers": ("/health", many),
        "a path of 64 kB": (f"/{'x' * 65_536}", ()),
        "a query of 10,000": (f"/health?{'&'.join(f'a{n}={n}' for n in range(10_000))}", ()),
    }
    with run.verdict("NEG-SIZE-03") as finding:
        found: dict[str, int | None] = {}
        for what, (target, headers) in given.items():
            async with raw(run) as connection:
                sent = head("GET", connection.prefix + target, *headers, host=connection.host)
                answer = await connection.ask("GET", target[:80], sent)
                found[what] = answer.status if answer else None
                require(answer or connection.has_ended, f"{what}: no answer")
                if answer is not None:
                    answer.expect(200, 404, *_REFUSED)
        finding.value = found
    await still_alive(run)


@area.scenario("NEG-SIZE-04", ALIVE, needs=["load"])
async def a_byte_a_second(run: Run) -> None:
    given = await _good_for_posting(run)
    target = messages_at(await run.channel())

    async def drip(task_status: trio.TaskStatus[None]) -> None:
        async with raw(run, run.u.actor) as connection:
            path = connection.prefix + target
            await connection.send(
                head("POST", path, *given, ("Content-Length", "1000"), host=connection.host)
            )
            task_status.started()
            while True:
                await connection.send(b" ")
                await trio.sleep(1)

    with run.verdict("NEG-SIZE-04"):
        async with trio.open_nursery() as nursery:
            for _ in range(50):
                await nursery.start(drip)
            slowest = 0.0
            for _ in range(20):
                began = trio.current_time()
                await run.u.get("/channels")
                slowest = max(slowest, trio.current_time() - began)
                await trio.sleep(0.25)
            nursery.cancel_scope.cancel()
        require(slowest < run.wait(_SOON_SECONDS), f"meanwhile a request took {slowest:.1f} s")
    await still_alive(run)
