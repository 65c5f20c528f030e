from __future__ import annotations

import base64
import threading

import apsw
import pytest
import trio
import trio.testing

from teamchat.chat import Draft, image_formats, images_table
from teamchat.chat.images import StoredImage
from teamchat.errors import BadRequest, StorageError, Unavailable
from teamchat.model.pages import Page
from tests.storages import sqlite_only

PNG_HEADER = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
)
PNG = PNG_HEADER + b"the image"
SMALL = PNG_HEADER + b"thumb"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
DAY_MS = 86_400_000


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def bytes_of(stored: StoredImage) -> bytes:
    return b"".join([chunk async for chunk in stored.chunks])


@pytest.fixture
async def filename(world, ada, channel) -> str:
    """An image of the channel, with a thumbnail."""
    return await world.chat.images.upload_to_channel(ada, channel, "Cat.PNG", encoded(PNG), encoded(SMALL))


async def age(world, by_ms: int) -> None:
    await world.run("update images set created_at = created_at - $1", by_ms)


async def test_an_uploaded_image_is_served_as_it_was(world, bob, channel, filename) -> None:
    stored = await world.chat.images.open_in_channel(bob, channel, filename, thumbnail=False)
    assert (stored.media_type, stored.size, stored.filename) == ("image/png", len(PNG), filename)
    assert await bytes_of(stored) == PNG


async def test_the_generated_filename_has_the_specified_shape(filename) -> None:
    assert images_table._SHAPE.match(filename)
    assert filename.endswith(".png")


async def test_d31_a_thumbnail_is_served_and_without_one_the_image(world, ada, channel, filename) -> None:
    thumb = await world.chat.images.open_in_channel(ada, channel, filename, thumbnail=True)
    assert (await bytes_of(thumb), thumb.size) == (SMALL, len(SMALL))
    assert thumb.filename != filename
    plain = await world.chat.images.upload_to_channel(ada, channel, "a.svg", encoded(SVG), None)
    whole = await world.chat.images.open_in_channel(ada, channel, plain, thumbnail=True)
    assert (whole.media_type, await bytes_of(whole)) == ("image/svg+xml", SVG)


@pytest.mark.parametrize(
    ("name", "image", "thumbnail"),
    [
        ("a.gif", encoded(PNG), None),
        ("a.jpg", encoded(PNG), None),
        ("a.png", "no base64!", None),
        ("a.png", encoded(PNG), encoded(SVG)),
        ("a.png", encoded(PNG), ""),
        ("a.png", "", None),
    ],
)
async def test_d30_what_is_no_image_is_refused_and_leaves_nothing(
    world, ada, channel, refused, name, image, thumbnail
) -> None:
    async with refused(400):
        await world.chat.images.upload_to_channel(ada, channel, name, image, thumbnail)
    assert world.images.kept == {}
    assert await world.count("images") == 0


async def test_d30_a_large_image_is_examined_in_a_thread(world, ada, channel) -> None:
    large = PNG_HEADER + bytes(image_formats.MAX_BYTES - len(PNG_HEADER))
    name = await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(large), None)
    assert world.images.kept[name] == large


async def test_d03_the_place_is_checked_before_the_body(world, ada, eve, direct, refused) -> None:
    for place in ("0" * 32, "no id", "\ud800", direct):
        async with refused(404):
            await world.chat.images.upload_to_channel(ada, place, "a.gif", "!", None)
    async with refused(403):
        await world.chat.images.upload_to_conversation(eve, direct, "a.gif", "!", None)
    async with refused(404):
        await world.chat.images.upload_to_conversation(eve, "dm:" + "0" * 32, "a.gif", "!", None)


async def test_d03_an_image_of_a_conversation_is_for_its_participants(
    world, ada, bob, eve, channel, direct, refused
) -> None:
    name = await world.chat.images.upload_to_conversation(ada, direct, "a.png", encoded(PNG), None)
    stored = await world.chat.images.open_in_conversation(bob, direct, name, thumbnail=False)
    assert await bytes_of(stored) == PNG
    async with refused(403):
        await world.chat.images.open_in_conversation(eve, direct, name, thumbnail=False)
    for place in (channel, direct):
        async with refused(404):
            await world.chat.images.open_in_channel(ada, place, name, thumbnail=False)


