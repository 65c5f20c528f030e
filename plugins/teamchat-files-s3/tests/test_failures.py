"""What happens when the store is slow, silent, gone, or does not let us in."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing
from teamchat_files_s3 import bucket, open_s3

from teamchat import Unavailable
from teamchat.testing.files import kept

MEGABYTE = 1024 * 1024
SECRET = "a-secret-of-the-tests"
PATIENCE = 15.0


async def test_ten_megabytes_go_and_come_back(store) -> None:
    data = os.urandom(10 * MEGABYTE)
    await store.put("1-large.png", data)
    assert await kept(store, "1-large.png") == data


@pytest.mark.slow
async def test_a_hundred_at_once_are_all_served(store) -> None:
    data = os.urandom(300_000)
    await store.put("1-many.png", data)
    served: list[bool] = []

    async def read() -> None:
        served.append(await kept(store, "1-many.png") == data)

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(read)
    assert served == [True] * 100


@pytest.mark.parametrize("request_", ["put", "read", "remove"])
async def test_a_store_that_says_503_is_asked_again(store, line, request_: str) -> None:
    await store.put("1-again.png", b"data")
    line.cut()
    line.refusals = 2
    with trio.fail_after(PATIENCE):
        if request_ == "put":
            await store.put("1-again.png", b"data")
        elif request_ == "remove":
            await store.remove("1-again.png")
        else:
            assert await kept(store, "1-again.png") == b"data"
    assert line.refused == 2


@pytest.mark.parametrize("then", ["hangs up", "is silent", "is silent for long"])
@pytest.mark.parametrize("request_", ["put", "read", "remove"])
async def test_a_store_is_asked_again_whose_refusal_never_ends(
    store, line, request_: str, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put("1-broken.png", b"data")
    line.cut()
    line.refusals, line.missing, line.is_silent_then = 1, 100, then != "hangs up"
    if then == "is silent for long":
        monkeypatch.setattr(bucket, "REFUSAL_SECONDS", 0.1)
    with trio.fail_after(PATIENCE):
        if request_ == "put":
            await store.put("1-broken.png", b"data")
        elif request_ == "remove":
            await store.remove("1-broken.png")
        else:
            assert await kept(store, "1-broken.png") == b"data"
    assert line.refused == 1


@pytest.mark.parametrize("request_", ["put", "remove", "begin"])
async def test_a_store_whose_answer_breaks_off_is_unavailable(store, line, request_: str) -> None:
    line.cut()
    line.answer, line.refusals, line.missing = ("200 OK", ""), 1, 100
    requests = {"put": lambda: store.put("1-cut.png", b"x"), "begin": lambda: store.begin("1-cut.png", 1)}
    with trio.fail_after(PATIENCE), pytest.raises(Unavailable, match="can't be reached"):
        await requests.get(request_, lambda: store.remove("1-cut.png"))()


async def test_a_store_that_goes_on_saying_503_is_unavailable(store, line) -> None:
    line.cut()
    line.refusals = 1000
    with trio.fail_after(PATIENCE), pytest.raises(Unavailable, match="does not work"):
        await store.put("1-no.png", b"data")
    with trio.fail_after(PATIENCE), pytest.raises(Unavailable, match="does not work"):
        await store.read("1-no.png")


async def test_the_log_tells_once_that_the_store_fails_and_once_that_it_works_again(
    store, line, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    line.cut()
    line.refusals = 1000
    for _ in range(2):
        with pytest.raises(Unavailable):
            await store.read("1-told.png")
    line.refusals = 0
    for _ in range(2):
        await store.read("1-told.png")
    told = [record.getMessage() for record in caplog.records if record.name.startswith("teamchat_files")]
    assert told == ["the bucket images fails: SlowDown", "the bucket images works again"]


@pytest.mark.slow
async def test_a_silent_store_is_given_up_and_the_event_loop_goes_on(store, line) -> None:
    await store.put("1-silent.png", b"data")
    line.freeze()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.sleep(0.01)
            turns += 1

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            with pytest.raises(Unavailable, match=r"can't be reached|too slow"):
                await store.read("1-silent.png")
            with pytest.raises(Unavailable, match=r"can't be reached|too slow"):
                await store.put("1-silent.png", b"data")
            nursery.cancel_scope.cancel()
    assert turns > 20
    line.thaw()
    assert await kept(store, "1-silent.png") == b"data"


async def test_who_reads_can_stop_at_once_though_the_store_is_silent(store, line) -> None:
    await store.put("1-stop.png", b"data")
    line.freeze()
    began = trio.current_time()
    with trio.move_on_after(0.1) as waiting:
        await store.read("1-stop.png")
    assert waiting.cancelled_caught
    assert trio.current_time() - began < 1


async def test_a_write_that_has_begun_is_waited_for_by_who_is_cancelled(store, line, shared) -> None:
    line.freeze()
    line.passed = trio.Event()
    ended: list[bool] = []

    async def write(scope: trio.CancelScope) -> None:
        with scope:
            await store.put("1-waited.png", b"data")
            ended.append(True)

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(write, scope)
            await line.passed.wait()
            scope.cancel()
            await trio.testing.wait_all_tasks_blocked()
            line.thaw()
    assert "1-waited.png" in shared.objects()


@pytest.mark.slow
async def test_a_slow_reader_keeps_what_it_began_to_read(store) -> None:
    """The store's deadline is for its silence, not for a client that takes its time."""
    data = os.urandom(40 * MEGABYTE)
    await store.put("1-slow.png", data)
    chunks = await store.read("1-slow.png")
    assert chunks is not None
    read = bytearray()
    pauses = [10 * MEGABYTE, 20 * MEGABYTE, 30 * MEGABYTE]
    async for chunk in chunks:
        read += chunk
        if pauses and len(read) > pauses[0]:
            del pauses[0]
            await trio.sleep(1.3)  # longer than files-s3.readSeconds here, and in all than the time for tries
    assert bytes(read) == data


