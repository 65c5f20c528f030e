"""A workspace's export from Slack as a `Source`.

What must stay true: ids are made from Slack's ids and times, so a second import finds what the first one
made; a channel that was private there is left out, for every channel here is everyone's; and what can't be
brought over is noted with its place, never with its text.  An address of a file is never kept: it carries
the key to all files of the workspace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from teamchat.chat.image_formats import MAX_BYTES
from teamchat.ids import CONVERSATION_PREFIX, id_at
from teamchat.operations.exchange import slack_text
from teamchat.operations.exchange.files import Place
from teamchat.operations.exchange.form import (
    PortableAuthor,
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMessage,
    PortableUser,
)
from teamchat.operations.exchange.report import Report
from teamchat.operations.exchange.slack_files import Record, SlackFiles

_IMAGE_ENDINGS = {"jpg", "jpeg", "png", "webp", "svg"}
_NOBODY = "USLACKBOT"
_UNLISTED = " unlisted"
_NOT_OF_CHANNELS = ("topic", "purpose", "pins")


class SlackExport:
    """The files of an export as a `Source`. With `includes_private` what was private becomes everyone's."""

    def __init__(self, files: SlackFiles, report: Report, *, includes_private: bool = False) -> None:
        self._files = files
        self._report = report
        self._channels = files.listed("channels.json")
        self._private = files.listed("groups.json")
        self._groups = files.listed("mpims.json")
        if includes_private:
            self._channels += [*self._private, *self._groups]
        else:
            for what, channels in (("private channel", self._private), ("group message", self._groups)):
                for channel in channels:
                    why = "it would be visible to all; see --private"
                    report.omit(what, _known_as(channel), why)
        self._conversations = files.listed("dms.json")

    def users(self) -> Iterator[PortableUser]:
        for id_, user in self._users.items():
            why_gone = _why_gone(user)
            when = int(user.get("updated") or 0) * 1000
            profile = user.get("profile") or {}
            where = f"{id_} ({self._names[id_]})"
            if why_gone is not None:
                self._report.change("user", where, f"{why_gone}; a name at messages, no account")
            yield PortableUser(
                id=_user_id(id_),
                user_name=self._names[id_],
                email="" if why_gone else str(profile.get("email") or ""),
                is_admin=bool(user.get("is_admin") or user.get("is_owner")) and not why_gone,
                created_at=when,
                removed_at=max(when, 1) if why_gone else None,
                place=where,
            )

    def channels(self) -> Iterator[PortableChannel]:
        for channel in self._channels:
            where = _known_as(channel)
            if channel.get("is_archived"):
                self._report.change("channel", where, "archived in Slack; open here")
            for what in _NOT_OF_CHANNELS:
                if _has(channel, what):
                    self._report.omit(what, where, "channels have none here")
            created_at = int(channel.get("created") or 0) * 1000
            creator = _user_id(str(channel.get("creator")))
            yield PortableChannel(_channel_id(channel), channel["name"], created_at, creator, place=where)

    def conversations(self) -> Iterator[PortableConversation]:
        for conversation in self._conversations:
            members = conversation.get("members") or []
            if len(set(members)) != 2:
                self._report.omit("conversation", conversation["id"], "not between two users")
                continue
            pair = (_user_id(members[0]), _user_id(members[1]))
            created_at = int(conversation.get("created") or 0) * 1000
            id_ = _conversation_id(conversation)
            yield PortableConversation(id_, pair, created_at, place=conversation["id"])

    def images(self) -> Iterator[PortableImage]:
        for place, where, record in self._records():
            for file in _files_of(record):
                if self._image_of(file) is not None:
                    yield PortableImage(
                        _image_name(record, file),
                        place,
                        _user_id(str(record.get("user"))),
                        _milliseconds(str(record["ts"]))[0],
                        "",
                        0,
                        place=f"{where}/{file.get('id')}",
                    )

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        for place, where, record in self._records(notes=not replies):
            is_reply = record.get("thread_ts", record["ts"]) != record["ts"]
            if is_reply == replies:
                yield self._message(place, where, record)

    def bytes_of(self, key: str) -> bytes | None:
        found = self._uploads.get(key)
        return None if found is None else self._files.read(found, MAX_BYTES)

    @cached_property
    def _users(self) -> dict[str, Record]:
        """Users by id, and whoever wrote or is mentioned without being listed."""
        found = {str(user["id"]): user for user in self._files.users()}
        found.setdefault(_NOBODY, {"id": _NOBODY, "name": "slackbot", "is_bot": True})
        for _, _, record in self._records():
            profile = record.get("user_profile") or {}
            if (user := record.get("user")) and user not in found:
                found[user] = {"id": user, "profile": profile, "name": profile.get("name"), _UNLISTED: True}
            for reaction in record.get("reactions") or []:
                for one in reaction.get("users") or []:
                    found.setdefault(one, {"id": one, _UNLISTED: True})
        return found

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {id_: _user_name(user) for id_, user in self._users.items()}

    @cached_property
    def _channel_names(self) -> Mapping[str, str]:
        channels = [*self._channels, *self._private, *self._groups]
        return {channel["id"]: channel["name"] for channel in channels}

    @cached_property
    def _uploads(self) -> dict[str, Place]:
        """Return where the bytes of images are, by the name they get here."""
        return {
            _image_name(record, file): path
            for _, _, record in self._records()
            for file in _files_of(record)
            if (path := self._image_of(file)) is not None
        }

    def _message(self, place: str, where: str, record: Record) -> PortableMessage:
        when, _ = _milliseconds(record["ts"])
        parent = str(record.get("thread_ts", record["ts"]))
        edited = record.get("edited") or {}
        images = [_image_name(record, file) for file in _files_of(record) if self._image_of(file) is not None]
        if record.get("subtype") == "thread_broadcast":
            self._report.change("reply", where, "was shown in its channel too; it stands in its thread alone")
        return PortableMessage(
            id=_message_id(place, record["ts"]),
            channel_id=place,
            author=self._author(record),
            content=self._content(where, record),
            created_at=when,
            updated_at=_milliseconds(edited["ts"])[0] if edited.get("ts") else None,
            thread_id=None if parent == record["ts"] else _message_id(place, parent),
            reactions=self._reactions(where, record),
            images=images,
            place=where,
        )

    def _author(self, record: Record) -> PortableAuthor:
        profile = record.get("bot_profile") or {}
        user = record.get("user")
        if record.get("bot_id") or record.get("subtype") == "bot_message":
            name = record.get("username") or profile.get("name") or self._names.get(str(user)) or "bot"
            id_ = id_at(0, f"slack bot {record.get('bot_id') or name}")
            return PortableAuthor(f"webhook:{id_}", str(name), is_bot=True)
        user = str(user or _NOBODY)
        return PortableAuthor(_user_id(user), self._names.get(user, user))

    def _content(self, where: str, record: Record) -> str:
        marked = str(record.get("text") or "")
        if record.get("subtype") == "tombstone":
            return "(This message was deleted.)"
        if not marked:
            parts = [record.get("attachments"), record.get("blocks")]
            marked = next((text for part in parts if (text := slack_text.text_of_blocks(part))), "")
        lines = [slack_text.plain(marked, self._names, self._channel_names).replace("\x00", "")]
        for file in _files_of(record):
            if self._image_of(file) is None:
                name = file.get("name") or file.get("title") or "unnamed"
                lines.append(f"[file: {name}]")
                self._report.omit("file", f"{where}/{file.get('id')}", "only images can be brought over, and "
                                  "only those whose bytes are in the export")  # fmt: skip
        return "\n".join(line for line in lines if line) or "(nothing)"

    def _reactions(self, where: str, record: Record) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for reaction in record.get("reactions") or []:
            users = [_user_id(user) for user in reaction.get("users") or []]
            shown = slack_text.emoji(str(reaction.get("name")))
            if shown.startswith(":"):
                self._report.change("reaction", where, "an emoji of your own, or a rare one, keeps its name")
            found.setdefault(shown, []).extend(users)
        return found

    def _image_of(self, file: Record) -> Place | None:
        """Return where an image's bytes are, if they are in the export: ``__uploads/<id>/<name>``."""
        name, id_ = str(file.get("name") or ""), str(file.get("id") or "")
        ending = name.rpartition(".")[2].lower()
        if ending not in _IMAGE_ENDINGS or "/" in name + id_ or not id_.isalnum():
            return None
        return self._files.upload(id_, name)

    def _records(self, *, notes: bool = False) -> Iterator[tuple[str, str, Record]]:
        """Yield what was said: the place's id here, where it stands in the export, and Slack's record."""
        folders = [(_channel_id(channel), str(channel["name"])) for channel in self._channels]
        folders += [(_conversation_id(one), str(one["id"])) for one in self._conversations]
        for place, folder in folders:
            for where, record in self._files.said(folder, notes=notes):
                yield place, where, record


