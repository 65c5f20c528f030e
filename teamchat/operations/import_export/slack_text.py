"""Slack's markup as plain text: mentions, links, entities, and the names of emoji.

The form is that of Slack's documentation, "Formatting text for app surfaces": what stands between ``<`` and
``>`` is a link or a mention, and the three characters ``&``, ``<`` and ``>`` are written as entities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_MARKED = re.compile(r"<([^<>]+)>")
_DEEPEST = 40
_SKIN = re.compile(r"(.+)::skin-tone-[2-6]\Z")
# The most frequent ones. The others keep the name they have in Slack, between colons.
_EMOJI = {
    "+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎", "heart": "❤️", "tada": "🎉", "eyes": "👀",
    "joy": "😂", "smile": "😄", "grinning": "😀", "slightly_smiling_face": "🙂", "laughing": "😆",
    "white_check_mark": "✅", "heavy_check_mark": "✔️", "x": "❌", "rocket": "🚀", "fire": "🔥", "clap": "👏",
    "pray": "🙏", "raised_hands": "🙌", "wave": "👋", "ok_hand": "👌", "muscle": "💪", "100": "💯",
    "thinking_face": "🤔", "cry": "😢", "sob": "😭", "open_mouth": "😮", "star": "⭐", "warning": "⚠️",
    "question": "❓", "exclamation": "❗", "heart_eyes": "😍", "wink": "😉",
    "sweat_smile": "😅", "rofl": "🤣",
    "partying_face": "🥳", "bulb": "💡", "point_up": "☝️", "heavy_plus_sign": "➕", "bow": "🙇",
    "coffee": "☕",
}  # fmt: skip


class Named(NamedTuple):
    """Who is mentioned by a part of a text: a user's id in Slack, where it begins, and how long it is."""

    user: str
    offset: int
    length: int


def plain(marked: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return a text of Slack's as people read it; `users` and `channels` give names by id."""
    return read(marked, users, channels)[0]


def read(marked: str, users: Mapping[str, str], channels: Mapping[str, str]) -> tuple[str, list[Named]]:
    """Return the same, and which users are mentioned where in it; offsets count code points."""
    text, at, named = "", 0, []
    for found in _MARKED.finditer(marked):
        text += _without_entities(marked[at : found.start()])
        shown = _without_entities(_shown(found[1], users, channels))
        user = found[1].partition("|")[0].removeprefix("@")
        if found[1].startswith("@") and user in users:
            named.append(Named(user, len(text), len(shown)))
        text, at = text + shown, found.end()
    return text + _without_entities(marked[at:]), named


def emoji(name: str) -> str:
    """Return the emoji of a name, or the name between colons; skin tones are left out."""
    toned = _SKIN.match(name)
    base = toned[1] if toned else name
    return _EMOJI.get(base, f":{base}:")


def text_of_blocks(blocks: Any) -> str:
    """Return the text that stands in blocks or attachments, a line each, for a message that has none."""
    return "\n".join(line for line in _texts(blocks, _DEEPEST) if line.strip())


def _shown(inner: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    target, bar, label = inner.partition("|")
    if target.startswith("@"):
        return f"@{users.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{channels.get(target[1:]) or label or target[1:]}"
    if target.startswith("!"):
        return _command(target[1:], label)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not bar or label in (target, address):
        return address
    return f"{label} ({address})"


def _command(name: str, label: str) -> str:
    if name.startswith("subteam^"):
        return label if label.startswith("@") else f"@{label or name.partition('^')[2]}"
    if name.startswith("date^"):
        return label
    return f"@{label or name}".replace("@@", "@")


def _without_entities(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _texts(part: Any, levels: int) -> list[str]:
    if isinstance(part, list) and levels:
        return [line for each in part for line in _texts(each, levels - 1)]
    if not isinstance(part, dict) or not levels:
        return []
    for key in ("text", "fallback"):
        if isinstance(part.get(key), str) and part[key]:
            return [part[key]]
    inner = ("text", "elements", "fields", "blocks")
    return [line for key in inner for line in _texts(part.get(key), levels - 1)]
