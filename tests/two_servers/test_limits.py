"""``server.rateLimit`` counts the requests of all servers together (decision D-18)."""

from __future__ import annotations

import trio

from tests.two_servers.nodes import REQUESTS, Node, Pair, fresh_address


async def test_d18_a_client_gets_no_more_from_two_servers_than_from_one(dev: Pair) -> None:
    address = fresh_address()
    statuses: list[int] = []

    async def ask(node: Node, pause: int) -> None:
        client = node.client(address=address)
        while 429 not in statuses[-1:]:
            for _ in range(pause):
                await trio.lowlevel.checkpoint()
            statuses.append((await client.get("/health")).status_code)

    async with trio.open_nursery() as nursery:
        for pause in range(3):
            nursery.start_soon(ask, dev.a, pause)
            nursery.start_soon(ask, dev.b, pause)
    for node in (dev.a, dev.b):
        while (answer := await node.client(address=address).get("/health")).status_code == 200:
            statuses.append(200)
        assert answer.json() == {"error": "Too many attempts. Try again later."}
        assert 0 < int(answer.headers["Retry-After"]) <= 3600
    # Asked until both refuse: nothing that one of them took is left, and nothing was let through twice.
    assert statuses.count(200) == REQUESTS
    assert (await dev.a.client().get("/health")).status_code == 200
