"""A session is one thing at all servers: its tokens, its end, its limits (decisions D-09 to D-13)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, DEADLINE, Events, listening, mailed
from tests.two_servers.nodes import Node, Pair, fresh_email


async def signed_in_by_mail(pair: Pair) -> dict[str, Any]:
    """Ask for a link at A, verify it at B, and return the two tokens."""
    email = fresh_email()
    async with pair.a.client() as a, pair.b.client() as b:
        assert (await a.post("/auth/login", json={"email": email})).status_code == 200
        token = httpx2.URL((await mailed(pair.mails, email)).link).params["token"]
        answer = await b.post(
            "/auth/verify", json={"email": email}, headers={"Authorization": f"Bearer {token}"}
        )
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def refreshed(node: Node, refresh_token: str) -> httpx2.Response:
    async with node.client() as client:
        return await client.post("/auth/refresh", json={"refreshToken": refresh_token})


async def me(node: Node, token: str) -> int:
    async with node.client(token) as client:
        return (await client.get("/auth/me")).status_code


async def ended(events: Events) -> None:
    """Wait until the stream ends, whatever it says before."""
    with trio.fail_after(DEADLINE):
        try:
            while True:
                await events.next()
        except AssertionError as error:
            assert str(error) == "the stream ended"  # noqa: PT017 - how many events precede it is not known


@pytest.mark.slow
async def test_who_signs_in_at_one_server_is_signed_in_at_the_other(dev: Pair) -> None:
    for client in await dev.signed_in():
        assert (await client.get("/auth/me")).json()["user"]["email"] == ADMIN


@pytest.mark.slow
async def test_d11_a_refresh_token_is_rotated_at_one_server_and_then_at_the_other(by_mail: Pair) -> None:
    pair = await signed_in_by_mail(by_mail)
    for node in (by_mail.a, by_mail.b, by_mail.a):
        answer = await refreshed(node, pair["refreshToken"])
        assert answer.status_code == 200
        pair = answer.json()
        assert await me(by_mail.a, pair["accessToken"]) == await me(by_mail.b, pair["accessToken"]) == 200


async def test_d11_a_retry_at_the_other_server_within_the_grace_gets_a_fresh_pair(by_mail: Pair) -> None:
    pair = await signed_in_by_mail(by_mail)
    first, again = [await refreshed(node, pair["refreshToken"]) for node in (by_mail.a, by_mail.b)]
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["refreshToken"] != again.json()["refreshToken"]
    assert await me(by_mail.a, again.json()["accessToken"]) == 200


async def test_d11_a_token_used_again_after_the_grace_ends_the_session_everywhere(by_mail: Pair) -> None:
    first = await signed_in_by_mail(by_mail)
    second = (await refreshed(by_mail.a, first["refreshToken"])).json()
    async with by_mail.opened() as storage, storage.write() as tx:  # Eleven seconds pass.
        await tx.fetch("update refresh_tokens set used_at = used_at - 11000")
    assert (await refreshed(by_mail.b, first["refreshToken"])).status_code == 401
    assert await me(by_mail.a, second["accessToken"]) == await me(by_mail.b, second["accessToken"]) == 401
    assert (await refreshed(by_mail.a, second["refreshToken"])).status_code == 401


async def test_d09_logging_out_at_one_server_ends_token_and_streams_at_the_other(by_mail: Pair) -> None:
    pair = await signed_in_by_mail(by_mail)
    at_a, at_b = by_mail.a.client(pair["accessToken"]), by_mail.b.client(pair["accessToken"])
    async with listening(at_b) as events:
        answer = await at_a.post("/auth/logout", json={"refreshToken": pair["refreshToken"]})
        assert answer.status_code == 200
        assert (await at_b.get("/auth/me")).status_code == 401
        await ended(events)


async def test_d13_ending_all_sessions_at_one_server_ends_them_at_the_other(dev: Pair) -> None:
    email = fresh_email()
    first, _ = await dev.signed_in(email)
    _, other_at_b = await dev.signed_in(email)
    async with listening(other_at_b) as events:
        assert (await first.request("DELETE", "/auth/sessions")).json()["revoked"] == 2
        assert (await other_at_b.get("/auth/me")).status_code == 401
        await ended(events)


async def test_the_limit_of_sessions_counts_those_of_both_servers(dev: Pair) -> None:
    email = fresh_email()
    clients = []
    for node in (dev.a, dev.b, dev.a, dev.b):
        async with node.client() as client:
            token = (await client.post("/auth/dev-login", json={"email": email})).json()["token"]
        clients.append(token)
    assert [await me(dev.a, token) for token in clients] == [401, 200, 200, 200]
    assert [await me(dev.b, token) for token in clients] == [401, 200, 200, 200]


async def test_l1_a_user_deactivated_at_one_server_is_shut_out_at_the_other(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    email = fresh_email()
    _, gone_at_b = await dev.signed_in(email)
    user = (await gone_at_b.get("/auth/me")).json()["user"]["id"]
    async with listening(gone_at_b) as events:
        assert (await admin.post(f"/users/{user}/deactivate")).status_code == 200
        assert (await gone_at_b.get("/auth/me")).status_code == 401
        await ended(events)
    async with dev.b.client() as b:
        assert (await b.post("/auth/dev-login", json={"email": email})).status_code == 401
        assert (await admin.post(f"/users/{user}/activate")).status_code == 200
        assert (await b.post("/auth/dev-login", json={"email": email})).status_code == 200
    assert (await gone_at_b.get("/auth/me")).status_code == 401


async def test_d22_a_user_removed_at_one_server_is_gone_at_the_other(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    _, gone_at_b = await dev.signed_in(fresh_email())
    user = (await gone_at_b.get("/auth/me")).json()["user"]["id"]
    async with listening(gone_at_b) as events:
        assert (await admin.delete(f"/users/{user}")).status_code == 200
        assert (await gone_at_b.get("/auth/me")).status_code == 401
        await ended(events)
