"""Who is in a place and what is said there: lists and sets, and counting one by one.

It knows nothing of tables, indexes and clocks.  A place goes from event to event of the log (`Place.after`),
and counts what is unread for a state that somebody has of it (extensions D-1 to D-9, E-3 to E-7).
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from tests.races.reading.state import BEGINNING, State

GONE = {"DELETE_MESSAGE", "DELETE_DM_MESSAGE"}
EDITED = {"UPDATE_MESSAGE", "UPDATE_DM_MESSAGE", "UPDATE_THREAD_REPLY"}
NEW = {"NEW_MESSAGE", "NEW_DM_MESSAGE"}
REPLIED, UNREPLIED = "NEW_THREAD_REPLY", "DELETE_THREAD_REPLY"
CHOSEN = "NOTIFICATION_SETTINGS"
REACTED, UNREACTED = "NEW_REACTION", "DELETE_REACTION"
LEVELS = {"channel": "mentions", "group": "all", "direct": "all"}
"""The levels of kinds of places where nobody has chosen one (D-9)."""


class Words(NamedTuple):
    """What stands in a text: users' names, words that may be keywords, and whether it is for everybody."""

    named: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    is_wide: bool = False


class Choice(NamedTuple):
    """What a user has chosen for a place."""

    level: str = "default"
    is_muted: bool = False
    ignores_wide: bool = False


class Reply(NamedTuple):
    """A reply that is there."""

    parent: str
    author: str
    at: int


_COPIED = (
    "everyone",
    "members",
    "departed",
    "left",
    "history",
    "there",
    "replies",
    "texts",
    "by_name",
    "by_word",
    "ever",
    "reactions",
    "added_by",
    "came",
    "began",
    "choices",
    "keywords",
    "defaults",
    "seen_from",
    "named",
    "hidden",
)


