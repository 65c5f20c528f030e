"""What works once works once, however many try at the same moment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.accounts import sessions
from teamchat.testing import ADMIN
from tests.security.world import MAILS, Victim, assert_problem, attacked

CROWD = 100
EMAIL = "grace@example.org"
MAGIC = {"authMode": "magic-link"}


async def together(victim: Victim, path: str, body: Any, token: str = "") -> list[httpx2.Response]:
    """Send one request a hundred times, all at once."""
    answers: list[httpx2.Response] = []
    go = trio.Event()

    async with victim.client(token) as client, trio.open_nursery() as nursery:

        async def one() -> None:
            await go.wait()
            answers.append(await client.post(path, json=body))

        for _ in range(CROWD):
            nursery.start_soon(one)
        await trio.testing.wait_all_tasks_blocked()
        go.set()
    return answers


def only(answers: list[httpx2.Response]) -> Any:
    """Return the body of the one success there must be; all others are refused, none with a 5xx."""
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses[200] == 1, statuses
    # Ten failures in a row, and the rest is no longer even looked at.
    assert set(statuses) <= {200, 400, 429}
    return next(answer.json() for answer in answers if answer.status_code == 200)


async def count_sessions(victim: Victim, access: str) -> int:
    return len((await victim.ok("GET", "/auth/sessions", token=access))["sessions"])


@pytest.mark.slow
async def test_d15_of_a_hundred_who_use_a_magic_link_at_once_one_signs_in(tmp_path: Path) -> None:
    async with attacked(tmp_path, auth=MAGIC, email=MAILS) as victim:
        await victim.ok("POST", "/auth/login", {"email": ADMIN})
        token = await victim.link(ADMIN, "magic")
        pair = only(await together(victim, "/auth/verify", {"email": ADMIN}, token))
        assert await count_sessions(victim, pair["accessToken"]) == 1


@pytest.mark.slow
async def test_d15_of_a_hundred_who_accept_an_invitation_at_once_one_does(tmp_path: Path) -> None:
    async with attacked(tmp_path, email=MAILS) as victim:
        await victim.add((await victim.login())["accessToken"], EMAIL, None)
        body = {"email": EMAIL, "token": await victim.link(EMAIL, "setup"), "password": "a new password"}
        pair = only(await together(victim, "/auth/setup-password", body))
        assert await count_sessions(victim, pair["accessToken"]) == 1


@pytest.mark.slow
async def test_d15_of_a_hundred_who_set_different_passwords_by_one_link_one_does(tmp_path: Path) -> None:
    async with attacked(tmp_path, email=MAILS) as victim:
        await victim.ok("POST", "/auth/request-password-reset", {"email": ADMIN})
        token = await victim.link(ADMIN, "reset")
        set_by: dict[str, int] = {}

        async def one(number: int) -> None:
            password = f"password number {number}"
            body = {"email": ADMIN, "token": token, "password": password}
            set_by[password] = (await victim.call("POST", "/auth/setup-password", body)).status_code

        async with trio.open_nursery() as nursery:
            for number in range(CROWD):
                nursery.start_soon(one, number)
        [winner] = [password for password, status in set_by.items() if status == 200]
        await assert_is_password(tmp_path, winner, next(one for one in set_by if one != winner))


async def assert_is_password(directory: Path, right: str, wrong: str) -> None:
    """Ask another server on the same data, at which nobody has failed yet."""
    limit = {"rateLimit": {"attempts": 1000}}
    async with attacked(directory, auth=limit, email=MAILS) as victim:
        await victim.login(ADMIN, right)
        body = {"email": ADMIN, "password": wrong}
        assert_problem(await victim.call("POST", "/auth/password-login", body), 401)


@pytest.mark.slow
async def test_d11_a_hundred_retries_with_one_refresh_token_stay_one_session(tmp_path: Path) -> None:
    async with attacked(tmp_path) as victim:
        pair = await victim.login()
        answers = await together(victim, "/auth/refresh", {"refreshToken": pair["refreshToken"]})
        assert {answer.status_code for answer in answers} == {200}
        fresh = {answer.json()["refreshToken"] for answer in answers}
        assert len(fresh) == CROWD
        assert await count_sessions(victim, pair["accessToken"]) == 1


@pytest.mark.slow
async def test_d11_without_the_grace_one_succeeds_and_the_session_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "GRACE_MS", -1)
    async with attacked(tmp_path) as victim:
        pair = await victim.login()
        answers = await together(victim, "/auth/refresh", {"refreshToken": pair["refreshToken"]})
        [won] = [answer.json() for answer in answers if answer.status_code == 200]
        assert {answer.status_code for answer in answers} == {200, 401}
        for access in (pair["accessToken"], won["accessToken"]):
            assert_problem(await victim.call("GET", "/auth/me", token=access), 401)
        again = {"refreshToken": won["refreshToken"]}
        assert_problem(await victim.call("POST", "/auth/refresh", again), 401)


@pytest.mark.slow
async def test_c9_of_many_who_sign_in_at_once_no_more_than_the_limit_stay(tmp_path: Path) -> None:
    async with attacked(tmp_path, auth={"maxActiveSessions": 3}) as victim:
        pairs: list[Any] = []

        async def one() -> None:
            pairs.append(await victim.login())

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
        refreshed = [
            await victim.call("POST", "/auth/refresh", {"refreshToken": pair["refreshToken"]})
            for pair in pairs
        ]
        assert Counter(answer.status_code for answer in refreshed) == {200: 3, 401: 17}


async def test_a_link_that_is_looked_at_is_not_spent(tmp_path: Path) -> None:
    async with attacked(tmp_path, auth=MAGIC, email=MAILS) as victim:
        await victim.ok("POST", "/auth/login", {"email": ADMIN})
        token = await victim.link(ADMIN, "magic")
        for path in ("/", "/auth/verify"):
            for method in ("GET", "HEAD"):
                await victim.call(method, f"{path}?token={token}&email={ADMIN}")
        await victim.ok("POST", "/auth/verify", {"email": ADMIN}, token)
