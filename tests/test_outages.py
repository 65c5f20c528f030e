"""What is tried again and again is in the log when it begins to fail, and when it works again."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from teamchat import StorageError, Unavailable
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import AGAIN_SECONDS, Outage

EVENT = "the sky can't be read"


@pytest.fixture
def outage() -> Outage:
    return Outage(get_logger("teamchat.sky"), EVENT, place="Rome")


def fail(outage: Outage, error: Exception) -> None:
    with outage.noted(StorageError, Unavailable):
        raise error


def work(outage: Outage) -> None:
    with outage.noted(StorageError, Unavailable):
        pass


async def test_it_is_logged_once_with_why_until_it_is_over(
    outage: Outage, caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    work(outage)
    for _ in range(3):
        fail(outage, StorageError("It rains."))
        await trio.sleep(10)
    [failing] = caplog.records
    assert failing.exc_info is not None
    assert failing.exc_info[0] is StorageError
    work(outage)
    work(outage)
    assert [record.getMessage() for record in caplog.records] == [EVENT, f"over: {EVENT}"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    fields = [vars(record)["teamchat_fields"] for record in caplog.records]
    assert fields == [{"place": "Rome"}, {"place": "Rome", "seconds": 30.0}]


async def test_it_is_logged_again_after_an_hour_and_for_another_reason(
    outage: Outage, caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    fail(outage, StorageError())
    await trio.sleep(AGAIN_SECONDS - 1)
    fail(outage, StorageError())
    assert len(caplog.records) == 1
    await trio.sleep(1)
    fail(outage, StorageError())
    assert len(caplog.records) == 2
    fail(outage, Unavailable("It is night."))
    fail(outage, Unavailable("It is night."))
    kinds = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert kinds == [StorageError, StorageError, Unavailable]


async def test_what_fails_in_tasks_is_noted_and_everything_else_goes_on(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    fail(outage, ExceptionGroup("", [ExceptionGroup("", [StorageError()])]))
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is StorageError
    with pytest.raises(KeyError), outage.noted(StorageError):
        raise KeyError
    with pytest.raises(ExceptionGroup) as group, outage.noted(StorageError):
        raise ExceptionGroup("", [StorageError(), KeyError()])
    assert [type(error) for error in group.value.exceptions] == [KeyError]
    with trio.CancelScope() as scope, outage.noted(StorageError):
        scope.cancel()
        await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert len(caplog.records) == 1, "none of these says that it works, nor another reason why it does not"
