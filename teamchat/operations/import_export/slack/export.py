"""A workspace's export from Slack as a `Source`.

Ids are made from Slack's ids and times, so a second import finds what the first one made. What can't be
imported is reported by its place in the export, never with its text. The address of a file is never kept: it
contains the key to all files of the workspace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from teamchat.capabilities import ImportedFile
from teamchat.model import now_ms
from teamchat.model import slack as slack_text
from teamchat.model.ids import id_at
from teamchat.operations.import_export.attached import Attached, ending_of
from teamchat.operations.import_export.files import AnyPath, file_inside
from teamchat.operations.import_export.form import (
    PortableAuthor,
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMessage,
    PortableUser,
    Portion,
    Section,
)
from teamchat.operations.import_export.report import GUEST, Report
from teamchat.operations.import_export.slack.files import Record, SlackFiles
from teamchat.operations.import_export.slack.rooms import SlackRooms, user_id
from teamchat.operations.import_export.slack.shapes import shared_in

_GONE = {"tombstone", "hidden_by_limit"}
_NOBODY = "USLACKBOT"
_UNLISTED = " unlisted"
_MOST_ENTITIES = 100


class SlackExport:
    """The files of an export as a `Source`. With `public_only`, what was not public is left out.

    With `keeps_files`, all files come along whose bytes are there, and else images alone.
    """

    def __init__(
        self, files: SlackFiles, report: Report, *, public_only: bool = False, keeps_files: bool = False
    ) -> None:
        self._files = files
        self._keeps_files = keeps_files
        self._report = report
        self._attached = Attached(files.root, keeps_files=keeps_files)
        self._rooms = SlackRooms(files, report, public_only=public_only)

    def users(self) -> Iterator[PortableUser]:
        for id_, user in self._users.items():
            why_gone = _why_gone(user)
            when = int(user.get("updated") or 0) * 1000
            profile = user.get("profile") or {}
            where = f"{id_} ({self._names[id_]})"
            is_guest = why_gone is None and bool(user.get("is_restricted") or user.get("is_ultra_restricted"))
            if why_gone is not None:
                self._report.change("user", where, f"{why_gone}; a name at messages, no account")
            elif is_guest:
                self._report.change("user", where, GUEST)
            yield PortableUser(
                id=user_id(id_),
                user_name=self._names[id_],
                email="" if why_gone else str(profile.get("email") or ""),
                is_admin=bool(user.get("is_admin") or user.get("is_owner")) and not why_gone,
                created_at=when,
                removed_at=max(when, 1) if why_gone else None,
                deactivated_at=now_ms() if is_guest else None,
                origin=where,
            )

    def channels(self) -> Iterator[PortableChannel]:
        return self._rooms.channels(self._names)

    def conversations(self) -> Iterator[PortableConversation]:
        return self._rooms.conversations()

    def images(self) -> Iterator[PortableImage]:
        for room_id, where, record in self._records():
            for file in _files_of(record):
                if self._image_of(where, file) is not None:
                    yield PortableImage(
                        _image_name(record, file),
                        room_id,
                        user_id(str(record.get("user"))),
                        _milliseconds(str(record["ts"]))[0],
                        "",
                        0,
                        origin=f"{where}/{file.get('id')}",
                    )

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        for room_id, where, record in self._records(notes=not replies):
            is_reply = record.get("thread_ts", record["ts"]) != record["ts"]
            if is_reply == replies:
                yield self._message(room_id, where, record)

    def sections(self) -> Mapping[str, Section]:
        counts = {name: sum(1 for _ in records) for name, records in self._of_capabilities().items()}
        return {name: Section(1, count) for name, count in counts.items() if count}

    def section(self, name: str, kind: type[Portion]) -> Iterator[Portion]:
        """Yield who is mentioned, what is pinned or shared; nobody is reached by what was said elsewhere."""
        for record in self._of_capabilities().get(name, ()):
            yield msgspec.convert(record, kind)

    def _of_capabilities(self) -> Mapping[str, Iterator[dict[str, Any]]]:
        found = {
            "mentions": self._mentions(),
            "pins": self._pins(),
            "profiles": self._profiles(),
            "quotes": self._quotes(),
        }
        return found | ({"files": self._whole_files()} if self._keeps_files else {})

    def _whole_files(self) -> Iterator[dict[str, Any]]:
        """Yield the files that are no images here, and whose bytes are there."""
        for room_id, where, record in self._records():
            for number, file in enumerate(_files_of(record)):
                if self._file_of(where, file) is not None:
                    yield {
                        "id": _file_id(room_id, record, file),
                        "messageId": _message_id(room_id, record["ts"]),
                        "channelId": room_id,
                        "uploadedBy": user_id(str(record.get("user") or file.get("user"))),
                        "createdAt": _milliseconds(record["ts"])[0],
                        "name": _file_name(file),
                        "mediaType": file.get("mimetype") or "",
                        "number": number,
                        "place": f"{where}/{file.get('id')}",
                    }

    def _quotes(self) -> Iterator[dict[str, Any]]:
        """Yield which messages share others; a link that Slack has unfolded is one too."""
        for room_id, _, record in self._records():
            shared = [(self._rooms.of_slack.get(one.channel_id), one.ts) for one in shared_in(record)]
            for quoted_room, ts in [(room, ts) for room, ts in shared if room][:1]:  # Here one is quoted.
                yield {
                    "messageId": _message_id(room_id, record["ts"]),
                    "channelId": room_id,
                    "quotedMessageId": _message_id(quoted_room, ts),
                    "quotedChannelId": quoted_room,
                }

    def _mentions(self) -> Iterator[dict[str, Any]]:
        for room_id, _, record in self._records():
            text, named = slack_text.read(_marked(record), self._names, self._rooms.names_in(room_id))
            if named and "\x00" not in text:
                yield {
                    "messageId": _message_id(room_id, record["ts"]),
                    "channelId": room_id,
                    "entities": [
                        {"type": "user", "offset": offset, "length": length, "id": user_id(user)}
                        for user, offset, length in named[:_MOST_ENTITIES]
                    ],
                }

    def _profiles(self) -> Iterator[dict[str, Any]]:
        for id_, user in self._users.items():
            profile = user.get("profile") or {}
            said = {
                "fullName": profile.get("real_name") or user.get("real_name"),
                "title": profile.get("title"),
                "pronouns": profile.get("pronouns"),
                "timezone": user.get("tz"),
            }
            stated = {name: text.strip() for name, text in said.items() if text and text.strip()}
            if stated and _why_gone(user) is None:
                yield {"userId": user_id(id_), **stated}

    def _pins(self) -> Iterator[dict[str, Any]]:
        for room, pin in sorted(self._rooms.pins, key=lambda found: _milliseconds(found[1]["id"])):
            yield {
                "messageId": _message_id(room.id, pin["id"]),
                "channelId": room.id,
                "pinnedBy": user_id(_pinned_by(pin)),
                "pinnedAt": int(pin.get("created") or 0) * 1000 or _milliseconds(pin["id"])[0],
                "place": f"{room.where}/{pin['id']}",
            }

    def bytes_of(self, key: str) -> bytes | None:
        found = self._uploads.get(key)
        return None if found is None else self._attached.image(found)

    def file(self, name: str) -> ImportedFile | None:
        path = self._fetched.get(name)
        return None if path is None else file_inside(self._files.root, path)

    @cached_property
    def _users(self) -> dict[str, Record]:
        """Users by id, and whoever wrote or is mentioned without being listed."""
        found = {str(user["id"]): user for user in self._files.users()}
        found.setdefault(_NOBODY, {"id": _NOBODY, "name": "slackbot", "is_bot": True})
        for one in self._rooms.partners:
            found.setdefault(one, {"id": one, _UNLISTED: True})
        for _, pin in self._rooms.pins:
            found.setdefault(_pinned_by(pin), {"id": _pinned_by(pin), _UNLISTED: True})
        for _, _, record in self._records():
            profile = record.get("user_profile") or {}
            if (user := record.get("user")) and (user not in found or (profile and _is_bare(found[user]))):
                found[user] = {"id": user, "profile": profile, "name": profile.get("name"), _UNLISTED: True}
            for reaction in record.get("reactions") or []:
                for one in reaction.get("users") or []:
                    found.setdefault(one, {"id": one, _UNLISTED: True})
        return found

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {id_: _user_name(user) for id_, user in self._users.items()}

    @cached_property
    def _uploads(self) -> dict[str, AnyPath]:
        """Return where the bytes of images are, by the name they get here."""
        return {
            _image_name(record, file): path
            for _, where, record in self._records()
            for file in _files_of(record)
            if (path := self._image_of(where, file)) is not None
        }

    @cached_property
    def _fetched(self) -> dict[str, AnyPath]:
        """Return where the bytes of other files are, by the ids they get here."""
        return {
            _file_id(room_id, record, file): path
            for room_id, where, record in self._records()
            for file in _files_of(record)
            if (path := self._file_of(where, file)) is not None
        }

    def _message(self, room_id: str, where: str, record: Record) -> PortableMessage:
        when, _ = _milliseconds(record["ts"])
        parent = str(record.get("thread_ts", record["ts"]))
        edited = record.get("edited") or {}
        files = _files_of(record)
        images = [_image_name(record, file) for file in files if self._image_of(where, file) is not None]
        if record.get("subtype") == "thread_broadcast":
            self._report.change("reply", where, "was shown in its channel too; it stands in its thread alone")
        return PortableMessage(
            id=_message_id(room_id, record["ts"]),
            channel_id=room_id,
            author=self._author(record),
            content=self._content(room_id, where, record),
            created_at=when,
            updated_at=_milliseconds(edited["ts"])[0] if edited.get("ts") else None,
            thread_id=None if parent == record["ts"] else _message_id(room_id, parent),
            reactions=self._reactions(where, record),
            images=images,
            origin=where,
        )

    def _author(self, record: Record) -> PortableAuthor:
        profile = record.get("bot_profile") or {}
        user = record.get("user")
        if record.get("bot_id") or record.get("subtype") == "bot_message":
            name = record.get("username") or profile.get("name") or self._names.get(str(user)) or "bot"
            id_ = id_at(0, f"slack bot {record.get('bot_id') or name}")
            return PortableAuthor(f"webhook:{id_}", str(name), is_bot=True)
        user = str(user or _NOBODY)
        return PortableAuthor(user_id(user), self._names.get(user, user))

    def _content(self, room_id: str, where: str, record: Record) -> str:
        if record.get("subtype") == "tombstone":
            return "(This message was deleted.)"
        marked = _marked(record)
        channels = self._rooms.names_in(room_id)
        lines, has_files = [slack_text.plain(marked, self._names, channels).replace("\x00", "")], False
        for file in _files_of(record):
            if self._image_of(where, file) is not None:
                continue
            if self._file_of(where, file) is not None:
                has_files = True
                continue
            lines.append(f"[file: {_file_name(file)}]")
            self._report.omit("file", f"{where}/{file.get('id')}", self._why_missing(where, file))
        return "\n".join(line for line in lines if line) or ("" if has_files else "(nothing)")

    def _why_missing(self, where: str, file: Record) -> str:
        if file.get("mode") in _GONE:
            return "it was removed in Slack"
        if file.get("mode") == "external" or file.get("is_external"):
            return "it is kept elsewhere, and its address is all that Slack has of it"
        if self._path_of(where, file) is None:
            return "its bytes are not in the export; its name stands in the message"
        return "files are off here; its name stands in the message"

    def _reactions(self, where: str, record: Record) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for reaction in record.get("reactions") or []:
            users = [user_id(user) for user in reaction.get("users") or []]
            shown = slack_text.emoji(str(reaction.get("name")))
            if shown.startswith(":"):
                self._report.change("reaction", where, "an emoji of your own, or a rare one, keeps its name")
            found.setdefault(shown, []).extend(users)
        return found

    def _image_of(self, where: str, file: Record) -> AnyPath | None:
        """Return where the bytes are of an image, as messages have them here."""
        path = self._path_of(where, file)
        return path if path is not None and self._attached.is_image(path, str(file["name"])) else None

    def _file_of(self, where: str, file: Record) -> AnyPath | None:
        """Return where the bytes are of a file that comes along as one."""
        path = self._path_of(where, file)
        return path if path is not None and self._attached.is_file(path, str(file["name"])) else None

    def _path_of(self, where: str, file: Record) -> AnyPath | None:
        folder = where.partition("/")[0]
        return self._files.upload(folder, str(file.get("id") or ""), str(file.get("name") or ""))

    def _records(self, *, notes: bool = False) -> Iterator[tuple[str, str, Record]]:
        """Yield what was said: the room here, where it stands in the export, and Slack's record."""
        for room_id, folder in self._rooms.folders:
            for where, record in self._files.said(folder, notes=notes):
                yield room_id, where, record