def _why_gone(user: Record) -> str | None:
    if user.get(_UNLISTED):
        return "not among the users of the export"
    if user.get("is_bot") or user["id"] == _NOBODY:
        return "a bot"
    return "deactivated in Slack" if user.get("deleted") else None


def _known_as(channel: Record) -> str:
    return f"{channel['id']} ({channel['name']})"


def _has(channel: Record, what: str) -> bool:
    """Tell whether a channel has pins, or a topic or purpose, which may be there and empty."""
    found = channel.get(what)
    return bool(found.get("value") if isinstance(found, dict) else found)


def _files_of(record: Record) -> list[Record]:
    """Return the files of a message; before 2018 there was one at most."""
    return record.get("files") or ([record["file"]] if record.get("file") else [])


def _milliseconds(ts: str) -> tuple[int, int]:
    """Return the milliseconds of ``1355517523.000005``, and the microseconds beyond."""
    seconds, _, fraction = ts.partition(".")
    micro = int((fraction + "000000")[:6])
    return int(seconds) * 1000 + micro // 1000, micro % 1000


def _user_id(id_: str) -> str:
    return id_at(0, f"slack user {id_}")


def _channel_id(channel: Record) -> str:
    return id_at(int(channel.get("created") or 0) * 1000, f"slack channel {channel['id']}")


def _conversation_id(conversation: Record) -> str:
    created_at = int(conversation.get("created") or 0) * 1000
    return CONVERSATION_PREFIX + id_at(created_at, f"slack conversation {conversation['id']}")


def _message_id(place: str, ts: str) -> str:
    milliseconds, within = _milliseconds(ts)
    return id_at(milliseconds, f"slack message {place} {ts}", within)


def _image_name(record: Record, file: Record) -> str:
    """Return a name of the shape that teamchat gives, the same each time."""
    ending = str(file.get("name")).rpartition(".")[2].lower()
    digest = hashlib.sha256(f"slack file {file.get('id')}".encode()).hexdigest()[:32]
    return f"{_milliseconds(str(record['ts']))[0]}-{digest}.{ending}"


def _user_name(user: Record) -> str:
    profile = user.get("profile") or {}
    candidates = (
        profile.get("display_name"),
        profile.get("real_name"),
        user.get("real_name"),
        user.get("name"),
    )
    return next((str(name) for name in candidates if name), str(user["id"]))
