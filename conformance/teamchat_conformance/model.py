"""What the interface says would happen: a world of handles, who may do what in it, and who is told.

Nothing here asks anything; the same steps always make the same world.  Things are known
by handles, never by a server's ids, so a program can be played again on another server.  Where the interface
is silent the model takes no side: such a step is ``open`` and is not played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["allow", "refuse", "gone", "open"]

PERMISSIONS: Mapping[str, frozenset[str]] = {
    "make channel": frozenset({"admin"}),
    "rename channel": frozenset({"admin"}),
    "delete channel": frozenset({"admin"}),
    "post": frozenset({"anyone"}),
    "edit": frozenset({"author"}),
    "delete": frozenset({"author", "admin"}),
    "react": frozenset({"anyone"}),
    "unreact": frozenset({"anyone"}),
    "reply": frozenset({"anyone"}),
    "edit reply": frozenset({"author"}),
    "delete reply": frozenset({"author", "admin"}),
    "talk to": frozenset({"anyone"}),
    "direct": frozenset({"participant"}),
    "edit direct": frozenset({"author"}),
    "delete direct": frozenset({"author"}),
    "make webhook": frozenset({"admin"}),
    "delete webhook": frozenset({"admin"}),
    "webhook posts": frozenset({"anyone"}),
    "add user": frozenset({"admin"}),
    "rename": frozenset({"anyone"}),
    "remove user": frozenset({"admin"}),
    "exit": frozenset({"anyone"}),
}
"""Which roles may do something (interface, parts 4 and 6); one of them is enough."""

OPEN: Mapping[str, frozenset[str]] = {"delete direct": frozenset({"participant", "admin"})}
"""Roles of which the interface does not say whether they may."""


@dataclass(frozen=True)
class Step:
    """One step of a program. `target` is a handle, `word` a reaction or the name of a user.

    `text` is what is written, `new` the handle of what is made.
    """

    op: str
    actor: str
    target: int = 0
    word: str = ""
    text: str = ""
    new: int = 0

    def __str__(self) -> str:
        made = f"{self.new} := " if self.new else ""
        aim = f" {self.target}" if self.target else ""
        said = f" {self.text!r}" if self.text else ""
        return f"{made}{self.actor}: {self.op}{aim}{' ' + self.word if self.word else ''}{said}"


@dataclass
class Thing:
    """A channel, message, reply, conversation or webhook. `place` is the handle of what it is in.

    Of a thing that is not `known` any more, for it went with another, nothing is said.
    """

    kind: str
    text: str = ""
    author: str = ""
    place: int = 0
    parent: int = 0
    is_edited: bool = False
    is_alive: bool = True
    is_known: bool = True
    pair: frozenset[str] = frozenset()
    reactions: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """An event that is to come. `audience` is None for everyone, `about` the handle or the user's name."""

    kind: str
    about: int | str
    word: str = ""
    by: str = ""
    audience: frozenset[str] | None = None
    replies: tuple[str, ...] | None = None
    """Who wrote the replies that are left, in their order, for events that carry threadMeta."""


