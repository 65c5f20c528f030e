"""All plugins that were found, and what they offer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy
from msgspec import Struct
from msgspec.structs import replace

from teamchat.capabilities import Capabilities, Capability, KeepsFiles, Options
from teamchat.errors import OperatorError, PluginError, SettingsError
from teamchat.interfaces import NO_TRAITS, Backend, OAuthProvider, SignInTraits, hookspecs
from teamchat.interfaces.offers import AuthBackend, ImagesInFiles
from teamchat.plugins.chosen import CHOICES, check_mode, routes_of, watched
from teamchat.plugins.declared import hooks_of, wrong_about
from teamchat.plugins.images_in_files import images_in
from teamchat.plugins.plugin import EntryPoint, Offer, Plugin, PluginReport, name_of, raised
from teamchat.plugins.taking import taken
from teamchat.settings import PluginsSettings, Settings, plugin_name, plugin_options

if TYPE_CHECKING:
    from teamchat.interfaces import (
        EventListener,
        FileCheck,
        FileStore,
        ImageStore,
        Mailer,
        MessageFilter,
        Routes,
        Service,
        Storage,
        Transaction,
    )
    from teamchat.interfaces.api import Teamchat
    from teamchat.interfaces.offers import AuthMode, Command

GROUP = "teamchat"


class Plugins:
    """The plugins that were found, in name order."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._plugins: list[Plugin] = []
        self._brought: list[tuple[Any, Plugin]] = []

    @classmethod
    def load(
        cls, disabled: Collection[str] = (), entry_points: Iterable[EntryPoint] | None = None
    ) -> Plugins:
        """Load every plugin that is not disabled. Never raises for a plugin; see `require`."""
        plugins = cls()
        found = metadata.entry_points(group=GROUP) if entry_points is None else entry_points
        for entry in sorted(found, key=lambda entry: entry.name):
            plugins._add(Plugin(entry), disabled)
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

    def not_there(self, disabled: Iterable[str]) -> list[str]:
        """Return a sentence for each name in ``plugins.disabled`` that is no plugin's: it does nothing."""
        names = {plugin.name for plugin in self._plugins}
        return [
            f'plugins.disabled names "{name}", and no plugin that is installed is called that'
            for name in disabled
            if name not in names
        ]

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
        if isinstance(found, ImagesInFiles):
            what = f'images.backend "{name}" keeps images in the store of files "{found.store}"'
            files = self._choose("file_stores", found.store, what)
            return images_in(files, self._offering("file_stores", found.store).name, found)
        return found

    def file_store(self, name: str, settings: Settings) -> tuple[Backend[FileStore], Struct]:
        """Return the store of files of that name, with its options.

        Raises `SettingsError` if no plugin offers it, or for a wrong key in that plugin's table.
        """
        found: Backend[FileStore] = self._choose("file_stores", name)
        plugin = self._offering("file_stores", name)
        options = plugin_options(settings.plugins, plugin.name, found.options)
        if getattr(options, "path", "") is None:
            options = replace(options, path=str(Path(settings.storage.path) / "files"))
        return found, options

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

    def sign_in_traits(self, name: str) -> SignInTraits:
        """Return the traits of a way to sign in. Raises `SettingsError` if no plugin offers it."""
        backend = self.auth_mode(name)
        return backend.traits if isinstance(backend, AuthBackend) else NO_TRAITS

    def sign_in_traits_of(self, settings: Settings) -> SignInTraits:
        """Return the traits of all ways to sign in that are open. Raises as `sign_in_traits` does."""
        return SignInTraits.of_all([self.sign_in_traits(name) for name in self.sign_in_modes(settings)])

    def sign_in_modes(self, settings: Settings) -> list[str]:
        """Return the names of the ways to sign in that are open: the chosen ones, and those beside them."""
        beside = [
            backend.name
            for plugin, backend in self._auth_backends()
            if backend.is_beside is not None and _asked(plugin, backend, settings)
        ]
        return list(dict.fromkeys([*settings.auth.modes, *beside]))

    async def secret_changed_in(self, tx: Transaction) -> None:
        """Tell every way to sign in that the signing secret is another one, in a transaction that is open."""
        for _, backend in self._auth_backends():
            if backend.secret_changed_in is not None:
                await backend.secret_changed_in(tx)

    def _auth_backends(self) -> Iterator[tuple[Plugin, AuthBackend]]:
        for plugin in self._plugins:
            for offer in plugin.offers.get("auth_modes", ()):
                if isinstance(offer, AuthBackend):
                    yield plugin, offer

    @asynccontextmanager
    async def sign_in(self, settings: Settings) -> AsyncIterator[Mapping[str, AuthMode]]:
        """Open the ways to sign in, by name. Raises `SettingsError` if the settings can't work with one."""
        async with AsyncExitStack() as stack:
            opened = {}
            for name in self.sign_in_modes(settings):
                backend = self.auth_mode(name)
                opened[name] = await stack.enter_async_context(backend.open(backend.options()))
                check_mode(opened[name], name, settings, self._offering("auth_modes", name))
            yield opened

    def sign_in_routes(self, app: Teamchat, modes: Mapping[str, AuthMode]) -> list[Routes]:
        """Return the endpoints of opened ways to sign in. Raises `PluginError` if one has none."""
        for name, mode in modes.items():
            plugin = self._offering("auth_modes", name)
            self._brought.append((routes_of(mode, name, app, plugin), plugin))
        return [routes for routes, _ in self._brought[-len(modes) :]]

    def failure_of(self, offer: Any, cause: str) -> PluginError:
        """Return the error that names the plugin which brought `offer`, and the line that disables it."""
        return self._bringer(offer).failure(cause)

    def bringer_of(self, offer: Any) -> str:
        """Return what the plugin which brought `offer` is called."""
        return self._bringer(offer).described

    def label_of(self, offer: Any) -> str:
        """Return what lines of the log call the plugin which brought `offer`."""
        return self._bringer(offer).label

    def remedy_of(self, offer: Any) -> str:
        """Return how to do without the plugin which brought `offer`; empty for one that is built in."""
        return self._bringer(offer).remedy

    def routes(self, app: Teamchat) -> list[Routes]:
        """Return every plugin's sections and blueprints, in the plugins' order."""
        return self._from_all("routes", app=app)

    def services(self, app: Teamchat) -> list[Service]:
        """Return every plugin's services, in the plugins' order."""
        return self._from_all("services", app=app)

    def message_filters(self, app: Teamchat) -> list[MessageFilter]:
        """Return every plugin's filters, in the plugins' order."""
        return self._from_all("message_filters", app=app)

    def file_checks(self, app: Teamchat) -> list[FileCheck]:
        """Return every plugin's checks of files, in the plugins' order."""
        return self._from_all("file_checks", app=app)

    def capabilities(self, settings: PluginsSettings, whole: Settings | None = None) -> Capabilities:
        """Return the capabilities that are on. Raises an `OperatorError` for one that can't be taken.

        With all settings of a server, those are left out that can't work with them.
        """
        offers = self._from_all("capabilities")
        found = [taken(offer, self._bringer(offer), settings, self._brought, whole) for offer in offers]
        return Capabilities([one for one in found if one is not None])

    def capability_offers(self) -> list[tuple[str, Capability]]:
        """Return every capability that is offered, on or off, with the name of its plugin."""
        offers = self._from_all("capabilities")
        return [(self._bringer(offer).name, offer) for offer in offers]

    def kept_files(self, settings: PluginsSettings) -> list[tuple[KeepsFiles, str]]:
        """Return what capabilities keep in which store of files, also those that are turned off: it stays."""
        return [
            (offer.files, offer.files.backend(plugin_options(settings, plugin, offer.options)))
            for plugin, offer in self.capability_offers()
            if isinstance(offer, Capability) and offer.files is not None
        ]

    def tables(self) -> dict[str, type[Options]]:
        """Return what the tables of the configuration that capabilities have are read into, by name."""
        return {name: offer.options for name, offer in self.capability_offers()}

    def commands(self) -> list[Command]:
        """Return every plugin's verbs of the command line, in the plugins' order."""
        return self._from_all("commands")

    def event_listeners(self, app: Teamchat) -> list[EventListener]:
        """Return every plugin's listeners, in the plugins' order."""
        return self._from_all("event_listeners", app=app)

    def _add(self, plugin: Plugin, disabled: Collection[str]) -> None:
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

    def _load(self, plugin: Plugin) -> None:
        """Import, check and register a plugin, and collect the backends it offers."""
        first = self._first(plugin.name)
        if first is not plugin:
            cause = f"{first.distribution} {first.version} has a plugin of that name too."
            raise plugin.failure(cause, "Uninstall one of the two; by this name both would be disabled.")
        try:
            module = plugin.entry.load()
            plugin.package = str(getattr(module, "__package__", None) or getattr(module, "__name__", ""))
            plugin.hooks = hooks_of(module, self._manager, plugin)
            self._manager.register(module, name=plugin.name)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise plugin.failure(f"{type(error).__name__}: {error}.") from error
        for hook in CHOICES:
            if hook in plugin.hooks:
                plugin.offers[hook] = self._offers(plugin, hook)

    def _bringer(self, offer: Any) -> Plugin:
        return next(plugin for one, plugin in self._brought if one is offer)

    def _first(self, name: str) -> Plugin:
        return next(plugin for plugin in self._plugins if plugin.name == name)

    def _offers(self, plugin: Plugin, hook: str) -> list[Offer]:
        taken = {name_of(offer): other for other in self._plugins for offer in other.offers.get(hook, ())}
        what, kind = CHOICES[hook].what, CHOICES[hook].kind
        found: dict[str, Offer] = {}
        for offer in self._call(plugin, hook):
            if not isinstance(offer, kind):
                raise plugin.failure(f"{hook} must return a list of {kind.__name__}.")
            name = name_of(offer)
            if isinstance(offer, AuthBackend) and not isinstance(offer.traits, SignInTraits):
                raise plugin.failure(f'the traits of its {what} "{name}" are no SignInTraits.')
            if name in found:
                raise plugin.failure(f'it offers the {what} "{name}" twice.')
            if name in taken:
                other = taken[name]
                cause = f'it offers the {what} "{name}", which {other.described} offers already.'
                raise plugin.failure(cause, plugin.remedy or other.remedy)
            found[name] = offer
        return list(found.values())

    def _call(self, plugin: Plugin, hook: str, **arguments: Any) -> list[Any]:
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
            raise plugin.failure(f"{hook} {raised(error)}.") from error

    def _choose(self, hook: str, name: str, what: str | None = None) -> Any:
        choice = CHOICES[hook]
        offers = {name_of(offer): (offer, p) for p in self._plugins for offer in p.offers.get(hook, ())}
        if name not in offers:
            there = ", ".join(sorted(offers)) or "none"
            wrong = f"{choice.key} names no {choice.what} that an active plugin offers."
            if what is not None:
                wrong = f"{what}, and no active plugin offers that. Is it in plugins.disabled?"
            raise SettingsError(f"{wrong} There are: {there}.")
        offer, plugin = offers[name]
        return watched(offer, choice, plugin) if isinstance(offer, Backend) else offer

    def _offering(self, hook: str, name: str) -> Plugin:
        """Return the plugin that offers `name`, which was chosen."""
        return next(one for one in self._plugins if name in map(name_of, one.offers.get(hook, ())))

    def _from_all(self, hook: str, **arguments: Any) -> list[Any]:
        found: list[Any] = []
        names: dict[str, Plugin] = {}
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
                    cause = f'{hook} returned "{name}"{" twice" if other is plugin else also}.'
                    raise plugin.failure(cause, plugin.remedy or other.remedy)
                names[name] = plugin
                if (wrong := wrong_about(hook, offer)) is not None:
                    raise plugin.failure(f'{hook} returned "{name}", {wrong}.')
                self._brought.append((offer, plugin))
                found.append(offer)
        return found


def _asked(plugin: Plugin, backend: AuthBackend, settings: Settings) -> bool:
    """Ask a way to sign in whether it is open beside the chosen one."""
    try:
        return backend.is_beside is not None and bool(backend.is_beside(settings))
    except OperatorError:
        raise
    except Exception as error:
        raise plugin.failure(f"is_beside of {backend.name} {raised(error)}.") from error
