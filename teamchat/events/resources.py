"""Users, conversations, webhooks, and the server itself."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from teamchat.events.event import Payload


class NewUser(Payload, frozen=True):
    """A user was added, registered, or signed in for the first time."""

    type = "NEW_USER"
    id: str
    user_name: str
    email: str


class RemoveUser(Payload, frozen=True):
    """An admin removed a user."""

    type = "REMOVE_USER"
    id: str
    email: str


class UserExit(Payload, frozen=True):
    """A user left."""

    type = "USER_EXIT"
    id: str
    user_name: str


class UpdateUser(Payload, frozen=True):
    """A user changed their name, or became an admin, or is none any more: load `GET /users` anew.

    `is_admin` is there when their role has changed, `is_deactivated` when they were deactivated or activated.
    """

    type = "UPDATE_USER"
    id: str
    user_name: str
    is_admin: bool | UnsetType = UNSET
    is_deactivated: bool | UnsetType = UNSET


class NewConversation(Payload, frozen=True):
    """Two users have a conversation from now on."""

    type = "NEW_CONVERSATION"
    id: str
    participants: Sequence[str]
    created_at: int


class NewWebhook(Payload, frozen=True):
    """A webhook was made."""

    type = "NEW_WEBHOOK"
    id: str
    name: str
    channel_id: str


class DeleteWebhook(Payload, frozen=True):
    """A webhook was deleted by itself, not with its channel."""

    type = "DELETE_WEBHOOK"
    id: str
    channel_id: str


class UpdateServerSettings(Payload, frozen=True):
    """The server was renamed."""

    type = "UPDATE_SERVER_SETTINGS"
    name: str
