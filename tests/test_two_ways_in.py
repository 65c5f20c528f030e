"""Two ways to sign in are open at once, as the inside allows it; the configuration names one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from teamchat.application import open_application
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, Settings, StorageSettings
from teamchat.web.app import create_app

ADMIN = "admin@localhost"


class Both(AuthSettings, frozen=True):
    """What a configuration with several ways would be."""

    @property
    def modes(self) -> Sequence[str]:
        return ("dev", "password")


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[tuple[Any, str]]:
    """Yield a client of a server with both, and the password that was made for the first admin."""
    auth = Both(auth_mode="password", is_invite_required=False)
    settings = Settings(auth=auth, storage=StorageSettings(path=str(directory)))
    plugins, shown = Plugins.load(), []

    def show(_: str, password: str) -> None:
        shown.append(password)

    async with plugins.sign_in(settings) as modes, open_application(settings, plugins, show) as app:
        site = create_app(app, [*plugins.sign_in_routes(app, modes), *plugins.routes(app)], plugins)
        yield site.test_client(), shown[0]


@pytest.mark.slow
async def test_people_sign_in_either_way_and_are_the_same_person(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, password):
        by_email = await called(client, "POST", "/auth/dev-login", {"email": ADMIN})
        given = {"email": ADMIN, "password": password}
        by_password = await called(client, "POST", "/auth/password-login", given)
        for token in (by_email["token"], by_password["accessToken"]):
            me = await called(client, "GET", "/auth/me", token=token)
            assert me["user"]["email"] == ADMIN
        assert (await client.post("/auth/login", json={"email": ADMIN})).status_code == 404


@pytest.mark.slow
async def test_a_session_without_a_refresh_token_can_be_ended_where_one_way_gives_none(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as (client, _):
        token = (await called(client, "POST", "/auth/dev-login", {"email": ADMIN}))["token"]
        await called(client, "POST", "/auth/logout", {}, token)
        answer = await client.get("/auth/me", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401


async def test_clients_are_told_what_any_of_the_ways_offers(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, _):
        told = await called(client, "GET", "/config.json")
        assert (told["AUTH_MODE"], told["auth"]["registrationEnabled"]) == ("password", True)


@pytest.mark.parametrize(
    ("mode", "asks", "registers", "refreshes", "warns"),
    [
        ("dev", False, False, False, True),
        ("magic-link", False, False, True, False),
        ("password", True, True, True, False),
    ],
)
def test_each_of_teamchats_own_ways_tells_what_it_has(
    mode: str, asks: bool, registers: bool, refreshes: bool, warns: bool
) -> None:
    traits = Plugins.load().sign_in_traits(mode)
    assert (traits.asks_for_passwords, traits.lets_register) == (asks, registers)
    assert (traits.gives_refresh_tokens, traits.warning is not None) == (refreshes, warns)


async def called(client: Any, method: str, path: str, body: Any = None, token: str = "") -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = await client.open(path, method=method, json=body, headers=headers)
    assert answer.status_code == 200, await answer.get_data()
    return await answer.get_json()
