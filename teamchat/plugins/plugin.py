"""One plugin: where it comes from, what it offers, and how its failure is reported."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Protocol

from msgspec import Struct

from teamchat.errors import DeclarationError, PluginError
from teamchat.interfaces import Backend, OAuthProvider

Offer = Backend[Any] | OAuthProvider
"""What is chosen by its name."""
_OWN = "teamchat-server"
"""The distribution whose plugins are built in."""


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
class Plugin:
    """One entry point and what is known of it."""

    entry: EntryPoint
    status: str = "active"
    hooks: list[str] = field(default_factory=list)
    offers: dict[str, list[Offer]] = field(default_factory=dict)
    error: PluginError | None = None
    package: str = ""
    """The package that its module is, or is in; empty until it is loaded."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def distribution(self) -> str:
        return self.entry.dist.name if self.entry.dist else "unknown distribution"

    @property
    def version(self) -> str:
        return self.entry.dist.version if self.entry.dist else "unknown version"

    @property
    def described(self) -> str:
        """What it is called in a sentence."""
        return f'the plugin "{self.name}" ({self.distribution} {self.version})'

    @property
    def label(self) -> str:
        """What it is called in a line of the log."""
        return f"{self.name} ({self.distribution} {self.version})"

    @property
    def remedy(self) -> str:
        """How to do without it; empty for a part of teamchat itself, which nobody should do without."""
        if self.distribution == _OWN:
            return ""
        return f'To go on without it: plugins.disabled = ["{self.name}"]'

    def failure(self, cause: str, remedy: str | None = None) -> PluginError:
        """Return the operator's error: who failed, why, and how to do without it."""
        sentence = f"T{self.described[1:]} failed: {cause} {self.remedy if remedy is None else remedy}"
        return PluginError(sentence.rstrip())

    def report(self) -> PluginReport:
        """Return what became of it."""
        offers = {hook: [name_of(offer) for offer in found] for hook, found in self.offers.items()}
        error = str(self.error) if self.error else None
        return PluginReport(
            self.name, self.distribution, self.version, self.status, self.hooks, offers, error
        )


def name_of(offer: Any) -> str:
    """Return the name an offer is chosen by."""
    return str(offer.id if isinstance(offer, OAuthProvider) else offer.name)


def raised(error: Exception) -> str:
    """Say what was raised, and where. Its message is left out: it may hold what the application holds."""
    if isinstance(error, DeclarationError):
        return f"declares something wrong: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"raised {type(error).__name__}{place}"
