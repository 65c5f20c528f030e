"""Capabilities: whole extensions of the interface, each offered by a plugin and announced by its name.

`offer` is what a plugin writes down, `taken` is what the server keeps of those that are on.
"""

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.changes import ChangeFailed, Changes
from teamchat.capabilities.fields import MessageFields
from teamchat.capabilities.offer import Capability, Check, Job, Options, Parts
from teamchat.capabilities.taken import Capabilities, Taken

__all__ = [
    "Announced",
    "Capabilities",
    "Capability",
    "ChangeFailed",
    "Changes",
    "Check",
    "Job",
    "MessageFields",
    "Options",
    "Parts",
    "Taken",
]
