"""Password mode over HTTP: which routes there are, and what they answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from teamchat_auth_password import PasswordMode, auth_modes, open_password

from teamchat import AuthMode, NoOptions
from teamchat.accounts import Accounts
from teamchat.application import Application
from teamchat.settings import AuthSettings, Settings
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.testing import AuthModeContract
from teamchat.web.app import create_app

EMAIL, PASSWORD = "bob@example.org", "correct horse battery"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        yield storage


def client(storage: Any, *, invites: bool = False) -> Any:
    chosen = Settings(auth=AuthSettings(is_invite_required=invites))
    accounts = Accounts.build(storage, chosen.auth, b"s" * 32)
    app: Any = SimpleNamespace(settings=chosen, storage=storage, accounts=accounts, chat=None, hub=None)
    PasswordMode().check(chosen)
    return create_app(app, [PasswordMode().routes(app)]).test_client()


async def status(client: Any, path: str, body: Any) -> int:
    answer = await client.post(path, json=body)
    if answer.status_code != 200:
        assert list(await answer.get_json()) == ["error"]
    code: int = answer.status_code
    return code


async def test_the_plugin_offers_password() -> None:
    [offer] = auth_modes()
    assert offer.name == "password"
    async with open_password(offer.options()) as mode:
        assert isinstance(mode, PasswordMode)


async def test_who_registers_is_signed_in_and_can_sign_in_again(storage: Any) -> None:
    http = client(storage)
    for path in ("/auth/register", "/auth/password-login"):
        answer = await http.post(path, json=CREDENTIALS)
        assert answer.status_code == 200
        body = await answer.get_json()
        assert set(body) == {"accessToken", "refreshToken", "exp", "tokenType"}
        assert (body["exp"], body["tokenType"]) == (900, "Bearer")
        me = await http.get("/auth/me", headers={"Authorization": f"Bearer {body['accessToken']}"})
        assert (await me.get_json())["user"]["email"] == EMAIL


async def test_registration_refuses_a_taken_email_and_a_short_password(storage: Any) -> None:
    http = client(storage)
    assert await status(http, "/auth/register", CREDENTIALS) == 200
    assert await status(http, "/auth/register", CREDENTIALS | {"email": EMAIL.upper()}) == 400
    assert await status(http, "/auth/register", {"email": "eve@example.org", "password": "1234567"}) == 400


async def test_there_is_no_registration_when_invites_are_required(storage: Any) -> None:
    assert await status(client(storage, invites=True), "/auth/register", CREDENTIALS) == 404


async def test_wrong_credentials_are_401_and_too_many_of_them_429(storage: Any) -> None:
    http = client(storage)
    wrong = CREDENTIALS | {"password": "wrong password"}
    assert [await status(http, "/auth/password-login", wrong) for _ in range(10)] == [401] * 10
    answer = await http.post("/auth/password-login", json=wrong)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900


@pytest.mark.parametrize(
    "body", [{}, {"email": EMAIL}, {"password": PASSWORD}, CREDENTIALS | {"password": ["a"] * 8}, []]
)
async def test_d02_a_malformed_body_is_400(storage: Any, body: Any) -> None:
    http = client(storage)
    for path in ("/auth/password-login", "/auth/register"):
        assert await status(http, path, body) == 400


class TestPasswordMode(AuthModeContract):
    def settings(self) -> Settings:
        return Settings(auth=AuthSettings(is_invite_required=False))

    def open_mode(self) -> AbstractAsyncContextManager[AuthMode]:
        return open_password(NoOptions())

    async def sign_in(self, app: Application, client: Any) -> str:
        answer = await client.post("/auth/register", json=CREDENTIALS)
        token: str = (await answer.get_json())["accessToken"]
        return token
