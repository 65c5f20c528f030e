"""When sign-in at providers is open, and what it tells of itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from teamchat_auth_oauth import OAuthMode, Sweeper, services

from teamchat.application import open_application
from teamchat.errors import SettingsError
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, OAuthPreset, OAuthSettings, Settings, StorageSettings
from teamchat.web.app import create_app
from tests.web.client import Client

from .conftest import World

PRESETS = {"github": OAuthPreset(client_id="id", client_secret="a secret")}


def settings(**presets: OAuthPreset) -> Settings:
    return Settings(auth=AuthSettings(auth_mode="dev"), oauth=OAuthSettings(presets=presets))


def test_it_is_open_beside_the_chosen_mode_where_a_provider_is_configured() -> None:
    plugins = Plugins.load()
    assert plugins.sign_in_modes(settings()) == ["dev"]
    assert plugins.sign_in_modes(settings(**PRESETS)) == ["dev", "oauth"]
    assert plugins.sign_in_traits_of(settings(**PRESETS)).leads_to_providers


def test_without_the_plugin_it_is_not_there() -> None:
    assert Plugins.load(["auth-oauth"]).sign_in_modes(settings(**PRESETS)) == ["dev"]


def test_it_is_no_mode_to_choose() -> None:
    with pytest.raises(SettingsError, match="stands beside another way to sign in"):
        OAuthMode().check(Settings(auth=AuthSettings(auth_mode="oauth")))


async def test_a_provider_that_no_plugin_offers_ends_the_start(tmp_path: Path) -> None:
    plugins, preset = Plugins.load(), OAuthPreset(client_id="id", client_secret="a secret")
    chosen = Settings(
        auth=AuthSettings(auth_mode="dev"),
        oauth=OAuthSettings(presets={"nobody": preset}),
        storage=StorageSettings(path=str(tmp_path)),
    )
    async with plugins.sign_in(chosen) as modes, open_application(chosen, plugins) as app:
        with pytest.raises(SettingsError, match="names no provider"):
            plugins.sign_in_routes(app, modes)


async def test_a_server_with_a_preset_shows_its_button(tmp_path: Path) -> None:
    plugins = Plugins.load()
    chosen = Settings(
        auth=AuthSettings(auth_mode="dev"),
        oauth=OAuthSettings(presets=PRESETS),
        storage=StorageSettings(path=str(tmp_path)),
    )
    async with plugins.sign_in(chosen) as modes, open_application(chosen, plugins) as app:
        client = Client(create_app(app, [*plugins.sign_in_routes(app, modes), *plugins.routes(app)], plugins))
        listed = await client.ok("GET", "/auth/oauth/providers")
        assert [provider["id"] for provider in listed["providers"]] == ["github"]
        assert (await client.ok("GET", "/config.json"))["ENABLE_OAUTH"] is True


async def test_what_has_had_its_time_is_swept(world: World) -> None:
    [sweeper] = services(world.app)
    assert isinstance(sweeper, Sweeper)
    await world.browser().begin()
    world.clock.pass_seconds(700)
    async with trio.open_nursery() as nursery:
        await nursery.start(sweeper.run)
        with trio.fail_after(30):
            while await world.count("oauth_states"):
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
