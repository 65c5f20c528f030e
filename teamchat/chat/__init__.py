"""The domain of the chat: channels, messages, threads, reactions, conversations, images, webhooks.

Each part is a plain class on top of the storage. It knows the rules and permissions of its resource, appends
the events of a change in the transaction that makes the change, and knows nothing of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from teamchat.capabilities import Capabilities
from teamchat.chat.administration import Administration
from teamchat.chat.channels import Channels
from teamchat.chat.conversations import Conversations
from teamchat.chat.deletion import Deletion
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.chat.filters import Filters
from teamchat.chat.groups import Groups
from teamchat.chat.images import Images
from teamchat.chat.leaving import Departures
from teamchat.chat.members import Members
from teamchat.chat.messages import Messages
from teamchat.chat.privacy import Privacy
from teamchat.chat.reactions import Reacted, Reactions
from teamchat.chat.rules import Rules
from teamchat.chat.server_settings import ServerSettings
from teamchat.chat.threads import Replied, Threads
from teamchat.chat.webhooks import Webhooks
from teamchat.interfaces import ImageStore, Storage
from teamchat.model import Caller
from teamchat.settings import ChatSettings

__all__ = ["Chat", "Draft", "MessageEdit", "Reacted", "Replied"]


@dataclass(frozen=True)
class Chat:
    """The chat of one server, part by part."""

    channels: Channels
    members: Members
    groups: Groups
    privacy: Privacy
    administration: Administration
    deletion: Deletion
    messages: Messages
    threads: Threads
    reactions: Reactions
    conversations: Conversations
    images: Images
    webhooks: Webhooks
    server_settings: ServerSettings
    filters: Filters

    @classmethod
    def build(
        cls,
        storage: Storage,
        image_store: ImageStore,
        max_message_length: int,
        capabilities: Capabilities | None = None,
        settings: ChatSettings | None = None,
    ) -> Self:
        """Put the parts together. `max_message_length` is in characters (decision D-04).

        What `capabilities` bring takes part in changes, and adds to what is read; `settings` say who makes
        channels and what those are by default.
        """
        filters = Filters(max_message_length)
        capabilities = capabilities or Capabilities()
        capabilities.keep(Departures(capabilities))
        rules, settings = Rules(max_message_length, capabilities), settings or ChatSettings()
        return cls(
            channels=Channels(storage, capabilities, settings),
            members=Members(storage, capabilities),
            groups=Groups(storage, capabilities),
            privacy=Privacy(storage, capabilities),
            administration=Administration(storage, capabilities, may_enter=settings.admins_may_enter),
            deletion=Deletion(storage, capabilities),
            messages=Messages(storage, rules, filters),
            threads=Threads(storage, rules, filters),
            reactions=Reactions(storage, capabilities),
            conversations=Conversations(storage, rules, filters),
            images=Images(storage, image_store),
            webhooks=Webhooks(storage, rules, filters),
            server_settings=ServerSettings(storage),
            filters=filters,
        )

    def may(self, caller: Caller) -> list[str]:
        """Return what a user may do in this chat that others may not."""
        rights = {
            "create-channels": self.channels.may_create(caller, is_private=False),
            "create-private-channels": self.channels.may_create(caller, is_private=True),
            "enter-channels": self.administration.may_enter(caller),
        }
        return [right for right, is_given in rights.items() if is_given]
