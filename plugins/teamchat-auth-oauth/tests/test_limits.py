"""How often an address may begin and end sign-ins (``oauth.rateLimit``)."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.settings import RateLimit
from teamchat.testing import Provider
from tests.web.client import Client

from .conftest import World, told

INVALID = {"oauth_error": "invalid_state"}


async def test_ten_starts_from_an_address_are_allowed_and_the_eleventh_is_429(world: World) -> None:
    browser = world.browser()
    for _ in range(10):
        await browser.begin()
    world.clock.pass_seconds(100)
    answer = await browser.get("/auth/oauth/beta")
    answer.problem(429)
    assert answer.headers["retry-after"] == "800"
    assert await world.count("oauth_states") == 10
    await world.browser("192.0.2.8").begin()
    world.clock.pass_seconds(800)
    await browser.begin()


async def test_ten_callbacks_from_an_address_are_looked_at_and_the_eleventh_is_redirected(
    world: World, idp: Provider
) -> None:
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    for _ in range(10):
        assert told(await browser.get("/auth/oauth/acme/callback?code=a&state=b")) == INVALID
    assert told(await browser.get(callback)) == {"oauth_error": "rate_limited"}
    assert idp.hits("/token") == 0
    other = world.browser("192.0.2.8")
    assert "access_token" in await other.sign_in(idp)
    world.clock.pass_seconds(900)
    assert "access_token" in await browser.sign_in(idp)


async def test_what_is_beyond_the_limit_writes_no_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever it is has no limit of such requests, and must not fill the disk with them."""
    browser = world.browser()
    for _ in range(30):
        await browser.get("/auth/oauth/acme/callback?code=a&state=b")
    lines = [record for record in caplog.records if record.name.startswith("teamchat_auth_oauth")]
    assert len(lines) == 10


async def test_the_limits_are_those_of_the_configuration(make: Any) -> None:
    world = await make(oauth={"rate_limit": RateLimit(attempts=2, window_seconds=60)})
    browser = world.browser()
    await browser.begin()
    await browser.begin()
    (await browser.get("/auth/oauth/acme")).problem(429)
    world.clock.pass_seconds(60)
    await browser.begin()


async def test_a_window_that_is_longer_than_that_of_passwords_is_kept_whole(make: Any) -> None:
    world = await make(oauth={"rate_limit": RateLimit(attempts=1, window_seconds=86_400)})
    browser = world.browser()
    await browser.begin()
    world.clock.pass_seconds(86_399)
    await world.app.accounts.sweep()
    (await browser.get("/auth/oauth/acme")).problem(429)


async def test_addresses_of_one_network_share_a_limit_but_not_a_state(make: Any, idp: Provider) -> None:
    world = await make(oauth={"rate_limit": RateLimit(attempts=1)})
    one, other = world.browser("2001:db8::1"), world.browser("2001:db8::2")
    callback = idp.approve(await one.begin())
    (await other.get("/auth/oauth/acme")).problem(429)
    other.cookies = one.cookies
    assert told(await other.get(callback)) == INVALID


async def test_d19_an_address_that_a_client_claims_counts_for_nothing(world: World) -> None:
    client = Client(world.site, peer="192.0.2.7")
    statuses = [
        (
            await client.call(
                "GET", "/auth/oauth/acme", headers=[("x-forwarded-for", f"198.51.100.{number}")]
            )
        ).status
        for number in range(12)
    ]
    assert statuses == [302] * 10 + [429] * 2


async def test_the_general_limit_ends_a_callback_in_a_redirect_too(make: Any) -> None:
    world = await make(server={"rate_limit": RateLimit(attempts=1)})
    browser = world.browser()
    await browser.begin()
    assert told(await browser.get("/auth/oauth/acme/callback")) == {"oauth_error": "rate_limited"}
