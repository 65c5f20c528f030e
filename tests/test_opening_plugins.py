"""What goes wrong as a plugin's offer is opened or asked is told with the plugin and how to do without it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from teamchat.errors import PluginError, ServiceCrashed, SettingsError
from teamchat.interfaces import Backend
from teamchat.interfaces.offers import AuthBackend
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, Settings
from tests.test_plugins import Entry, plugin

DISABLED = 'To go on without it: plugins.disabled = ["door"], and choose another {}.'
SECRET = "s3ntinel"
CHOSEN = [
    ("storages", "storage", "storage.backend"),
    ("image_stores", "image_store", "images.backend"),
    ("mailers", "mailer", "email.backend"),
    ("auth_modes", "auth_mode", "auth.authMode"),
]


def bringing(hook: str, opening: Any, distribution: str = "acme-door") -> Plugins:
    offers = plugin(**{hook: lambda: [Backend("mine", opening)]})
    plugins = Plugins.load([], [Entry("door", offers, distribution)])
    plugins.require()
    return plugins


def raising(*_: Any) -> Any:
    raise ValueError(SECRET)


async def asynchronous(*_: Any) -> None:
    """Do nothing: what calls it forgets to wait for it."""


async def generating(_: Any) -> Any:
    yield


@asynccontextmanager
async def failing(_: Any) -> Any:
    raise ValueError(SECRET)
    yield


@asynccontextmanager
async def failing_below(_: Any) -> Any:
    async with trio.open_nursery():
        raise ValueError(SECRET)
    yield


@asynccontextmanager
async def yielding_nothing(_: Any) -> Any:
    yield


@asynccontextmanager
async def yielding_a_class(_: Any) -> Any:
    yield SimpleNamespace


@pytest.mark.parametrize(("hook", "method", "key"), CHOSEN)
@pytest.mark.parametrize(
    ("opening", "cause"),
    [
        (lambda _: None, "returned no async context manager but NoneType"),
        (asynchronous, "returned no async context manager but coroutine"),
        (
            generating,
            "returned no async context manager but async_generator; is @asynccontextmanager missing",
        ),
        (raising, "raised ValueError at "),
        (lambda: None, "raised TypeError"),
        (failing, "raised ValueError at "),
        (failing_below, "raised ExceptionGroup at "),
        (yielding_nothing, "yielded NoneType, which has no method "),
        (yielding_a_class, "yielded the class SimpleNamespace, not an object of it"),
    ],
)
async def test_a_backend_that_can_not_be_opened_is_told_with_its_plugin(
    hook: str, method: str, key: str, opening: Any, cause: str
) -> None:
    backend = getattr(bringing(hook, opening), method)("mine")
    with pytest.raises(PluginError) as caught:
        async with backend.open(backend.options()):
            pytest.fail("it is open")
    told = str(caught.value)
    what = method.replace("_", " ").replace("auth", "sign-in")
    assert told.startswith(f'The plugin "door" (acme-door 1.2.3) failed: opening its {what} "mine" {cause}')
    assert told.endswith(DISABLED.format(key))
    assert SECRET not in told


async def test_what_an_operator_can_mend_about_a_backend_is_told_as_it_is() -> None:
    @asynccontextmanager
    async def refusing(_: Any) -> Any:
        async with trio.open_nursery():
            raise SettingsError("images.path is missing.")
        yield

    backend = bringing("image_stores", refusing).image_store("mine")
    with pytest.raises(ExceptionGroup) as caught:
        async with backend.open(backend.options()):
            pytest.fail("it is open")
    assert caught.group_contains(SettingsError, match="images.path is missing")


async def test_what_fails_while_a_backend_is_open_is_not_taken_for_its_failure() -> None:
    class Store:
        put = get = delete = asynchronous

    @asynccontextmanager
    async def opening(_: Any) -> Any:
        yield Store()

    backend = bringing("image_stores", opening).image_store("mine")
    with pytest.raises(KeyError):
        async with backend.open(backend.options()):
            raise KeyError


def sign_in_by(**methods: Any) -> tuple[Plugins, Settings]:
    """Return plugins with a way to sign in of these methods, and the settings that choose it."""

    @asynccontextmanager
    async def opening(_: Any) -> Any:
        yield SimpleNamespace(**{"check": lambda _: None, "routes": lambda _: None} | methods)

    return bringing("auth_modes", opening), Settings(auth=AuthSettings(auth_mode="mine"))


@pytest.mark.parametrize(
    ("check", "cause"),
    [
        (raising, "check of mine raised ValueError at "),
        (asynchronous, "check of mine returned coroutine; it must raise SettingsError or return None."),
        (lambda _: False, "check of mine returned bool; it must raise SettingsError or return None."),
    ],
)
async def test_a_check_of_a_sign_in_mode_that_can_not_be_trusted_ends_the_start(
    check: Any, cause: str
) -> None:
    plugins, settings = sign_in_by(check=check)
    with pytest.raises(PluginError) as caught:
        async with plugins.sign_in(settings):
            pytest.fail("it is open")
    told = str(caught.value)
    assert told.startswith(f'The plugin "door" (acme-door 1.2.3) failed: {cause}')
    assert told.endswith(DISABLED.format("auth.authMode"))
    assert SECRET not in told


def test_traits_that_are_none_are_told_with_their_plugin() -> None:
    backend = AuthBackend("mine", failing, traits={"lets_register": True})  # type: ignore[arg-type]
    plugins = Plugins.load([], [Entry("door", plugin(auth_modes=lambda: [backend]), "acme-door")])
    with pytest.raises(PluginError, match=r'the traits of its sign-in mode "mine" are no SignInTraits'):
        plugins.require()


@pytest.mark.parametrize(
    ("routes", "cause"),
    [
        (raising, "routes of mine raised ValueError at "),
        (asynchronous, "routes of mine returned coroutine; it must return one teamchat.web.Section."),
        (lambda _: None, "routes of mine returned NoneType; it must return one teamchat.web.Section."),
        (lambda _: [1], "routes of mine returned list; it must return one teamchat.web.Section."),
    ],
)
async def test_routes_of_a_sign_in_mode_that_are_none_are_told_with_its_plugin(
    routes: Any, cause: str
) -> None:
    plugins, settings = sign_in_by(routes=routes)
    app: Any = SimpleNamespace(settings=settings)
    async with plugins.sign_in(settings) as mode:
        with pytest.raises(PluginError) as caught:
            plugins.sign_in_routes(app, mode)
    told = str(caught.value)
    assert told.startswith(f'The plugin "door" (acme-door 1.2.3) failed: {cause}')
    assert told.endswith(DISABLED.format("auth.authMode"))
    assert SECRET not in told


async def test_nobody_is_told_to_disable_a_part_of_teamchat_itself() -> None:
    backend = bringing("storages", raising, distribution="teamchat-server").storage("mine")
    with pytest.raises(PluginError) as caught:
        async with backend.open(backend.options()):
            pytest.fail("it is open")
    assert 'The plugin "door" (teamchat-server 1.2.3) failed: ' in str(caught.value)
    assert "disabled" not in str(caught.value)


def test_where_a_part_of_teamchat_has_its_name_taken_the_other_one_is_to_be_disabled() -> None:
    one, other = (plugin(storages=lambda: [Backend("sqlite", failing)]) for _ in range(2))
    entries = [Entry("an-other", one), Entry("storage-sqlite", other, "teamchat-server")]
    with pytest.raises(PluginError) as caught:
        Plugins.load([], entries).require()
    assert str(caught.value).endswith('plugins.disabled = ["an-other"]')


def test_a_service_that_crashed_is_told_with_how_to_do_without_it() -> None:
    class Service:
        name = "clockwork"
        run = asynchronous

    def remedy(distribution: str) -> str:
        service = Service()
        plugins = Plugins.load([], [Entry("door", plugin(services=lambda app: [service]), distribution)])
        plugins.services(SimpleNamespace())  # type: ignore[arg-type]
        return str(ServiceCrashed("clockwork", plugins.bringer_of(service), plugins.remedy_of(service)))

    assert remedy("acme-door").endswith('above says why. To go on without it: plugins.disabled = ["door"]')
    assert remedy("teamchat-server").endswith("The log above says why.")
