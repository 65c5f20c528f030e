"""Every POST that makes something takes an Idempotency-Key, of plugins too (extension X-13)."""

from __future__ import annotations

from pathlib import Path

from tests.leaks.parameters import name_of
from tests.leaks.world import open_world

# A POST that is new is refused by the test until it takes a key, or stands here.
SAYS_HOW_SOMETHING_IS = {
    *("POST /admin/channels/<channelId>/enter", "POST /channels/<channelId>/archive"),
    *("POST /channels/<channelId>/join", "POST /channels/<channelId>/leave"),
    *("POST /channels/<channelId>/members", "POST /channels/<channelId>/unarchive"),
    *("POST /conversations", "POST /groups/<channelId>/convert", "POST /groups/<channelId>/members"),
    *("POST /messages/<messageId>/pin", "POST /messages/<messageId>/reactions"),
    *("POST /users/<id>/activate", "POST /users/<id>/deactivate", "POST /users/exit"),
}
SAYS_SOMETHING_OF_THE_MOMENT = {
    *("POST /files/<fileId>/link", "POST /places/<placeId>/typing"),
    *("POST /push/subscriptions/<subscriptionId>/test", "POST /users/<id>/reset-password"),
}
OF_THE_CORE = {
    *(f"POST /{kind}Id>/messages/image" for kind in ("channels/<channel", "conversations/<conversation")),
    *("POST /messages/<messageId>/thread/image", "POST /users/add", "POST /webhooks"),
}
"""D-07b is of messages and replies there."""


async def test_x13_every_post_that_makes_something_takes_a_key(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        without = {
            name_of(one)
            for one in world.site.endpoints
            if one.method == "POST" and not one.takes_key and not one.rule.startswith("/auth/")
        }
    assert without == SAYS_HOW_SOMETHING_IS | SAYS_SOMETHING_OF_THE_MOMENT | OF_THE_CORE
