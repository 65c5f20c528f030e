"""Capabilities: whole extensions of the interface, each offered by a plugin and announced by its name.

`offer` is what a plugin writes down, `taken` is what the server keeps of those that are on.
"""

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.changes import Changes
from teamchat.capabilities.drafts import DraftFields, Drafts, MessageBody, Outcome, Written
from teamchat.capabilities.exported import ExportPart, Imported
from teamchat.capabilities.fields import MessageFields
from teamchat.capabilities.guarded import ChangeFailed, ChangeGuard
from teamchat.capabilities.message_tests import MessageTest
from teamchat.capabilities.offer import Capability, Check, Job, Options, Parts
from teamchat.capabilities.reminders import Reminder, Reminders
from teamchat.capabilities.taken import Capabilities, Taken

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
    "Imported",
    "Job",
    "MessageBody",
    "MessageFields",
    "MessageTest",
    "Options",
    "Outcome",
    "Parts",
    "Reminder",
    "Reminders",
    "Taken",
    "Written",
]
