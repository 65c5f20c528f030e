"""Every endpoint: what it is asked with and where it can be held up, or that it takes no access token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from tests.pictures import PNG
from tests.web.scene import PASSWORD, Victim


class Request(NamedTuple):
    """What an endpoint is asked with, and where a request can be held up in it.

    `makes` makes what the path names, in the order of the path's parameters.
    """

    makes: Callable[[Victim], Awaitable[tuple[str, ...]]]
    body: Any = None
    holds: tuple[str, ...] = ()

    async def of(self, victim: Victim, rule: str) -> tuple[str, Any]:
        """Return the path and the body of a victim's request."""
        path = rule
        for value in await self.makes(victim):
            before, _, rest = path.partition("<")
            path = before + value + rest.partition(">")[2]
        return path, self.body(victim) if callable(self.body) else self.body


async def _nothing(_: Victim) -> tuple[str, ...]:
    return ()


def _one(make: Callable[[Victim], Awaitable[str]]) -> Callable[[Victim], Awaitable[tuple[str, ...]]]:
    async def made(victim: Victim) -> tuple[str, ...]:
        return (await make(victim),)

    return made


async def _common_channel(victim: Victim) -> tuple[str, ...]:
    return (victim.scene.channel,)


async def _channel_image(victim: Victim) -> tuple[str, ...]:
    return victim.scene.channel, await victim.image(f"channels/{victim.scene.channel}")


async def _conversation_image(victim: Victim) -> tuple[str, ...]:
    conversation = await victim.conversation()
    return conversation, await victim.image(f"conversations/{conversation}")


async def _password(victim: Victim) -> tuple[str, ...]:
    await victim.password()
    return ()


_SAID = {"content": "let me in"}
_IMAGE = {"filename": "dot.png", "image": PNG}
_BY_BODY, _BY_LOCK, _BY_FILTER = ("body",), ("lock",), ("filter",)
_WRITES = _BY_BODY + _BY_LOCK
_POSTS = _WRITES + _BY_FILTER

