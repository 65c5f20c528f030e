"""teamchat: a self-hosted team chat server.

A plugin author needs the names below, `teamchat.web` for endpoints, `teamchat.mail` for mailers,
`teamchat.storage.schema` for storages, `teamchat.measures` for what is counted and `teamchat.testing` for the
contract tests.  Everything else is private and may change.
"""

from teamchat.errors import (
    BadRequest,
    Forbidden,
    MailRefused,
    NotFound,
    OAuthFailed,
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
from teamchat.interfaces import (
    AuthMode,
    Backend,
    Command,
    EventListener,
    Grant,
    ImageStore,
    Mail,
    Mailer,
    MessageFilter,
    NoOptions,
    OAuthProvider,
    Posting,
    Profile,
    Service,
    Storage,
    Transaction,
    Upgrade,
)

__version__ = "0.1.0"

__all__ = [
    "AuthMode",
    "Backend",
    "BadRequest",
    "Command",
    "Event",
    "EventListener",
    "Forbidden",
    "Grant",
    "ImageStore",
    "LoggedEvent",
    "Mail",
    "MailRefused",
    "Mailer",
    "MessageFilter",
    "NoOptions",
    "NotFound",
    "OAuthFailed",
    "OAuthProvider",
    "OperatorError",
    "Posting",
    "Problem",
    "Profile",
    "Service",
    "SettingsError",
    "Storage",
    "StorageError",
    "TeamchatError",
    "TooManyRequests",
    "Transaction",
    "Unauthorized",
    "Unavailable",
    "Upgrade",
    "__version__",
    "hookimpl",
]