@dataclass
class Place:
    """A place: `history` is every top-level message there ever was, `there` those that are there still.

    `seen_from` is, for members with a bound, how much of the history they don't see; `named` are those who
    are to be its members when it becomes private the next time, and so on.  `by_name` and `by_word` are whom
    messages mention, replies too, `ever` whom they ever have.  `came` is after how much of the history
    somebody became a member, and `began` after which message, by whatever way.
    """

    kind: str = "channel"
    is_private: bool = False
    is_default: bool = False
    is_archived: bool = False
    is_gone: bool = False
    for_joiners: bool = False
    public_from: int = 0
    everyone: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    departed: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    history: list[str] = field(default_factory=list)
    there: dict[str, str] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    texts: dict[str, Words] = field(default_factory=dict)
    by_name: dict[str, frozenset[str]] = field(default_factory=dict)
    by_word: dict[str, frozenset[str]] = field(default_factory=dict)
    ever: dict[str, frozenset[str]] = field(default_factory=dict)
    reactions: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    added_by: dict[str, str] = field(default_factory=dict)
    came: dict[str, str] = field(default_factory=dict)
    began: dict[str, str] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    keywords: dict[str, frozenset[str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    seen_from: dict[str, int] = field(default_factory=dict)
    named: list[set[str]] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    newly: frozenset[str] = frozenset()
    """Whom what was said or edited last mentions for the first time."""

    def has(self, user: str) -> bool:
        """Whether a user is a member."""
        if self.is_gone or user not in self.everyone:
            return False
        return user in self.members or (self.is_default and user not in self.departed)

    def visible(self, user: str) -> list[str]:
        """Return the messages that a member sees, in order."""
        return [one for one in self.history[self._bound(user) :] if one in self.there]

    def _bound(self, user: str) -> int:
        own = self.seen_from.get(user, 0) if user in self.members else self.public_from
        return own if self.is_private else min(own, self.public_from)

    def unread(self, user: str, position: str) -> int:
        """Count, one by one; in an archived place nothing counts."""
        if self.is_archived:
            return 0
        return sum(one > position and self.there[one] != user for one in self.visible(user))

    def mentions(self, user: str) -> set[str]:
        """Return the messages and replies that mention somebody by their name or a word of theirs."""
        there = self.there.keys() | self.replies.keys()
        return {one for one in there if user in self.by_name[one] | self.by_word[one]}

    def wide(self, user: str) -> set[str]:
        """Return the messages and replies that are for everybody, others' and such as count for somebody."""
        if self.choice(user).ignores_wide:
            return set()
        authors = self.there | {id_: one.author for id_, one in self.replies.items()}
        return {one for one, author in authors.items() if self.texts[one].is_wide and author != user}

    def mentioned(self, user: str, state: State) -> int:
        """Count what is unread and mentions somebody: a reply is unread by its thread alone.

        What is for everybody is for those who were members then.
        """
        if self.is_archived:
            return 0
        seen, began = set(self.visible(user)), self.began.get(user, BEGINNING)
        named = self.mentions(user) | {one for one in self.wide(user) if one > began}
        count = sum(one > state.mark.position for one in seen & named)
        return count + sum(self.mentioned_in(user, parent, state) for parent in seen)

    def unread_in(self, user: str, parent: str, state: State) -> int:
        """Count what others have replied after one's position in a thread."""
        position = self.position_in(parent, state)
        if self.is_archived:
            return 0
        return sum(id_ > position and self.replies[id_].author != user for id_ in self.replies_to(parent))

    def mentioned_in(self, user: str, parent: str, state: State) -> int:
        """Count the unread replies that mention one; for everybody is for who follows the thread."""
        thread = state.thread(parent)
        if thread is None or self.is_archived:
            return 0
        named = self.mentions(user) | (self.wide(user) if thread.is_following else set())
        return sum(id_ > thread.position for id_ in self.replies_to(parent) if id_ in named)

    def position_in(self, parent: str, state: State) -> str:
        """Return where somebody stands in a thread; without a state they have read it all."""
        thread = state.thread(parent)
        return thread.position if thread is not None else self.newest_in(parent) or parent

    def replies_to(self, parent: str) -> list[str]:
        """Return the replies to a message, in order."""
        return sorted(id_ for id_, one in self.replies.items() if one.parent == parent)

    def newest_in(self, parent: str) -> str | None:
        """Return the newest reply to a message."""
        return max(self.replies_to(parent), default=None)

    def choice(self, user: str) -> Choice:
        """Return what somebody has chosen for the place."""
        return self.choices.get(user, Choice())

    def came_at(self, user: str) -> str | None:
        """Return after which message a member came; None if that is not known."""
        is_by_default = user not in self.members and self.has(user)
        return self.came.get(user, BEGINNING if is_by_default else None) if self.has(user) else None

    def sees(self, user: str) -> bool:
        """Whether a user sees what is said now."""
        if self.is_gone or user not in self.everyone:
            return False
        return not self.is_private or user in self.members

    def sees_message(self, user: str, id_: str) -> bool:
        """Whether a user sees a top-level message."""
        return self.sees(user) and id_ in self.there and self.history.index(id_) >= self._bound(user)

    def newest(self, user: str) -> str | None:
        """Return the newest message that a member sees."""
        return max(self.visible(user), default=None)

    def _parent(self, id_: str) -> str | None:
        return self.replies[id_].parent if id_ in self.replies else None

    def is_same(self, user: str, one: str, other: str) -> bool:
        """Whether two positions are the same for whatever a member sees.

        Before what they see there is one position alone that they are told, whatever is there.
        """
        seen = set(self.visible(user))
        replies = [id_ for id_, reply in self.replies.items() if reply.parent in seen]
        return all((id_ > one) == (id_ > other) for id_ in [*seen, *replies])

    def after(self, kind: str, payload: dict[str, Any]) -> Self:
        """Return the place as it is after an event of the log."""
        place = copy.copy(self)
        for name in _COPIED:
            setattr(place, name, copy.copy(getattr(self, name)))
        place.newly = frozenset()
        if kind in NEW:
            place.history.append(payload["id"])
            place.there[payload["id"]] = payload["author"]["id"]
            place._say(payload["id"], payload["id"], payload["author"]["id"], payload["words"])
        elif kind == REPLIED:
            reply, parent = payload["reply"], payload["parentMessageId"]
            place.replies[reply["id"]] = Reply(parent, reply["author"]["id"], reply["createdAt"])
            place._say(reply["id"], parent, reply["author"]["id"], payload["words"])
        elif kind in EDITED:
            place._edit(payload["id"], payload["words"])
        elif kind in GONE:
            place._forget([payload["id"], *place.replies_to(payload["id"])])
        elif kind == UNREPLIED:
            place._forget([payload["id"]])
        elif kind == "CHANNEL_MEMBERS_ADDED":
            place._let_in(payload["members"])
        elif kind == "CHANNEL_MEMBER_REMOVED":
            place._let_out(payload["userId"])
        elif kind == "UPDATE_CHANNEL":
            place._change(payload)
        elif kind == "DELETE_CHANNEL" and "reason" not in payload:
            place.is_gone = True
        elif kind == "REMOVE_USER":
            place.everyone.discard(payload["id"])
        elif kind == CHOSEN:
            place._choose(payload)
        elif kind in (REACTED, UNREACTED):
            place._react(payload, is_there=kind == REACTED)
        for user in place.everyone:
            if place.has(user) and not self.has(user):
                place.began[user] = max(self.history, default=BEGINNING)
        # What was chosen ends with a membership (D-4).
        place.choices = {user: chosen for user, chosen in place.choices.items() if place.has(user)}
        return place

    def _say(self, id_: str, stands_at: str, author: str, said: Words) -> None:
        """Note whom it names or reaches by a word: who does not see it is not, nor is its author (E-6)."""
        self.texts[id_] = said
        self.by_name[id_] = frozenset(
            user for user in said.named if user != author and self.sees_message(user, stands_at)
        )
        self.by_word[id_] = frozenset(
            user
            for user, words in self.keywords.items()
            if words & said.words
            and user != author
            and self._hears_words(user)
            and self.sees_message(user, stands_at)
        )
        self.ever[id_] = self.newly = self.by_name[id_] | self.by_word[id_]

    def _hears_words(self, user: str) -> bool:
        level = self.choice(user).level
        if level == "default":
            level = (
                self.defaults.get(user, LEVELS["channel"]) if self.kind == "channel" else LEVELS[self.kind]
            )
        return self.has(user) and level != "nothing"

    def _edit(self, id_: str, said: Words) -> None:
        """Who is named or reached by a word that was not there before is, and who still is stays so (E-4)."""
        before, still = self.texts[id_], self.by_word[id_]
        reached_before = self.ever[id_]
        stands_at = self._parent(id_) or id_
        author = self.there.get(id_) or self.replies[id_].author
        added = said.words - before.words
        self._say(id_, stands_at, author, said)
        new = {user for user in self.by_word[id_] if self.keywords[user] & added}
        kept = {user for user in still if self.keywords.get(user, frozenset()) & said.words}
        self.by_word[id_] = frozenset(new | kept)
        reached = self.by_name[id_] | self.by_word[id_]
        self.newly = reached - reached_before
        self.ever[id_] = reached_before | reached

    def _forget(self, ids: Collection[str]) -> None:
        for id_ in ids:
            self.there.pop(id_, None)
            self.replies.pop(id_, None)
            self.reactions.pop(id_, None)

    def _let_in(self, added: Sequence[Mapping[str, Any]]) -> None:
        bound = self.public_from if not self.is_private else len(self.history) if self.for_joiners else 0
        for one in added:
            user = one["userId"]
            self.members.add(user)
            self.departed.discard(user)
            self.left.discard(user)
            self.seen_from[user] = bound
            self.added_by[user] = one.get("addedBy") or user
            self.came[user] = max([*self.history, *self.replies], default=BEGINNING)

    def _let_out(self, user: str) -> None:
        self.members.discard(user)
        self.added_by.pop(user, None)
        self.came.pop(user, None)
        self.left.add(user)
        if self.is_default:
            self.departed.add(user)

    def _change(self, told: dict[str, Any]) -> None:
        self.is_archived = told.get("isArchived", False)
        if self.kind == "group" and told.get("kind", "channel") == "channel":
            self.kind, self.for_joiners = "channel", False
        if told.get("isPrivate", False) != self.is_private:
            self._open() if self.is_private else self._close()
        elif told.get("isDefault", False) != self.is_default:
            self.is_default, self.departed = not self.is_default, set()
            for user in self.everyone - self.members:
                self.came.pop(user, None)
                if self.is_default:
                    self.came[user] = max([*self.history, *self.replies], default=BEGINNING)

    def _close(self) -> None:
        """Those who are named see it alone; what they saw of it they see still."""
        named = self.named.pop(0)
        for user in self.everyone:
            own = self.seen_from.get(user, 0) if user in self.members else self.public_from
            self.seen_from[user] = min(own, self.public_from)
        self.left |= self.members - named
        self.added_by = {user: by for user, by in self.added_by.items() if user in named}
        # Of who is named and was no member nothing is noted: one of them may have closed it.
        self.came = {
            user: self.came_at(user) or BEGINNING for user in named if self.came_at(user) is not None
        }
        self.members, self.departed = set(named), set()
        self.is_private, self.is_default = True, False

    def _open(self) -> None:
        self.is_private = False
        self.public_from = len(self.history) if self.hidden.pop(0) else 0

    def _choose(self, told: Mapping[str, Any]) -> None:
        user = told["userId"]
        if "placeId" not in told:
            self.keywords[user] = frozenset(told["keywords"])
            self.defaults[user] = told["defaults"]["channel"]
        elif told["placeId"] == told["here"]:
            self.choices[user] = Choice(told["level"], told["isMuted"], told["ignoreChannelMentions"])

    def _react(self, told: Mapping[str, Any], *, is_there: bool) -> None:
        one = {(told["userId"], told["reaction"])}
        before = self.reactions.get(told["messageId"], frozenset())
        self.reactions[told["messageId"]] = before | one if is_there else before - one


def course(place: Place, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Place]:
    """Return a place before the first of these events, and after each."""
    places = [place]
    for kind, payload in events:
        places.append(places[-1].after(kind, payload))
    return places
