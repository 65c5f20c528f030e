"""What a push says (extension J-5): as much of a message as its reader wants shown, in their language.

It is made when it is sent, and kept nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec
from msgspec import UNSET, Struct, UnsetType

from teamchat import Noticed
from teamchat_web_push.encryption import MOST_PLAIN_BYTES
from teamchat_web_push.options import Preview

MOST_BODY = 200
MOST_SUMMED = 500
"""How many messages a summary counts; that many are at least that many."""
_MOST_TITLE = 120
_MOST_READ = 5 * MOST_BODY
"""So much of a message is looked at for its beginning, marks and addresses of links included."""
_MOST_NAMES = 3
_PREVIEWS: tuple[Preview, ...] = ("none", "sender", "full")
LANGUAGES = ("en", "de")
_FENCE = re.compile(r"^```.*$", re.MULTILINE)
# Whoever writes chooses the text: what stands before the next mark of a kind is looked at once.
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^)\n]*\)")
_MARKS = re.compile(r"(\*\*|\*|__|~~|`)(?=\S)((?:(?!\1).)+)(?<=\S)\1")
_LINE_MARKS = re.compile(r"^(?:>+ ?|#{1,6} )", re.MULTILINE)


class PushPayload(Struct, frozen=True, rename="camel", omit_defaults=False):
    """A push as the browser is given it. Its version is 1.

    `kind` is ``message``, ``mention``, ``reply``, ``direct``, ``reminder``, ``summary`` or ``test``. `tag` is
    what the browser keeps one notice of.
    """

    v: int
    kind: str
    place_id: str
    message_id: str
    title: str
    body: str
    badge: int
    tag: str
    url: str
    thread_id: str | UnsetType = UNSET

    def encoded(self) -> bytes:
        """Return it as JSON of at most `MOST_PLAIN_BYTES`; of what is longer the body is cut."""
        whole = msgspec.json.encode(self)
        if len(whole) <= MOST_PLAIN_BYTES:
            return whole
        body = self.body.encode()[: max(0, len(self.body.encode()) - (len(whole) - MOST_PLAIN_BYTES) - 32)]
        shorter = msgspec.structs.replace(self, body=body.decode(errors="ignore"))
        return msgspec.json.encode(shorter)


class Writer:
    """Writes pushes. `app_url` is where the client is."""

    def __init__(self, app_url: str) -> None:
        self._app_url = app_url.rstrip("/")

    def of_message(
        self, message: Noticed, kind: str, *, preview: str, language: str, badge: int, server: str
    ) -> PushPayload:
        """Return what is said of one message."""
        title, body = _words(message, kind, preview, language, server)
        return PushPayload(
            v=1,
            kind=kind,
            place_id=message.room_id,
            thread_id=message.parent_id or UNSET,
            message_id=message.id,
            title=title[:_MOST_TITLE],
            body=_cut(body),
            badge=badge,
            tag=message.parent_id or message.room_id,
            url=self._url(message.id),
        )

    def summary(
        self, messages: Sequence[Noticed], *, preview: str, language: str, badge: int, server: str
    ) -> PushPayload:
        """Return what is said of several that were held back; the newest is the last."""
        newest, say = messages[-1], words(language)
        names = list(dict.fromkeys(one.author_name for one in reversed(messages)))
        count = f"{MOST_SUMMED}+" if len(messages) >= MOST_SUMMED else len(messages)
        body = say["summary"].format(count=count)
        if preview != "none":
            shown = names[:_MOST_NAMES] + ([say["more"]] if len(names) > _MOST_NAMES else [])
            body = say["summary_from"].format(count=count, names=", ".join(shown))
        return PushPayload(
            v=1,
            kind="summary",
            place_id=newest.room_id,
            thread_id=newest.parent_id or UNSET,
            message_id=newest.id,
            title=server[:_MOST_TITLE],
            body=_cut(body),
            badge=badge,
            tag="summary",
            url=self._url(newest.id),
        )

    def test(self, *, language: str, badge: int, server: str) -> PushPayload:
        """Return what is sent to try a device."""
        return PushPayload(
            v=1,
            kind="test",
            place_id="",
            message_id="",
            title=server[:_MOST_TITLE],
            body=words(language)["test"],
            badge=badge,
            tag="test",
            url=f"{self._app_url}/",
        )

    def _url(self, message_id: str) -> str:
        return f"{self._app_url}/#/messages/{message_id}"


def least(*previews: str) -> str:
    """Return the preview that shows the least."""
    return _PREVIEWS[min(_PREVIEWS.index(one) for one in previews)]


@lru_cache
def words(language: str) -> Mapping[str, str]:
    """Return the words of a language, or the English ones."""
    known = language if language in LANGUAGES else LANGUAGES[0]
    body = files("teamchat_web_push").joinpath("words", f"{known}.json").read_bytes()
    return msgspec.json.decode(body, type=dict[str, str])


def _words(message: Noticed, kind: str, preview: str, language: str, server: str) -> tuple[str, str]:
    """Return title and body."""
    say = words(language)
    place = f"#{message.room_name}" if message.room_kind == "channel" else say["group"]
    if preview == "none":
        return server, say["reminder" if kind == "reminder" else "new"]
    if preview == "sender":
        said = "to_you" if message.room_kind == "direct" else "mentioned" if kind == "mention" else "in"
        body = say[said].format(name=message.author_name, place=place)
        return server, f"{say['reminder']}: {body}" if kind == "reminder" else body
    where = f"{message.author_name} · {place}" if message.room_kind == "channel" else message.author_name
    title = f"{say['reminder']}: {where}" if kind == "reminder" else where
    text = plain(message.content[:_MOST_READ])
    if not text and message.image_count:
        text = say["images"].format(count=message.image_count)
    return title, text


def plain(content: str) -> str:
    """Return the words of a message without their marks."""
    text = _LINK.sub(r"\1", _FENCE.sub("", content))
    text = _LINE_MARKS.sub("", text)
    for _ in range(3):
        text = _MARKS.sub(r"\2", text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _cut(text: str) -> str:
    return text if len(text) <= MOST_BODY else text[: MOST_BODY - 1].rstrip() + "…"
