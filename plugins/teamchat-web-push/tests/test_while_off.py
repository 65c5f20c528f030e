"""J-2: a device whose session ended while Web Push was off gets no push when it is on again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from teamchat_web_push.loopback import LoopbackService
from teamchat_web_push.service import catch_up

from teamchat import Lease
from teamchat.capabilities.changes import InTransaction
from teamchat.model import now_ms
from teamchat.testing import DEADLINE, Server
from tests.harness import running
from tests.push_world import World

PUSH = {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]}


@pytest.fixture
def turn_off(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have no capability hear of what changes from when it is called, as if its plugin were not there."""
    return lambda: monkeypatch.setattr(world.app.capabilities, "in_transaction", InTransaction())


async def catching_up(world: World, position: int) -> None:
    """Have a process take the lease that has heard the log so far, and then send what is due."""
    lease = Lease(world.app.storage, "web-push")
    lease.position = position
    await catch_up(world.app, lease, world.queue, world.sender)
    await world.send()


async def expire(world: World, session_id: str) -> None:
    async with world.app.storage.write() as tx:
        await tx.fetch("update sessions set expires_at = 1 where id = $1", session_id)


async def test_a_device_that_signed_out_gets_neither_what_was_queued_before_nor_what_came_since(
    world: World, turn_off: Callable[[], None]
) -> None:
    kept, _ = await world.subscribe(world.bob)
    phone = await world.user("bob@example.org")
    gone, _ = await world.subscribe(phone)
    queued = await world.direct("queued before")
    await world.hear()
    before = world.heard
    turn_off()
    await world.app.accounts.sessions.logout(phone, None)
    await world.direct("posted meanwhile")
    await catching_up(world, before)
    assert gone.received == []
    assert {queued} <= {row["message_id"] for row in await world.rows()}
    assert len(kept.received) == 1, "two messages of one place are one push"


async def test_who_was_deactivated_meanwhile_gets_nothing_though_they_may_sign_in_again(
    world: World, turn_off: Callable[[], None]
) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct("hello")
    await world.hear()
    before = world.heard
    turn_off()
    users = world.app.accounts.users
    await users.deactivate(world.ada, world.bob.user.id)
    await users.activate(world.ada, world.bob.user.id)
    await catching_up(world, before)
    assert bob.received == []
    assert await world.rows() == []


async def test_who_subscribed_again_after_that_keeps_the_new_one(
    world: World, turn_off: Callable[[], None]
) -> None:
    await world.subscribe(world.bob)
    before = world.heard
    turn_off()
    users = world.app.accounts.users
    await users.deactivate(world.ada, world.bob.user.id)
    await users.activate(world.ada, world.bob.user.id)
    browser, _ = await world.subscribe(await world.user("bob@example.org"))
    await world.direct("welcome back")
    await catching_up(world, before)
    assert [one["body"] for one in browser.payloads] == ["welcome back"]


async def test_ending_all_others_meanwhile_ends_also_what_had_outlived_a_session(
    world: World, turn_off: Callable[[], None]
) -> None:
    expired, _ = await world.subscribe(world.bob)
    await expire(world, world.bob.session_id)
    back = await world.user("bob@example.org")
    kept, _ = await world.subscribe(back)
    await world.hear()
    before = world.heard
    turn_off()
    async with world.app.storage.write() as tx:
        await world.app.accounts.sessions.end_all_in(tx, world.bob.user.id, keep=back.session_id)
    await world.direct("hello")
    await catching_up(world, before)
    assert expired.received == []
    assert len(kept.received) == 1


async def test_a_session_that_merely_expired_meanwhile_keeps_its_device(
    world: World, turn_off: Callable[[], None]
) -> None:
    browser, _ = await world.subscribe(world.bob)
    before = world.heard
    turn_off()
    await expire(world, world.bob.session_id)
    async with world.app.storage.write() as tx:
        await world.app.accounts.sessions.sweep_in(tx)
    await world.direct("are you on holiday?")
    await catching_up(world, before)
    assert [one["body"] for one in browser.payloads] == ["New message"]


async def test_where_the_log_does_not_reach_back_every_device_without_a_session_ends(
    world: World, turn_off: Callable[[], None]
) -> None:
    kept, _ = await world.subscribe(world.bob)
    of_cleo, _ = await world.subscribe(world.cleo)
    before = world.heard
    turn_off()
    await world.app.accounts.sessions.logout(world.cleo, None)
    await world.direct("hello")
    await world.direct("hello", to=world.cleo)
    async with world.app.storage.write() as tx:
        await tx.fetch("delete from events where seq <= $1", before + 1)
    await catching_up(world, before - 1)
    assert of_cleo.received == []
    assert len(kept.received) == 1


async def test_what_is_older_than_a_day_is_not_pushed_when_it_is_on_again(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    before = world.heard
    await world.direct("of yesterday")
    world.ahead = 25 * 3_600_000
    await catching_up(world, before)
    assert bob.received == []
    assert await world.rows() == []
    assert now_ms() < world.now()


def client_of(server: Server, signed_in: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Return a client of a server for who was signed in before it was started again."""
    client = server.client()
    client.headers["Authorization"] = signed_in.headers["Authorization"]
    return client


@pytest.mark.slow
async def test_over_http_a_phone_signed_out_without_the_plugin_stays_silent_with_it(tmp_path: Path) -> None:
    service = LoopbackService()
    async with service.running():
        phone, laptop = service.browser(), service.browser()
        async with (
            running(tmp_path, push=PUSH) as server,
            await server.sign_in() as admin,
            await server.sign_in("bob@example.org") as bob,
            await server.sign_in("bob@example.org") as bobs_phone,
        ):
            assert (await bob.post("/push/subscriptions", json=laptop.subscription)).status_code == 200
            assert (await bobs_phone.post("/push/subscriptions", json=phone.subscription)).status_code == 200
            me = (await bob.get("/me")).json()["user"]["id"]
            opened = await admin.post("/conversations", json={"targetUserId": me})
            path = f"/conversations/{opened.json()['conversation']['id']}/messages"
        async with running(tmp_path, plugins={"disabled": ["push"]}) as server:
            async with client_of(server, bobs_phone) as client:
                assert (await client.post("/auth/logout", json={})).status_code == 200
                assert (await client.get("/push/subscriptions")).status_code in {401, 404}
            async with client_of(server, admin) as client:
                assert (await client.post(path, json={"content": "while it was off"})).status_code == 200
        async with running(tmp_path, push=PUSH) as server, client_of(server, bob) as client:
            await service.until(lambda: len(laptop.received) == 1, DEADLINE)
            listed = (await client.get("/push/subscriptions")).json()["subscriptions"]
            assert len(listed) == 1
    assert phone.received == []
    assert not service.wrong
