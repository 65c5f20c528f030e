"""J-2, J-8: subscriptions belong to sessions, and lead to no private network."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest
import trio
from teamchat_web_push import addresses
from teamchat_web_push import subscriptions as module
from teamchat_web_push.subscriptions import KEPT_MS, MOST, SubscriptionDraft, Subscriptions

from teamchat import BadRequest, NotFound
from teamchat.model import now_ms
from tests.push_world import LOCAL, World


async def ids(world: World) -> set[str]:
    async with world.app.storage.read() as tx:
        return {one for (one,) in await tx.fetch("select id from web_push_subscriptions")}


async def test_a_known_endpoint_keeps_its_id_and_takes_what_is_new(world: World) -> None:
    browser, first = await world.subscribe(world.bob, deviceName="Phone")
    _, again = await world.subscribe(world.bob, browser, deviceName="  My   phone ")
    assert first.id == again.id
    assert again.device_name == "My phone"
    assert await ids(world) == {first.id}


async def test_the_same_request_under_one_key_is_answered_the_same_and_does_nothing(world: World) -> None:
    subscriptions = Subscriptions(world.app, LOCAL.allowed_hosts)
    browser = world.service.browser()
    draft = msgspec.convert(browser.subscription, SubscriptionDraft)
    first = await subscriptions.add(world.bob, draft, "one")
    _, taken = await world.subscribe(world.cleo, browser)
    with pytest.raises(BadRequest, match="is gone"):
        await subscriptions.add(world.bob, draft, "one")
    assert await ids(world) == {taken.id}, "the retry has taken the browser back"
    again = await subscriptions.add(world.bob, draft, "two")
    assert await subscriptions.add(world.bob, draft, "two") == again
    assert await subscriptions.get(world.bob, again.id) == again
    assert again.id != first.id
    other = msgspec.convert(world.service.browser().subscription, SubscriptionDraft)
    with pytest.raises(BadRequest, match="another request"):
        await subscriptions.add(world.bob, other, "two")
    assert (await subscriptions.add(world.cleo, other, "two")).id != again.id, "a key is its user's"


async def test_who_signs_in_on_a_shared_browser_gets_their_own_pushes_and_none_of_the_last_users(
    world: World,
) -> None:
    browser, first = await world.subscribe(world.bob)
    await world.direct("for Bob")
    await world.hear()
    _, second = await world.subscribe(world.cleo, browser)
    assert first.id != second.id
    await world.send()
    assert browser.received == []
    await world.direct("for Cleo", to=world.cleo)
    await world.go()
    assert [one["body"] for one in browser.payloads] == ["for Cleo"]


async def test_the_eleventh_subscription_ends_the_oldest(world: World) -> None:
    made = [(await world.subscribe(world.bob))[1].id for _ in range(MOST + 1)]
    assert await ids(world) == set(made[1:])


async def test_signing_out_ends_that_sessions_subscriptions_in_its_transaction(world: World) -> None:
    _, kept = await world.subscribe(world.bob)
    other = await world.user("bob@example.org")
    _, ended = await world.subscribe(other)
    assert await ids(world) == {kept.id, ended.id}
    await world.app.accounts.sessions.logout(other, None)
    assert await ids(world) == {kept.id}


async def test_ending_one_session_from_another_device_ends_its_subscription_alone(world: World) -> None:
    _, kept = await world.subscribe(world.bob)
    other = await world.user("bob@example.org")
    _, _ = await world.subscribe(other)
    await world.app.accounts.sessions.end(world.bob, other.session_id)
    assert await ids(world) == {kept.id}


async def test_the_session_that_is_one_too_many_takes_its_subscription_along(world: World) -> None:
    _, first = await world.subscribe(world.bob)
    for _ in range(world.app.settings.auth.max_active_sessions):
        await world.user("bob@example.org")
    assert first.id not in await ids(world)


async def test_a_session_that_merely_expired_keeps_it_for_30_days_and_shows_nothing(world: World) -> None:
    browser, made = await world.subscribe(world.bob)
    subscriptions = Subscriptions(world.app, LOCAL.allowed_hosts)
    async with world.app.storage.write() as tx:
        await tx.fetch("update sessions set expires_at = 1 where id = $1", world.bob.session_id)
    await world.direct("are you on holiday?")
    await world.go()
    assert [one["body"] for one in browser.payloads] == ["New message"]
    async with world.app.storage.write() as tx:
        await world.app.accounts.sessions.sweep_in(tx)
    await subscriptions.tidy()
    assert await ids(world) == {made.id}
    async with world.app.storage.write() as tx:
        await tx.fetch("update web_push_subscriptions set left_at = $1", now_ms() - KEPT_MS)
    await subscriptions.tidy()
    assert await ids(world) == set()


async def test_one_whose_session_expired_is_theirs_again_when_they_sign_in_on_that_device(
    world: World,
) -> None:
    browser, made = await world.subscribe(world.bob)
    async with world.app.storage.write() as tx:
        await tx.fetch("update sessions set expires_at = 1 where id = $1", world.bob.session_id)
    back = await world.user("bob@example.org")  # It removes what has expired.
    assert await ids(world) == {made.id}
    _, again = await world.subscribe(back, browser)
    assert again.id == made.id
    await world.direct("welcome back")
    await world.go()
    assert [one["body"] for one in browser.payloads] == ["welcome back"]


async def test_ending_all_sessions_ends_also_what_had_outlived_one(world: World) -> None:
    await world.subscribe(world.bob)
    async with world.app.storage.write() as tx:
        await tx.fetch("update sessions set expires_at = 1 where id = $1", world.bob.session_id)
    back = await world.user("bob@example.org")
    _, kept = await world.subscribe(back)
    _, of_cleo = await world.subscribe(world.cleo)
    async with world.app.storage.write() as tx:
        await world.app.accounts.sessions.end_all_in(tx, world.bob.user.id, keep=back.session_id)
    assert await ids(world) == {kept.id, of_cleo.id}
    await world.app.accounts.sessions.end(back)
    assert await ids(world) == {of_cleo.id}


async def test_who_is_removed_is_pushed_nothing_any_more(world: World) -> None:
    browser, _ = await world.subscribe(world.bob)
    await world.direct("hello")
    await world.hear()
    await world.app.accounts.users.remove(world.ada, world.bob.user.id)
    assert await ids(world) == set()
    await world.send()
    assert browser.received == []


async def test_a_subscription_of_somebody_elses_is_as_one_that_never_was(world: World) -> None:
    _, made = await world.subscribe(world.bob)
    subscriptions = Subscriptions(world.app, LOCAL.allowed_hosts)
    for id_ in (made.id, "0" * 32, "no id\0"):
        with pytest.raises(NotFound, match=r"^There is no such subscription of yours\.$"):
            await subscriptions.remove(world.cleo, id_)
        with pytest.raises(NotFound, match=r"^There is no such subscription of yours\.$"):
            await subscriptions.one(world.cleo, id_)
    assert await subscriptions.page(world.cleo) == ([], None)


async def test_x11_they_are_listed_in_pages_and_a_cursor_survives_what_it_points_at(world: World) -> None:
    made = [(await world.subscribe(world.bob))[1] for _ in range(5)]
    await world.subscribe(world.cleo)
    subscriptions = Subscriptions(world.app, LOCAL.allowed_hosts)
    oldest = sorted(made, key=lambda one: (one.created_at, one.id))
    first, cursor = await subscriptions.page(world.bob, 2)
    assert first == oldest[:2]
    await subscriptions.remove(world.bob, first[1].id)
    second, cursor = await subscriptions.page(world.bob, 2, cursor)
    assert second == oldest[2:4]
    assert await subscriptions.page(world.bob, 2, cursor) == (oldest[4:], None)
    with pytest.raises(BadRequest, match="cursor"):
        await subscriptions.page(world.bob, 2, "1.2")


async def test_of_many_that_are_made_in_one_moment_the_last_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = now_ms()
    monkeypatch.setattr(module, "now_ms", lambda: moment)
    for _ in range(3 * MOST):
        _, made = await world.subscribe(world.bob)
        assert made.id in await ids(world)
    assert len(await ids(world)) == MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.net/1",
        "https://127.0.0.2/1",
        "https://10.1.2.3/1",
        "https://[::1]/1",
        "https://[::ffff:169.254.169.254]/latest",
        "https://[64:ff9b::a00:1]/1",
        "https://localhost/1",
        "https://user@push.example.net/1",
        "https://push.example.net/a b",
        "https://push.example.net/1\r\nHost: x",
        "https://push.example.net:99999/1",
        "https://push.example.net:0/1",
        "ftp://push.example.net/1",
        "https:///1",
        "https://push..example.net/1",
        "https://.example.net/1",
        f"https://{'x' * 64}.example.net/1",
        "https://push.example.net/" + "x" * 2048,
        "",
    ],
)
async def test_an_address_that_no_push_goes_to_is_refused(world: World, endpoint: str) -> None:
    browser = world.service.browser()
    draft = msgspec.convert({**browser.subscription, "endpoint": endpoint}, SubscriptionDraft)
    with pytest.raises(BadRequest):
        await Subscriptions(world.app, ["127.0.0.1"]).add(world.bob, draft)
    assert await ids(world) == set()


async def test_a_name_that_can_not_be_resolved_now_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str, port: int, **_: Any) -> list[Any]:
        raise OSError("no such name")

    monkeypatch.setattr(addresses, "getaddrinfo", unknown)
    await world.subscribe(world.bob, world.service.browser(), endpoint="https://push.example.net/1")
    assert len(await ids(world)) == 1


async def test_names_that_are_resolved_slowly_keep_nobody_elses_threads_and_are_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def slow(host: str, port: int, **_: Any) -> list[Any]:
        answered.wait(10)
        raise OSError("no answer")

    monkeypatch.setattr(addresses, "getaddrinfo", slow)
    monkeypatch.setattr(module, "_LOOKUP_SECONDS", 0.1)
    subscriptions, others = Subscriptions(world.app, []), trio.to_thread.current_default_thread_limiter()
    try:
        async with trio.open_nursery() as nursery:
            for number in range(50):
                given = {
                    **world.service.browser().subscription,
                    "endpoint": f"https://{number}.example.net/1",
                }
                nursery.start_soon(subscriptions.add, world.bob, msgspec.convert(given, SubscriptionDraft))
            await trio.sleep(0.05)
            assert others.borrowed_tokens == 0
        assert len(await ids(world)) == MOST
    finally:
        answered.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys", [{"p256dh": "", "auth": ""}, {"p256dh": "AAAA"}, {"auth": "AAAA"}, {"auth": "+/"}]
)
async def test_keys_that_are_none_are_refused(world: World, keys: dict[str, str]) -> None:
    browser = world.service.browser()
    with pytest.raises(BadRequest):
        await world.subscribe(world.bob, browser, keys={**browser.subscription["keys"], **keys})
