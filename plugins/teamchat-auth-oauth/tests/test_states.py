"""A state is good once, for ten minutes, for one provider, one address and one browser (decision D-20)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import trio
from teamchat_auth_oauth.sign_in import sweep
from teamchat_auth_oauth.states import LIFETIME_MS

from teamchat.accounts import keys
from teamchat.settings import RateLimit
from teamchat.testing import Provider

from .conftest import Browser, World, query_of, told

INVALID = {"oauth_error": "invalid_state"}
Variant = Callable[[World, Browser, str], Awaitable[str]]


async def missing(world: World, browser: Browser, callback: str) -> str:
    return callback.replace("state=", "other=")


async def unknown(world: World, browser: Browser, callback: str) -> str:
    return callback.replace("state=", "state=" + "x" * 43 + "&other=")


async def expired(world: World, browser: Browser, callback: str) -> str:
    world.clock.pass_seconds(600)
    return callback


async def of_another_provider(world: World, browser: Browser, callback: str) -> str:
    return callback.replace("/acme/", "/beta/")


async def of_another_address(world: World, browser: Browser, callback: str) -> str:
    browser.ip = "192.0.2.8"
    return callback


async def of_another_browser(world: World, browser: Browser, callback: str) -> str:
    browser.cookies.clear()
    await browser.begin()  # it has a cookie, but not that one
    return callback


async def of_a_browser_without_cookie(world: World, browser: Browser, callback: str) -> str:
    browser.cookies.clear()
    return callback


@pytest.mark.parametrize(
    "variant",
    [
        missing,
        unknown,
        expired,
        of_another_provider,
        of_another_address,
        of_another_browser,
        of_a_browser_without_cookie,
    ],
)
async def test_d20_a_state_that_is_not_good_is_refused_and_no_code_reaches_a_provider(
    world: World, idp: Provider, second: Provider, variant: Variant
) -> None:
    browser = world.browser()
    callback = await variant(world, browser, idp.approve(await browser.begin()))
    assert told(await browser.get(callback)) == INVALID
    assert idp.hits("/token") == second.hits("/token") == 0
    assert await world.count("sessions") == 0


async def test_d20_a_state_is_good_until_the_tenth_minute_ends(world: World, idp: Provider) -> None:
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    world.clock.pass_seconds(599)
    assert "access_token" in told(await browser.get(callback))


async def test_d20_a_state_is_good_once(world: World, idp: Provider) -> None:
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    assert "access_token" in told(await browser.get(callback))
    assert told(await browser.get(callback)) == INVALID
    assert idp.hits("/token") == 1


@pytest.mark.parametrize("wrong", ["address", "browser"])
async def test_whoever_comes_with_a_state_spends_it(world: World, idp: Provider, wrong: str) -> None:
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    thief = world.browser("192.0.2.8") if wrong == "address" else Browser(world.site)
    assert told(await thief.get(callback)) == INVALID
    assert told(await browser.get(callback)) == INVALID
    assert idp.hits("/token") == 0


async def test_of_a_hundred_callbacks_at_once_one_succeeds(make: Any, idp: Provider) -> None:
    world = await make(auth={"is_invite_required": False}, oauth={"rate_limit": RateLimit(attempts=1000)})
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    ends: list[dict[str, str]] = []

    async def come_back() -> None:
        ends.append(told(await browser.get(callback)))

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(come_back)
    assert len([end for end in ends if "access_token" in end]) == 1
    assert ends.count(INVALID) == 99
    assert idp.hits("/token") == 1
    assert await world.count("sessions") == 1


async def test_states_and_browsers_are_kept_as_hashes_alone(world: World, idp: Provider) -> None:
    browser = world.browser()
    query = query_of(await browser.begin())
    [row] = await world.fetch("select state_hash, provider, network, browser_hash from oauth_states")
    [cookie] = browser.cookies.values()
    assert row == (keys.digest(query["state"]), "acme", "192.0.2.7", keys.digest(cookie))
    assert not {query["state"], query["nonce"], cookie} & set(row)


async def test_every_sign_in_has_its_own_state_challenge_and_nonce(make: Any) -> None:
    world = await make(oauth={"rate_limit": RateLimit(attempts=1000)})
    browser = world.browser()
    queries = [query_of(await browser.begin()) for _ in range(100)]
    for name in ("state", "code_challenge", "nonce"):
        assert len({query[name] for query in queries}) == 100
    everything = {query[name] for query in queries for name in ("state", "code_challenge", "nonce")}
    assert len(everything) == 300


async def test_d20_the_provider_checks_the_verifier_of_each_sign_in(world: World, idp: Provider) -> None:
    browser = world.browser()
    first, second = idp.approve(await browser.begin()), idp.approve(await browser.begin())
    mixed = first.replace(query_of(first)["code"], query_of(second)["code"])
    assert told(await browser.get(mixed)) == {"oauth_error": "invalid_code"}
    assert idp.hits("/token") == 1
    assert len(idp.requests[0].form["code_verifier"]) == 43


async def test_the_verifier_depends_on_a_secret_of_the_server(world: World, idp: Provider) -> None:
    browser = world.browser()
    callback = idp.approve(await browser.begin())
    await browser.get(callback)
    verifier, state = idp.requests[0].form["code_verifier"], query_of(callback)["state"]
    assert verifier not in {keys.token(b"", f"pkce:{state}"), state}


async def test_states_that_expired_go_at_the_next_start(world: World) -> None:
    browser = world.browser()
    await browser.begin()
    world.clock.now += LIFETIME_MS
    await browser.begin()
    assert await world.count("oauth_states") == 1


async def test_the_sweep_removes_what_has_had_its_time_and_nothing_else(world: World) -> None:
    browser = world.browser()
    await browser.begin()
    await sweep(world.app.accounts, world.app.settings.oauth.rate_limit)
    assert (await world.count("oauth_states"), await world.count("attempts")) == (1, 1)
    world.clock.now += LIFETIME_MS
    await sweep(world.app.accounts, world.app.settings.oauth.rate_limit)
    assert (await world.count("oauth_states"), await world.count("attempts")) == (0, 1)
    world.clock.pass_seconds(300)
    await sweep(world.app.accounts, world.app.settings.oauth.rate_limit)
    assert await world.count("attempts") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ("", "invalid_code"),
        ("code=", "invalid_code"),
        (f"code={'x' * 8193}", "invalid_code"),
        (f"code={quote('é')}", "invalid_code"),
        ("code=a%00b", "invalid_code"),
        ("code=a%0d%0ab", "invalid_code"),
        ("error=access_denied", "access_denied"),
        ("error=access_denied&code=a", "access_denied"),
        ("error=server_error&error_description=SENT", "provider_error"),
        (f"error={quote('SENT<script>')}", "provider_error"),
        (f"error={'SENT' * 1250}", "provider_error"),
    ],
)
async def test_an_answer_without_a_usable_code_is_refused_and_its_state_spent(
    world: World, idp: Provider, extra: str, reason: str
) -> None:
    browser = world.browser()
    state = query_of(await browser.begin())["state"]
    assert told(await browser.get(f"/auth/oauth/acme/callback?state={state}&{extra}")) == {
        "oauth_error": reason
    }
    assert await world.count("oauth_states") == 0
    assert idp.hits("/token") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "code=a&code=b",
        "state={state}&state={state}&code=a",
        "state={state}&code=a&code=b",
        "state={state}&error=a&error=b",
        "state={state}%00&code=a",
        "state=%ff%fe&code=a",
        "state=%ed%a0%80&code=a",
        "state=" + "x" * 10_000,
        "state[]={state}&code=a",
        "&".join(f"a{number}=b" for number in range(200)) + "&state={state}",
        "%",
        "=",
        urlencode({"state": "\r\nSet-Cookie: a=b", "code": "\r\n"}),
    ],
)
async def test_odd_queries_are_redirects_that_repeat_nothing(world: World, idp: Provider, query: str) -> None:
    browser = world.browser()
    state = query_of(await browser.begin())["state"]
    answer = await browser.get("/auth/oauth/acme/callback?" + query.replace("{state}", state))
    assert told(answer) == INVALID
    assert not answer.all("set-cookie")
    assert idp.hits("/token") == 0
