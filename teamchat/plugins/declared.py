"""What can be checked of a plugin's hooks and offers before they are used, and is refused at start."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pluggy

from teamchat.interfaces import hookspecs
from teamchat.plugins.plugin import Plugin

_ASYNC = {"services": "run", "event_listeners": "hear", "message_filters": "filter", "file_checks": "check"}
"""The method that is awaited of what these hooks offer."""


def hooks_of(module: object, manager: pluggy.PluginManager, plugin: Plugin) -> list[str]:
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


def _check_arguments(hook: str, function: Callable[..., Any], plugin: Plugin) -> None:
    """Refuse what pluggy would silently ignore or could not call."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise plugin.failure(f"the hook {hook} must be a plain function, not an async one.")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY:
            raise plugin.failure(
                f"the hook {hook} has the argument {parameter.name} with a default or as keyword only, "
                "which would never be passed."
            )


def wrong_about(hook: str, offer: Any) -> str | None:
    """Say what is wrong about an offer that would fail only once it is used, or return None."""
    if hook not in _ASYNC:
        return None
    if isinstance(offer, type):
        return "which is a class, not an object of it"
    method = getattr(offer, _ASYNC[hook], None)
    if not callable(method):
        return f"which has no method {_ASYNC[hook]}"
    return f"whose method {_ASYNC[hook]} must be an async one" if is_plain(method) else None


def is_plain(function: Any) -> bool:
    """Return whether a function is none that can be awaited, as far as that can be seen."""
    return inspect.isroutine(function) and not inspect.iscoroutinefunction(inspect.unwrap(function))
