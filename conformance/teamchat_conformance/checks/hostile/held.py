"""NEG-HELD: who is gone does nothing more with a request that was begun before (decision D-39)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import at, ids, messages, messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.rawhttp import head, raw

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

area.recommended(
    "NEG-HELD-01", "D-39", "A body that ends after its user was removed is 401 and posts nothing"
)
area.recommended("NEG-HELD-02", "D-39", "A body that ends after its session has ended is 401, posts nothing")


@area.scenario("NEG-HELD-01", ALIVE)
async def held_over_a_removal(run: Run) -> None:
    someone = await run.new_user()

    async def removed() -> None:
        (await run.a.delete(at("users", someone.user_id))).expect(200)

    with run.verdict("NEG-HELD-01"):
        await _is_refused(run, someone, removed)
    await still_alive(run)


@area.scenario("NEG-HELD-02", ALIVE)
async def held_over_a_sign_out(run: Run) -> None:
    someone = await run.new_user()

    async def signed_out() -> None:
        (await someone.delete("/auth/sessions", {})).expect(200)

    with run.verdict("NEG-HELD-02"):
        await _is_refused(run, someone, signed_out)
    await still_alive(run)


async def _is_refused(run: Run, someone: Actor, end: Callable[[], Awaitable[None]]) -> None:
    """Post a message whose last byte comes after somebody's end."""
    channel = await run.channel()
    body = json.dumps({"content": "said too late"}).encode()
    async with raw(run, someone.actor) as connection:
        target = connection.prefix + messages_at(channel)
        headers = {
            "Authorization": f"Bearer {someone.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        await connection.send(head("POST", target, *headers.items(), host=connection.host) + body[:-1])
        (await someone.get("/auth/me")).expect(200)  # By then the server has let the other one in.
        await end()
        (await connection.told("POST", target, body[-1:], body=body)).error(401)
    require(ids(await messages(run.u, channel)) == [], "a message was posted by somebody who is gone")
