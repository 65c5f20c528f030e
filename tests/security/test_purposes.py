"""Every kind of token works where it is meant to, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from teamchat.testing import ADMIN
from tests.security.world import MAILS, Victim, attacked

GRACE, BOB = "grace@example.org", "bob@example.org"
LIMIT = {"rateLimit": {"attempts": 1000}}

Consume = Callable[[Victim, str], Awaitable[httpx2.Response]]


@dataclass
class Tokens:
    """One real token of each kind, none of them spent, and the webhook its token is for."""

    by_kind: dict[str, str]
    webhook_id: str


@asynccontextmanager
async def password_mode(directory: Path) -> AsyncIterator[Victim]:
    async with attacked(directory, auth=LIMIT, email=MAILS) as victim:
        yield victim


@asynccontextmanager
async def magic_mode(directory: Path) -> AsyncIterator[Victim]:
    """Serve the same data with the same secret in the other mode."""
    async with attacked(directory, auth=LIMIT | {"authMode": "magic-link"}, email=MAILS) as victim:
        yield victim


async def gathered(directory: Path) -> Tokens:
    """Get a token of each kind the way people do."""
    async with password_mode(directory) as victim:
        pair = await victim.login()
        access = pair["accessToken"]
        await victim.add(access, GRACE)
        await victim.add(access, BOB, None)
        await victim.ok("POST", "/auth/request-password-reset", {"email": GRACE})
        channel = (await victim.ok("GET", "/channels", token=access))["channels"][0]["id"]
        hook = await victim.ok("POST", "/webhooks", {"name": "bot", "channelId": channel}, access)
        tokens = {
            "access": access,
            "refresh": pair["refreshToken"],
            "invite": await victim.link(BOB, "setup"),
            "reset": await victim.link(GRACE, "reset"),
            "webhook": hook["webhook"]["token"],
        }
    async with magic_mode(directory) as victim:
        await victim.ok("POST", "/auth/login", {"email": GRACE})
        tokens["magic"] = await victim.link(GRACE, "magic")
    return Tokens(tokens, hook["webhook"]["id"])


def in_password_mode(tokens: Tokens) -> dict[str, tuple[set[str], Consume]]:
    """Return who takes tokens in password mode: the kinds that must work there, and how they are given."""

    def set_up(email: str, *, in_header: bool) -> Consume:
        async def consume(victim: Victim, token: str) -> httpx2.Response:
            body = {"email": email, "password": "a new password"} | ({} if in_header else {"token": token})
            return await victim.call("POST", "/auth/setup-password", body, token if in_header else "")

        return consume

    async def post(victim: Victim, token: str) -> httpx2.Response:
        return await victim.call("POST", f"/webhooks/{tokens.webhook_id}/messages", {"content": "x"}, token)

    everybody = (GRACE, BOB, ADMIN)
    works = {GRACE: {"reset"}, BOB: {"invite"}, ADMIN: set[str]()}
    return {
        "an endpoint": ({"access"}, me),
        "the stream's header": ({"access"}, stream_header),
        "the stream's query": ({"access"}, stream_query),
        "a webhook": ({"webhook"}, post),
        "a new password by the header": (set(), set_up(ADMIN, in_header=True)),
        **{f"a new password of {one}": (works[one], set_up(one, in_header=False)) for one in everybody},
        "a refresh": ({"refresh"}, refresh),
    }


async def me(victim: Victim, token: str) -> httpx2.Response:
    return await victim.call("GET", "/auth/me", token=token)


async def stream_header(victim: Victim, token: str) -> httpx2.Response:
    return await victim.call("HEAD", "/events", token=token)


async def stream_query(victim: Victim, token: str) -> httpx2.Response:
    return await victim.call("HEAD", f"/events?token={token}")


async def refresh(victim: Victim, token: str) -> httpx2.Response:
    return await victim.call("POST", "/auth/refresh", {"refreshToken": token})


async def verify(victim: Victim, token: str) -> httpx2.Response:
    return await victim.call("POST", "/auth/verify", {"email": GRACE}, token)


async def assert_only(victim: Victim, tokens: Tokens, wanted: set[str], consume: Consume, name: str) -> None:
    """Offer every kind, the wrong ones first: had one of them worked or spent something, it would show."""
    for kind in sorted(tokens.by_kind, key=lambda kind: kind in wanted):
        answer = await consume(victim, tokens.by_kind[kind])
        if kind in wanted:
            assert answer.status_code == 200, (name, kind, answer.text)
        else:
            assert answer.status_code in (400, 401), (name, kind, answer.text)


@pytest.mark.slow
async def test_d15_every_token_works_for_its_own_purpose_alone(tmp_path: Path) -> None:
    tokens = await gathered(tmp_path)
    assert len(tokens.by_kind) == len(set(tokens.by_kind.values())) == 6
    async with magic_mode(tmp_path) as victim:
        await assert_only(victim, tokens, {"magic"}, verify, "a sign-in by link")
        assert (await victim.call("POST", "/auth/setup-password", {})).status_code == 404
    # The magic link is spent now; another shows that an unspent one sets no password either.
    async with magic_mode(tmp_path) as victim:
        await victim.ok("POST", "/auth/login", {"email": GRACE})
        again = await victim.link(GRACE, "magic", after=tokens.by_kind["magic"])
        tokens.by_kind["magic"] = again
    async with password_mode(tmp_path) as victim:
        for name, (wanted, consume) in in_password_mode(tokens).items():
            await assert_only(victim, tokens, wanted, consume, name)
        assert (await verify(victim, again)).status_code == 404


@pytest.mark.slow
async def test_d15_a_link_works_for_its_own_email_alone_and_is_not_spent_by_another(tmp_path: Path) -> None:
    async with password_mode(tmp_path) as victim:
        access = (await victim.login())["accessToken"]
        for email in (GRACE, BOB):
            await victim.add(access, email, None)
        for email, other in ((GRACE, BOB), (BOB, ADMIN)):
            body = {"token": await victim.link(email, "setup"), "password": "a new password"}
            wrong = await victim.call("POST", "/auth/setup-password", body | {"email": other})
            assert wrong.status_code == 400
            short = await victim.call(
                "POST", "/auth/setup-password", body | {"email": email, "password": "x"}
            )
            assert short.status_code == 400
            await victim.ok("POST", "/auth/setup-password", body | {"email": email})
            again = await victim.call("POST", "/auth/setup-password", body | {"email": email})
            assert again.status_code == 400
        await victim.login()


@pytest.mark.slow
async def test_a_new_signing_secret_ends_access_tokens_and_leaves_sessions_as_documented(
    tmp_path: Path,
) -> None:
    tokens = await gathered(tmp_path)
    other = LIMIT | {"jwtSecret": "another signing secret of the tests, as long"}
    async with attacked(tmp_path, auth=other, email=MAILS) as victim:
        assert (await me(victim, tokens.by_kind["access"])).status_code == 401
        fresh = (await refresh(victim, tokens.by_kind["refresh"])).json()
        assert (await me(victim, fresh["accessToken"])).status_code == 200


@pytest.mark.slow
async def test_d32_a_webhooks_token_is_forbidden_at_another_webhook(tmp_path: Path) -> None:
    async with password_mode(tmp_path) as victim:
        access = (await victim.login())["accessToken"]
        channel = (await victim.ok("GET", "/channels", token=access))["channels"][0]["id"]
        body = {"name": "bot", "channelId": channel}
        first, second = [(await victim.ok("POST", "/webhooks", body, access))["webhook"] for _ in "12"]
        text = {"content": "hello"}
        answer = await victim.call("POST", f"/webhooks/{first['id']}/messages", text, second["token"])
        assert answer.status_code == 403
        for odd in (first["token"].upper(), first["token"][:-1], first["token"] + "0", "x" * 10_000):
            answer = await victim.call("POST", f"/webhooks/{first['id']}/messages", text, odd)
            assert answer.status_code == 401
        await victim.ok("DELETE", f"/webhooks/{first['id']}", token=access)
        answer = await victim.call("POST", f"/webhooks/{first['id']}/messages", text, first["token"])
        assert answer.status_code == 401
        listed = await victim.ok("GET", f"/channels/{channel}/messages", token=access)
        assert listed["messages"] == []
