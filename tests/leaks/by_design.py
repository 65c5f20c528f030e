"""What is told of hidden things all the same, and the rule that says so: all of it stands here."""

from __future__ import annotations

from collections.abc import Mapping

_WEBHOOKS = "X-3: admins list and end the webhooks of every channel, for tokens leak"
_ADMIN = "B-12: admins list, enter and delete every channel, and see nothing of what is said"
_OWN_TOKENS = "K-1: one's own tokens; who used everything before has made some"
TOLD: Mapping[tuple[str, str], str] = {
    **dict.fromkeys(
        [(who, "GET /me/tokens") for who in ("a stranger", "a former member", "an admin who is no member")],
        _OWN_TOKENS,
    ),
    ("an admin who is no member", "GET /webhooks"): _WEBHOOKS,
    ("an admin who is no member", "DELETE /webhooks/<webhookId>"): _WEBHOOKS,
    ("an admin who is no member", "GET /admin/channels"): _ADMIN,
    ("an admin who is no member", "GET /admin/audit"): "L-4: admins read what was done to every channel",
    ("an admin who is no member", "POST /admin/channels/<channelId>/enter"): _ADMIN,
    ("an admin who is no member", "DELETE /admin/channels/<channelId>"): _ADMIN,
}
"""Who is told, asking what."""

KNOWN_TO_EXIST: Mapping[tuple[str, str], str] = {
    ("a direct conversation of others", "path conversationId"): (
        "D-03: an outsider is told 403 of every conversation there is, and 404 of others;"
        " it is compared with one in which nothing was ever said"
    ),
    ("a direct conversation of others", "path placeId"): "D-03, as above",
    ("a direct conversation of others", "body placeId"): "D-03, as above",
    ("a direct conversation of others", "query conversationId"): "D-03, as above",
    ("a direct conversation of others", "query placeId"): "D-03, as above",
    ("a private channel", "path webhookId"): (
        "D-32: a token of one webhook is told 403 of every other there is, and 404 of those that are none;"
        " it is compared with a webhook of a public channel"
    ),
}
"""Of what, named by which parameter, it may be known that it exists, and no more (`Asker.stand_ins`)."""
