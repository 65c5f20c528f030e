"""J-3: which messages are pushed to whom, and why not."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_web_push import decided, judging, sender
from teamchat_web_push.payload import Writer
from teamchat_web_push.why import decisions

from teamchat import NotFound, QuietTimes
from teamchat.chat import deletion
from teamchat.mentions.activity.events import NewActivity
from teamchat.model import now_ms
from tests.push_world import World


async def test_levels_decide_in_channels_and_a_mention_says_so(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    await world.choose(world.cleo, defaults={"channel": "all"})
    await world.post("for those who want all")
    await world.go()
    assert [one["kind"] for one in cleo.payloads] == ["message"]
    assert bob.payloads == []
    await world.post("@bob look")
    world.ahead += 5000
    await world.go()
    assert [one["kind"] for one in bob.payloads] == ["mention"]
    assert bob.received[0].headers["urgency"] == "high"
    assert bob.payloads[0]["title"] == "Admin · #General"
    assert [one["kind"] for one in cleo.payloads] == ["message", "message"]
    assert cleo.received[0].headers["urgency"] == "normal"
    assert cleo.received[0].headers["ttl"] == "43200"


async def test_a_muted_place_and_the_level_nothing_push_nothing_not_even_a_mention(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    await world.level(world.bob, isMuted=True)
    await world.level(world.cleo, level="nothing")
    await world.post("@bob @cleo look")
    await world.go()
    assert bob.payloads == cleo.payloads == []
    assert set(await world.reasons()) == {("skipped", "muted"), ("skipped", "level")}


async def test_what_was_read_meanwhile_is_not_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    await world.read(world.bob, message)
    await world.send()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "read")]


async def test_who_does_not_see_the_place_any_more_is_pushed_nothing_of_it(world: World) -> None:
    hidden = await world.private(world.bob)
    bob, _ = await world.subscribe(world.bob)
    await world.post("@bob look", channel=hidden)
    await world.hear()
    await world.app.chat.members.remove(world.ada, hidden, world.bob.user.id)
    await world.send()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "sight")]


async def test_what_is_deleted_leaves_the_queue_in_that_transaction_and_is_not_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    assert len(await world.rows()) == 1
    await world.app.chat.messages.delete(world.ada, message)
    assert await world.rows() == []
    await world.send()
    again = await world.post("@bob look")
    await world.app.chat.messages.delete(world.ada, again)
    await world.go()  # The event is read after the message is gone.
    assert bob.payloads == []


async def test_what_is_deleted_and_not_removed_yet_is_not_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "PART", 0)
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    await world.app.chat.messages.delete(world.ada, message)
    await world.send()
    again = await world.post("@bob look")
    await world.app.chat.messages.delete(world.ada, again)
    await world.go()
    assert bob.payloads == []


async def test_followers_are_pushed_replies_and_a_reader_of_the_thread_is_not(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    parent = await world.post("who?", by=world.bob)
    reply = await world.reply(parent)
    await world.go()
    [push] = bob.payloads
    assert (push["kind"], push["threadId"], push["messageId"]) == ("reply", parent, reply)
    assert cleo.payloads == []


async def test_why_says_what_was_decided_and_what_would_be_where_nothing_was(world: World) -> None:
    _, device = await world.subscribe(world.bob)
    notices = world.app.notices
    assert notices is not None

    async def why(message_id: str) -> list[tuple[str, str]]:
        found = await decisions(world.app, notices, world.bob, message_id)
        assert [one.subscription_id for one in found] == [device.id]
        return [(one.outcome, one.reason) for one in found]

    direct, quiet = await world.direct("hello"), await world.post("quiet")
    await world.go()
    assert await why(direct) == [("sent", "direct")]
    assert await why(quiet) == [("none", "level")]
    hidden = await world.private(world.cleo)
    unseen = await world.post("secret", channel=hidden)
    with pytest.raises(NotFound) as of_hidden:
        await why(unseen)
    with pytest.raises(NotFound) as of_nobodys:
        await why("0" * 32)
    assert str(of_hidden.value) == str(of_nobodys.value)


async def test_a_reminder_is_pushed_once(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("remember")
    await world.read(world.bob, message)
    async with world.app.storage.write() as tx:
        reached = f"{now_ms():012x}".ljust(32, "f")
        event = NewActivity(reached, "reminder", world.channel, world.bob.user.id, message)
        await tx.append(event.to([world.bob.user.id]))
    await world.go()
    world.heard -= 1  # The event comes again, as after a crash.
    await world.go()
    [push] = bob.payloads
    assert (push["kind"], push["messageId"], push["title"]) == (
        "reminder",
        message,
        "Reminder: Admin · #General",
    )


async def test_what_cannot_be_judged_ends_by_itself_and_others_are_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    await world.choose(world.bob, preview="none")

    def fails_for_bob(times: QuietTimes | None, now: int) -> int | None:
        if times is not None and times.preview == "none":
            raise OverflowError(now)
        return None

    monkeypatch.setattr(judging, "quiet_until", fails_for_bob)
    await world.post("@bob @cleo look")
    await _go_until_given_up(world)
    assert bob.payloads == []
    assert len(cleo.payloads) == 1
    assert "a push can't be made" in caplog.text


async def test_what_cannot_be_written_ends_by_itself_and_others_are_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo, language="de")
    write = Writer.of_message

    def fails_in_german(writer: Writer, *given: Any, language: str, **named: Any) -> Any:
        if language == "de":
            raise ValueError(language)
        return write(writer, *given, language=language, **named)

    monkeypatch.setattr(Writer, "of_message", fails_in_german)
    await world.post("@bob @cleo look")
    await _go_until_given_up(world)
    assert cleo.payloads == []
    assert len(bob.payloads) == 1


async def test_what_cannot_be_encrypted_ends_by_itself_and_what_failed_for_a_while_is_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await world.subscribe(world.bob)

    def fails(*_: object) -> bytes:
        raise ValueError

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(sender, "encrypted", fails)
        await world.post("@bob look")
        await world.go()
        assert await world.reasons() == [(None, "failed")]
    world.ahead += decided.FAILED_MS
    await world.go()
    assert len(bob.payloads) == 1
    assert await world.reasons() == [("sent", "mention")]


async def _go_until_given_up(world: World) -> None:
    """Have one of two pushes fail as often as it is tried."""
    await world.go()
    for _ in range(decided.MOST_FAILED):
        assert {outcome for outcome, _ in await world.reasons()} == {"sent", None}
        world.ahead += decided.FAILED_MS
        await world.go()
    assert sorted(await world.reasons()) == [("sent", "mention"), ("skipped", "failed")]
