"""A Mattermost bulk export as a `Source`.

Ids are made from names and times, so a second import finds what the first one made. What can't be imported is
reported by its place in the export, never with its text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import msgspec

from teamchat.capabilities import ImportedFile
from teamchat.mentions.parsing import places
from teamchat.model import slack as slack_text
from teamchat.operations.import_export.attached import Attached, ending_of
from teamchat.operations.import_export.files import AnyPath, file_inside, has_file
from teamchat.operations.import_export.form import (
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMessage,
    PortableUser,
    Portion,
    Section,
)
from teamchat.operations.import_export.mattermost.contents import Contents, Said, is_notice, is_of_two
from teamchat.operations.import_export.mattermost.lines import BulkFile, BulkLines
from teamchat.operations.import_export.mattermost.people import People, user_id
from teamchat.operations.import_export.mattermost.rooms import Rooms, room_id
from teamchat.operations.import_export.mattermost.shapes import Attachment, Rooted
from teamchat.operations.import_export.report import Report

_MOST_ENTITIES = 100
_NAME = re.compile(r"@([a-z0-9._-]+)", re.IGNORECASE)
_TONE = re.compile(r"_(?:light|medium_light|medium|medium_dark|dark)_skin_tone\Z")
_END = "f" * 20
"""What comes after the time in the last id of a millisecond."""


class MattermostExport:
    """The lines of an export as a `Source`. With `public_only`, what was not public is left out.

    With `keeps_files`, all files come along whose bytes are there, and else images alone.
    """

    def __init__(
        self, file: BulkFile, report: Report, *, public_only: bool = False, keeps_files: bool = False
    ) -> None:
        self._root = file.root
        self._report = report
        self._keeps_files = keeps_files
        self._attached = Attached(file.root, keeps_files=keeps_files)
        self._contents = Contents(BulkLines(file, report))
        self._people = People(self._contents, report)
        self._rooms = Rooms(self._contents, self._people, report, public_only=public_only)

    def users(self) -> Iterator[PortableUser]:
        return self._people.users()

    def channels(self) -> Iterator[PortableChannel]:
        return self._rooms.channels()

    def conversations(self) -> Iterator[PortableConversation]:
        return self._rooms.conversations()

    def images(self) -> Iterator[PortableImage]:
        for said in self._said():
            for attachment, path in self._bytes_of(said):
                if self._attached.is_image(path, attachment.path):
                    yield PortableImage(
                        self._image_name(said, attachment),
                        room_id(said.place),
                        user_id(said.post.user),
                        said.post.create_at,
                        "",
                        0,
                        origin=said.where,
                    )

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        for said in self._said(notes=not replies):
            if (self._thread_of(said) is not None) == replies:
                yield self._message(said)

    def sections(self) -> Mapping[str, Section]:
        counts = self._contents.counts | ({} if self._keeps_files else {"files": 0})
        return {name: Section(1, count) for name, count in counts.items() if count}

    def section(self, name: str, kind: type[Portion]) -> Iterator[Portion]:
        """Yield the records of a capability; nobody is reached by what was said elsewhere."""
        of_capabilities: Mapping[str, Callable[[], Iterator[dict[str, Any]]]] = {
            "files": self._files,
            "mentions": self._mentions,
            "pins": self._pins,
            "profiles": self._people.profiles,
            "quotes": self._quotes,
            "read-state": self._read_states,
            "saved": self._saved,
            "threads": self._follows,
        }
        for record in of_capabilities[name]():
            yield msgspec.convert(record, kind)

    def bytes_of(self, key: str) -> bytes | None:
        path = self._paths[0].get(key)
        return None if path is None else self._attached.image(path)

    def file(self, name: str) -> ImportedFile | None:
        path = self._paths[1].get(name)
        return None if path is None else file_inside(self._root, path)

    @cached_property
    def _paths(self) -> tuple[dict[str, AnyPath], dict[str, AnyPath]]:
        """Return where the bytes of images are, and of other files, by the names they get here."""
        images, files = {}, {}
        for said in self._said():
            for attachment, path in self._bytes_of(said):
                if self._attached.is_image(path, attachment.path):
                    images[self._image_name(said, attachment)] = path
                elif self._keeps_files:
                    files[self._file_id(said, attachment)] = path
        return images, files

    def _said(self, *, notes: bool = False) -> Iterator[Said]:
        """Yield what somebody said; what Mattermost told by itself is left out."""
        for said in self._contents.said():
            if not is_notice(said.post):
                yield said
            elif notes:
                self._report.omit("notice", said.where, "told by Mattermost, said by nobody")

    def _message(self, said: Said) -> PortableMessage:
        post = said.post
        images = [
            self._image_name(said, attachment)
            for attachment, path in self._bytes_of(said)
            if self._attached.is_image(path, attachment.path)
        ]
        if said.parent is not None and is_of_two(said.place):
            why = "conversations have no threads here; it quotes what it replies to"
            self._report.change("reply", said.where, why)
        return PortableMessage(
            id=self._id_of(said),
            channel_id=room_id(said.place),
            author=self._people.author(post),
            content=self._content(said),
            created_at=post.create_at,
            updated_at=post.edit_at or None,
            thread_id=self._thread_of(said),
            reactions=self._reactions(said),
            images=images,
            origin=said.where,
        )

    def _content(self, said: Said) -> str:
        lines, has_files = [self._text(said)], False
        for attachment in said.post.attachments or ():
            path = self._path_of(attachment)
            if path is not None and self._attached.is_image(path, attachment.path):
                continue
            if path is not None and self._keeps_files:
                has_files = True
                continue
            lines.append(f"[file: {_file_name(attachment)}]")
            why = "its bytes are not in the export" if path is None else "files are off here"
            self._report.omit("file", said.where, f"{why}; its name stands in the message")
        return "\n".join(line for line in lines if line) or ("" if has_files else "(nothing)")

    def _text(self, said: Said) -> str:
        written = said.post.message or slack_text.text_of_blocks((said.post.props or {}).get("attachments"))
        return slack_text.with_emoji(written.replace("\x00", ""))

    def _reactions(self, said: Said) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for reaction in said.post.reactions or ():
            shown = slack_text.emoji(_TONE.sub("", reaction.emoji_name))
            if shown.startswith(":"):
                why = "an emoji of your own, or a rare one, keeps its name"
                self._report.change("reaction", said.where, why)
            found.setdefault(shown, []).append(user_id(reaction.user))
        return found

    def _mentions(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            if "@" not in (said.post.message or ""):
                continue
            content = self._text(said)
            named = [one for at in places(content) if (one := self._named(content, at)) is not None]
            if named:
                yield self._about(said) | {"entities": named[:_MOST_ENTITIES]}

    def _named(self, content: str, at: int) -> dict[str, Any] | None:
        """Return who is mentioned at a place of a text: the longest name that somebody has."""
        found = _NAME.match(content, at)
        name = found[1].lower() if found else ""
        while name and name not in self._contents.users:
            name = name[:-1] if name[-1] in "._-" else ""
        return {"type": "user", "offset": at, "length": len(name) + 1, "id": user_id(name)} if name else None

    def _pins(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            if said.post.is_pinned:  # Who has pinned it, and when, is not told.
                pinned = {"pinnedBy": user_id(said.post.user), "pinnedAt": said.post.create_at}
                yield self._about(said) | pinned | {"place": said.where}

    def _saved(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            for name in dict.fromkeys(said.post.flagged_by or ()):
                yield self._about(said) | {
                    "userId": user_id(name),
                    "note": "",
                    "savedAt": said.post.create_at,
                }

    def _quotes(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            if said.parent is not None and is_of_two(said.place):
                quoted = self._contents.message_id(said.place, said.parent)
                room = room_id(said.place)
                yield self._about(said) | {"quotedMessageId": quoted, "quotedChannelId": room}

    def _follows(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            if not isinstance(said.post, Rooted) or is_of_two(said.place):
                continue
            for one in said.post.thread_followers or ():
                follows = {"following": True, "isEnded": False}
                yield self._about(said) | _read_up_to(one.user, one.last_viewed or 0) | follows

    def _read_states(self) -> Iterator[dict[str, Any]]:
        for seen in self._rooms.seen():
            yield _read_up_to(seen.user, seen.at) | {"channelId": room_id(seen.place)}

    def _files(self) -> Iterator[dict[str, Any]]:
        for said in self._said():
            for number, (attachment, path) in enumerate(self._bytes_of(said)):
                if self._attached.is_file(path, attachment.path):
                    yield self._about(said) | {
                        "id": self._file_id(said, attachment),
                        "uploadedBy": user_id(said.post.user),
                        "createdAt": said.post.create_at,
                        "name": _file_name(attachment),
                        "number": number,
                        "place": said.where,
                    }

    def _about(self, said: Said) -> dict[str, Any]:
        return {"messageId": self._id_of(said), "channelId": room_id(said.place)}

    def _id_of(self, said: Said) -> str:
        return self._contents.message_id(said.place, said.post)

    def _thread_of(self, said: Said) -> str | None:
        """Return the id of what was replied to, where there are threads here."""
        if said.parent is None or is_of_two(said.place):
            return None
        return self._contents.message_id(said.place, said.parent)

    def _bytes_of(self, said: Said) -> Iterator[tuple[Attachment, AnyPath]]:
        """Yield what hangs on something that was said, as far as the bytes are there."""
        for attachment in said.post.attachments or ():
            if (path := self._path_of(attachment)) is not None:
                yield attachment, path

    def _path_of(self, attachment: Attachment) -> AnyPath | None:
        """Return where the bytes of a file are: below ``data``, as Mattermost has them, or beside that."""
        parts = PurePosixPath(attachment.path).parts
        if not parts or parts[0] == "/" or ".." in parts or "\x00" in attachment.path:
            return None
        inner = "/".join(parts)
        wanted = (self._root / "data" / inner, self._root / inner)
        return next((path for path in wanted if has_file(path)), None)

    def _image_name(self, said: Said, attachment: Attachment) -> str:
        """Return a name of the shape that teamchat gives, the same each time."""
        return f"{said.post.create_at}-{self._file_id(said, attachment)}.{ending_of(attachment.path)}"

    def _file_id(self, said: Said, attachment: Attachment) -> str:
        """Return an id for a file in one message, the same each time: here, none stands in two."""
        named = f"mattermost file {attachment.path} in {self._id_of(said)}"
        return hashlib.sha256(named.encode()).hexdigest()[:32]


def _read_up_to(name: str, at: int) -> dict[str, Any]:
    """Return up to when somebody has read, in the form of records of read states."""
    return {"userId": user_id(name), "position": f"{at:012x}{_END}", "generation": 0, "isMarkedUnread": False}


def _file_name(attachment: Attachment) -> str:
    return PurePosixPath(attachment.path).name or "unnamed"
