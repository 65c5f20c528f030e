"""What every event listener must do, whatever it makes of the events."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trio

from teamchat.application import Application
from teamchat.events import LoggedEvent
from teamchat.interfaces import EventListener, MissedEventsListener
from teamchat.settings import Settings
from teamchat.testing.auth import application

PATIENCE_SECONDS = 30

_AUTHOR = {"id": "0190-ada", "userName": "Ada"}
_MESSAGE: dict[str, object] = {
    "id": "0190-m1", "channelId": "0190-c1", "author": _AUTHOR, "content": "Grüße ✉", "createdAt": 1,
    "updatedAt": None, "reactions": {},
}  # fmt: skip
_META = {"replyCount": 1, "lastReplyAt": 1, "lastReplyBy": _AUTHOR, "participants": ["0190-ada"]}
_BOTH = ("0190-ada", "0190-bob")
_DIRECT = _MESSAGE | {"channelId": "dm:0190-d1", "participants": list(_BOTH)}
SAMPLES: dict[str, dict[str, object]] = {
    "NEW_MESSAGE": _MESSAGE,
    "UPDATE_MESSAGE": _MESSAGE | {"updatedAt": 2},
    "DELETE_MESSAGE": {"id": "0190-m1", "channelId": "0190-c1"},
    "NEW_CHANNEL": {"id": "0190-c1", "name": "General", "createdAt": 1, "createdBy": "0190-ada"},
    "UPDATE_CHANNEL": {"id": "0190-c1", "name": "Lobby"},
    "DELETE_CHANNEL": {"id": "0190-c1", "name": "Lobby"},
    "NEW_REACTION": {"messageId": "0190-m1", "userId": "0190-ada", "reaction": "👍"},
    "DELETE_REACTION": {"messageId": "0190-m1", "userId": "0190-ada", "reaction": "👍"},
    "NEW_USER": {"id": "0190-bob", "userName": "bob", "email": "bob@example.org"},
    "REMOVE_USER": {"id": "0190-bob", "email": "bob@example.org"},
    "USER_EXIT": {"id": "0190-bob", "userName": "bob"},
    "UPDATE_USER": {"id": "0190-bob", "userName": "Bob"},
    "NEW_CONVERSATION": {"id": "dm:0190-d1", "participants": list(_BOTH), "createdAt": 1},
    "NEW_DM_MESSAGE": _DIRECT,
    "UPDATE_DM_MESSAGE": _DIRECT | {"updatedAt": 2},
    "DELETE_DM_MESSAGE": {"id": "0190-m1", "conversationId": "dm:0190-d1", "participants": list(_BOTH)},
    "NEW_THREAD_REPLY": {
        "parentMessageId": "0190-m1", "channelId": "0190-c1", "reply": _MESSAGE | {"threadId": "0190-m1"},
        "threadMeta": _META, "parentAuthorId": "0190-ada",
    },
    "UPDATE_THREAD_REPLY": _MESSAGE | {"threadId": "0190-m1", "updatedAt": 2},
    "DELETE_THREAD_REPLY": {
        "id": "0190-m2", "threadId": "0190-m1", "channelId": "0190-c1", "threadMeta": None,
    },
    "NEW_WEBHOOK": {"id": "0190-w1", "name": "bot", "channelId": "0190-c1"},
    "DELETE_WEBHOOK": {"id": "0190-w1", "channelId": "0190-c1"},
    "UPDATE_SERVER_SETTINGS": {"name": "Team"},
}  # fmt: skip
"""A payload of each type of event (interface, part 6)."""


def sample_events() -> list[LoggedEvent]:
    """Return an event of each type, and one of a type that a later teamchat may bring."""
    kinds: list[tuple[str, dict[str, object]]] = [
        *SAMPLES.items(),
        ("NEW_IN_A_LATER_VERSION", {"id": "0190-x"}),
    ]
    return [
        LoggedEvent(
            number, kind, json.dumps(payload), _BOTH if "DM" in kind or "CONVERSATION" in kind else None
        )
        for number, (kind, payload) in enumerate(kinds, 1)
    ]


class EventListenerContract(ABC):
    """Tests of a listener. Subclass it with a name that begins with ``Test`` and give one method::

        class TestCounter(EventListenerContract):
            @asynccontextmanager
            async def open_listener(self, app):
                yield Counter(app.storage)

    One that has the method `missed` is asked whether it takes that, too.
    """

    def settings(self) -> Settings:
        """Return the settings of the application. Override it if the listener needs others."""
        return Settings()

    @abstractmethod
    def open_listener(self, app: Application) -> AbstractAsyncContextManager[EventListener]:
        """Open the listener, with whatever it talks to; `app` is what the hook is given."""

    @asynccontextmanager
    async def opened(self, tmp_path: Path) -> AsyncIterator[EventListener]:
        """Yield the listener of an application of its own, for tests of your own."""
        async with application(self.settings(), tmp_path) as app, self.open_listener(app) as listener:
            yield listener

    async def test_it_has_a_name_that_stays_the_same(self, tmp_path: Path) -> None:
        async with (
            application(self.settings(), tmp_path) as app,
            self.open_listener(app) as one,
            self.open_listener(app) as another,
        ):
            assert one.name, "a listener needs a name: how far it has come is kept under it"
            assert one.name == another.name, "how far it has come is kept under its name"

    async def test_it_hears_an_event_of_every_type_one_it_does_not_know_too(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as listener:
            for event in sample_events():
                await _heard(listener, event)

    async def test_an_event_may_come_again(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as listener:
            for event in sample_events()[:3]:
                await _heard(listener, event)
            for event in sample_events()[:3]:
                await _heard(listener, event, "a second time, as after a crash")

    async def test_it_goes_on_after_it_missed_something(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as listener:
            first = sample_events()[0]
            later = msgspec.structs.replace(first, seq=first.seq + 100)
            await _heard(listener, first)
            if isinstance(listener, MissedEventsListener):
                await _missed(listener, first.seq + 1, later.seq - 1)
            await _heard(listener, later, "after some that it missed")

    async def test_it_can_be_stopped_while_it_hears(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as listener:
            for event in sample_events()[:3]:
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await listener.hear(event)
            await _heard(listener, sample_events()[0], "after it was stopped while it heard it")


async def _missed(listener: MissedEventsListener, first: int, last: int) -> None:
    try:
        with trio.fail_after(PATIENCE_SECONDS):
            await listener.missed(first, last)
    except trio.TooSlowError:
        pytest.fail(f"missed() takes more than {PATIENCE_SECONDS} seconds")
    except Exception as error:
        raise AssertionError("missed() fails") from error


async def _heard(listener: EventListener, event: LoggedEvent, when: str = "") -> None:
    try:
        with trio.fail_after(PATIENCE_SECONDS):
            await listener.hear(event)
    except trio.TooSlowError:
        pytest.fail(f"the listener takes more than {PATIENCE_SECONDS} seconds for {event.type} {when}")
    except Exception as error:
        raise AssertionError(f"the listener fails at {event.type} {when}".rstrip()) from error
