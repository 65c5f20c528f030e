"""Dev mode over HTTP, and where it refuses to run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from teamchat_auth_dev import TRAITS, DevMode, auth_modes, open_dev

from teamchat import AuthMode, NoOptions, SignInTraits, Storage
from teamchat.accounts import Accounts
from teamchat.application import Application
from teamchat.errors import SettingsError
from teamchat.settings import AuthSettings, ServerSettings, Settings
from teamchat.testing import AuthModeContract
from teamchat.web.app import App, create_app
from tests.storages import open_storage

EMAIL = "bob@example.org"


def settings(*, host: str = "127.0.0.1", allow: bool = False, invites: bool = False) -> Settings:
    auth = AuthSettings(auth_mode="dev", is_invite_required=invites, allow_dev_mode_on_network=allow)
    return Settings(auth=auth, server=ServerSettings(host=host))


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_storage(tmp_path) as storage:
        yield storage


def site(storage: Any, chosen: Settings) -> App:
    accounts = Accounts.build(storage, chosen.auth, b"s" * 32)
    app: Any = SimpleNamespace(
        settings=chosen, storage=storage, accounts=accounts, chat=None, hub=None, sign_in=TRAITS
    )
    return create_app(app, [DevMode().routes(app)])


async def login(client: Any, body: Any) -> Any:
    return await client.post("/auth/dev-login", json=body)


async def test_the_plugin_offers_dev() -> None:
    [offer] = auth_modes()
    assert offer.name == "dev"
    async with open_dev(offer.options()) as mode:
        assert isinstance(mode, DevMode)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_d14_loopback_is_fine(host: str) -> None:
    DevMode().check(settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "chat.example.org", "localhost.example.org"])
def test_d14_any_other_host_is_refused_unless_allowed(host: str) -> None:
    with pytest.raises(SettingsError, match=r"auth\.allowDevModeOnNetwork"):
        DevMode().check(settings(host=host))
    DevMode().check(settings(host=host, allow=True))


async def test_an_email_alone_signs_in(storage: Any) -> None:
    client = site(storage, settings()).test_client()
    answer = await login(client, {"email": EMAIL})
    assert answer.status_code == 200
    body = await answer.get_json()
    assert set(body) == {"user", "token"}
    assert body["user"] | {"id": ""} == {"id": "", "userName": "bob", "email": EMAIL, "isAdmin": False}
    me = await client.get("/auth/me", headers={"Authorization": f"Bearer {body['token']}"})
    assert (await me.get_json())["user"] == body["user"]


async def test_d14_the_token_is_of_a_real_session_that_logout_ends(storage: Any) -> None:
    client = site(storage, settings()).test_client()
    token = (await (await login(client, {"email": EMAIL})).get_json())["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    sessions = await (await client.get("/auth/sessions", headers=bearer)).get_json()
    assert [one["isCurrentSession"] for one in sessions["sessions"]] == [True]
    assert (await client.post("/auth/logout", headers=bearer)).status_code == 200
    assert (await client.get("/auth/me", headers=bearer)).status_code == 401


async def test_d14_sign_ins_count_toward_the_session_limit(storage: Any) -> None:
    client = site(storage, settings()).test_client()
    tokens = [(await (await login(client, {"email": EMAIL})).get_json())["token"] for _ in range(4)]
    statuses = [
        (await client.get("/auth/me", headers={"Authorization": f"Bearer {token}"})).status_code
        for token in tokens
    ]
    assert statuses == [401, 200, 200, 200]


async def test_d14_an_unknown_email_is_401_when_invites_are_required(storage: Any) -> None:
    client = site(storage, settings(invites=True)).test_client()
    answer = await login(client, {"email": EMAIL})
    assert answer.status_code == 401
    assert list(await answer.get_json()) == ["error"]


@pytest.mark.parametrize("body", [{}, {"email": 7}, {"email": "bob"}, {"email": None}, [], "x"])
async def test_d02_a_malformed_body_is_400(storage: Any, body: Any) -> None:
    answer = await login(site(storage, settings()).test_client(), body)
    assert answer.status_code == 400
    assert list(await answer.get_json()) == ["error"]


class TestDevMode(AuthModeContract):
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_storage(directory)

    def settings(self) -> Settings:
        return settings()

    def traits(self) -> SignInTraits:
        return TRAITS

    def open_mode(self) -> AbstractAsyncContextManager[AuthMode]:
        return open_dev(NoOptions())

    async def sign_in(self, app: Application, client: Any) -> str:
        answer = await login(client, {"email": app.settings.chat.initial_user.email})
        token: str = (await answer.get_json())["token"]
        return token
