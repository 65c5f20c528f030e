"""Find plugins, load them in name order, and list what each offers.

What must stay true: a disabled plugin is not even imported; a plugin that fails takes nothing else down and
leaves none of its offers behind; every failure names the plugin, its distribution and version, the cause,
and the line that disables it.  `Plugins.load` collects failures, `require` raises the first, so that
``teamchat plugins`` can always list what ``teamchat serve`` refuses.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any, Protocol

import pluggy
from msgspec import Struct

from teamchat import hookspecs
from teamchat.errors import DeclarationError, OperatorError, PluginError, SettingsError
from teamchat.interfaces import Backend, OAuthProvider
from teamchat.settings import PluginsSettings, plugin_name

if TYPE_CHECKING:
    from quart import Blueprint

    from teamchat.application import Application
    from teamchat.interfaces import (
        AuthMode,
        Command,
        EventListener,
        ImageStore,
        Mailer,
        MessageFilter,
        Service,
        Storage,
    )

GROUP = "teamchat"
# The hooks whose offers are chosen by name: by which configuration key, what they are called and are.
_CHOSEN_BY: dict[str, tuple[str, str, type[Backend[Any]] | type[OAuthProvider]]] = {
    "storages": ("storage.backend", "storage", Backend),
    "image_stores": ("images.backend", "image store", Backend),
    "mailers": ("email.backend", "mailer", Backend),
    "auth_modes": ("auth.authMode", "sign-in mode", Backend),
    "oauth_providers": ("oauth.presets", "provider", OAuthProvider),
}
_ASYNC = {"services": "run", "event_listeners": "hear", "message_filters": "filter"}
"""The method that is awaited of what these hooks offer."""
Offer = Backend[Any] | OAuthProvider


class EntryPoint(Protocol):
    """What is used of `importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str: ...
    @property
    def dist(self) -> metadata.Distribution | None: ...
    def load(self) -> Any: ...


class PluginReport(Struct, frozen=True):
    """What became of one plugin; `status` is active, disabled or failed, `offers` are names by hook."""

    name: str
    distribution: str
    version: str
    status: str
    hooks: list[str]
    offers: dict[str, list[str]]
    error: str | None = None


@dataclass
class _Plugin:
    """One entry point and what is known of it."""

    entry: EntryPoint
    status: str = "active"
    hooks: list[str] = field(default_factory=list)
    offers: dict[str, list[Offer]] = field(default_factory=dict)
    error: PluginError | None = None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def distribution(self) -> str:
        return self.entry.dist.name if self.entry.dist else "unknown distribution"

    @property
    def version(self) -> str:
        return self.entry.dist.version if self.entry.dist else "unknown version"

    def failure(self, cause: str) -> PluginError:
        """Return the error that tells the operator who failed, why, and how to do without it."""
        return PluginError(
            f'The plugin "{self.name}" ({self.distribution} {self.version}) failed: {cause} '
            f'To go on without it: plugins.disabled = ["{self.name}"]'
        )

    def report(self) -> PluginReport:
        offers = {hook: [_name_of(offer) for offer in found] for hook, found in self.offers.items()}
        error = str(self.error) if self.error else None
        return PluginReport(
            self.name, self.distribution, self.version, self.status, self.hooks, offers, error
        )


class Plugins:
    """The plugins that were found, in name order."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._plugins: list[_Plugin] = []
        self._brought: list[tuple[Any, _Plugin]] = []

    @classmethod
    def load(
        cls, disabled: Collection[str] = (), entry_points: Iterable[EntryPoint] | None = None
    ) -> Plugins:
        """Load every plugin that is not disabled. Never raises for a plugin; see `require`."""
        plugins = cls()
        found = metadata.entry_points(group=GROUP) if entry_points is None else entry_points
        for entry in sorted(found, key=lambda entry: entry.name):
            plugins._add(_Plugin(entry), disabled)
        return plugins

    def require(self) -> None:
        """Raise the first plugin's failure, if there is any."""
        for plugin in self._plugins:
            if plugin.error:
                raise plugin.error

    def check_settings(self, section: PluginsSettings) -> None:
        """Raise `SettingsError` if a table in ``[plugins]`` is for a plugin that is not there."""
        names = [plugin.name for plugin in self._plugins]
        for key in section.options:
            if plugin_name(key) not in names:
                there = ", ".join(names) or "none"
                raise SettingsError(f"plugins.{key} is for no plugin that is installed. There are: {there}.")

    def report(self) -> list[PluginReport]:
        """Tell what became of each plugin, in name order."""
        return [plugin.report() for plugin in self._plugins]

    def storage(self, name: str) -> Backend[Storage]:
        """Return the storage of that name. Raises `SettingsError` if no plugin offers it."""
        found: Backend[Storage] = self._choose("storages", name)
        return found

    def image_store(self, name: str) -> Backend[ImageStore]:
        """Return the image store of that name. Raises `SettingsError` if no plugin offers it."""
        found: Backend[ImageStore] = self._choose("image_stores", name)
        return found

    def auth_mode(self, name: str) -> Backend[AuthMode]:
        """Return the way to sign in of that name. Raises `SettingsError` if no plugin offers it."""
        found: Backend[AuthMode] = self._choose("auth_modes", name)
        return found

    def mailer(self, name: str) -> Backend[Mailer]:
        """Return the mailer of that name. Raises `SettingsError` if no plugin offers it."""
        found: Backend[Mailer] = self._choose("mailers", name)
        return found

    def oauth_provider(self, provider_id: str) -> OAuthProvider:
        """Return the provider of that id. Raises `SettingsError` if no plugin offers it."""
        found: OAuthProvider = self._choose("oauth_providers", provider_id)
        return found

    def sign_in_routes(self, app: Application, mode: AuthMode) -> Blueprint:
        """Return the blueprint of the chosen way to sign in. Raises `PluginError` if it has none."""
        name = app.settings.auth.auth_mode
        [plugin] = [p for p in self._plugins if name in map(_name_of, p.offers.get("auth_modes", ()))]
        try:
            blueprint = mode.routes(app)
        except OperatorError:
            raise
        except Exception as error:
            raise plugin.failure(f"the routes of {name} {_raised(error)}.") from error
        self._brought.append((blueprint, plugin))
        return blueprint

    def failure_of(self, offer: Any, cause: str) -> PluginError:
        """Return the error that names the plugin which brought `offer`, and the line that disables it."""
        return self._bringer(offer).failure(cause)

    def bringer_of(self, offer: Any) -> str:
        """Return what the plugin which brought `offer` is called."""
        plugin = self._bringer(offer)
        return f'the plugin "{plugin.name}" ({plugin.distribution} {plugin.version})'

    def routes(self, app: Application) -> list[Blueprint]:
        """Return every plugin's blueprints, in the plugins' order."""
        return self._from_all("routes", app=app)

    def services(self, app: Application) -> list[Service]:
        """Return every plugin's services, in the plugins' order."""
        return self._from_all("services", app=app)

    def message_filters(self, app: Application) -> list[MessageFilter]:
        """Return every plugin's filters, in the plugins' order."""
        return self._from_all("message_filters", app=app)

    def commands(self) -> list[Command]:
        """Return every plugin's verbs of the command line, in the plugins' order."""
        return self._from_all("commands")

    def event_listeners(self, app: Application) -> list[EventListener]:
        """Return every plugin's listeners, in the plugins' order."""
        return self._from_all("event_listeners", app=app)

    def _add(self, plugin: _Plugin, disabled: Collection[str]) -> None:
        self._plugins.append(plugin)
        if plugin.name in disabled:
            plugin.status = "disabled"
            return
        try:
            self._load(plugin)
        except PluginError as error:
            plugin.status, plugin.error, plugin.offers = "failed", error, {}
            if self._manager.get_plugin(plugin.name) is not None and self._first(plugin.name) is plugin:
                self._manager.unregister(name=plugin.name)

    def _load(self, plugin: _Plugin) -> None:
        """Import, check and register a plugin, and collect the backends it offers."""
        first = self._first(plugin.name)
        if first is not plugin:
            raise plugin.failure(f"{first.distribution} {first.version} has a plugin of that name too.")
        try:
            module = plugin.entry.load()
            plugin.hooks = _hooks_of(module, self._manager, plugin)
            self._manager.register(module, name=plugin.name)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise plugin.failure(f"{type(error).__name__}: {error}.") from error
        for hook in _CHOSEN_BY:
            if hook in plugin.hooks:
                plugin.offers[hook] = self._offers(plugin, hook)

    def _bringer(self, offer: Any) -> _Plugin:
        return next(plugin for one, plugin in self._brought if one is offer)

    def _first(self, name: str) -> _Plugin:
        return next(plugin for plugin in self._plugins if plugin.name == name)

    def _offers(self, plugin: _Plugin, hook: str) -> list[Offer]:
        taken = {_name_of(offer): other for other in self._plugins for offer in other.offers.get(hook, ())}
        _, what, kind = _CHOSEN_BY[hook]
        found: dict[str, Offer] = {}
        for offer in self._call(plugin, hook):
            if not isinstance(offer, kind):
                raise plugin.failure(f"{hook} must return a list of {kind.__name__}.")
            name = _name_of(offer)
            if name in found:
                raise plugin.failure(f'it offers the {what} "{name}" twice.')
            if name in taken:
                other = taken[name]
                raise plugin.failure(
                    f'it offers the {what} "{name}", which the plugin "{other.name}" '
                    f"({other.distribution} {other.version}) offers already."
                )
            found[name] = offer
        return list(found.values())

    def _call(self, plugin: _Plugin, hook: str, **arguments: Any) -> list[Any]:
        """Call one hook of one plugin, so that whatever goes wrong has a name."""
        others = [self._manager.get_plugin(each.name) for each in self._plugins if each.name != plugin.name]
        try:
            caller = self._manager.subset_hook_caller(hook, [each for each in others if each is not None])
            results = caller(**arguments)
            if not results:  # pluggy leaves out None
                raise plugin.failure(f"{hook} returned None; it must return a list, if only an empty one.")
            if not all(isinstance(result, Sequence) and not isinstance(result, str) for result in results):
                raise plugin.failure(f"{hook} must return a list.")
            return [offer for result in results for offer in result]
        except OperatorError:  # It says what to do; a wrong key in the plugin's own table, say.
            raise
        except Exception as error:
            raise plugin.failure(f"{hook} {_raised(error)}.") from error

    def _choose(self, hook: str, name: str) -> Any:
        offers = {_name_of(offer): offer for p in self._plugins for offer in p.offers.get(hook, ())}
        if name not in offers:
            key, what, _ = _CHOSEN_BY[hook]
            there = ", ".join(sorted(offers)) or "none"
            raise SettingsError(f"{key} names no {what} that an active plugin offers. There are: {there}.")
        return offers[name]

    def _from_all(self, hook: str, **arguments: Any) -> list[Any]:
        found: list[Any] = []
        names: dict[str, _Plugin] = {}
        for plugin in self._plugins:
            if plugin.status != "active" or hook not in plugin.hooks:
                continue
            for offer in self._call(plugin, hook, **arguments):
                name = getattr(offer, "name", None)
                if not isinstance(name, str):
                    raise plugin.failure(f"{hook} returned something without a name.")
                if name in names:
                    other = names[name]
                    also = f', which the plugin "{other.name}" has already'
                    raise plugin.failure(f'{hook} returned "{name}"{" twice" if other is plugin else also}.')
                names[name] = plugin
                if (wrong := _wrong_about(hook, offer)) is not None:
                    raise plugin.failure(f'{hook} returned "{name}", {wrong}.')
                self._brought.append((offer, plugin))
                found.append(offer)
        return found


def _name_of(offer: Any) -> str:
    """Return the name an offer is chosen by."""
    return str(offer.id if isinstance(offer, OAuthProvider) else offer.name)


def _hooks_of(module: object, manager: pluggy.PluginManager, plugin: _Plugin) -> list[str]:
    """Return the hooks that a plugin implements; one that teamchat does not have is a failure."""
    known = {name for name in dir(hookspecs) if manager.parse_hookspec_opts(hookspecs, name) is not None}
    hooks: list[str] = []
    for attribute in dir(module):
        options = manager.parse_hookimpl_opts(module, attribute)
        if options is None:
            continue
        hook = options["specname"] or attribute
        if hook not in known and not options["optionalhook"]:
            raise plugin.failure(f"it implements the hook {hook}, which this teamchat does not have.")
        _check_arguments(hook, getattr(module, attribute), plugin)
        if hook in known:
            hooks.append(hook)
    return sorted(hooks)


def _check_arguments(hook: str, function: Callable[..., Any], plugin: _Plugin) -> None:
    """Refuse what pluggy would silently ignore or could not call."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise plugin.failure(f"the hook {hook} must be a plain function, not an async one.")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY:
            raise plugin.failure(
                f"the hook {hook} has the argument {parameter.name} with a default or as keyword only, "
                "which would never be passed."
            )


def _wrong_about(hook: str, offer: Any) -> str | None:
    """Say what is wrong about an offer that would fail only once it is used, or return None."""
    if hook not in _ASYNC:
        return None
    if isinstance(offer, type):
        return "which is a class, not an object of it"
    method = getattr(offer, _ASYNC[hook], None)
    if not callable(method):
        return f"which has no method {_ASYNC[hook]}"
    is_plain = inspect.isroutine(method) and not inspect.iscoroutinefunction(inspect.unwrap(method))
    return f"whose method {_ASYNC[hook]} must be an async one" if is_plain else None


def _raised(error: Exception) -> str:
    """Say what was raised, and where. Its message is left out: it may hold what the application holds."""
    if isinstance(error, DeclarationError):
        return f"declares something wrong: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"raised {type(error).__name__}{place}"
