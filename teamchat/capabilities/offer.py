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
"""Returns what else a user may do, for the list `may` of ``GET /me``."""

Job = Callable[[], Awaitable[object]]
"""Removes what has expired, some rows per transaction. It may run on several servers at once."""


class Check(NamedTuple):
    """A rule that rows must keep, for ``teamchat check``; `offenders` is SQL that counts those that don't.

    `subject` and `sentence` are printed, such as "pins" and "each is in a channel"; `remedy` says what to do.
    With `is_warning` offenders are reported for the operator to judge, and are not a problem.
    """

    subject: str
    sentence: str
    offenders: str
    remedy: str = (
        "Restore the last backup, or report how this came about: no version of teamchat should do it."
    )
    is_warning: bool = False


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of a capability's configuration table. Subclass it to add your own."""

    enabled: Annotated[bool, Meta(description="False turns it off; its data are kept.")] = True


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a capability brings to one server. Every part may be left out."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """The numbers that ``GET /capabilities`` shows under the capability's name."""
    routes: Sequence[Routes] = ()
    """Sections of endpoints."""
    changes: Changes | None = None
    """Called in the transactions that change messages, rooms and users."""
    message_fields: MessageFields | None = None
    """Extra fields of messages, read whenever messages are read."""
    draft_fields: DraftFields | None = None
    """Extra fields that messages are posted and edited with."""
    user_fields: UserFields | None = None
    """Extra fields of users, read whenever users are read."""
    user_names: NamesOfUsers | None = None
    """Other names by which users can be searched for, besides the one every user has."""
    jobs: Sequence[Job] = ()
    """Run at start and every hour after that. One that fails is run again the next time."""
    services: Sequence[Service] = ()
    """Run for as long as the server does, like those of the hook ``services``."""
    may: May | None = None
    """Says what else a user may do."""
    message_tests: Mapping[str, MessageTest] = field(default_factory=dict)
    """What a search can ask of messages, by the search word: ``has:pin``, or ``mentions:`` with a user."""
    message_texts: MessageTexts | None = None
    """Texts that a search looks through along with the content of messages."""
    reminders: Reminders | None = None
    """Appear in the feed (``GET /me/activity``) when they are due."""
    notices: Notices | None = None
    """Says whom a message notifies. Only one capability may bring it."""
    credentials: Credentials | None = None
    """Tokens that are accepted wherever access tokens are. Only one capability may bring them."""
    identity_providers: Sequence[IdentityProvider] = ()
    """More places where people may sign in."""
    second_step: SecondStep | None = None
    """Says who has a second factor: nobody who has one gets a session without it. Only one capability may
    bring it; `teamchat.testing.SecondStepContract` tests what it must do."""


def _nothing(_app: Teamchat, _options: Any) -> Parts:
    return Parts()


@dataclass(frozen=True, kw_only=True)
class Capability:
    """What a plugin offers as one capability of the server."""

    name: str
    """As ``GET /capabilities`` announces it. A name of your own contains a dot (``org.example.polls``); names
    without one belong to the interface."""
    version: int = 1
    """As ``GET /capabilities`` announces it."""
    needs: Sequence[str] = ()
    """Capabilities that this one can't work without. If one is missing, the server does not start."""
    options: type[Options] = Options
    """A subclass of `Options`, read from the plugin's table of the configuration."""
    tables: Sequence[Migration] = ()
    """Its numbered migrations, in the words of `teamchat.storage.schema`. The names of tables and indexes
    begin with the capability's (``polls``, ``polls_votes``). Each table and index has a statement of its own:
    copies of the database are made by these."""
    events: Sequence[type[Payload]] = ()
    """The types of its events. If the capability's name has a dot, theirs begin with that name and a dot
    (``org.example.polls.closed``). Append an event in the transaction that makes the change."""
    checks: Sequence[Check] = ()
    """What ``teamchat check`` asks of its tables."""
    client: str | None = None
    """The folder of its part of the web client, within the plugin's package."""
    export: ExportPart | None = None
    """Its part in ``teamchat export`` and ``teamchat import``. Without it, they leave its tables out."""
    files: KeepsFiles | None = None
    """What it keeps in the store of files."""
    is_possible: Callable[[Settings, Any], bool] | None = None
    """Returns whether it can work with these settings and options. Where it can't, it is absent, as if it
    were turned off."""
    parts: Callable[[Teamchat, Any], Parts] = _nothing
    """Called once for each server, with the façade and the options. It does no work of its own."""