@dataclass
class World:
    """Everything the steps so far have made. `admins` and `users` are the names of those who are there."""

    admins: frozenset[str]
    users: list[str]
    things: dict[int, Thing] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    gone_users: list[str] = field(default_factory=list)

    def of(self, *kinds: str, alive: bool = True) -> list[int]:
        """Return the handles of these kinds: of the living, or of all that something is known of."""
        return [
            handle
            for handle, thing in self.things.items()
            if thing.kind in kinds and thing.is_known and (thing.is_alive or not alive)
        ]

    def within(self, place: int, kind: str) -> list[int]:
        """Return the living things of a kind in a channel or conversation, oldest first."""
        return [handle for handle in self.of(kind) if self.things[handle].place == place]

    def replies(self, parent: int) -> list[int]:
        """Return the living replies to a message, oldest first."""
        return [handle for handle in self.of("reply") if self.things[handle].parent == parent]

    def judge(self, step: Step) -> Verdict:
        """Say whether the interface lets a step happen."""
        thing = self.things.get(step.target)
        if thing is not None and not thing.is_alive:
            return "gone"
        roles = self._roles(step.actor, thing)
        if roles & PERMISSIONS[step.op]:
            return "allow"
        return "open" if roles & OPEN.get(step.op, frozenset()) else "refuse"

    def _roles(self, actor: str, thing: Thing | None) -> frozenset[str]:
        roles = {"anyone"} | ({"admin"} if actor in self.admins else set())
        if thing is None:
            return frozenset(roles)
        place = self.things.get(thing.place, thing)
        if actor == thing.author:
            roles.add("author")
        if actor in (thing.pair or place.pair):
            roles.add("participant")
        return frozenset(roles)

    def apply(self, step: Step) -> list[Told]:
        """Let a step happen and return the events that tell of it, in the order in which they come."""
        told: list[Told] = getattr(self, "_" + step.op.replace(" ", "_"))(step)
        return told

    # Channels and webhooks.

    def _make_channel(self, step: Step) -> list[Told]:
        self.things[step.new] = Thing("channel", step.text, step.actor)
        return [Told("NEW_CHANNEL", step.new)]

    def _rename_channel(self, step: Step) -> list[Told]:
        self.things[step.target].text = step.text
        return [Told("UPDATE_CHANNEL", step.target)]

    def _delete_channel(self, step: Step) -> list[Told]:
        self.things[step.target].is_alive = False
        for thing in self.things.values():
            if thing.place == step.target:
                thing.is_known = thing.is_known and thing.is_alive and thing.kind == "message"
                thing.is_alive = False
        return [Told("DELETE_CHANNEL", step.target)]

    def _make_webhook(self, step: Step) -> list[Told]:
        self.things[step.new] = Thing("webhook", step.text, step.actor, step.target)
        return [Told("NEW_WEBHOOK", step.new)]

    def _delete_webhook(self, step: Step) -> list[Told]:
        self.things[step.target].is_alive = False
        return [Told("DELETE_WEBHOOK", step.target)]

    def _webhook_posts(self, step: Step) -> list[Told]:
        place = self.things[step.target].place
        self.things[step.new] = Thing("message", step.text, f"webhook {step.target}", place)
        return [Told("NEW_MESSAGE", step.new)]

    # Messages, reactions, threads.

    def _post(self, step: Step) -> list[Told]:
        self.things[step.new] = Thing("message", step.text, step.actor, step.target)
        return [Told("NEW_MESSAGE", step.new)]

    def _edit(self, step: Step) -> list[Told]:
        self._write(step.target, step.text)
        return [Told("UPDATE_MESSAGE", step.target)]

    def _delete(self, step: Step) -> list[Told]:
        self.things[step.target].is_alive = False
        for thing in self.things.values():
            if thing.parent == step.target:
                thing.is_alive = thing.is_known = False
        return [Told("DELETE_MESSAGE", step.target)]

    def _react(self, step: Step) -> list[Told]:
        who = self.things[step.target].reactions.setdefault(step.word, [])
        if step.actor in who:
            return []
        who.append(step.actor)
        return [Told("NEW_REACTION", step.target, step.word, step.actor)]

    def _unreact(self, step: Step) -> list[Told]:
        who = self.things[step.target].reactions.get(step.word, [])
        if step.actor not in who:
            return []
        who.remove(step.actor)
        return [Told("DELETE_REACTION", step.target, step.word, step.actor)]

    def _reply(self, step: Step) -> list[Told]:
        place = self.things[step.target].place
        self.things[step.new] = Thing("reply", step.text, step.actor, place, step.target)
        return [Told("NEW_THREAD_REPLY", step.new, replies=self._writers(step.target))]

    def _edit_reply(self, step: Step) -> list[Told]:
        self._write(step.target, step.text)
        return [Told("UPDATE_THREAD_REPLY", step.target)]

    def _delete_reply(self, step: Step) -> list[Told]:
        reply = self.things[step.target]
        reply.is_alive = False
        return [Told("DELETE_THREAD_REPLY", step.target, replies=self._writers(reply.parent))]

    def _writers(self, parent: int) -> tuple[str, ...]:
        return tuple(self.things[handle].author for handle in self.replies(parent))

    # Conversations.

    def _talk_to(self, step: Step) -> list[Told]:
        pair = frozenset({step.actor, step.word})
        self.things[step.new] = Thing("conversation", pair=pair)
        return [Told("NEW_CONVERSATION", step.new, audience=pair)]

    def _direct(self, step: Step) -> list[Told]:
        self.things[step.new] = Thing("direct", step.text, step.actor, step.target)
        return [Told("NEW_DM_MESSAGE", step.new, audience=self.things[step.target].pair)]

    def _edit_direct(self, step: Step) -> list[Told]:
        self._write(step.target, step.text)
        return [Told("UPDATE_DM_MESSAGE", step.target, audience=self._pair(step.target))]

    def _delete_direct(self, step: Step) -> list[Told]:
        self.things[step.target].is_alive = False
        return [Told("DELETE_DM_MESSAGE", step.target, audience=self._pair(step.target))]

    def _pair(self, handle: int) -> frozenset[str]:
        return self.things[self.things[handle].place].pair

    def _write(self, handle: int, text: str) -> None:
        self.things[handle].text, self.things[handle].is_edited = text, True

    # Users.

    def _add_user(self, step: Step) -> list[Told]:
        self.users.append(step.word)
        return [Told("NEW_USER", step.word)]

    def _rename(self, step: Step) -> list[Told]:
        self.names[step.actor] = step.text
        return [Told("UPDATE_USER", step.actor)]

    def _remove_user(self, step: Step) -> list[Told]:
        self._leave(step.word)
        return [Told("REMOVE_USER", step.word)]

    def _exit(self, step: Step) -> list[Told]:
        self._leave(step.actor)
        return [Told("USER_EXIT", step.actor)]

    def _leave(self, name: str) -> None:
        self.users.remove(name)
        self.gone_users.append(name)