def _why_gone(user: Record) -> str | None:
    if user.get(_UNLISTED):
        return "not among the users of the export"
    if user.get("is_bot") or user["id"] == _NOBODY:
        return "a bot"
    return "deactivated in Slack" if user.get("deleted") else None


def _is_bare(user: Record) -> bool:
    """Return whether nothing but an id is known of a user until now."""
    return bool(user.get(_UNLISTED)) and not user.get("profile")


def _marked(record: Record) -> str:
    """Return a message's text in Slack's markup with this chat's marks, be it in blocks alone."""
    if record.get("subtype") == "tombstone":
        return ""
    parts = [record.get("attachments"), record.get("blocks")]
    texts = (slack_text.text_of_blocks(part) for part in parts)
    marked = str(record.get("text") or "") or next((text for text in texts if text), "")
    return slack_text.in_chat_marks(marked)


def _files_of(record: Record) -> list[Record]:
    """Return the files of a message; before 2018 there was one at most."""
    return record.get("files") or ([record["file"]] if record.get("file") else [])


def _pinned_by(pin: Record) -> str:
    return str(pin.get("user") or _NOBODY)


def _milliseconds(ts: str) -> tuple[int, int]:
    """Return the milliseconds of ``1355517523.000005``, and the microseconds beyond."""
    seconds, _, fraction = ts.partition(".")
    micro = int((fraction + "000000")[:6])
    return int(seconds) * 1000 + micro // 1000, micro % 1000


def _message_id(room_id: str, ts: str) -> str:
    milliseconds, within = _milliseconds(ts)
    return id_at(milliseconds, f"slack message {room_id} {ts}", within)


def _image_name(record: Record, file: Record) -> str:
    """Return a name of the shape that teamchat gives, the same each time."""
    digest = hashlib.sha256(f"slack file {file.get('id')}".encode()).hexdigest()[:32]
    return f"{_milliseconds(str(record['ts']))[0]}-{digest}.{ending_of(str(file.get('name')))}"


def _file_id(room_id: str, record: Record, file: Record) -> str:
    """Return an id for a file in one message, the same each time: here, none stands in two."""
    named = f"slack file {file.get('id')} in {room_id} {record['ts']}"
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _file_name(file: Record) -> str:
    return str(file.get("name") or file.get("title") or "unnamed")


def _user_name(user: Record) -> str:
    profile = user.get("profile") or {}
    candidates = (
        profile.get("display_name"),
        profile.get("real_name"),
        user.get("real_name"),
        user.get("name"),
    )
    return next((str(name) for name in candidates if name), str(user["id"]))
