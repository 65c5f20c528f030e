"""Which scopes a token needs for each endpoint, of plugins too (extension K-1): all of it stands here.

An endpoint that is new is refused by the first test until somebody has thought about what a token may do at
it: whether the default is right, and, for a token that is limited to places, whether all that is answered
and changed hangs on a place that was looked up for the caller.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from teamchat.errors import DeclarationError
from teamchat.web import Section
from tests.leaks.parameters import name_of
from tests.leaks.world import open_world

NEEDED = {
    "GET /admin/audit": "admin",
    "GET /admin/channels": "admin",
    "DELETE /admin/channels/<channelId>": "admin *",
    "POST /admin/channels/<channelId>/enter": "admin *",
    "POST /auth/logout": "-",
    "GET /auth/me": "read *",
    "DELETE /auth/sessions": "-",
    "GET /auth/sessions": "-",
    "GET /bots": "read admin",
    "POST /bots": "admin",
    "DELETE /bots/<botId>": "admin",
    "PUT /bots/<botId>": "admin",
    "GET /bots/<botId>/tokens": "-",
    "POST /bots/<botId>/tokens": "-",
    "DELETE /bots/<botId>/tokens/<tokenId>": "-",
    "GET /channels": "read *",
    "POST /channels": "manage",
    "DELETE /channels/<channelId>": "manage *",
    "GET /channels/<channelId>": "read *",
    "PUT /channels/<channelId>": "manage *",
    "POST /channels/<channelId>/archive": "manage *",
    "GET /channels/<channelId>/files": "read *",
    "POST /channels/<channelId>/join": "manage *",
    "POST /channels/<channelId>/leave": "manage *",
    "GET /channels/<channelId>/members": "read *",
    "POST /channels/<channelId>/members": "manage *",
    "DELETE /channels/<channelId>/members/<userId>": "manage *",
    "PUT /channels/<channelId>/members/<userId>": "manage *",
    "GET /channels/<channelId>/messages": "read *",
    "POST /channels/<channelId>/messages": "write *",
    "POST /channels/<channelId>/messages/image": "write files *",
    "GET /channels/<channelId>/messages/image/<filename>": "read files *",
    "GET /channels/<channelId>/pins": "read *",
    "PUT /channels/<channelId>/privacy": "manage *",
    "POST /channels/<channelId>/unarchive": "manage *",
    "GET /conversations": "read *",
    "POST /conversations": "write",
    "GET /conversations/<conversationId>/files": "read *",
    "GET /conversations/<conversationId>/messages": "read *",
    "POST /conversations/<conversationId>/messages": "write *",
    "DELETE /conversations/<conversationId>/messages/<messageId>": "write *",
    "PUT /conversations/<conversationId>/messages/<messageId>": "write *",
    "POST /conversations/<conversationId>/messages/image": "write files *",
    "GET /conversations/<conversationId>/messages/image/<filename>": "read files *",
    "GET /conversations/<conversationId>/pins": "read *",
    "PUT /events/<connectionId>": "read events *",
    "GET /files/<fileId>/info": "read files *",
    "POST /files/<fileId>/forward": "files *",
    "POST /files/<fileId>/link": "read files *",
    "POST /groups": "manage",
    "POST /groups/<channelId>/convert": "manage *",
    "POST /groups/<channelId>/members": "manage *",
    "GET /me": "read *",
    "GET /me/activity": "read *",
    "PUT /me/activity/read": "write",
    "DELETE /me/avatar": "write",
    "PUT /me/avatar": "write",
    "GET /me/drafts": "read *",
    "DELETE /me/drafts/<draftId>": "write *",
    "GET /me/drafts/<draftId>": "read *",
    "PUT /me/drafts/<draftId>": "write *",
    "PUT /me/notes": "write",
    "GET /me/notifications": "read *",
    "PUT /me/notifications": "write",
    "GET /me/notifications/why": "read *",
    "GET /me/places": "read *",
    "GET /me/places/<placeId>": "read *",
    "PUT /me/places/<placeId>/notifications": "write *",
    "PUT /me/places/<placeId>/read": "write *",
    "PUT /me/places/<placeId>/unread": "write *",
    "PUT /me/profile": "write",
    "PUT /me/read": "write *",
    "GET /me/saved": "read *",
    "DELETE /me/saved/<messageId>": "write *",
    "PUT /me/saved/<messageId>": "write *",
    "GET /me/second-factors": "-",
    "POST /me/second-factors": "-",
    "DELETE /me/second-factors/<factorId>": "-",
    "PUT /me/second-factors/<factorId>": "-",
    "DELETE /me/status": "write",
    "PUT /me/status": "write",
    "GET /me/threads": "read *",
    "PUT /me/threads/<messageId>": "write *",
    "PUT /me/threads/<messageId>/read": "write *",
    "PUT /me/threads/<messageId>/unread": "write *",
    "GET /me/tokens": "-",
    "POST /me/tokens": "-",
    "DELETE /me/tokens/<tokenId>": "-",
    "DELETE /messages/<messageId>": "write *",
    "GET /messages/<messageId>": "read *",
    "PUT /messages/<messageId>": "write *",
    "DELETE /messages/<messageId>/history": "write *",
    "GET /messages/<messageId>/history": "read *",
    "DELETE /messages/<messageId>/pin": "write *",
    "POST /messages/<messageId>/pin": "write *",
    "DELETE /messages/<messageId>/reactions": "write *",
    "POST /messages/<messageId>/reactions": "write *",
    "GET /messages/<messageId>/thread": "read *",
    "POST /messages/<messageId>/thread": "write *",
    "DELETE /messages/<messageId>/thread/<replyId>": "write *",
    "PUT /messages/<messageId>/thread/<replyId>": "write *",
    "POST /messages/<messageId>/thread/image": "write files *",
    "POST /places/<placeId>/typing": "write *",
    "GET /presence": "read *",
    "GET /presence/me": "read *",
    "PUT /presence/me": "write",
    "POST /private-channels": "manage",
    "GET /push/key": "-",
    "GET /push/subscriptions": "-",
    "POST /push/subscriptions": "-",
    "GET /push/subscriptions/<subscriptionId>": "-",
    "DELETE /push/subscriptions/<subscriptionId>": "-",
    "POST /push/subscriptions/<subscriptionId>/test": "-",
    "GET /search/channels": "read *",
    "GET /search/files": "read *",
    "GET /search/messages": "read *",
    "GET /search/people": "read *",
    "GET /server/settings": "read *",
    "PUT /server/settings": "admin",
    "POST /uploads": "files *",
    "DELETE /uploads/<uploadId>": "files *",
    "HEAD /uploads/<uploadId>": "files *",
    "PATCH /uploads/<uploadId>": "files *",
    "GET /users": "read *",
    "DELETE /users/<id>": "admin",
    "POST /users/<id>/activate": "admin",
    "GET /users/<id>/avatar": "read *",
    "POST /users/<id>/deactivate": "admin",
    "POST /users/<id>/reset-password": "-",
    "PUT /users/<id>/role": "admin",
    "POST /users/add": "admin",
    "POST /users/exit": "-",
    "PUT /users/me": "write",
    "GET /webhooks": "admin",
    "POST /webhooks": "admin",
    "DELETE /webhooks/<webhookId>": "admin",
}
"""One of these scopes; ``-``: sessions alone. ``*``: also tokens that are limited to places."""


async def test_k1_what_a_token_needs_was_thought_about_for_every_endpoint(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        declared = {
            name_of(one): f"{' '.join(one.scopes) or '-'}{' *' if one.within_places else ''}"
            for one in world.site.endpoints
            if not one.open
        }
    assert declared == NEEDED


def test_what_is_below_auth_is_for_sessions_alone_unless_it_says_otherwise() -> None:
    section = Section("tests")

    @section.endpoint("PUT", "/auth/second-factor")
    async def change() -> None: ...

    @section.endpoint("GET", "/admin/numbers")
    async def count() -> None: ...

    @section.endpoint("HEAD", "/polls/:pollId")
    async def look() -> None: ...

    @section.endpoint("PATCH", "/polls/:pollId")
    async def vote(poll_id: str) -> None: ...

    assert [one.scopes for one in section.endpoints] == [(), ("admin",), ("read",), ("write",)]
    assert not any(one.within_places for one in section.endpoints)


def test_a_scope_that_there_is_not_is_refused_when_it_is_declared() -> None:
    with pytest.raises(DeclarationError, match="everything"):
        Section("tests").endpoint("GET", "/x", scopes=["everything"])(_nothing)


async def _nothing() -> None: ...