@pytest.mark.parametrize("name", ["", "../teamchat.db", "thumb-1-a.png", "\ud800", "1-" + "0" * 32 + ".png"])
async def test_an_unknown_filename_is_not_found(world, ada, channel, refused, name) -> None:
    async with refused(404):
        await world.chat.images.open_in_channel(ada, channel, name, thumbnail=False)


async def test_an_image_for_a_thread_belongs_to_the_channel_of_its_parent(
    world, ada, bob, eve, channel, direct, refused
) -> None:
    parent = await world.chat.messages.post(ada, channel, Draft("parent"))
    name = await world.chat.images.upload_to_thread(bob, parent.id, "a.png", encoded(PNG), None)
    await world.chat.images.open_in_channel(ada, channel, name, thumbnail=False)
    reply = (await world.chat.threads.reply(bob, parent.id, Draft("", [name]))).reply
    assert reply.images == [name]
    private = await world.chat.conversations.post(ada, direct, Draft("psst"))
    for caller, message_id, status in [
        (ada, reply.id, 400),
        (ada, private.id, 400),
        (eve, private.id, 404),
        (ada, "0" * 32, 404),
    ]:
        async with refused(status):
            await world.chat.images.check_thread(caller, message_id)


async def test_d25_a_message_carries_images_in_the_order_given(world, ada, channel) -> None:
    names = [await world.image(channel) for _ in range(10)][::-1]
    message = await world.chat.messages.post(ada, channel, Draft("", names))
    [read] = (await world.chat.messages.page(ada, channel, Page(50))).messages
    assert message.images == read.images == names


async def test_d25_more_than_ten_images_or_one_of_elsewhere_is_refused(
    world, ada, channel, direct, refused
) -> None:
    own, elsewhere = await world.image(channel), await world.image(direct)
    for names in ([own] * 11, [elsewhere], [own, "../x.png"], ["\ud800"]):
        async with refused(400):
            await world.chat.messages.post(ada, channel, Draft("text", names))
    assert await world.count("messages") == 0


async def test_d25_images_of_a_deleted_message_are_gone_at_once(
    world, ada, channel, filename, refused
) -> None:
    message = await world.chat.messages.post(ada, channel, Draft("", [filename]))
    await world.chat.messages.delete(ada, message.id)
    async with refused(404):
        await world.chat.images.open_in_channel(ada, channel, filename, thumbnail=False)
    await world.chat.images.remove_doomed()
    assert world.images.kept == {}
    assert await world.count("doomed_images") == 0


async def test_an_image_stays_while_another_message_has_it(world, ada, channel, filename) -> None:
    first = await world.chat.messages.post(ada, channel, Draft("", [filename]))
    await world.chat.messages.post(ada, channel, Draft("", [filename]))
    await world.chat.messages.delete(ada, first.id)
    await world.chat.images.remove_doomed()
    await world.chat.images.open_in_channel(ada, channel, filename, thumbnail=True)


async def test_images_of_a_deleted_channel_are_removed_with_their_thumbnails(
    world, ada, channel, filename
) -> None:
    await world.chat.messages.post(ada, channel, Draft("", [filename]))
    await world.chat.channels.delete(ada, channel)
    assert await world.count("doomed_images") == 2
    await world.chat.images.remove_doomed()
    assert world.images.kept == {}


async def test_d25_an_unused_image_is_swept_after_a_day_and_not_before(world, ada, channel, filename) -> None:
    await age(world, DAY_MS - 60_000)
    await world.chat.images.sweep()
    assert len(world.images.kept) == 2
    await age(world, 60_001)
    await world.chat.images.sweep()
    assert world.images.kept == {}
    assert await world.count("images") == 0


async def test_an_image_dropped_by_an_edit_is_swept_and_one_in_use_is_not(
    world, ada, channel, filename
) -> None:
    message = await world.chat.messages.post(ada, channel, Draft("text", [filename]))
    await age(world, 2 * DAY_MS)
    await world.chat.images.sweep()
    assert len(world.images.kept) == 2
    await world.chat.messages.edit(ada, message.id, Draft("text", []))
    await world.chat.images.sweep()
    assert world.images.kept == {}


