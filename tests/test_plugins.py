"""Plugins: found in name order, blocked before import, and every failure told with its remedy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from teamchat import ImagesInFiles, hookimpl
from teamchat.errors import PluginError, SettingsError
from teamchat.interfaces import Backend
from teamchat.plugins import Plugins


@asynccontextmanager
async def opened(options: Any) -> Any:
    yield options


def backend(name: str) -> Backend[Any]:
    return Backend(name, opened)


class Disk(Struct, frozen=True):
    path: str = ""


def plugin(**hooks: Any) -> ModuleType:
    """Make a plugin of functions named as the hooks they implement."""
    module = ModuleType("a_plugin")
    for name, function in hooks.items():
        setattr(module, name, hookimpl(function))
    return module


async def anything(*_: Any, **__: Any) -> None: ...


def nothing() -> list[Any]:
    return []


class Entry:
    """An entry point of a distribution that is not really installed."""

    def __init__(
        self, name: str, module: Any, distribution: str = "", loads: list[str] | None = None
    ) -> None:
        self.name = name
        self.dist: Any = SimpleNamespace(name=distribution or f"teamchat-{name}", version="1.2.3")
        self._module = module
        self._loads = loads

    def load(self) -> Any:
        if self._loads is not None:
            self._loads.append(self.name)
        if isinstance(self._module, BaseException):
            raise self._module
        return self._module


def offering_one(offer: Any) -> Any:
    return lambda app: [offer]


def offering(*names: str, hook: str = "storages") -> ModuleType:
    return plugin(**{hook: lambda: [backend(name) for name in names]})


def failure(*entries: Entry) -> str:
    with pytest.raises(PluginError) as caught:
        Plugins.load([], entries).require()
    return str(caught.value)


def test_plugins_are_loaded_in_name_order() -> None:
    loads: list[str] = []
    Plugins.load([], [Entry(name, plugin(), loads=loads) for name in ("b", "c", "a")]).require()
    assert loads == ["a", "b", "c"]


def test_a_disabled_plugin_is_not_even_imported() -> None:
    loads: list[str] = []
    entries = [Entry("bad", RuntimeError("imported"), loads=loads), Entry("good", offering("x"), loads=loads)]
    plugins = Plugins.load(["bad"], entries)
    plugins.require()
    assert loads == ["good"]
    assert [report.status for report in plugins.report()] == ["disabled", "active"]


def test_a_name_that_disables_nothing_is_told() -> None:
    [sentence] = Plugins.load(["a", "teamchat-a"], [Entry("a", plugin())]).not_there(["a", "teamchat-a"])
    assert sentence.startswith('plugins.disabled names "teamchat-a", and no plugin')


@pytest.mark.parametrize("error", [ImportError("no module named x"), SystemExit(3), SyntaxError("bad")])
def test_a_failing_import_names_plugin_distribution_version_cause_and_remedy(error: BaseException) -> None:
    sentence = failure(Entry("mail", error, "teamchat-email"))
    assert '"mail" (teamchat-email 1.2.3)' in sentence
    assert f"{type(error).__name__}: {error}" in sentence
    assert sentence.endswith('plugins.disabled = ["mail"]')


def test_a_failure_takes_nothing_else_down_and_leaves_no_offer_behind() -> None:
    half = plugin(storages=lambda: [backend("half")], image_stores=lambda: [backend("disk"), 5])
    plugins = Plugins.load([], [Entry("a", half), Entry("b", offering("good"))])
    assert [report.status for report in plugins.report()] == ["failed", "active"]
    assert plugins.storage("good").name == "good"
    with pytest.raises(SettingsError):
        plugins.storage("half")
    with pytest.raises(PluginError, match="image_stores must return a list of Backend"):
        plugins.require()


def test_an_unknown_hook_is_a_failure() -> None:
    assert "the hook storagez, which this teamchat does not have" in failure(
        Entry("a", plugin(storagez=nothing))
    )


def test_an_unknown_hook_may_be_marked_optional() -> None:
    module = plugin()
    module.of_tomorrow = hookimpl(optionalhook=True)(lambda: 1)  # type: ignore[attr-defined]
    plugins = Plugins.load([], [Entry("a", module)])
    plugins.require()
    assert plugins.report()[0].hooks == []


def test_two_plugins_that_offer_the_same_name_clash() -> None:
    sentence = failure(Entry("a", offering("x")), Entry("b", offering("x")))
    assert 'it offers the storage "x", which the plugin "a" (teamchat-a 1.2.3) offers already' in sentence
    assert 'plugins.disabled = ["b"]' in sentence
    assert 'offers the sign-in mode "x" twice' in failure(Entry("a", offering("x", "x", hook="auth_modes")))


def test_the_same_name_for_different_things_does_not_clash() -> None:
    Plugins.load([], [Entry("a", offering("x")), Entry("b", offering("x", hook="image_stores"))]).require()


def test_two_entry_points_of_one_name_clash_and_the_first_lives() -> None:
    plugins = Plugins.load([], [Entry("a", offering("x"), "one"), Entry("a", offering("y"), "two")])
    with pytest.raises(
        PluginError, match=r"\(two 1\.2\.3\) failed: one 1\.2\.3 has a plugin of that name too"
    ):
        plugins.require()
    assert plugins.storage("x")


def test_hooks_that_pluggy_would_misread_are_refused() -> None:
    async def asynchronous() -> list[Any]:
        return []

    def defaulted(app: Any = None) -> list[Any]:
        return []

    def keyword_only(*, app: Any) -> list[Any]:
        return []

    assert "must be a plain function" in failure(Entry("a", plugin(storages=asynchronous)))
    assert "the argument app" in failure(Entry("a", plugin(routes=defaulted)))
    assert "the argument app" in failure(Entry("a", plugin(routes=keyword_only)))
    assert "PluginValidationError" in failure(Entry("a", plugin(routes=lambda nonsense: [])))


def test_a_hook_that_raises_is_told_by_type_and_place_and_not_by_its_message() -> None:
    def routes(app: Any) -> list[Any]:
        raise ValueError("s3ntinel")

    plugins = Plugins.load([], [Entry("a", plugin(routes=routes))])
    plugins.require()
    with pytest.raises(PluginError, match=r"routes raised ValueError at .*test_plugins\.py:\d+\.") as caught:
        plugins.routes(SimpleNamespace())  # type: ignore[arg-type]
    assert "s3ntinel" not in str(caught.value)


def test_routes_and_services_come_in_the_plugins_order_with_the_application() -> None:
    app: Any = SimpleNamespace()
    seen: list[Any] = []

    def named(name: str) -> Any:
        def offer(app: Any) -> list[Any]:
            seen.append(app)
            return [SimpleNamespace(name=name, run=anything)]

        return offer

    entries = [
        Entry("b", plugin(services=named("second"), routes=named("r"))),
        Entry("a", plugin(services=named("first"))),
        Entry("c", plugin(services=nothing)),
    ]
    plugins = Plugins.load([], entries)
    assert [service.name for service in plugins.services(app)] == ["first", "second"]
    assert [blueprint.name for blueprint in plugins.routes(app)] == ["r"]
    assert all(each is app for each in seen)


def test_routes_of_one_name_clash_and_nameless_ones_are_refused() -> None:
    app: Any = SimpleNamespace()
    twice = plugin(routes=lambda app: [SimpleNamespace(name="x")])
    again = plugin(routes=lambda app: [SimpleNamespace(name="x")])
    with pytest.raises(PluginError, match=r'"b" .* routes returned "x", which the plugin "a" has already'):
        Plugins.load([], [Entry("a", twice), Entry("b", again)]).routes(app)
    with pytest.raises(PluginError, match="without a name"):
        Plugins.load([], [Entry("a", plugin(services=lambda app: [object()]))]).services(app)
    with pytest.raises(PluginError, match="services must return a list"):
        Plugins.load([], [Entry("a", plugin(services=lambda app: "text"))]).services(app)


@pytest.mark.parametrize(
    ("method", "hook", "key"),
    [
        ("storage", "storages", "storage.backend"),
        ("image_store", "image_stores", "images.backend"),
        ("auth_mode", "auth_modes", "auth.authMode"),
    ],
)
def test_a_name_that_nobody_offers_is_told_by_its_key_with_those_there_are(
    method: str, hook: str, key: str
) -> None:
    plugins = Plugins.load([], [Entry("p", offering("b", "a", hook=hook))])
    assert getattr(plugins, method)("a").name == "a"
    with pytest.raises(SettingsError, match=rf"^{key} names no .* There are: a, b\.$") as caught:
        getattr(plugins, method)("s3ntinel")
    assert "s3ntinel" not in str(caught.value)
    with pytest.raises(SettingsError, match="There are: none"):
        getattr(Plugins.load([], []), method)("a")


async def test_images_are_kept_in_a_store_of_files_and_its_errors_name_their_keys() -> None:
    @asynccontextmanager
    async def refused(options: Any) -> AsyncIterator[Any]:
        raise SettingsError(f"disk.path is wrong ({options.path}).")
        yield

    images = plugin(image_stores=lambda: [ImagesInFiles("files", store="disk", given={"path": "mine"})])
    files = plugin(file_stores=lambda: [Backend("disk", refused, Disk)])
    found = Plugins.load([], [Entry("disk", files), Entry("images", images)]).image_store("files")
    with pytest.raises(SettingsError, match=r"^images\.path is wrong \(mine\)\.$"):
        async with found.open(found.options()):
            pass
    with pytest.raises(SettingsError, match=r'"disk", and no active plugin .* plugins\.disabled.* none\.$'):
        Plugins.load(["disk"], [Entry("disk", files), Entry("images", images)]).image_store("files")


def test_the_report_lists_hooks_offers_and_errors() -> None:
    module = plugin(storages=lambda: [backend("x")], routes=lambda app: [])
    [active, failed] = Plugins.load([], [Entry("a", module), Entry("b", OSError("gone"))]).report()
    assert (active.name, active.distribution, active.version) == ("a", "teamchat-a", "1.2.3")
    assert active.hooks == ["routes", "storages"]
    assert active.offers == {"storages": ["x"]}
    assert active.error is None
    assert failed.status == "failed"
    assert failed.offers == {}
    assert "OSError: gone" in (failed.error or "")


def test_the_built_in_storage_comes_through_the_same_door() -> None:
    from teamchat.storage import builtin

    plugins = Plugins.load([], [Entry("storage-sqlite", builtin)])
    plugins.require()
    assert plugins.storage("sqlite").name == "sqlite"


def test_what_is_installed_here_loads() -> None:
    Plugins.load().require()


def test_a_hook_that_returns_nothing_is_a_failure() -> None:
    plugins = Plugins.load([], [Entry("a", plugin(routes=lambda app: None))])
    with pytest.raises(PluginError, match=r'"a" .* routes returned None; it must return a list'):
        plugins.routes(SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hook", "method"),
    [
        ("services", "run"),
        ("event_listeners", "hear"),
        ("message_filters", "filter"),
        ("file_checks", "check"),
    ],
)
def test_an_offer_that_can_not_be_awaited_is_a_failure(hook: str, method: str) -> None:
    class Plain:
        name = "x"

    setattr(Plain, method, lambda self, *_: None)
    for offer, wrong in [
        (Plain(), f"whose method {method} must be an async one"),
        (SimpleNamespace(name="x"), f"which has no method {method}"),
        (Plain, "which is a class, not an object of it"),
    ]:
        plugins = Plugins.load([], [Entry("a", plugin(**{hook: offering_one(offer)}))])
        with pytest.raises(PluginError, match=rf'"a" .* {hook} returned "x", {wrong}\. To go on'):
            getattr(plugins, hook)(SimpleNamespace())
