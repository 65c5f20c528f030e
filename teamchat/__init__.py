"""teamchat: a self-hosted team chat server.

A plugin may import the names of this package and those of some modules: `teamchat.settings` for a plugin's
own settings, `teamchat.model` for callers and what signing in answers, `teamchat.accounts` for what ways to
sign in are made of, `teamchat.model.text` for what people write, `teamchat.observability` for lines of the
log (`teamchat.observability.logs`) and what is counted (`teamchat.observability.metrics`), `teamchat.web` for
endpoints, `teamchat.accounts.message` for mailers, `teamchat.storage.statements` for lists in SQL,
`teamchat.storage.schema`, `teamchat.storage.log` and `teamchat.storage.sqlite` for storages,
`teamchat.application` and `teamchat.plugins` for verbs that open the application, `teamchat.testing` for
tests. Everything else is private.
"""

from teamchat.capabilities import (
    Capability,
    Changes,
    Check,
    DraftFields,
    ExportPart,
    Imported,
    MessageFields,
    MessageTest,
    Options,
    Outcome,
    Parts,
    Written,
)
from teamchat.chat.corpus import Corpus, Said
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
from teamchat.events import Event, LoggedEvent, Payload, Signal
from teamchat.interfaces import (
    Backend,
    EventListener,
    Grant,
    ImageStore,
    KeepsCopies,
    Mail,
    Mailer,
    MessageFilter,
    MissedEventsListener,
    NoOptions,
    OAuthProvider,
    Posting,
    Profile,
    Service,
    SignalCarrier,
    SignInTraits,
    SpeaksDialect,
    Storage,
    Transaction,
    Upgrade,
)
from teamchat.interfaces.api import Teamchat
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.interfaces.offers import AuthBackend, AuthMode, Command
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
    "Corpus",
    "DraftFields",
    "Event",
    "EventListener",
    "ExportPart",
    "Forbidden",
    "Grant",
    "ImageStore",
    "Imported",
    "KeepsCopies",
    "LoggedEvent",
    "Mail",
    "MailDelayed",
    "MailRefused",
    "Mailer",
    "MessageFields",
    "MessageFilter",
    "MessageTest",
    "Migration",
    "MissedEventsListener",
    "NoOptions",
    "NotFound",
    "OAuthFailed",
    "OAuthProvider",
    "OperatorError",
    "Options",
    "Outcome",
    "Parts",
    "Payload",
    "Posting",
    "Problem",
    "Profile",
    "Room",
    "Said",
    "SeenMessage",
    "Service",
    "SettingsError",
    "SignInTraits",
    "Signal",
    "SignalCarrier",
    "SpeaksDialect",
    "Storage",
    "StorageError",
    "Teamchat",
    "TeamchatError",
    "TooManyRequests",
    "Transaction",
    "Unauthorized",
    "Unavailable",
    "Upgrade",
    "Written",
    "__version__",
    "hookimpl",
]
