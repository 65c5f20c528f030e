"""The domain of the chat: channels, messages, threads, reactions, conversations, images, webhooks.

Each part is a plain class over the storage; it knows the rules and permissions of its resource, writes the
events that tell of a change in the transaction that makes it, and knows nothing of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from teamchat.capabilities import Capabilities
from teamchat.chat.channels import Channels
from teamchat.chat.conversations import Conversations
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.chat.filters import Filters
from teamchat.chat.images import Images
from teamchat.chat.messages import Messages
from teamchat.chat.reactions import Reacted, Reactions
from teamchat.chat.rules import Rules
from teamchat.chat.server_settings import ServerSettings
from teamchat.chat.threads import Replied, Threads
from teamchat.chat.webhooks import Webhooks
from teamchat.interfaces import ImageStore, Storage

__all__ = ["Chat", "Draft", "MessageEdit", "Reacted", "Replied"]


@dataclass(frozen=True)
class Chat:
    """The chat of one server, part by part."""

    channels: Channels
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
    ) -> Self:
        """Put the parts together. `max_message_length` is in characters (decision D-04).

        What `capabilities` bring takes part in changes, and adds to what is read.
        """
        filters = Filters(max_message_length)
        rules = Rules(max_message_length, capabilities or Capabilities())
        return cls(
            channels=Channels(storage, rules.capabilities),
            messages=Messages(storage, rules, filters),
            threads=Threads(storage, rules, filters),
            reactions=Reactions(storage),
            conversations=Conversations(storage, rules, filters),
            images=Images(storage, image_store),
            webhooks=Webhooks(storage, rules, filters),
            server_settings=ServerSettings(storage),
            filters=filters,
        )
