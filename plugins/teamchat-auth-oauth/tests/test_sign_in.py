"""Signing in at a provider, from the button to the session."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import trio
from teamchat_auth_oauth.endpoints import section_for
from teamchat_auth_oauth.providers import callback

from teamchat.testing import Provider, Reply, provider
from teamchat.web import documents
from teamchat.web.app import create_app
from tests.web.client import Client

from .conftest import ADMIN, APP_URL, Browser, World, custom, query_of, told


async def test_a_whole_sign_in_gives_tokens_that_work(world: World) -> None:
    tokens = await world.sign_in()
    assert tokens["expires_in"] == "900"
    assert (await world.me(tokens))["email"] == "jane@example.org"
    refreshed = await Client(world.site).ok(
        "POST", "/auth/refresh", {"refreshToken": tokens["refresh_token"]}
    )
    assert refreshed["accessToken"]


async def test_the_session_is_one_like_any_other(world: World) -> None:
    tokens = await world.sign_in()
    client = Client(world.site, tokens["access_token"])
    [session] = (await client.ok("GET", "/auth/sessions"))["sessions"]
    assert session["ip"] == "192.0.2.7"
    assert session["isCurrentSession"]


async def test_the_providers_are_listed_with_where_to_go(world: World) -> None:
    listed = await Client(world.site).ok("GET", "/auth/oauth/providers")
    assert listed == {
        "providers": [
            {"id": "acme", "name": "Acme", "loginUrl": "/app/auth/oauth/acme"},
            {"id": "beta", "name": "Beta", "loginUrl": "/app/auth/oauth/beta"},
        ],
        "count": 2,
    }


async def test_the_way_in_stands_beside_the_way_back(make: Any, idp: Provider) -> None:
    back = "https://chat.example.org/auth/oauth/acme/callback"
    elsewhere = "https://chat.example.org/elsewhere"
    providers = [custom(idp, redirect_uri=back), custom(idp, "beta", redirect_uri=elsewhere)]
    world = await make(oauth={"custom": providers})
    listed = await Client(world.site).ok("GET", "/auth/oauth/providers")
    assert [one["loginUrl"] for one in listed["providers"]] == ["/auth/oauth/acme", "/auth/oauth/beta"]


@pytest.mark.parametrize("path", ["/auth/oauth/providers", "/auth/oauth/acme", "/auth/oauth/acme/callback"])
async def test_without_a_provider_the_endpoints_are_not_there(make: Any, path: str) -> None:
    world = await make(oauth={"custom": []})
    (await Client(world.site).call("GET", path)).problem(404)


async def test_an_unknown_provider_is_404_at_the_start_and_a_redirect_at_the_end(world: World) -> None:
    (await Client(world.site).call("GET", "/auth/oauth/nobody")).problem(404)
    answer = await Client(world.site).call("GET", "/auth/oauth/nobody/callback?code=1&state=2")
    assert told(answer) == {"oauth_error": "invalid_state"}


async def test_the_browser_is_sent_with_everything_the_provider_needs(world: World, idp: Provider) -> None:
    location = await world.browser().begin()
    query = query_of(location)
    assert location.startswith(f"{idp.authorization_url}?")
    assert query["response_type"] == "code"
    assert query["client_id"] == idp.client_id
    assert query["redirect_uri"] == "https://chat.example.org/app/auth/oauth/acme/callback"
    assert query["scope"] == "openid email profile"
    assert query["code_challenge_method"] == "S256"
    assert len(query["state"]) == len(query["code_challenge"]) == len(query["nonce"]) == 43


async def test_an_authorization_address_keeps_its_own_query(make: Any, idp: Provider) -> None:
    provider = custom(idp, authorization_url=f"{idp.authorization_url}?realm=acme")
    world = await make(oauth={"custom": [provider]})
    query = query_of(await world.browser().begin())
    assert query["realm"] == "acme"
    assert query["response_type"] == "code"


async def test_without_openid_no_nonce_is_sent(make: Any, idp: Provider) -> None:
    world = await make(oauth={"custom": [custom(idp, scopes="user:email read:user")]})
    query = query_of(await world.browser().begin())
    assert query["scope"] == "user:email read:user"
    assert "nonce" not in query


async def test_the_code_is_exchanged_from_server_to_server(world: World, idp: Provider) -> None:
    browser = world.browser()
    back = idp.approve(await browser.begin())
    await browser.get(back)
    exchange, profile = idp.requests
    assert (exchange.method, exchange.path) == ("POST", "/token")
    assert exchange.headers["Content-Type"].startswith("application/x-www-form-urlencoded")
    assert exchange.form.pop("code_verifier")
    assert exchange.form | {"code_verifier": ""} == {
        "grant_type": "authorization_code",
        "code": query_of(back)["code"],
        "redirect_uri": "https://chat.example.org/app/auth/oauth/acme/callback",
        "client_id": idp.client_id,
        "client_secret": idp.client_secret,
        "code_verifier": "",
    }
    assert profile.path == "/userinfo"
    assert profile.headers["Authorization"].removeprefix("Bearer ") in idp.authorization.tokens


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["a b+c&d=e%20f", "/?#", "'\"<>\\", "x" * 4096])
async def test_a_code_of_whatever_characters_reaches_the_provider_whole(
    world: World, idp: Provider, odd: str
) -> None:
    browser = world.browser()
    state = query_of(await browser.begin())["state"]
    answer = await browser.get(f"/auth/oauth/acme/callback?{urlencode({'state': state, 'code': odd})}")
    assert told(answer) == {"oauth_error": "invalid_code"}
    assert idp.requests[0].form["code"] == odd


async def test_a_client_secret_of_whatever_characters_reaches_the_provider_whole(
    make: Any,
) -> None:
    secret = "a b+c&d=e%20f é/ü?#'\"<>\\, and long enough to sign with"
    async with provider(client_secret=secret) as idp:
        world = await make(auth={"is_invite_required": False}, oauth={"custom": [custom(idp)]})
        assert "access_token" in await world.browser().sign_in(idp)


async def test_the_endpoints_stand_in_the_openapi_document(world: World) -> None:
    site = create_app(world.app, [section_for(world.oauth), *documents.routes(world.app)])
    paths = (await Client(site).ok("GET", "/openapi.json"))["paths"]
    assert {path for path in paths if "oauth" in path} == {
        "/auth/oauth/providers",
        "/auth/oauth/{providerId}",
        "/auth/oauth/{providerId}/callback",
    }


async def test_the_client_secret_and_the_providers_tokens_reach_no_browser(
    world: World, idp: Provider
) -> None:
    browser = world.browser()
    start = await browser.get("/auth/oauth/acme")
    end = await browser.get(idp.approve(start.headers["location"]))
    [token] = idp.authorization.tokens
    shown = f"{start}{end}"
    assert idp.client_secret not in shown
    assert token not in shown


async def test_d20_the_browser_is_bound_by_a_cookie_that_scripts_and_other_sites_never_see(
    world: World,
) -> None:
    answer = await world.browser().get("/auth/oauth/acme")
    [cookie] = answer.all("set-cookie")
    pair, *attributes = cookie.split("; ")
    name, _, value = pair.partition("=")
    assert name == "__Host-teamchat_oauth"
    assert len(value) == 43
    assert set(attributes) == {"Secure", "HttpOnly", "Path=/", "SameSite=Lax", "Max-Age=600"} | {
        one for one in attributes if one.startswith("Expires=")
    }


async def test_without_https_the_cookie_has_no_prefix_that_browsers_would_refuse(
    make: Any, idp: Provider
) -> None:
    back = "http://127.0.0.1:3000/auth/oauth/acme/callback"
    world = await make(oauth={"custom": [custom(idp, redirect_uri=back)]})
    [cookie] = (await world.browser().get("/auth/oauth/acme")).all("set-cookie")
    assert cookie.startswith("teamchat_oauth=")
    assert "Secure" not in cookie


async def test_two_tabs_of_a_browser_can_sign_in_at_once(world: World, idp: Provider) -> None:
    browser = world.browser()
    first, second = await browser.begin(), await browser.begin()
    assert "access_token" in told(await browser.get(idp.approve(first)))
    assert "access_token" in told(await browser.get(idp.approve(second)))


@pytest.mark.parametrize("odd", ["", "short", "x" * 44, "é" * 43, "a b" + "x" * 40])
async def test_a_cookie_that_is_none_of_ours_is_replaced(world: World, odd: str) -> None:
    browser = Browser(world.site, cookies={"__Host-teamchat_oauth": odd})
    assert "access_token" in await browser.sign_in(world.idp)
    assert browser.cookies["__Host-teamchat_oauth"] != odd


async def test_redirects_are_never_kept_and_tell_no_other_site(world: World, idp: Provider) -> None:
    browser = world.browser()
    start = await browser.get("/auth/oauth/acme")
    end = await browser.get(idp.approve(start.headers["location"]))
    failed = await browser.get("/auth/oauth/acme/callback")
    for answer in (start, end, failed):
        assert answer.status == 302
        assert answer.body == b""
        assert answer.all("cache-control") == ["no-store"]
        assert answer.all("referrer-policy") == ["no-referrer"]


async def test_d20_extra_parameters_lead_nowhere_else(world: World, idp: Provider) -> None:
    browser = world.browser()
    extra = urlencode(dict.fromkeys(["redirect", "next", "return_to", "redirect_uri", "url"], "//evil.test"))
    start = await browser.get(f"/auth/oauth/acme?{extra}")
    assert "evil" not in start.headers["location"]
    end = await browser.get(f"{idp.approve(start.headers['location'])}&{extra}")
    assert "access_token" in told(end)
    assert "evil" not in end.headers["location"]


async def test_a_head_request_begins_and_ends_nothing(world: World, idp: Provider) -> None:
    browser = world.browser()
    head = await browser.get("/auth/oauth/acme", "HEAD")
    assert (head.status, head.headers["location"]) == (302, idp.authorization_url)
    assert not head.all("set-cookie")
    assert await world.count("oauth_states") == 0
    assert await world.count("attempts") == 0
    assert (await browser.get("/auth/oauth/nobody", "HEAD")).status == 404
    back = idp.approve(await browser.begin())
    head = await browser.get(back, "HEAD")
    assert (head.status, head.headers["location"]) == (302, APP_URL)
    assert idp.hits("/token") == 0
    assert "access_token" in told(await browser.get(back))


async def test_other_ways_to_sign_in_work_beside_it_and_lead_to_the_same_user(
    make: Any, idp: Provider
) -> None:
    world = await make(password="a long password")
    idp.profile = {"sub": "1", "email": ADMIN.upper(), "email_verified": True}
    _, otherwise = await world.app.accounts.sign_in(ADMIN, "192.0.2.1", "tests")
    mine = await world.me({"access_token": otherwise.access_token})
    assert await world.me(await world.sign_in()) == mine
    assert mine["isAdmin"]


async def test_sessions_by_every_way_share_one_limit(make: Any, idp: Provider) -> None:
    world = await make(auth={"is_invite_required": False, "max_active_sessions": 2})
    first, *_ = [await world.sign_in() for _ in range(3)]
    answer = await Client(world.site, first["access_token"]).call("GET", "/auth/me")
    answer.problem(401)


async def test_a_success_and_a_failure_leave_one_line_each_without_a_secret(
    world: World, idp: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser = world.browser()
    back = idp.approve(await browser.begin())
    tokens = told(await browser.get(back))
    await browser.get(back)
    lines = [record for record in caplog.records if record.name.startswith("teamchat_auth_oauth")]
    assert [line.getMessage() for line in lines] == ["signed in", "oauth sign-in failed"]
    user_id = (await world.me(tokens))["id"]
    fields: list[dict[str, Any]] = [line.teamchat_fields for line in lines]  # type: ignore[attr-defined]
    assert fields[0] == {"user": user_id, "way": "oauth", "provider": "acme", "ip": "192.0.2.7"}
    assert fields[1] == {"provider": "acme", "reason": "invalid_state", "detail": None, "ip": "192.0.2.7"}
    written = "".join(str(record.__dict__) for record in caplog.records if not is_of_the_provider(record))
    [token] = idp.authorization.tokens
    shared = {query_of(back)["code"], query_of(back)["state"], *browser.cookies.values()}
    shared |= {tokens["access_token"], tokens["refresh_token"], token, idp.client_secret, "jane@"}
    assert not [secret for secret in shared if secret in written]


def is_of_the_provider(record: logging.LogRecord) -> bool:
    """The provider runs in this process and tells what it likes."""
    return record.name.startswith("authlib.oauth2.rfc6749")


async def test_everything_is_answered_while_a_provider_is_slow(make: Any, idp: Provider) -> None:
    world = await make(auth={"is_invite_required": False})
    idp.instead["/token"] = Reply(hangs=True)
    browser = world.browser()
    back = idp.approve(await browser.begin())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(browser.get, back)
        with trio.fail_after(5):
            while idp.hits("/token") == 0:
                await trio.lowlevel.checkpoint()
            await Client(world.site).ok("GET", "/auth/oauth/providers")
            assert (await world.browser("192.0.2.8").get("/auth/oauth/acme")).status == 302
        nursery.cancel_scope.cancel()


def test_an_address_for_the_way_back_is_made_from_that_of_the_application() -> None:
    for app_url in ("https://chat.example.org", "https://chat.example.org/", "https://chat.example.org/?a#b"):
        assert callback(app_url, "acme") == "https://chat.example.org/auth/oauth/acme/callback"
    assert urlsplit(callback("https://chat.example.org/app/", "acme")).path == "/app/auth/oauth/acme/callback"
