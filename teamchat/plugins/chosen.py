"""Offers that the configuration chooses by name, and opening the chosen one.

If anything goes wrong while a backend opens, the error names the plugin that offers it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from teamchat.errors import OperatorError, PluginError
from teamchat.interfaces import Backend, FileStore, ImageStore, Mailer, OAuthProvider, Storage
from teamchat.interfaces.offers import AuthMode
from teamchat.plugins.plugin import Plugin, raised
from teamchat.settings import Settings


class Choice(NamedTuple):
    """A hook whose offers are chosen by name: the key, what an offer is called and is, what it opens."""

    key: str
    what: str
    kind: type[Backend[Any]] | type[OAuthProvider]
    opens: type = object

    @property
    def methods(self) -> list[str]:
        """The methods that what was opened must have."""
        members = vars(self.opens).items()
        return [name for name, member in members if not name.startswith("_") and inspect.isfunction(member)]


CHOICES = {
    "storages": Choice("storage.backend", "storage", Backend, Storage),
    "image_stores": Choice("images.backend", "image store", Backend, ImageStore),
    "file_stores": Choice("files.backend", "file store", Backend, FileStore),
    "mailers": Choice("email.backend", "mailer", Backend, Mailer),
    "auth_modes": Choice("auth.authMode", "sign-in mode", Backend, AuthMode),
    "oauth_providers": Choice("oauth.presets", "provider", OAuthProvider),
}


def watched(backend: Backend[Any], choice: Choice, plugin: Plugin) -> Backend[Any]:
    """Return a backend that raises a `PluginError` for what goes wrong while it opens."""
    return replace(backend, open=_Opening(backend, choice, plugin).open)


class _Opening:
    """How one backend of a plugin is opened."""

    def __init__(self, backend: Backend[Any], choice: Choice, plugin: Plugin) -> None:
        self._backend, self._choice, self._plugin = backend, choice, plugin

    @asynccontextmanager
    async def open(self, options: Any) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            try:
                opened = await stack.enter_async_context(self._manager(options))
                self._check(opened)
            except OperatorError:
                raise
            except Exception as error:
                if isinstance(error, ExceptionGroup) and error.subgroup(OperatorError) is not None:
                    raise
                raise self._failure(raised(error)) from error
            yield opened

    def _manager(self, options: Any) -> AbstractAsyncContextManager[Any]:
        manager: object = self._backend.open(options)
        if isinstance(manager, AbstractAsyncContextManager):
            return manager
        if inspect.iscoroutine(manager):
            manager.close()
        kind = type(manager).__name__
        what = f"returned no async context manager but {kind}; is @asynccontextmanager missing?"
        raise self._failure(what)

    def _check(self, opened: object) -> None:
        missing = [name for name in self._choice.methods if not callable(getattr(opened, name, None))]
        if isinstance(opened, type):
            raise self._failure(f"yielded the class {opened.__name__}, not an object of it")
        if missing:
            raise self._failure(f"yielded {type(opened).__name__}, which has no method {missing[0]}")

    def _failure(self, what: str) -> PluginError:
        cause = f'opening its {self._choice.what} "{self._backend.name}" {what}'
        return self._plugin.failure(_sentence(cause), instead(self._plugin, self._choice))


def check_mode(mode: AuthMode, name: str, settings: Settings, plugin: Plugin) -> None:
    """Ask a way to sign in whether the settings can work with it.

    Raises the `SettingsError` that it raises, and a `PluginError` for anything else that it raises or
    returns: an ``async def check`` would never be asked, and a False never heard.
    """
    made = _made_by("check", mode, name, plugin, settings)
    if made is not None:
        cause = f"check of {name} returned {type(made).__name__}; it must raise SettingsError or return None."
        raise plugin.failure(cause, instead(plugin, CHOICES["auth_modes"]))


def routes_of(mode: AuthMode, name: str, app: Any, plugin: Plugin) -> Any:
    """Return what a way to sign in has as its routes. Raises a `PluginError` if that fails."""
    made = _made_by("routes", mode, name, plugin, app)
    if made is None or isinstance(made, list | tuple) or inspect.isawaitable(made):
        cause = f"routes of {name} returned {type(made).__name__}; it must return one teamchat.web.Section."
        raise plugin.failure(cause, instead(plugin, CHOICES["auth_modes"]))
    return made


def _made_by(method: str, mode: AuthMode, name: str, plugin: Plugin, argument: Any) -> Any:
    try:
        made = getattr(mode, method)(argument)
    except OperatorError:
        raise
    except Exception as error:
        cause = _sentence(f"{method} of {name} {raised(error)}")
        raise plugin.failure(cause, instead(plugin, CHOICES["auth_modes"])) from error
    if inspect.iscoroutine(made):
        made.close()  # It is refused; nobody has to be warned that it was not awaited.
    return made


def instead(plugin: Plugin, choice: Choice) -> str:
    """Return how to do without the offer of a plugin that the configuration has chosen."""
    return f"{plugin.remedy}, and choose another {choice.key}." if plugin.remedy else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
