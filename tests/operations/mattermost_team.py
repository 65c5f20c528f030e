"""A small team as Mattermost exports it, with something of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.operations.conftest import PIXEL

AT = 1_500_000_000_000
TEAM = {"name": "navy", "display_name": "Navy", "type": "I", "allow_open_invite": False}


def member(name: str, roles: str = "channel_user", last_viewed_at: int = AT + 90_000) -> dict[str, Any]:
    return {"name": name, "roles": roles, "last_viewed_at": last_viewed_at}


def user(name: str, *channels: dict[str, Any], **more: Any) -> dict[str, Any]:
    teams = [{"name": "navy", "roles": "team_user", "channels": list(channels)}] if channels else []
    return {"username": name, "email": f"{name}@navy.example", "roles": "system_user", "teams": teams} | more


def post(channel: str, who: str, at: int, message: str, **more: Any) -> dict[str, Any]:
    return {"team": "navy", "channel": channel, "user": who, "message": message, "create_at": AT + at} | more


def direct(people: list[str], who: str, at: int, message: str, **more: Any) -> dict[str, Any]:
    return {"channel_members": people, "user": who, "message": message, "create_at": AT + at} | more


def said(who: str, at: int, message: str, **more: Any) -> dict[str, Any]:
    return {"user": who, "message": message, "create_at": AT + at} | more


TOWN, FLEET, SECRET = member("town-square"), member("fleet"), member("secret", "channel_user channel_admin")
LINES: list[tuple[str, Any]] = [
    ("emoji", {"name": "shipit", "image": "emoji/1/image"}),
    ("team", TEAM),
    ("channel", {"team": "navy", "name": "town-square", "display_name": "Town Square", "type": "O"}),
    ("channel", {"team": "navy", "name": "fleet", "display_name": "Fleet", "type": "O",
                 "header": "**At sea**", "purpose": "Ships"}),
    ("channel", {"team": "navy", "name": "old", "display_name": "Old", "type": "O", "deleted_at": AT + 1}),
    ("channel", {"team": "navy", "name": "secret", "display_name": "Secret", "type": "P"}),
    ("user", user("grace", TOWN, FLEET, SECRET, member("old"), roles="system_admin system_user",
                  first_name="Grace", last_name="Hopper", position="Rear admiral")),
    ("user", user("alan.t", TOWN, member("fleet", last_viewed_at=AT + 400), member("secret"),
                  nickname="Prof")),
    ("user", user("gone", TOWN, delete_at=AT + 5_000)),
    ("user", user("guest", FLEET, roles="system_guest")),
    ("user", user("nowhere")),
    ("user", user("root", roles="system_admin system_user")),
    ("bot", {"username": "deploy", "display_name": "Deploy", "owner": "grace"}),
    ("post", post("fleet", "alan.t", 500, "the second")),
    ("post", post("fleet", "grace", 100, "Hi @alan.t, see `:tada:` :tada: @nobody.", edit_at=AT + 9_000,
                  is_pinned=True, flagged_by=["alan.t"],
                  reactions=[{"user": "alan.t", "create_at": AT + 200, "emoji_name": "+1_dark_skin_tone"},
                             {"user": "stranger", "create_at": AT + 200, "emoji_name": "+1"},
                             {"user": "grace", "create_at": AT + 300, "emoji_name": "shipit"}],
                  replies=[said("alan.t", 600, "a reply"), said("gone", 550, "an earlier reply"),
                           {"user": 7}],
                  thread_followers=[{"user": "grace", "last_viewed": AT + 560}])),
    ("post", post("fleet", "grace", 0, "grace joined the channel.", type="system_join_channel")),
    ("post", post("fleet", "grace", 700, "", type="slack_attachment", props={
        "from_webhook": "true", "override_username": "Jenkins", "attachments": [{"text": "Built"}]})),
    ("post", post("fleet", "deploy", 710, "deployed")),
    ("post", post("fleet", "alan.t", 800, "", attachments=[
        {"path": "20170714/a/pixel.svg"}, {"path": "20170714/b/plan.pdf"}, {"path": "20170714/c/lost.pdf"},
        {"path": "../../etc/passwd"}])),
    ("post", post("fleet", "left", 900, "from who is not listed")),
    ("post", post("fleet", "grace", 1_000, "one of two in a second")),
    ("post", post("fleet", "grace", 1_000, "the other of them")),
    ("post", post("secret", "grace", 100, "psst")),
    ("post", {"team": "navy", "channel": "secret", "user": "grace"}),
    ("direct_channel", {"members": ["grace", "alan.t"], "header": ""}),
    ("direct_channel", {"participants": [{"username": "grace", "last_viewed_at": AT + 300},
                                         {"username": "alan.t", "last_viewed_at": AT + 300},
                                         {"username": "gone", "last_viewed_at": 0}]}),
    ("direct_channel", {"members": ["grace", "grace"]}),
    ("direct_post", direct(["alan.t", "grace"], "alan.t", 100, "between us",
                           replies=[said("grace", 200, "indeed")])),
    ("direct_post", direct(["gone", "alan.t", "grace"], "gone", 100, "among us")),
    ("direct_post", direct(["grace", "grace"], "grace", 100, "to myself")),
]  # fmt: skip


def write_team(directory: Path, lines: list[tuple[str, Any]] = LINES) -> Path:
    """Write the export, unpacked, with the bytes of an image and of a file."""
    head = {"type": "version", "version": 1, "info": {"generator": "x", "created": "2017-07-15T00:00:00Z"}}
    written = [head, *({"type": kind, kind: record} for kind, record in lines)]
    for name, data in (("a/pixel.svg", PIXEL), ("b/plan.pdf", b"%PDF-1.4\n%%EOF\n")):
        path = directory / "data" / "20170714" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    (directory / "import.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in written) + "no line\n"
    )
    return directory
