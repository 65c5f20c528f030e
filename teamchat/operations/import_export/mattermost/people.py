"""Mattermost's users, and which of them can sign in here at once.

Every user here sees all public channels. Mattermost's guests did not, and users in no team saw none: they are
imported as deactivated, and an admin who wants them to see all public channels activates them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from teamchat.model import now_ms
from teamchat.model.ids import id_at
from teamchat.operations.import_export.form import PortableAuthor, PortableUser
from teamchat.operations.import_export.mattermost.contents import Contents
from teamchat.operations.import_export.mattermost.shapes import Reply, User
from teamchat.operations.import_export.report import GUEST, Report

_DEACTIVATED = "deactivated in Mattermost, and here"
_TEAMLESS = "in no team, and users here see all public channels: deactivated, for an admin to activate"


class People:
    """The users of an export, and whoever wrote or is named without being listed."""

    def __init__(self, contents: Contents, report: Report) -> None:
        self._contents = contents
        self._report = report

    @cached_property
    def bound_to_teams(self) -> frozenset[str]:
        """The names of those who may sign in here at once, and saw what their teams did; admins saw all."""
        users = self._contents.users.items()
        shut_out = {name for name, one in users if _is_admin(one) or self._is_bot(name) or _why_shut(one)}
        return frozenset(self._contents.users.keys() - shut_out)

    def users(self) -> Iterator[PortableUser]:
        """Yield everybody; who has no account here is a name at messages."""
        for name in self._contents.names:
            user = self._contents.users.get(name)
            if user is None or self._is_bot(name):
                yield self._name_alone(name)
            else:
                yield self._user(name, user)

    def profiles(self) -> Iterator[dict[str, str]]:
        """Yield what people say of themselves, as records of the capability of that name."""
        for name, user in self._contents.users.items():
            said = {"fullName": _full_name(user), "title": (user.position or "").strip()}
            if any(said.values()) and not self._is_bot(name):
                yield {"userId": user_id(name), **said}

    def author(self, post: Reply) -> PortableAuthor:
        """Return who wrote something: a user, or a program by the name that it gave itself."""
        props = post.props or {}
        if is_true(props.get("from_webhook")) or is_true(props.get("from_bot")) or self._is_bot(post.user):
            bot = self._contents.bots.get(post.user)
            named = [props.get(one) for one in ("override_username", "webhook_display_name")]
            name = next((str(one) for one in (*named, bot and bot.display_name) if one), post.user)
            return PortableAuthor(f"webhook:{id_at(0, f'mattermost bot {name}')}", name, is_bot=True)
        return PortableAuthor(user_id(post.user), post.user)

    def _is_bot(self, name: str) -> bool:
        return name in self._contents.bots

    def _user(self, name: str, user: User) -> PortableUser:
        where, why = f"{self._contents.lines_of_users[name]} ({name})", _why_shut(user)
        if why is not None:
            self._report.change("user", where, why)
        return PortableUser(
            id=user_id(name),
            user_name=name,
            email=user.email or "",
            is_admin=_is_admin(user),
            created_at=self._contents.created_at,
            deactivated_at=None if why is None else user.delete_at or now_ms(),
            origin=where,
        )

    def _name_alone(self, name: str) -> PortableUser:
        why = "a bot" if self._is_bot(name) else "not among the users of the export"
        self._report.change("user", name, f"{why}; a name at messages, no account")
        return PortableUser(id=user_id(name), user_name=name, removed_at=1, origin=name)


def user_id(name: str) -> str:
    """Return the id that a user of Mattermost's has here."""
    return id_at(0, f"mattermost user {name}")


def is_true(prop: object) -> bool:
    """Return whether a property is set; programs set it as a text."""
    return prop is True or prop == "true"


def _is_admin(user: User) -> bool:
    return "system_admin" in (user.roles or "").split()


def _why_shut(user: User) -> str | None:
    if user.delete_at:
        return _DEACTIVATED
    if "system_guest" in (user.roles or "").split():
        return GUEST
    if not user.teams and not _is_admin(user):
        return _TEAMLESS
    return None


def _full_name(user: User) -> str:
    whole = f"{(user.first_name or '').strip()} {(user.last_name or '').strip()}".strip()
    return whole or (user.nickname or "").strip()