REQUESTS: Mapping[tuple[str, str], Request] = {
    ("POST", "/auth/logout"): Request(
        _nothing, lambda victim: {"refreshToken": victim.tokens.refresh_token}, _WRITES
    ),
    ("GET", "/auth/me"): Request(_nothing),
    ("GET", "/me"): Request(_nothing),
    ("GET", "/auth/sessions"): Request(_nothing),
    ("DELETE", "/auth/sessions"): Request(_nothing, {}, _WRITES),
    ("PUT", "/auth/password"): Request(
        _password, {"password": PASSWORD, "newPassword": "another long password"}, _WRITES
    ),
    ("GET", "/users"): Request(_nothing),
    ("POST", "/users/add"): Request(
        _nothing,
        lambda victim: {"email": f"new-{victim.caller.user.user_name}@example.org", "role": "admin"},
        _WRITES,
    ),
    ("POST", "/users/<id>/reset-password"): Request(
        _one(Victim.somebody), {"password": "another long password"}, _WRITES
    ),
    ("DELETE", "/users/<id>"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("POST", "/users/exit"): Request(_nothing, None, _BY_LOCK),
    ("PUT", "/users/me"): Request(
        _nothing, lambda victim: {"userName": f"renamed {victim.caller.user.user_name}"}, _WRITES
    ),
    ("GET", "/channels"): Request(_nothing),
    ("POST", "/channels"): Request(
        _nothing, lambda victim: {"name": f"new of {victim.caller.user.user_name}"}, _WRITES
    ),
    ("PUT", "/channels/<channelId>"): Request(
        _one(Victim.channel), lambda victim: {"name": f"renamed by {victim.caller.user.user_name}"}, _WRITES
    ),
    ("DELETE", "/channels/<channelId>"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>"): Request(_common_channel),
    ("POST", "/private-channels"): Request(_nothing, {"name": "secret"}, _WRITES),
    ("PUT", "/channels/<channelId>/privacy"): Request(
        _one(Victim.channel), {"isPrivate": True, "members": []}, _WRITES
    ),
    ("POST", "/channels/<channelId>/archive"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/unarchive"): Request(_one(Victim.archived), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/join"): Request(_one(Victim.left), None, _BY_LOCK),
    ("POST", "/channels/<channelId>/leave"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>/members"): Request(_common_channel),
    ("POST", "/channels/<channelId>/members"): Request(
        _one(Victim.private_channel), lambda victim: {"userIds": [victim.scene.bob.user.id]}, _WRITES
    ),
    ("PUT", "/channels/<channelId>/members/<userId>"): Request(Victim.member, {"role": "manager"}, _WRITES),
    ("DELETE", "/channels/<channelId>/members/<userId>"): Request(Victim.member, None, _BY_LOCK),
    ("POST", "/groups"): Request(
        _nothing, lambda victim: {"userIds": [victim.scene.bob.user.id, victim.scene.admin.user.id]}, _WRITES
    ),
    ("POST", "/groups/<channelId>/members"): Request(
        _one(Victim.group), lambda victim: {"userIds": [victim.scene.bob.user.id]}, _WRITES
    ),
    ("POST", "/groups/<channelId>/convert"): Request(_one(Victim.group), {"name": "ours"}, _WRITES),
    ("PUT", "/me/notes"): Request(_nothing, None, _BY_LOCK),
    ("PUT", "/users/<id>/role"): Request(_one(Victim.somebody), {"role": "admin"}, _WRITES),
    ("POST", "/users/<id>/deactivate"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("POST", "/users/<id>/activate"): Request(_one(Victim.somebody), None, _BY_LOCK),
    ("GET", "/admin/audit"): Request(_nothing),
    ("GET", "/admin/channels"): Request(_nothing),
    ("POST", "/admin/channels/<channelId>/enter"): Request(
        _one(Victim.left), {"reason": "to see what is there"}, _WRITES
    ),
    ("DELETE", "/admin/channels/<channelId>"): Request(_one(Victim.channel), None, _BY_LOCK),
    ("GET", "/channels/<channelId>/messages"): Request(_common_channel),
    ("POST", "/channels/<channelId>/messages"): Request(_common_channel, _SAID, _POSTS),
    ("GET", "/messages/<messageId>"): Request(_one(Victim.message)),
    ("PUT", "/messages/<messageId>"): Request(_one(Victim.message), _SAID, _POSTS),
    ("DELETE", "/messages/<messageId>"): Request(_one(Victim.message), None, _BY_LOCK),
    ("POST", "/messages/<messageId>/reactions"): Request(_one(Victim.message), {"reaction": "+1"}, _WRITES),
    ("DELETE", "/messages/<messageId>/reactions"): Request(_one(Victim.message), {"reaction": "+1"}, _WRITES),
    ("POST", "/channels/<channelId>/messages/image"): Request(_common_channel, _IMAGE, _WRITES),
    ("POST", "/messages/<messageId>/thread/image"): Request(_one(Victim.message), _IMAGE, _WRITES),
    ("POST", "/conversations/<conversationId>/messages/image"): Request(
        _one(Victim.conversation), _IMAGE, _WRITES
    ),
    ("GET", "/channels/<channelId>/messages/image/<filename>"): Request(_channel_image),
    ("GET", "/conversations/<conversationId>/messages/image/<filename>"): Request(_conversation_image),
    ("GET", "/messages/<messageId>/thread"): Request(_one(Victim.message)),
    ("POST", "/messages/<messageId>/thread"): Request(_one(Victim.message), _SAID, _POSTS),
    ("PUT", "/messages/<messageId>/thread/<replyId>"): Request(Victim.reply, _SAID, _POSTS),
    ("DELETE", "/messages/<messageId>/thread/<replyId>"): Request(Victim.reply, None, _BY_LOCK),
    ("GET", "/conversations"): Request(_nothing),
    ("POST", "/conversations"): Request(
        _nothing, lambda victim: {"targetUserId": victim.scene.bob.user.id}, _WRITES
    ),
    ("GET", "/conversations/<conversationId>/messages"): Request(_one(Victim.conversation)),
    ("POST", "/conversations/<conversationId>/messages"): Request(_one(Victim.conversation), _SAID, _POSTS),
    ("PUT", "/conversations/<conversationId>/messages/<messageId>"): Request(Victim.direct, _SAID, _POSTS),
    ("DELETE", "/conversations/<conversationId>/messages/<messageId>"): Request(
        Victim.direct, None, _BY_LOCK
    ),
    ("GET", "/server/settings"): Request(_nothing),
    ("PUT", "/server/settings"): Request(
        _nothing, lambda victim: {"name": f"server of {victim.caller.user.user_name}"}, _WRITES
    ),
    ("GET", "/webhooks"): Request(_nothing),
    ("POST", "/webhooks"): Request(
        _nothing, lambda victim: {"name": "spy", "channelId": victim.scene.channel}, _WRITES
    ),
    ("DELETE", "/webhooks/<webhookId>"): Request(_one(Victim.webhook), None, _BY_LOCK),
    ("POST", "/notes"): Request(_nothing, {"text": "mine"}, _WRITES),
    ("POST", "/notes/from-a-task"): Request(_nothing, {"text": "mine"}, _WRITES),
    ("POST", "/notes/looked-at"): Request(_nothing, {"text": "mine"}, _BY_BODY),
    ("POST", "/plain-notes"): Request(_nothing, {"text": "mine"}, _WRITES),
}
"""Every endpoint that takes an access token."""

WITHOUT_A_TOKEN = {
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/openapi.json"),
    ("GET", "/capabilities"),
    ("GET", "/config.json"),
    ("GET", "/config.js"),
    ("GET", "/"),
    ("GET", "/client/<digest>/<path:path>"),
    ("GET", "/manifest.webmanifest"),
    ("GET", "/sw.js"),
    ("GET", "/auth/oauth/providers"),
    ("GET", "/auth/oauth/<providerId>"),
    ("POST", "/auth/dev-login"),
    ("POST", "/auth/login"),
    ("POST", "/auth/request-password-reset"),
    ("POST", "/auth/register"),
    # Has no body: what comes of a user who is removed while a provider is asked is told in its tests.
    ("GET", "/auth/oauth/<providerId>/callback"),
}
"""Those that anybody may ask."""
WITH_ANOTHER_TOKEN = {
    ("POST", "/auth/refresh"),
    ("POST", "/auth/verify"),
    ("POST", "/auth/password-login"),
    ("POST", "/auth/setup-password"),
    ("POST", "/webhooks/<webhookId>/messages"),
}
"""Those that a token of their own opens, or a password."""