async def test_what_the_store_can_not_remove_is_tried_again(
    world, ada, channel, filename, monkeypatch, caplog
) -> None:
    await world.chat.channels.delete(ada, channel)

    async def fail(key: str) -> None:
        raise OSError("disk")

    with monkeypatch.context() as patched:
        patched.setattr(world.images, "delete", fail)
        await world.chat.images.remove_doomed()
    assert await world.count("doomed_images") == 2
    await world.chat.images.remove_doomed()
    assert await world.count("doomed_images") == 0
    assert world.images.kept == {}


async def test_a_channel_deleted_during_an_upload_leaves_no_bytes(
    world, ada, channel, refused, monkeypatch
) -> None:
    put = world.images.put

    async def put_and_delete_the_channel(key: str, data: bytes) -> None:
        await put(key, data)
        await world.chat.channels.delete(ada, channel)

    monkeypatch.setattr(world.images, "put", put_and_delete_the_channel)
    async with refused(404):
        await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(PNG), None)
    assert world.images.kept == {}


async def test_an_upload_cancelled_before_its_row_leaves_no_bytes(world, ada, channel, monkeypatch) -> None:
    put, scope = world.images.put, trio.CancelScope()

    async def put_and_cancel(key: str, data: bytes) -> None:
        await put(key, data)
        scope.cancel()

    monkeypatch.setattr(world.images, "put", put_and_cancel)
    with scope:
        await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(PNG), encoded(SMALL))
    assert scope.cancelled_caught
    assert len(world.images.kept) == 2 * await world.count("images")


@sqlite_only("it holds up a commit of SQLite")
async def test_an_upload_cancelled_during_its_commit_keeps_the_bytes_of_its_row(world, ada, channel) -> None:
    committing, go_on, scope = threading.Event(), threading.Event(), trio.CancelScope()

    def wait() -> bool:
        committing.set()
        go_on.wait(10)
        return False

    async def upload() -> None:
        with scope:
            await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(PNG), None)

    async with trio.open_nursery() as nursery:
        async with world.storage._lock:  # So both are in one batch, and the upload does not lead it.
            nursery.start_soon(world.run, "update rooms set updated_at = 1 where kind = 'channel'")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(upload)
            await trio.testing.wait_all_tasks_blocked()
            world.storage._writer.set_commit_hook(wait)
        await trio.to_thread.run_sync(committing.wait)
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked(0.01)
        go_on.set()
    world.storage._writer.set_commit_hook(None)
    assert await world.count("images") == len(world.images.kept) == 1


@sqlite_only("it makes a commit of SQLite fail")
async def test_a_failed_commit_leaves_no_bytes(world, ada, channel) -> None:
    world.storage._writer.set_commit_hook(lambda: True)
    with pytest.raises(StorageError):
        await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(PNG), None)
    world.storage._writer.set_commit_hook(None)
    assert world.images.kept == {}


@sqlite_only("it holds the write lock of SQLite")
async def test_an_upload_that_the_database_is_too_busy_for_leaves_no_bytes(
    world, ada, channel, monkeypatch
) -> None:
    monkeypatch.setattr("teamchat.storage.sqlite.storage.BUSY_SECONDS", 0.05)
    other = apsw.Connection(str(world.storage._path))
    other.execute("begin immediate")
    with pytest.raises(Unavailable):
        await world.chat.images.upload_to_channel(ada, channel, "a.png", encoded(PNG), encoded(SMALL))
    other.execute("rollback")
    other.close()
    assert world.images.kept == {}


async def test_attaching_refuses_without_touching_what_was_there(world, ada, channel, filename) -> None:
    message = await world.chat.messages.post(ada, channel, Draft("text", [filename]))
    with pytest.raises(BadRequest):
        await world.chat.messages.edit(ada, message.id, Draft("text", [filename, "no"]))
    [read] = (await world.chat.messages.page(ada, channel, Page(1))).messages
    assert read.images == [filename]
