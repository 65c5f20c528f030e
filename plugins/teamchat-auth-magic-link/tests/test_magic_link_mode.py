"""Magic-link mode over HTTP: which routes there are, what they answer, and what it needs to run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from teamchat_auth_magic_link import MagicLinkMode, auth_modes, open_magic_link

from teamchat import AuthMode, NoOptions, Storage
from teamchat.application import Application
from teamchat.errors import SettingsError
from teamchat.settings import AuthSettings, EmailSettings, Settings
from teamchat.testing import AuthModeContract
from teamchat.testing.auth import application
from teamchat.web.app import create_app
from tests.storages import open_storage

ADMIN = Settings().chat.initial_user.email
NOBODY = "nobody@example.org"


def settings(**auth: Any) -> Settings:
    keys = {"auth_mode": "magic-link", "app_url": "https://chat.example.org"} | auth
    return Settings(auth=AuthSettings(**keys), email=EmailSettings(backend="files"))


@asynccontextmanager
async def serving(directory: Path, **auth: Any) -> AsyncIterator[tuple[Application, Any]]:
    async with application(settings(**auth), directory, open_storage) as app:
        yield app, create_app(app, [MagicLinkMode().routes(app)]).test_client()


async def mailed(app: Application) -> list[str]:
    """Return the links that wait to be mailed to somebody."""
    async with app.storage.read() as tx:
        rows = await tx.fetch(
            """select l.id, l.purpose, l.email from mails m join links l on l.id = m.link_id
               where m.is_decoy = 0"""
        )
    return [app.accounts.links.url(*row) for row in rows]


async def token(app: Application, client: Any, email: str = ADMIN) -> str:
    """Ask for a link and return the token in it."""
    assert (await client.post("/auth/login", json={"email": email})).status_code == 200
    [link] = await mailed(app)
    return parse_qs(urlsplit(link).query)["token"][0]


async def verify(client: Any, email: str, token: str | None) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return await client.post("/auth/verify", json={"email": email}, headers=headers)


async def status(client: Any, email: str, token: str | None) -> int:
    answer = await verify(client, email, token)
    if answer.status_code != 200:
        assert list(await answer.get_json()) == ["error"]
    code: int = answer.status_code
    return code


async def test_the_plugin_offers_magic_link() -> None:
    [offer] = auth_modes()
    assert offer.name == "magic-link"
    async with open_magic_link(offer.options()) as mode:
        assert isinstance(mode, MagicLinkMode)


def test_without_mail_it_refuses_to_run_and_says_what_to_write() -> None:
    with pytest.raises(SettingsError, match=r"(?s)'magic-link'.*\[email\].*host, user and password.*files"):
        MagicLinkMode().check(Settings(auth=AuthSettings(auth_mode="magic-link")))


async def test_a_link_signs_in_and_gives_both_tokens(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        answer = await verify(client, ADMIN, await token(app, client))
        assert answer.status_code == 200
        body = await answer.get_json()
        assert set(body) == {"accessToken", "refreshToken"}
        me = await client.get("/auth/me", headers={"Authorization": f"Bearer {body['accessToken']}"})
        assert (await me.get_json())["user"]["email"] == ADMIN
        again = await client.post("/auth/refresh", json={"refreshToken": body["refreshToken"]})
        assert again.status_code == 200


async def test_d16_everybody_is_answered_the_same(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        answers = [await client.post("/auth/login", json={"email": email}) for email in (ADMIN, NOBODY)]
        bodies = [await answer.get_data() for answer in answers]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert bodies[0] == bodies[1]
        known, unknown = (sorted(answer.headers.items()) for answer in answers)
        assert known == unknown
        body = await answers[0].get_json()
        assert body["success"] is True
        assert body["message"]
        assert len(await mailed(app)) == 1


async def test_where_invites_are_not_required_a_link_makes_the_account(tmp_path: Path) -> None:
    async with serving(tmp_path, is_invite_required=False) as (app, client):
        found = await token(app, client, NOBODY)
        assert [user.email for user in await app.accounts.users.list()] == [ADMIN]
        assert await status(client, NOBODY, found) == 200
        assert [user.email for user in await app.accounts.users.list()] == [ADMIN, NOBODY]


async def test_d15_no_token_is_401_and_one_that_does_not_work_is_400(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        found = await token(app, client)
        assert await status(client, ADMIN, None) == 401
        assert await status(client, ADMIN, "wrong") == 400
        assert await status(client, NOBODY, found) == 400
        assert await status(client, ADMIN, found) == 200
        assert await status(client, ADMIN, found) == 400


async def test_the_token_counts_in_the_header_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        found = await token(app, client)
        answer = await client.post("/auth/verify", json={"email": ADMIN, "token": found})
        assert answer.status_code == 401
        answer = await client.post(f"/auth/verify?token={found}", json={"email": ADMIN})
        assert answer.status_code == 401


async def test_d03_a_missing_token_is_told_before_a_bad_body(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, client):
        assert (await client.post("/auth/verify", json={})).status_code == 401


async def test_neither_looking_at_the_link_nor_at_the_routes_spends_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        found = await token(app, client)
        for path in ("/", "/auth/verify", "/auth/login"):
            for method in (client.get, client.head):
                await method(f"{path}?token={found}&email={ADMIN}")
        assert await status(client, ADMIN, found) == 200


async def test_the_link_leads_to_the_configured_address_whatever_the_request_says(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        lies = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Origin": "https://evil.example"}
        await client.post("/auth/login", json={"email": ADMIN}, headers=lies)
        [link] = await mailed(app)
        assert link.startswith("https://chat.example.org/?token=")
        assert "evil" not in link


async def test_too_many_wrong_tokens_are_429(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        found = await token(app, client)
        assert [await status(client, ADMIN, "wrong") for _ in range(10)] == [400] * 10
        answer = await verify(client, ADMIN, found)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= 900


async def test_too_many_requests_for_mail_are_429(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        codes = [
            (await client.post("/auth/login", json={"email": f"user{number}@example.org"})).status_code
            for number in range(101)
        ]
        assert codes == [200] * 100 + [429]
        answer = await client.post("/auth/login", json={"email": ADMIN})
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= 900
        assert await mailed(app) == []


@pytest.mark.parametrize(
    "body", [{}, {"email": 7}, {"email": None}, {"email": "bob"}, {"email": "a@b\r\nBcc: c@d"}, [], "x"]
)
async def test_d02_a_malformed_body_is_400(tmp_path: Path, body: Any) -> None:
    async with serving(tmp_path, is_invite_required=False) as (app, client):
        for path in ("/auth/login", "/auth/verify"):
            answer = await client.post(path, json=body, headers={"Authorization": "Bearer of-a-token"})
            assert answer.status_code == 400
            assert list(await answer.get_json()) == ["error"]
        assert await mailed(app) == []


async def test_a_link_token_opens_nothing_else(tmp_path: Path) -> None:
    async with serving(tmp_path) as (app, client):
        found = await token(app, client)
        answer = await client.get("/auth/me", headers={"Authorization": f"Bearer {found}"})
        assert answer.status_code == 401
        assert (await client.post("/auth/refresh", json={"refreshToken": found})).status_code == 401
        assert await status(client, ADMIN, found) == 200


class TestMagicLinkMode(AuthModeContract):
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_storage(directory)

    def settings(self) -> Settings:
        return settings()

    def open_mode(self) -> AbstractAsyncContextManager[AuthMode]:
        return open_magic_link(NoOptions())

    async def sign_in(self, app: Application, client: Any) -> str:
        answer = await verify(client, ADMIN, await token(app, client))
        access_token: str = (await answer.get_json())["accessToken"]
        return access_token