async def test_a_line_that_breaks_in_the_middle_of_a_file_is_mended(store, line) -> None:
    data = os.urandom(40 * MEGABYTE)
    await store.put("1-mended.png", data)
    chunks = await store.read("1-mended.png")
    assert chunks is not None
    read = bytearray(await anext(chunks))
    line.cut()
    with trio.fail_after(PATIENCE):
        async for chunk in chunks:
            read += chunk
    assert bytes(read) == data


async def _read_on(chunks: AsyncIterator[bytes], read: bytearray) -> None:
    async for chunk in chunks:
        read += chunk


@pytest.mark.slow
async def test_a_store_killed_in_the_middle_of_a_file_is_told(own, options) -> None:
    data = os.urandom(40 * MEGABYTE)
    async with open_s3(options(own, write_seconds=20)) as store:
        await store.put("1-cut.png", data)
        chunks = await store.read("1-cut.png")
        assert chunks is not None
        read = bytearray(await anext(chunks))
        own.kill()
        with trio.fail_after(PATIENCE), pytest.raises(Unavailable):
            await _read_on(chunks, read)
        assert data.startswith(bytes(read))
        assert len(read) < len(data)
        own.start()
        assert await kept(store, "1-cut.png") == data


@pytest.mark.slow
async def test_a_store_killed_in_the_middle_of_an_upload_keeps_no_half_and_the_next_try_is_taken(
    own, options
) -> None:
    data = os.urandom(40 * MEGABYTE)
    async with open_s3(options(own)) as store:
        async with trio.open_nursery() as nursery:

            async def upload() -> None:
                with pytest.raises(Unavailable):
                    await store.put("1-half.png", data)

            nursery.start_soon(upload)
            with trio.fail_after(PATIENCE):
                while not own.is_writing():  # noqa: ASYNC110 - another process writes
                    await trio.sleep(0.001)
            own.kill()
        own.start()
        assert await kept(store, "1-half.png") in {None, data}
        await store.put("1-half.png", data)
        assert await kept(store, "1-half.png") == data


async def test_a_bucket_that_vanishes_is_not_taken_for_missing_files(store, line) -> None:
    line.cut()
    line.answer, line.refusals = ("404 Not Found", "NoSuchBucket"), 1000
    with pytest.raises(Unavailable, match="lost its bucket"):
        await store.read("1-any.png")
    with pytest.raises(Unavailable, match="lost its bucket"):
        await store.remove("1-any.png")


async def test_a_right_that_was_taken_away_is_told_and_names_nothing(store, line) -> None:
    line.cut()
    line.answer, line.refusals = ("403 Forbidden", "AccessDenied"), 1000
    with pytest.raises(Unavailable, match="does not let this server in"):
        await store.read("1-any.png")


async def test_no_secret_shows_in_what_may_be_logged(shared, options, line) -> None:
    given = options(shared, endpoint=line.endpoint)
    assert SECRET not in repr(given)
    async with open_s3(given) as store:
        assert SECRET not in repr(vars(store))
        line.cut()
        line.refusals = 1000
        with pytest.raises(Unavailable) as caught:
            await store.put("1-key.png", b"data")
    assert "1-key" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


async def test_objects_stand_under_the_prefix_and_the_trial_of_the_start_is_removed(own, options) -> None:
    async with open_s3(options(own, prefix="chat/images")) as store:
        assert own.objects() == []
        await store.put("1-a.png", b"data")
    assert own.objects() == ["chat/images/1-a.png"]


@pytest.mark.parametrize("key", ["", ".", "..", "../x", "a/b", ".hidden", "a\0", "ä", "x" * 201, "a\n"])
async def test_a_key_never_leads_out_of_the_prefix(store, key: str) -> None:
    for request in (lambda: store.put(key, b"x"), lambda: store.read(key), lambda: store.remove(key)):
        with pytest.raises(ValueError, match="A key has"):
            await request()
