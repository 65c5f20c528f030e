"""What works once works once at all servers together, and is mailed once (decisions D-15, D-16, D-18)."""

from __future__ import annotations

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, PASSWORD, mailed
from tests.two_servers.nodes import Node, Pair, fresh_address, fresh_email


def token_in(link: str) -> str:
    return httpx2.URL(link).params["token"]


async def verified(node: Node, email: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with node.client() as client:
        return (await client.post("/auth/verify", json={"email": email}, headers=headers)).status_code


async def password_login(node: Node, email: str, password: str, address: str = "") -> httpx2.Response:
    async with node.client(address=address) as client:
        return await client.post("/auth/password-login", json={"email": email, "password": password})


async def admin_at(node: Node) -> httpx2.AsyncClient:
    answer = await password_login(node, ADMIN, PASSWORD)
    assert answer.status_code == 200, answer.text
    return node.client(answer.json()["accessToken"])


async def set_up(node: Node, email: str, token: str) -> int:
    body = {"email": email, "token": token, "password": "another long password"}
    async with node.client() as client:
        return (await client.post("/auth/setup-password", json=body)).status_code


@pytest.mark.slow
async def test_d15_a_link_asked_for_at_one_server_works_at_the_other_and_then_no_more(by_mail: Pair) -> None:
    email = fresh_email()
    async with by_mail.a.client() as a:
        await a.post("/auth/login", json={"email": email})
    token = token_in((await mailed(by_mail.mails, email)).link)
    assert await verified(by_mail.b, email, token) == 200
    assert await verified(by_mail.a, email, token) == 400
    assert await verified(by_mail.b, email, token) == 400


async def test_d15_of_two_servers_at_once_one_takes_the_link(by_mail: Pair) -> None:
    email = fresh_email()
    async with by_mail.b.client() as b:
        await b.post("/auth/login", json={"email": email})
    token = token_in((await mailed(by_mail.mails, email)).link)
    statuses: list[int] = []

    async def verify(node: Node) -> None:
        statuses.append(await verified(node, email, token))

    async with trio.open_nursery() as nursery:
        for node in (by_mail.a, by_mail.b, by_mail.a, by_mail.b):
            nursery.start_soon(verify, node)
    assert sorted(statuses) == [200, 400, 400, 400]


@pytest.mark.slow
async def test_a_mail_is_sent_once_though_both_servers_send(by_mail: Pair) -> None:
    emails = [fresh_email() for _ in range(20)]
    async with by_mail.a.client() as a, by_mail.b.client() as b, trio.open_nursery() as nursery:
        for number, email in enumerate(emails):
            client = (a, b)[number % 2]
            nursery.start_soon(lambda c=client, e=email: c.post("/auth/login", json={"email": e}))  # type: ignore[misc]
    for email in emails:
        await mailed(by_mail.mails, email)
    async with by_mail.opened() as storage:
        waiting = 1
        while waiting:
            async with storage.read() as tx:
                [(waiting,)] = await tx.fetch("select count(*) from mails")
    sent = [
        file for file in by_mail.mails.glob("*.eml") if any(email in file.read_text() for email in emails)
    ]
    assert len(sent) == len(emails)


@pytest.mark.slow
async def test_an_invitation_from_one_server_is_accepted_at_the_other_once(by_password: Pair) -> None:
    admin, email = await admin_at(by_password.a), fresh_email()
    assert (await admin.post("/users/add", json={"email": email, "role": "user"})).status_code == 200
    token = token_in((await mailed(by_password.mails, email)).link)
    assert await set_up(by_password.b, email, token) == 200
    assert await set_up(by_password.a, email, token) == 400
    assert (await password_login(by_password.a, email, "another long password")).status_code == 200


async def test_a_reset_asked_for_at_one_server_ends_the_sessions_of_both(by_password: Pair) -> None:
    admin, email = await admin_at(by_password.b), fresh_email()
    added = {"email": email, "role": "user", "password": PASSWORD}
    assert (await admin.post("/users/add", json=added)).status_code == 200
    before = [await password_login(node, email, PASSWORD) for node in (by_password.a, by_password.b)]
    async with by_password.a.client() as client:
        await client.post("/auth/request-password-reset", json={"email": email})
    token = token_in((await mailed(by_password.mails, email)).link)
    assert await set_up(by_password.b, email, token) == 200
    assert await set_up(by_password.a, email, token) == 400
    for answer in before:
        client = by_password.a.client(answer.json()["accessToken"])
        assert (await client.get("/auth/me")).status_code == 401
    assert (await password_login(by_password.a, email, PASSWORD)).status_code == 401


async def test_d18_guesses_at_a_password_count_at_both_servers_together(by_password: Pair) -> None:
    admin, email, address = await admin_at(by_password.a), fresh_email(), fresh_address()
    added = {"email": email, "role": "user", "password": PASSWORD}
    assert (await admin.post("/users/add", json=added)).status_code == 200
    nodes = [by_password.a, by_password.b] * 5
    answers = [await password_login(node, email, "a wrong password", address) for node in nodes]
    assert [answer.status_code for answer in answers] == [401] * 10
    for node in (by_password.a, by_password.b):
        blocked = await password_login(node, email, PASSWORD, address)
        assert blocked.status_code == 429
        assert int(blocked.headers["Retry-After"]) > 0
        assert (await password_login(node, email, PASSWORD)).status_code == 200
