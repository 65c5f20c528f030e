"""teamchat: a self-hosted team chat server.

A plugin author needs the names below and those of some modules: `teamchat.settings` for a plugin's own
settings, `teamchat.model` for callers and what signing in answers, `teamchat.accounts` for what ways to sign
in are made of, `teamchat.text` for what people write, `teamchat.logs` for lines of the log, `teamchat.web`
for endpoints, `teamchat.mail` for mailers, `teamchat.storage.statements` for lists in SQL,
`teamchat.storage.schema`, `teamchat.storage.log` and `teamchat.storage.sqlite` for storages,
`teamchat.application` and `teamchat.plugins` for verbs that open the application, `teamchat.measures` for
what is counted, `teamchat.testing` for tests.  Everything else is private.
"""

from teamchat.api import Teamchat
from teamchat.capabilities import Capability, Changes, Check, MessageFields, Options, Parts
from teamchat.chat.sight import Room, SeenMessage
from teamchat.errors import (
    BadRequest,
    Forbidden,
    MailDelayed,
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
from teamchat.events import Event, LoggedEvent, Payload
from teamchat.hookspecs import hookimpl
from teamchat.interfaces import (
    AuthBackend,
    AuthMode,
    Backend,
    Command,
    EventListener,
    Grant,
    ImageStore,
    Mail,
    Mailer,
    MessageFilter,
    MissedEventsListener,
    NoOptions,
    OAuthProvider,
    Posting,
    Profile,
    Service,
    SignInTraits,
    Storage,
    Transaction,
    Upgrade,
)
from teamchat.storage.schema import Migration

__version__ = "0.1.0"

__all__ = [
    "AuthBackend",
    "AuthMode",
    "Backend",
    "BadRequest",
    "Capability",
    "Changes",
    "Check",
    "Command",
    "Event",
    "EventListener",
    "Forbidden",
    "Grant",
    "ImageStore",
    "LoggedEvent",
    "Mail",
    "MailDelayed",
    "MailRefused",
    "Mailer",
    "MessageFields",
    "MessageFilter",
    "Migration",
    "MissedEventsListener",
    "NoOptions",
    "NotFound",
    "OAuthFailed",
    "OAuthProvider",
    "OperatorError",
    "Options",
    "Parts",
    "Payload",
    "Posting",
    "Problem",
    "Profile",
    "Room",
    "SeenMessage",
    "Service",
    "SettingsError",
    "SignInTraits",
    "Storage",
    "StorageError",
    "Teamchat",
    "TeamchatError",
    "TooManyRequests",
    "Transaction",
    "Unauthorized",
    "Unavailable",
    "Upgrade",
    "__version__",
    "hookimpl",
]
