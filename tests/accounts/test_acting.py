"""A storage that asks for the caller again, and who counts as acting for one (decision D-39)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.accounts.acting import AskingStorage, acting_for, acting_for_each, acting_user
from teamchat.chat.images import Images
from teamchat.errors import Forbidden, Unauthorized
from teamchat.interfaces import Storage
from teamchat.model import Caller
from teamchat.model.ids import new_id
from teamchat.testing import StorageContract
from tests.accounts.conftest import World
from tests.pictures import PNG
from tests.storages import open_storage

ONE = "insert into server_settings (name, value) values ($1, 'x')"


class TestAskingStorage(StorageContract):
    @asynccontextmanager
    async def open_storage(self, tmp_path: Path) -> Any:  # type: ignore[override]
        async with open_storage(tmp_path) as opened:
            yield AskingStorage(opened)


@pytest.fixture
def storage(world: World) -> Storage:
    world.storage = AskingStorage(world.storage, world.clock)
    return world.storage


async def a_caller_whose_session_ended(world: World) -> Caller:
    accounts = world.accounts(max_active_sessions=50)
    caller = await world.admin(accounts)
    await accounts.sessions.end(caller, caller.session_id)
    return caller


async def write(storage: Storage, name: str) -> None:
    async with storage.write() as tx:
        await tx.fetch(ONE, name)


async def names(world: World) -> list[str]:
    rows = await world.fetch("select name from server_settings where value = 'x' order by name")
    return [name for (name,) in rows]


async def test_who_acts_for_nobody_or_for_the_server_is_asked_nothing(storage: Storage, world: World) -> None:
    caller = await a_caller_whose_session_ended(world)
    await write(storage, "before")
    with acting_for(caller), acting_for(None):
        await write(storage, "within")
    await write(storage, "after")
    assert await names(world) == ["after", "before", "within"]


async def test_a_task_below_acts_for_the_same(storage: Storage, world: World) -> None:
    caller = await a_caller_whose_session_ended(world)
    with pytest.raises(ExceptionGroup) as caught, acting_for(caller):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, storage, "below")
    assert caught.group_contains(Unauthorized)
    assert await names(world) == []


async def test_what_is_started_in_the_nursery_of_a_service_acts_for_the_service(
    storage: Storage, world: World
) -> None:
    caller = await a_caller_whose_session_ended(world)

    async def serve(task_status: trio.TaskStatus[trio.Nursery] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as own:
            task_status.started(own)
            await over.wait()

    async def ask(service: trio.Nursery) -> None:
        with acting_for(caller):
            service.start_soon(write, storage, "of the service")
            with pytest.raises(Unauthorized):
                await write(storage, "of the caller")
        over.set()

    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, await nursery.start(serve))
    assert await names(world) == ["of the service"]


async def test_a_role_that_was_taken_away_is_forbidden_and_one_that_was_given_is_not(
    storage: Storage, world: World
) -> None:
    accounts = world.accounts(max_active_sessions=50)
    admin = await world.admin(accounts)
    await accounts.users.add(admin, "bob@example.org", "admin")
    bob, _ = await world.sign_in(accounts, "bob@example.org")
    for is_admin in (False, True):
        was, _ = await world.sign_in(accounts, "bob@example.org")
        async with storage.write() as tx:
            await accounts.users.set_role_in(tx, bob.user, is_admin=is_admin)
        with acting_for(was):
            if is_admin:
                await write(storage, "given")
            else:
                with pytest.raises(Forbidden):
                    await write(storage, "taken away")
    assert await names(world) == ["given"]


async def test_of_several_those_are_refused_who_are_not_any_more_who_they_were(
    storage: Storage, world: World
) -> None:
    accounts = world.accounts(max_active_sessions=50)
    admin = await world.admin(accounts)
    await accounts.users.add(admin, "bob@example.org", "admin")
    bob, _ = await world.sign_in(accounts, "bob@example.org")
    async with storage.write() as tx:
        await accounts.users.set_role_in(tx, bob.user, is_admin=False)
    ended = await a_caller_whose_session_ended(world)
    good = await world.admin(accounts)
    # More than one statement asks for.
    callers = [good, ended, bob, *[good] * 140, ended]
    with acting_for(bob), acting_for_each(callers) as refused:
        assert acting_user() is None
        async with storage.write() as tx:
            await tx.fetch("select 1")
            found = {place: type(refusal) for place, refusal in refused.items()}
            await tx.fetch(ONE, "of those who are left")
    assert found == {1: Unauthorized, 2: Forbidden, 143: Unauthorized}
    with acting_for_each([ended]) as refused:
        async with storage.write():
            pass
        assert list(refused) == [0]
    assert await names(world) == ["of those who are left"]


async def test_a_caller_is_asked_for_again_though_the_access_token_has_expired(world: World) -> None:
    accounts = world.accounts(jwt_expiry_seconds=900, refresh_token_expiry_seconds=1000)
    caller = await world.admin(accounts)
    world.clock.pass_seconds(950)
    assert await accounts.ask_again(caller) == caller, "a long upload outlives its token"
    world.clock.pass_seconds(100)
    with pytest.raises(Unauthorized):
        await accounts.ask_again(caller)


async def test_the_bytes_of_an_upload_are_removed_though_it_is_cancelled_and_its_session_over(
    storage: Storage, world: World
) -> None:
    caller = await a_caller_whose_session_ended(world)
    channel = await a_channel(storage)
    with trio.CancelScope() as scope:
        store = CancelledStore(scope)
        images = Images(storage, store)  # type: ignore[arg-type]
        with acting_for(caller):
            await images.upload_to_channel(caller, channel, "dot.png", PNG, None)
    assert scope.cancelled_caught
    assert store.kept == set()


class CancelledStore:
    """A store of images whose user is cancelled once it has stored one."""

    def __init__(self, scope: trio.CancelScope) -> None:
        self.kept: set[str] = set()
        self._scope = scope

    async def put(self, key: str, data: bytes) -> None:
        self.kept.add(key)
        self._scope.cancel()
        await trio.lowlevel.checkpoint()

    async def delete(self, key: str) -> None:
        self.kept.discard(key)


async def a_channel(storage: Storage) -> str:
    channel = new_id()
    async with storage.write() as tx:
        await tx.fetch(
            "insert into rooms (id, kind, name, name_key, created_at) values ($1, 'channel', 'c', 'c', 1)",
            channel,
        )
    return channel
