"""What a plugin offers as a capability, and the parts that it brings to one server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from teamchat.capabilities.changes import Changes
from teamchat.capabilities.drafts import DraftFields
from teamchat.capabilities.exported import ExportPart
from teamchat.capabilities.fields import MessageFields
from teamchat.capabilities.kept_files import KeepsFiles
from teamchat.capabilities.message_tests import MessageTest, MessageTexts
from teamchat.capabilities.notices import Notices
from teamchat.capabilities.reminders import Reminders
from teamchat.capabilities.second_step import SecondStep
from teamchat.capabilities.user_fields import NamesOfUsers, UserFields
from teamchat.events import Payload
from teamchat.interfaces import Credentials, IdentityProvider, Routes, Service, Transaction
from teamchat.model import Caller

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat
    from teamchat.settings import Settings
    from teamchat.storage.schema import Migration

May = Callable[[Transaction, Caller], Awaitable[Sequence[str]]]
"""Returns what a user may do besides, as ``GET /me`` lists it under `may`."""


Job = Callable[[], Awaitable[object]]
"""Removes what has had its time, some rows a transaction; it may run on several servers at once."""


class Check(NamedTuple):
    """What must be true of rows, for ``teamchat check``; `offenders` is a statement that counts the others.

    `subject` and `sentence` are printed: "each stands in a channel", say; `remedy` is what to do.
    With `is_warning` it is for the operator to judge, and no problem.
    """

    subject: str
    sentence: str
    offenders: str
    remedy: str = (
        "Restore the last backup, or report how this came about: no version of teamchat should do it."
    )
    is_warning: bool = False


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of a capability's table. `enabled`: false turns it off, and its data are kept."""

    enabled: Annotated[bool, Meta(description="False turns it off; its data are kept.")] = True


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a capability brings to one server; each part may be left out.

    `limits` are the numbers that ``GET /capabilities`` has under its name. `routes` are sections of
    endpoints. `changes` is called in the transactions of the chat, `message_fields` when messages are read,
    `draft_fields` when they are posted and edited.
    `jobs` are run every hour, beginning at once; one that fails is run again the next time. `services` run as
    long as the server does, as those of the hook do. `may` says what a user may do besides. `message_tests`
    are what can be asked of messages in a search, by the words of its grammar: ``has:pin``, or ``mentions:``
    for one that is about a user. `message_texts` are found in a search as the content is. `reminders` come
    into the feed (``GET /me/activity``) when they are due. `notices` tells whom messages notify; one
    capability alone brings it. `user_fields` are read with users, and `user_names` when somebody is looked
    for by a name: they are other names than the one that all users have. `credentials` are tokens that are
    accepted where access tokens are; one capability alone brings them. `identity_providers` are where people
    may sign in besides. `second_step` tells who has a second factor, without which no session of theirs
    begins; one capability alone brings it, and `teamchat.testing.SecondStepContract` asks what it must do.
    """

    limits: Mapping[str, int] = field(default_factory=dict)
    routes: Sequence[Routes] = ()
    changes: Changes | None = None
    message_fields: MessageFields | None = None
    draft_fields: DraftFields | None = None
    jobs: Sequence[Job] = ()
    services: Sequence[Service] = ()
    may: May | None = None
    message_tests: Mapping[str, MessageTest] = field(default_factory=dict)
    message_texts: MessageTexts | None = None
    reminders: Reminders | None = None
    notices: Notices | None = None
    identity_providers: Sequence[IdentityProvider] = ()
    user_fields: UserFields | None = None
    user_names: NamesOfUsers | None = None
    credentials: Credentials | None = None
    second_step: SecondStep | None = None


def _nothing(_app: Teamchat, _options: Any) -> Parts:
    return Parts()


@dataclass(frozen=True, kw_only=True)
class Capability:
    """A capability of the server: `name` and `version` as ``GET /capabilities`` announces them.

    A name of your own contains a dot (``org.example.polls``); plain ones are the interface's.  `needs` names
    capabilities without which this one makes no sense: the server does not start if one is missing.
    `options` is a subclass of `Options`; it is read from the plugin's table of the configuration. `tables`
    are its numbered migrations, in the words of `teamchat.storage.schema`; the names of tables and indexes
    begin with the capability's (``polls``, ``polls_votes``), and each has a statement of its own, by which
    copies are made. `events` are the types of its events; those of a name with a dot begin with it and a dot
    (``org.example.polls.closed``). An event is appended in the transaction that makes the change. `checks`
    are what ``teamchat check`` asks of its tables. `client` is the folder of its part of the web client,
    within the plugin's package. `export` is its part in ``teamchat export`` and ``teamchat import``, which
    leave its tables out without it. `files` says what it keeps in the store of files.
    `is_possible` returns whether it can work with these settings and options; where it can't, it is absent as
    if it were turned off.

    `parts` is called once for each server with the façade and the options, and does no work of its own.
    """

    name: str
    version: int = 1
    needs: Sequence[str] = ()
    options: type[Options] = Options
    tables: Sequence[Migration] = ()
    events: Sequence[type[Payload]] = ()
    checks: Sequence[Check] = ()
    client: str | None = None
    export: ExportPart | None = None
    files: KeepsFiles | None = None
    is_possible: Callable[[Settings, Any], bool] | None = None
    parts: Callable[[Teamchat, Any], Parts] = _nothing