class Fold:
    """What one observer makes of the events it gets: the channels in `own`, and all that is in them."""

    def __init__(self, own: set[str]) -> None:
        self.own = own
        self.messages: dict[str, dict[str, Any]] = {}
        self.replies: dict[str, dict[str, str]] = {}

    def load(self, messages: list[dict[str, Any]], replies: dict[str, list[dict[str, Any]]]) -> None:
        """Begin with what was read: the messages of a channel, and by parent the replies."""
        for message in messages:
            reactions = {word: set(who) for word, who in (message.get("reactions") or {}).items() if who}
            self.messages[message["id"]] = {"content": message["content"], "reactions": reactions}
        for parent, listed in replies.items():
            if listed:
                self.replies[parent] = {reply["id"]: reply["content"] for reply in listed}

    def take(self, kind: str, payload: dict[str, Any]) -> None:
        """Take up one event; those about other things change nothing."""
        take = getattr(self, f"_{kind.lower()}", None)
        if take is not None:
            take(payload)

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
        """Return messages by id, and replies by parent and id."""
        return self.messages, {parent: replies for parent, replies in self.replies.items() if replies}

    def _new_message(self, payload: dict[str, Any]) -> None:
        if payload["channelId"] in self.own:
            self.messages[payload["id"]] = {"content": payload["content"], "reactions": {}}

    def _update_message(self, payload: dict[str, Any]) -> None:
        if payload["id"] in self.messages:
            self.messages[payload["id"]]["content"] = payload["content"]

    def _delete_message(self, payload: dict[str, Any]) -> None:
        self.messages.pop(payload["id"], None)
        self.replies.pop(payload["id"], None)

    def _new_reaction(self, payload: dict[str, Any]) -> None:
        if message := self.messages.get(payload["messageId"]):
            message["reactions"].setdefault(payload["reaction"], set()).add(payload["userId"])

    def _delete_reaction(self, payload: dict[str, Any]) -> None:
        if message := self.messages.get(payload["messageId"]):
            who = message["reactions"].get(payload["reaction"], set())
            who.discard(payload["userId"])
            if not who:
                message["reactions"].pop(payload["reaction"], None)

    def _new_thread_reply(self, payload: dict[str, Any]) -> None:
        if payload["channelId"] in self.own:
            reply = payload["reply"]
            self.replies.setdefault(payload["parentMessageId"], {})[reply["id"]] = reply["content"]

    def _update_thread_reply(self, payload: dict[str, Any]) -> None:
        replies = self.replies.get(payload.get("threadId", ""), {})
        if payload["id"] in replies:
            replies[payload["id"]] = payload["content"]

    def _delete_thread_reply(self, payload: dict[str, Any]) -> None:
        self.replies.get(payload["threadId"], {}).pop(payload["id"], None)
