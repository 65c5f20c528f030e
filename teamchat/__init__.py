"""teamchat: a self-hosted team chat server.

A plugin author needs the names below, `teamchat.web` for endpoints and `teamchat.testing` for the contract
tests.  Everything else is private and may change.
"""

from teamchat.errors import (
    BadRequest,
    Forbidden,
    NotFound,
    OperatorError,
    Problem,
    SettingsError,
    StorageError,
    TeamchatError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from teamchat.events import Event, LoggedEvent
from teamchat.hookspecs import hookimpl
from teamchat.interfaces import AuthMode, Backend, ImageStore, NoOptions, Service, Storage, Transaction

__version__ = "0.1.0"

__all__ = [
    "AuthMode",
    "Backend",
    "BadRequest",
    "Event",
    "Forbidden",
    "ImageStore",
    "LoggedEvent",
    "NoOptions",
    "NotFound",
    "OperatorError",
    "Problem",
    "Service",
    "SettingsError",
    "Storage",
    "StorageError",
    "TeamchatError",
    "TooManyRequests",
    "Transaction",
    "Unauthorized",
    "Unavailable",
    "__version__",
    "hookimpl",
]
