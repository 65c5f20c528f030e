"""Capabilities: whole extensions of the interface, each offered by a plugin and announced by its name.

`offer` is what a plugin writes down, `taken` is what the server keeps of those that are on.
"""

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.changes import Changes
from teamchat.capabilities.drafts import DraftFields, Drafts, MessageBody, Outcome, Written
from teamchat.capabilities.exported import ExportedFile, ExportPart, Imported, ImportedFile
from teamchat.capabilities.fields import MessageFields
from teamchat.capabilities.guarded import ChangeFailed, ChangeGuard, TooMuch
from teamchat.capabilities.kept_files import KeepsFiles, KeptFile
from teamchat.capabilities.message_tests import MessageTest, MessageText, MessageTexts
from teamchat.capabilities.notices import Noticed, Notices, QuietTimes, Verdict
from teamchat.capabilities.offer import Capability, Check, Job, May, Options, Parts
from teamchat.capabilities.reminders import Reminder, Reminders
from teamchat.capabilities.second_step import SecondStep
from teamchat.capabilities.taken import Capabilities, Taken
from teamchat.capabilities.user_fields import NamesOfUsers, UserFields

__all__ = [
    "Announced",
    "Capabilities",
    "Capability",
    "ChangeFailed",
    "ChangeGuard",
    "Changes",
    "Check",
    "DraftFields",
    "Drafts",
    "ExportPart",
    "ExportedFile",
    "Imported",
    "ImportedFile",
    "Job",
    "KeepsFiles",
    "KeptFile",
    "May",
    "MessageBody",
    "MessageFields",
    "MessageTest",
    "MessageText",
    "MessageTexts",
    "NamesOfUsers",
    "Noticed",
    "Notices",
    "Options",
    "Outcome",
    "Parts",
    "QuietTimes",
    "Reminder",
    "Reminders",
    "SecondStep",
    "Taken",
    "TooMuch",
    "UserFields",
    "Verdict",
    "Written",
]
