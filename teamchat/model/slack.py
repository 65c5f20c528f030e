"""Slack's markup as plain text: mentions, links, entities, and the names of emoji.

The format is that of Slack's documentation, "Formatting text for app surfaces": between ``<`` and ``>`` is a
link or a mention, and the three characters ``&``, ``<`` and ``>`` are written as entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MARKED = re.compile(r"<([^<>]+)>")
"""A link or a mention."""
Link = Callable[[str, str], str]
"""Writes a link of an address and its label, which is empty or the address where there is no other."""
_DEEPEST = 40
_NAMED_EMOJI = re.compile(r"(?<![\w:]):([a-z0-9_+'-]{1,60})(?:::?skin-tone-[2-6])?:(?![\w])")
_SPARED = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`|<[^<>]*>)", re.DOTALL)
"""Code, and what is a link or a mention: names of emoji mean nothing there."""
_BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])")
_STRIKE = re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]*[^\s~])~(?![\w~])")
# NUL stands in no text that is kept, so it can stand around what is put back at the end.
_PUT_AWAY = re.compile("\0([0-9]+)\0")
_FENCE = "```"
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
    "coffee": "☕", "rotating_light": "🚨", "red_circle": "🔴", "large_green_circle": "🟢", "bell": "🔔",
    "large_yellow_circle": "🟡", "large_orange_circle": "🟠", "large_blue_circle": "🔵", "green_heart": "💚",
    "no_entry": "⛔", "no_entry_sign": "🚫", "bangbang": "‼️", "boom": "💥", "bug": "🐛", "zap": "⚡",
    "heavy_exclamation_mark": "❗", "hourglass": "⌛", "hourglass_flowing_sand": "⏳", "stopwatch": "⏱️",
    "information_source": "ℹ️", "memo": "📝", "link": "🔗", "chart_with_upwards_trend": "📈", "skull": "💀",
    "chart_with_downwards_trend": "📉", "ambulance": "🚑", "construction": "🚧", "wrench": "🔧",
    "hammer": "🔨", "package": "📦", "lock": "🔒", "key": "🔑", "arrow_up": "⬆️", "arrow_down": "⬇️",
    "arrow_right": "➡️", "repeat": "🔁", "robot_face": "🤖", "ghost": "👻", "calendar": "📅", "gear": "⚙️",
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
    marked = with_emoji(marked)
    for found in MARKED.finditer(marked):
        text += without_entities(marked[at : found.start()])
        shown = without_entities(shown_of(found[1], users, channels))
        user = found[1].partition("|")[0].removeprefix("@")
        if found[1].startswith("@") and user in users:
            named.append(Named(user, len(text), len(shown)))
        text, at = text + shown, found.end()
    return text + without_entities(marked[at:]), named


def emoji(name: str) -> str:
    """Return the emoji of a name, or the name between colons; skin tones are left out."""
    toned = _SKIN.match(name)
    base = toned[1] if toned else name
    return _EMOJI.get(base, f":{base}:")


def with_emoji(text: str, *, everywhere: bool = False) -> str:
    """Return a text with emoji in place of the names that are known here.

    In code and in links names stay, unless it is `everywhere`.
    """
    parts = [text] if everywhere else _SPARED.split(text)
    parts[::2] = [_NAMED_EMOJI.sub(_shown, part) for part in parts[::2]]
    return "".join(parts)


def with_emphasis(text: str) -> str:
    """Return a text with this chat's marks for bold and struck words in place of Slack's."""
    for form, mark in ((_BOLD, "**"), (_STRIKE, "~~")):
        text = form.sub(rf"{mark}\1{mark}", text)
    return text


def in_chat_marks(marked: str) -> str:
    """Return a text in Slack's markup with this chat's marks, and blocks of code on lines of their own.

    Links, mentions and entities stay Slack's, for `read`; what is code keeps its text. NUL is left out.
    """
    spared: list[str] = []

    def put_away(found: re.Match[str]) -> str:
        spared.append(found[0])
        return f"\0{len(spared) - 1}\0"

    text = with_emphasis(_SPARED.sub(put_away, marked.replace("\0", "")))
    return _PUT_AWAY.sub(lambda found: _put_back(spared[int(found[1])], text, found.span()), text)


def shown_of(
    inner: str, users: Mapping[str, str], channels: Mapping[str, str], link: Link | None = None
) -> str:
    """Return how a link or a mention is shown, by what stands between ``<`` and ``>``.

    Entities in it are still to be resolved.  A `link` is written in words where nothing else is given.
    """
    target, _, label = inner.partition("|")
    label = label.strip()
    if target.startswith("@"):
        return f"@{users.get(target[1:]) or label.removeprefix('@') or target[1:]}"
    if target.startswith("#"):
        return f"#{channels.get(target[1:]) or label or target[1:]}"
    if target.startswith("!"):
        return _command(target[1:], label)
    return (link or _in_words)(target.strip(), label)


def without_entities(text: str) -> str:
    """Return a text with the three characters that Slack writes as entities."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def text_of_blocks(blocks: Any) -> str:
    """Return the text that stands in blocks or attachments, a line each, for a message that has none."""
    return "\n".join(line for line in _texts(blocks, _DEEPEST) if line.strip())


def _shown(found: re.Match[str]) -> str:
    shown = emoji(found[1])
    return found[0] if shown.startswith(":") else shown


def _put_back(spared: str, text: str, place: tuple[int, int]) -> str:
    """Return what was put away from a place in a text; a block of code begins and ends a line there."""
    code = spared.removeprefix(_FENCE).removesuffix(_FENCE).strip("\n")
    if not spared.startswith(_FENCE) or not spared.endswith(_FENCE) or not code:
        return spared
    before, after = text[: place[0]][-1:], text[place[1] :][:1]
    first, last = ("" if each in ("", "\n") else "\n" for each in (before, after))
    return f"{first}{_FENCE}\n{code}\n{_FENCE}{last}"


def _in_words(target: str, label: str) -> str:
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return address if label in ("", target, address) else f"{label} ({address})"


def _command(name: str, label: str) -> str:
    if name.startswith("subteam^"):
        return label if label.startswith("@") else f"@{label or name.partition('^')[2]}"
    if name.startswith("date^"):
        return label
    return f"@{label or name}".replace("@@", "@")


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
