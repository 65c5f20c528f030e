"""The ends of sessions that were begun at a provider: said by it, or by the user."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from teamchat_oidc import sessions

from teamchat import BadRequest
from teamchat.accounts.records import user_by_id
from teamchat.events import SessionsEnded
from teamchat.storage.log import logged_in
from tests.web.client import Client

_idp = import_module("plugins.teamchat-oidc.tests.idp")
OTHER, LOGOUT, opened = _idp.OTHER, _idp.LOGOUT, _idp.opened


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Any]:
    async with opened(tmp_path) as world:
        await world.find()
        yield world


async def test_a_logout_of_one_session_ends_that_one_and_its_stream(world: Any) -> None:
    laptop, phone = await world.sign_in(sid="laptop"), await world.sign_in(sid="phone")
    answer = await world.log_out(world.idp.logout_token(sid="laptop"))
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert not await world.is_in(laptop)
    assert await world.is_in(phone)
    refreshed = await Client(world.site).call(
        "POST", "/auth/refresh", {"refreshToken": laptop["refresh_token"]}
    )
    refreshed.problem(401)
    async with world.app.storage.read() as tx:
        ends = [one for one in await logged_in(tx, 0, 1000) if one.type == SessionsEnded.type]
    assert len(ends) == 1, "streams end by this event"


async def test_a_logout_of_a_subject_ends_all_that_was_begun_there_and_no_more(world: Any) -> None:
    first, second = await world.sign_in(sid="a"), await world.sign_in(sid="b")
    other = await world.sign_in(sub="other", email="other@example.org", sid="c")
    _, by_mail = await world.app.accounts.sign_in("jane@example.org", "192.0.2.1", "tests")
    assert (await world.log_out(world.idp.logout_token())).status == 200
    assert [await world.is_in(one) for one in (first, second, other)] == [False, False, True]
    assert (await Client(world.site, by_mail.access_token).call("GET", "/auth/me")).status == 200


async def test_a_session_and_another_subject_end_nothing(world: Any) -> None:
    tokens = await world.sign_in(sid="laptop")
    assert (await world.log_out(world.idp.logout_token(sid="laptop", sub="somebody"))).status == 200
    assert (await world.log_out(world.idp.logout_token(sid="unknown", sub=None))).status == 200
    assert await world.is_in(tokens)
    assert (await world.log_out(world.idp.logout_token(sid="laptop", sub=None))).status == 200
    assert not await world.is_in(tokens)


BAD: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "another audience": {"aud": "another"},
    "several audiences": {"aud": ["the-client", "another"]},
    "no id": {"jti": None},
    "no events": {"events": None},
    "another event": {"events": {"http://example.org/event": {}}},
    "an event that is none": {"events": {LOGOUT: True}},
    "events in a list": {"events": [LOGOUT]},
    "a nonce": {"nonce": "n"},
    "nobody": {"sub": None},
    "a subject that is none": {"sub": ["248289761001"]},
    "an old one": {"iat": int(time.time()) - 86_400},
    "one of the future": {"iat": int(time.time()) + 3600},
    "an end that is over": {"exp": int(time.time()) - 3600},
    "no end": {"exp": None},
    "somebody's key": {"key": OTHER},
    "somebody's key under its name": {"key": OTHER, "header": {"kid": "rsa"}},
    "another type": {"header": {"typ": "at+jwt"}},
}


async def test_a_bad_logout_token_ends_nothing(world: Any) -> None:
    tokens = await world.sign_in()
    believed = []
    for bad, changed in BAD.items():
        if (await world.log_out(world.idp.logout_token(**changed))).status != 400:
            believed.append(bad)
    unsigned = world.idp.logout_token().rpartition(".")[0] + "."
    (await world.log_out(unsigned)).problem(400)
    asked = await world.begin()
    (await world.log_out(world.idp.id_token(asked["nonce"]))).problem(400)
    assert not believed
    assert await world.is_in(tokens)


async def test_a_logout_token_works_once_at_its_own_provider(world: Any) -> None:
    token = world.idp.logout_token()
    assert (await world.log_out(token)).status == 200
    tokens = await world.sign_in(iat=int(time.time()) + 2)
    (await world.log_out(token)).problem(400)
    assert await world.is_in(tokens), "it was said before this sign-in"
    (await world.log_out(world.idp.logout_token(), "nobody")).problem(404)


async def test_a_sign_in_under_way_that_the_provider_has_ended_comes_too_late(world: Any) -> None:
    asked = await world.begin()
    token = world.idp.id_token(asked["nonce"], sid="laptop")
    assert (await world.log_out(world.idp.logout_token(sid="laptop"))).status == 200
    assert await world.come_back(asked, token) == {"oauth_error": "invalid_state"}
    asked = await world.begin()
    token = world.idp.id_token(asked["nonce"], sid="phone", iat=int(time.time()) - 5)
    assert (await world.log_out(world.idp.logout_token())).status == 200
    assert await world.come_back(asked, token) == {"oauth_error": "invalid_state"}


async def test_what_is_no_form_with_one_token_is_refused(world: Any) -> None:
    post = partial(Client(world.site).call, "POST", "/auth/oauth/company/backchannel-logout")
    (await post({"logout_token": world.idp.logout_token()})).problem(400)
    for raw in (b"", b"logout_token=a&logout_token=b", b"logout_token=%FF", b"token=a"):
        (await post(raw=raw, headers=[_idp.FORM])).problem(400)
    (await post(raw=b"x" * 200_000, headers=[_idp.FORM])).problem(413)


async def test_before_the_keys_are_known_a_logout_is_to_be_tried_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        (await world.log_out(world.idp.logout_token())).problem(503)


async def test_where_a_second_factor_comes_between_all_sessions_of_the_user_end(world: Any) -> None:
    tokens = await world.sign_in(sid="a")
    async with world.app.storage.write() as tx:
        await tx.fetch("update oidc_sessions set session_id = null")
        [(user_id,)] = await tx.fetch("select user_id from oidc_sessions")
        steps = world.app.accounts.second_steps
        ticket = await steps.ticket_in(tx, user_id, is_proved=True, way="oauth")
    assert (await steps.redeem(ticket)).user.id == user_id
    assert (await world.log_out(world.idp.logout_token(sid="a"))).status == 200
    assert not await world.is_in(tokens)
    with pytest.raises(BadRequest):
        await steps.redeem(ticket)


async def test_who_signs_out_is_told_where_the_providers_session_ends(world: Any) -> None:
    tokens = await world.sign_in()
    said = await world.client(tokens).ok("POST", "/auth/oauth/logout")
    assert not await world.is_in(tokens)
    where = urlsplit(said["logoutUrl"])
    assert f"{where.scheme}://{where.netloc}{where.path}" == f"{world.idp.issuer}/end"
    assert parse_qs(where.query) == {
        "x": ["1"],
        "client_id": ["the-client"],
        "post_logout_redirect_uri": ["https://chat.example.org/app"],
    }
    _, by_mail = await world.app.accounts.sign_in("jane@example.org", "192.0.2.1", "tests")
    client = Client(world.site, by_mail.access_token)
    elsewhere = urlencode({"post_logout_redirect_uri": "https://evil.example"})
    assert await client.ok("POST", f"/auth/oauth/logout?{elsewhere}") == {"success": True}
    (await client.call("POST", "/auth/oauth/logout")).problem(401)


async def test_what_was_begun_is_forgotten_with_its_session(world: Any) -> None:
    async def left() -> int:
        async with world.app.storage.read() as tx:
            return len(await tx.fetch("select 1 from oidc_sessions"))

    one, _ = await world.sign_in(sid="a"), await world.sign_in(sid="b")
    assert await left() == 2
    body = {"refreshToken": one["refresh_token"]}
    await world.client(one).ok("POST", "/auth/logout", body)
    assert await left() == 1
    async with world.app.storage.write() as tx:
        await tx.fetch("delete from sessions")  # As when they have expired.
        await tx.fetch("update oidc_logouts set heard_at = 0")
    await sessions.sweep(world.app.accounts)
    assert await left() == 0


async def test_nothing_is_kept_of_the_sign_ins_of_who_is_gone(world: Any) -> None:
    await world.sign_in(sid="laptop")
    await world.sign_in(sid="phone")
    other = await world.sign_in(sub="other", email="other@example.org", sid="c")
    async with world.app.storage.write() as tx:
        # One waits for a second factor: no session is known that came of it.
        await tx.fetch("update oidc_sessions set session_id = null where sid = 'phone'")
        [(user_id,)] = await tx.fetch("select user_id from oidc_sessions where sid = 'phone'")
        jane = await user_by_id(tx, user_id)
        assert jane is not None
        await world.app.accounts.users.remove_in(tx, jane)
        left = await tx.fetch("select sid from oidc_sessions")
    assert [sid for (sid,) in left] == ["c"]
    assert await world.is_in(other)
