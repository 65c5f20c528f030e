"""What the suite itself spoiled is blamed on the check that sent it, and on nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Recorder
from teamchat_conformance.spoiled import Spoiled


def after(method: str, target: str, sent: Any, told: Any, status: int = 200) -> Spoiled:
    """Return what is kept of one request."""
    recorder, spoiled = Recorder("k3v9a0bc"), Spoiled()
    recorder.watchers.append(spoiled.answered)
    exchange = recorder.begin("U", method, target, [], json.dumps(sent).encode())
    answer = Answered(method, target, "U", status, [], json.dumps(told).encode(), exchange.number)
    recorder.ended(exchange, answer)
    return spoiled


def test_a_message_without_text_is_not_judged_again_and_its_author_and_channel_are() -> None:
    message = {"id": "m1", "channelId": "c1", "author": {"id": "u1"}, "content": 1}
    spoiled = after("POST", "/channels/c1/messages", {"content": 1}, {"message": message})
    assert spoiled.has(message)
    assert not spoiled.has({**message, "id": "m2", "content": "hello"})


@pytest.mark.parametrize("status", [400, 500])
def test_what_was_refused_spoils_nothing(status: int) -> None:
    spoiled = after("POST", "/channels/c1/messages", {"content": 1}, {"message": {"id": "m1"}}, status)
    assert not spoiled.has({"id": "m1"})


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize(
    "target", ["/messages/m1", "/messages/p1/thread/m1", "/conversations/dm%3Ax/messages/m1"]
)
def test_what_a_bad_edit_names_is_not_judged_again_for_it_may_be_kept_though_refused(
    target: str, status: int
) -> None:
    spoiled = after("PUT", target, {"content": 1}, {"error": "no"}, status)
    assert spoiled.has({"id": "m1", "channelId": "c1", "content": 1})
    assert not spoiled.has({"id": "m2", "channelId": "dm:x", "threadId": "p1", "content": "hello"})


def test_a_good_edit_spoils_nothing() -> None:
    assert not after("PUT", "/messages/m1", {"content": "hello"}, {}).has({"id": "m1"})


def test_what_a_good_body_made_is_judged() -> None:
    spoiled = after("POST", "/channels/c1/messages", {"content": "hello"}, {"message": {"id": "m1"}})
    assert not spoiled.has({"id": "m1"})


def test_a_user_whose_name_is_none_spoils_what_they_write() -> None:
    spoiled = after("PUT", "/users/me", {"userName": 1}, {"user": {"id": "u1", "userName": 1}})
    assert spoiled.has({"id": "m1", "author": {"id": "u1", "userName": 1}})


def test_a_webhook_whose_name_is_none_spoils_what_it_posts() -> None:
    spoiled = after("POST", "/webhooks", {"name": 1, "channelId": "c1"}, {"webhook": {"id": "w1"}})
    assert spoiled.has({"id": "m1", "author": {"id": "webhook:w1", "userName": 1, "isBot": True}})


@pytest.mark.parametrize(
    ("target", "told", "where"),
    [
        ("/channels", {"channel": {"id": "x"}}, ["/channels/x"]),
        ("/webhooks", {"webhook": {"id": "x"}}, ["/webhooks/x"]),
        ("/users/add", {"userId": "x"}, ["/users/x"]),
        ("/channels/c1/messages", {"message": {"id": "x"}}, []),
    ],
)
def test_what_stands_in_lists_of_all_is_to_be_deleted_once(target: str, told: Any, where: list[str]) -> None:
    spoiled = after("POST", target, {}, told)
    assert spoiled.take() == where
    assert spoiled.take() == []


def test_the_servers_name_is_known_to_be_spoiled() -> None:
    assert after("PUT", "/server/settings", {"name": 1}, {"name": 1}).has_settings()
    assert not after("PUT", "/server/settings", {"name": "x"}, {"name": "x"}).has_settings()
