"""A token, one's own or a bot's, is one thing at all servers: its scopes, its end, its limits (K-1, K-2)."""

from __future__ import annotations

from typing import Any

import httpx2
import trio

from teamchat.testing import listening
from tests.two_servers.nodes import Pair, fresh_email
from tests.two_servers.test_sessions import ended

SCOPES = ["read", "write", "events"]
MOST_A_SECOND = 10


async def bot(pair: Pair) -> tuple[str, httpx2.AsyncClient, httpx2.AsyncClient]:
    """Make a bot at A; return its id, and clients with its token at both servers."""
    admin, _ = await pair.signed_in()
    answer = await admin.post("/bots", json={"userName": f"Bot {fresh_email().partition('@')[0]}"})
    id_ = answer.json()["bot"]["id"]
    made = await given(admin, f"/bots/{id_}/tokens")
    return id_, pair.a.client(made["token"]), pair.b.client(made["token"])


async def given(client: httpx2.AsyncClient, path: str) -> dict[str, Any]:
    answer = await client.post(path, json={"name": "CI", "scopes": SCOPES})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["token"])


async def test_k1_a_token_made_at_one_server_is_good_at_the_other_until_it_is_revoked(dev: Pair) -> None:
    at_a, at_b = await dev.signed_in(fresh_email())
    made = await given(at_a, "/me/tokens")
    program = dev.b.client(made["token"])
    assert (await program.get("/channels")).status_code == 200
    assert (await program.post("/me/tokens", json={"name": "more", "scopes": SCOPES})).status_code == 403
    async with listening(program) as events:
        assert (await at_a.delete(f"/me/tokens/{made['id']}")).status_code == 200
        assert (await program.get("/channels")).status_code == 401
        await ended(events)
    assert (await at_b.get("/channels")).status_code == 200


async def test_k2_a_bots_token_ends_at_both_servers_with_its_giver_being_an_admin(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    giver, _ = await dev.signed_in(fresh_email())
    user = (await giver.get("/auth/me")).json()["user"]["id"]
    assert (await admin.put(f"/users/{user}/role", json={"role": "admin"})).status_code == 200
    id_, _, kept_at_b = await bot(dev)
    program = dev.b.client((await given(giver, f"/bots/{id_}/tokens"))["token"])
    async with listening(program) as events:
        assert (await admin.put(f"/users/{user}/role", json={"role": "user"})).status_code == 200
        assert (await program.get("/channels")).status_code == 401
        await ended(events)
    assert (await kept_at_b.get("/channels")).status_code == 200


async def test_k2_a_bot_posts_no_more_at_two_servers_than_at_one(dev: Pair) -> None:
    _, at_a, at_b = await bot(dev)
    channels = (await at_a.get("/channels")).json()["channels"]
    path = f"/channels/{next(one['id'] for one in channels if one['name'] == 'General')}/messages"
    statuses: list[int] = []

    async def post(client: httpx2.AsyncClient) -> None:
        statuses.append((await client.post(path, json={"content": "busy"})).status_code)

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for number in range(4 * MOST_A_SECOND):
            nursery.start_soon(post, (at_a, at_b)[number % 2])
    seconds = trio.current_time() - began
    assert set(statuses) <= {200, 429}
    # So many at once, and so many in each second that it took.
    assert MOST_A_SECOND <= statuses.count(200) <= MOST_A_SECOND * (1 + seconds) + 1
