"""Typed configuration from a file, the environment and flags.

`load` reads it; `backend_options` and `plugin_options` read what belongs to a chosen backend or to a plugin;
`jwt_secret` returns the key for access tokens. Errors name the key and never the value.
"""

from __future__ import annotations

from teamchat.settings.keys import (
    AuthSettings,
    BackendSection,
    ChatSettings,
    CustomProvider,
    EmailSettings,
    EventsSettings,
    ImagesSettings,
    InitialUser,
    OAuthPreset,
    OAuthSettings,
    OidcClaims,
    OidcProvider,
    PluginsSettings,
    RateLimit,
    ServerSettings,
    Settings,
    StorageSettings,
    Templates,
    TlsSettings,
)
from teamchat.settings.sample import sample
from teamchat.settings.signing import jwt_secret
from teamchat.settings.sources import (
    backend_options,
    load,
    load_plugins_settings,
    plugin_name,
    plugin_options,
)

__all__ = [
    "AuthSettings",
    "BackendSection",
    "ChatSettings",
    "CustomProvider",
    "EmailSettings",
    "EventsSettings",
    "ImagesSettings",
    "InitialUser",
    "OAuthPreset",
    "OAuthSettings",
    "OidcClaims",
    "OidcProvider",
    "PluginsSettings",
    "RateLimit",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "Templates",
    "TlsSettings",
    "backend_options",
    "jwt_secret",
    "load",
    "load_plugins_settings",
    "plugin_name",
    "plugin_options",
    "sample",
]
