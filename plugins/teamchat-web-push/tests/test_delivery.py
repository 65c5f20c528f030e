"""J-3 to J-7: what becomes of a push at the service of its device."""

from __future__ import annotations

import pytest
from teamchat_web_push.sender import seconds_of

from teamchat.model import now_ms
from tests.push_world import HOUR, World


async def test_a_subscription_that_its_service_has_forgotten_goes(world: World) -> None:
    for status in (404, 410):
        bob, _ = await world.subscribe(world.bob)
        bob.answer = status
        await world.direct("hello")
        await world.go()
        async with world.app.storage.read() as tx:
            assert await tx.fetch("select id from web_push_subscriptions") == []
        assert await world.rows() == []


async def test_what_is_too_long_for_a_service_is_sent_again_without_its_text(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    bob.answer = 413

    def take_the_next(_: object) -> None:
        bob.answer = 201

    world.service.on_push = take_the_next
    await world.direct("long")
    await world.go()
    assert [one["body"] for one in bob.payloads] == [""]
    assert world.service.requests == 2


async def test_a_busy_service_is_asked_again_when_it_says_and_else_ever_less_often(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    bob.answer, bob.answer_headers = 429, {"Retry-After": "7"}
    await world.direct("hello")
    await world.go()
    [row] = await world.rows()
    assert 6000 < row["due_at"] - world.now() <= 7000
    bob.answer, bob.answer_headers = 503, {}
    for pause in (60, 300, 1800, 1800):
        world.ahead = row["due_at"] - now_ms() + 50
        world.sender._resting.clear()
        await world.go()
        [row] = await world.rows()
        assert 0 <= pause * 1000 - (row["due_at"] - world.now()) < 5000
    bob.answer = 201
    world.ahead = row["due_at"] - now_ms() + 50
    world.sender._resting.clear()
    await world.go()
    assert len(bob.payloads) == 1
    assert world.service.requests == 6


async def given_up(world: World) -> None:
    """Have the one row tried whenever it is due, until it is tried no more."""
    for _ in range(100):
        await world.go()
        [row] = await world.rows()
        if row["outcome"] is not None:
            break
        world.ahead = row["due_at"] - now_ms() + 50
        world.sender._resting.clear()
    assert (row["outcome"], row["reason"]) == ("expired", "503")


async def test_what_can_not_be_delivered_in_its_time_is_given_up(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    bob.answer = 503
    await world.direct("hello")
    await given_up(world)
    assert world.ahead < 25 * HOUR


@pytest.mark.parametrize("is_let_go", [False, True])
async def test_what_was_held_is_tried_for_its_time_from_when_it_was_let_go_and_then_given_up(
    world: World, is_let_go: bool
) -> None:
    bob, _ = await world.subscribe(world.bob)
    bob.answer = 503
    await world.choose(world.bob, pausedUntil=now_ms() + 60 * HOUR)
    await world.direct("hello")
    await world.go()
    assert await world.reasons() == [(None, "quiet")]
    if is_let_go:
        await world.choose(world.bob, pausedUntil=None)
    else:
        world.ahead += 60 * HOUR + 1000
    began = world.ahead
    await given_up(world)
    assert 23 * HOUR < world.ahead - began < 25 * HOUR


@pytest.mark.parametrize("status", [401, 403])
async def test_a_service_that_refuses_the_key_is_told_of_and_not_asked_again(
    world: World, status: int
) -> None:
    bob, _ = await world.subscribe(world.bob)
    bob.answer = status
    await world.direct("hello")
    await world.go()
    assert await world.reasons() == [("refused", str(status))]
    async with world.app.storage.read() as tx:
        [(error,)] = await tx.fetch("select last_error from web_push_subscriptions")
    assert error.startswith(str(status))


async def test_a_redirect_is_not_followed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    other, _ = await world.subscribe(world.cleo)
    bob.answer, bob.answer_headers = 307, {"Location": other.endpoint}
    await world.direct("hello")
    await world.go()
    assert world.service.requests == 1
    assert (await world.reasons())[0] == (None, "307")


async def test_a_service_that_can_not_be_reached_is_asked_again_and_its_device_says_so(world: World) -> None:
    bob = world.service.browser()
    bob.endpoint = "http://127.0.0.1:9/push"
    await world.subscribe(world.bob, bob)
    await world.direct("hello")
    await world.go()
    [row] = await world.rows()
    assert row["outcome"] is None
    assert row["tries"] == 1
    async with world.app.storage.read() as tx:
        [(error,)] = await tx.fetch("select last_error from web_push_subscriptions")
    assert error.startswith("no connection")


async def test_one_host_that_is_away_keeps_nobody_elses_pushes(world: World) -> None:
    away = world.service.browser()
    away.endpoint = "http://localhost:9/push"
    world.sender._services._allowed = ["localhost", "127.0.0.1"]
    bob, _ = await world.subscribe(world.bob)
    async with world.app.storage.write() as tx:
        await tx.fetch(
            """insert into web_push_subscriptions (id, user_id, session_id, endpoint, endpoint_hash, host,
            p256dh, auth, device_name, language, created_at) select 'away', user_id, session_id, $1, 'away',
            'localhost', p256dh, auth, '', 'en', created_at from web_push_subscriptions""",
            away.endpoint,
        )
    await world.direct("hello")
    await world.go()
    assert len(bob.payloads) == 1


def test_retry_after_is_read_as_seconds_and_as_a_date() -> None:
    assert seconds_of("120", 0) == 120
    assert seconds_of("Thu, 01 Jan 1970 00:01:00 GMT", 0) == 60
    assert seconds_of("Thu, 01 Jan 1970 00:01:00 GMT", 90_000) == 0
    assert seconds_of("soon", 0) is None
    assert seconds_of("9" * 40, 0) == 24 * 3600
    assert seconds_of(None, 0) is None
