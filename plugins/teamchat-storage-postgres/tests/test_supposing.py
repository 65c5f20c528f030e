"""Bodies that suppose what a statement returns: one round trip, and nothing kept by what is not so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import psycopg
import pytest
import trio
import trio.testing
from teamchat_storage_postgres import PostgresOptions, batch, suppositions
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Row, Statement
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres
from teamchat_storage_postgres.suppositions import WronglySupposed

from teamchat import StorageError, Transaction
from teamchat.errors import NotFound, Unauthorized
from teamchat.events import Encoded
from teamchat.storage.supposing import likely, supposing
from teamchat.testing.storage import append, save, set_value, values
from tests.postgres import Postgres

VALUE = "select value from server_settings where name = $1"
PUT = "insert into server_settings (name, value) values ($1, $2) returning value"


class Noting:
    """Writes down what a setting is, once: what it wrote before is a retry, as of a post."""

    def __init__(self, storage: PostgresStorage) -> None:
        self._storage = storage
        self.runs = 0

    async def note(self, name: str) -> str:
        return await supposing(self._storage, partial(self._body, name))

    async def _body(self, name: str, tx: Transaction) -> str:
        self.runs += 1
        [(found,)] = await likely(tx, VALUE, "room")
        if found == "closed":
            raise NotFound("It is closed.")
        await likely(tx, PUT, name, found, supposed=[(found,)])
        await set_value(tx, f"{name}/left", found)
        await tx.append(Encoded("TEST", f'"{name}"'))
        return str(found)


@contextmanager
def trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Note of each round trip how many statements went together, where a body's savepoint is among them."""
    found: list[int] = []
    run_together = Connection.run_together

    async def noted(connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
        if any(one.key.sql.startswith("savepoint") for one in statements):
            found.append(len(statements))
        return await run_together(connection, statements)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "run_together", noted)
        yield found


async def test_bodies_that_suppose_go_together_in_one_round_trip(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")  # It learns what the room is.
    with trips(monkeypatch) as found:
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(noting.note, str(number))
    assert found == [5 * 4]  # of each a savepoint, two questions, and what returns nothing
    assert noting.runs == 6
    assert {name for name in await values(storage) if "/" not in name} == {"room", "first", *"01234"}
    told = [event.payload for event in await storage.logged(0)]
    assert sorted(told) == sorted(f'"{name}"' for name in ["first", *"01234"])


async def test_what_was_supposed_wrongly_is_run_anew_and_harms_nobody_else(storage: PostgresStorage) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(noting.note, "before")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(save, storage, "room", "green")
        await trio.testing.wait_all_tasks_blocked()
        for number in range(3):
            nursery.start_soon(noting.note, str(number))
        nursery.start_soon(append, storage, '"after"')
    found = await values(storage)
    assert {name: value for name, value in found.items() if "/" not in name} == {
        "room": "green",
        "first": "open",
        "before": "open",
        **dict.fromkeys("012", "green"),
    }
    assert all(found[f"{name}/left"] == found[name] for name in ["first", "before", *"012"])
    # Who was in a batch with the first of them ran anew, and who came after it knew better.
    assert 2 + 3 < noting.runs <= 2 + 2 * 3
    told = [event.payload for event in await storage.logged(0)]
    assert sorted(told) == sorted(f'"{name}"' for name in ["first", "before", "after", *"012"])


async def test_what_was_refused_by_a_supposition_is_refused_only_if_it_is_so(
    storage: PostgresStorage,
) -> None:
    await save(storage, "room", "closed")
    noting = Noting(storage)
    with pytest.raises(NotFound):
        await noting.note("first")
    await save(storage, "room", "open")
    assert await noting.note("second") == "open"
    runs = noting.runs
    await noting.note("again")
    assert noting.runs == runs + 1, "what was supposed has been unlearned"
    await save(storage, "room", "closed")
    with pytest.raises(NotFound):
        await noting.note("third")
    assert "third" not in await values(storage)


async def test_what_another_server_has_changed_is_found(
    storage: PostgresStorage, options: PostgresOptions
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    async with open_postgres(options) as other:
        await save(other, "room", "closed")
        with pytest.raises(NotFound):
            await noting.note("second")
        await save(other, "room", "green")
        assert await noting.note("third") == "green"
    assert set(await values(storage)) == {"room", "first", "first/left", "third", "third/left"}


async def test_a_statement_that_fails_because_of_a_supposition_is_run_anew(storage: PostgresStorage) -> None:
    runs = 0

    async def body(tx: Transaction) -> int:
        nonlocal runs
        runs += 1
        [(found,)] = await likely(tx, VALUE, "divisor", supposed=[("0",)])
        await tx.fetch("update server_settings set value = value where 1 / $1 = 1", int(found))
        return int(found)

    await save(storage, "divisor", "1")
    assert await supposing(storage, body) == 1
    assert runs == 2


async def test_what_fails_though_nothing_is_supposed_any_more_is_not_run_again(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    runs = 0

    async def body(tx: Transaction) -> None:
        nonlocal runs
        runs += 1
        await likely(tx, VALUE, "missing", supposed=())
        await set_value(tx, "refused", "x")
        if asks:
            await tx.fetch("select 1")
            raise KeyError

    asks = True
    with pytest.raises(KeyError):
        await supposing(storage, body)
    assert runs == 1
    asks = False
    server.run(
        """create function at_commit() returns trigger language plpgsql as
        $$ begin raise exception 'no'; return null; end $$;
        create constraint trigger at_commit after insert on server_settings
          deferrable initially deferred for each row execute function at_commit()""",
        database,
    )
    with pytest.raises(StorageError):
        await supposing(storage, body)
    assert runs == 2
    assert await values(storage) == {}


async def test_a_connection_lost_while_all_is_supposed_costs_nobody_a_post(
    server: Postgres, database: str, storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    run_together, is_cut = Connection.run_together, False

    async def cut_off(connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
        nonlocal is_cut
        if not is_cut and any(one.key.sql == PUT for one in statements):
            is_cut = True
            backends = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            server.run(f"select pg_terminate_backend(pid, 5000) {backends}", database)
        return await run_together(connection, statements)

    monkeypatch.setattr(Connection, "run_together", cut_off)
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(noting.note, str(number))
    assert is_cut
    assert noting.runs == 1 + 2 * 5
    told = [event.payload for event in await storage.logged(0)]
    assert sorted(told) == sorted(f'"{name}"' for name in ["first", *"01234"])


@pytest.mark.parametrize("refusal", ["supposed", "asked ahead"])
async def test_a_body_that_goes_on_after_it_was_wrong_is_not_kept(
    storage: PostgresStorage, refusal: str
) -> None:
    runs = 0

    async def refuse(_: list[Row]) -> None:
        raise KeyError

    async def body(tx: Any) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            await likely(tx, VALUE, "room", supposed=[("closed",) if refusal == "supposed" else ("open",)])
        if refusal == "asked ahead":
            tx.ask_ahead(refuse, "select 1")
        with suppress(KeyError, StorageError):
            await tx.fetch("select 2")
        with suppress(StorageError):
            await set_value(tx, "wrong" if runs == 1 else "right", "x")
        await tx.append(Encoded("TEST", str(runs)))

    await save(storage, "room", "open")
    if refusal == "supposed":
        await supposing(storage, body)
    else:
        with pytest.raises(StorageError, match="went on"):
            await supposing(storage, body)
    assert runs == 2
    assert set(await values(storage)) == ({"room", "right"} if refusal == "supposed" else {"room"})
    assert [event.payload for event in await storage.logged(0)] == (["2"] if refusal == "supposed" else [])


@pytest.mark.parametrize("asks_again", [False, True])
@pytest.mark.parametrize("fails_behind", [False, True])
async def test_who_may_not_write_any_more_is_refused_with_what_was_left(
    storage: PostgresStorage, fails_behind: bool, asks_again: bool
) -> None:
    runs = 0

    async def body(name: str, tx: Any) -> None:
        nonlocal runs
        runs += 1

        async def check(rows: list[Row]) -> None:
            if asks_again:
                rows = await tx.fetch("select value from server_settings where name = $1", name)
            if rows != [("valid",)]:
                raise Unauthorized

        tx.ask_ahead(check, VALUE, name)
        await likely(tx, VALUE, "room", supposed=[("open",)])
        await set_value(tx, f"{name}/wrote", "x")
        await tx.append(Encoded("TEST", f'"{name}"'))

    async def writing(name: str, *, is_refused: bool) -> None:
        with pytest.raises(Unauthorized) if is_refused else nullcontext():
            await supposing(storage, partial(body, name))

    async def failing() -> None:
        with pytest.raises(StorageError):
            async with storage.write() as tx:
                await tx.fetch("select 1 / 0")

    await save(storage, "room", "open")
    await save(storage, "ada", "valid")
    await save(storage, "eve", "valid")
    async with trio.open_nursery() as nursery, storage.write() as tx:
        await tx.fetch("update server_settings set value = 'ended' where name = 'eve'")
        for name in ("ada", "eve", "ada"):
            nursery.start_soon(partial(writing, name, is_refused=name == "eve"))
            await trio.testing.wait_all_tasks_blocked()  # They wait for their turns, in this order.
        if fails_behind:
            nursery.start_soon(failing)
            await trio.testing.wait_all_tasks_blocked()
    assert "ada/wrote" in await values(storage)
    assert "eve/wrote" not in await values(storage)
    assert [event.payload for event in await storage.logged(0)] == ['"ada"'] * 2
    assert runs > 3  # She was asked again, without supposing.


async def test_a_check_that_writes_is_refused(storage: PostgresStorage) -> None:
    async def body(tx: Any) -> None:
        async def check(_: list[Row]) -> None:
            await set_value(tx, "checked", "x")

        tx.ask_ahead(check, "select 1")
        await likely(tx, VALUE, "room", supposed=())
        await set_value(tx, "wrote", "x")

    with pytest.raises(StorageError, match="only read"):
        await supposing(storage, body)
    assert await values(storage) == {}


async def test_who_goes_on_after_a_value_that_can_not_be_sent_is_not_kept(storage: PostgresStorage) -> None:
    with pytest.raises(StorageError, match="went on"):  # noqa: PT012
        async with storage.write() as tx:
            await set_value(tx, "kept", "x")
            with suppress(StorageError):
                await set_value(tx, "refused", "a NUL \0 in it")
    assert await values(storage) == {}


async def test_many_that_suppose_the_same_wrongly_are_found_at_once(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    with trips(monkeypatch) as found:
        async with trio.open_nursery() as nursery, storage.write() as tx:
            await tx.fetch("update server_settings set value = 'green' where name = 'room'")
            for number in range(20):
                nursery.start_soon(noting.note, str(number))
            await (
                trio.testing.wait_all_tasks_blocked()
            )  # All wait for their turn, so that one batch has them.
    assert noting.runs == 1 + 2 * 20
    assert len(found) <= 3 + 20  # once together, and then each by itself
    assert sum(found) <= 200


async def test_who_leaves_much_while_the_connection_is_lost_is_told_as_always(
    server: Postgres, database: str, storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_BYTES_LEFT", 100)

    async def much() -> None:
        with pytest.raises(DatabaseUnavailable):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "much", "x" * 200)
                backends = "from pg_stat_activity where datname = current_database() and state <> 'idle'"
                server.run(
                    f"select pg_terminate_backend(pid, 5000) {backends} and pid <> pg_backend_pid()", database
                )

    async def leading() -> None:
        with pytest.raises(DatabaseUnavailable):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "leading", "x")
                nursery.start_soon(much)
                await trio.testing.wait_all_tasks_blocked()  # It waits for its turn.

    await much()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leading)
    await save(storage, "after", "x")
    assert set(await values(storage)) == {"after"}


async def test_nothing_is_kept_of_a_batch_in_which_a_body_can_not_be_taken_back(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    command = Connection.command

    async def failing(connection: Connection, sql: str) -> None:
        if sql.startswith("rollback to"):
            raise psycopg.errors.OutOfMemory
        await command(connection, sql)

    refused: list[str] = []

    async def asking(name: str) -> None:
        try:
            async with storage.write() as tx:
                await set_value(tx, name, "x")
                await tx.fetch("select 1")
        except StorageError:
            refused.append(name)

    async with storage.write() as tx:
        await tx.fetch("update server_settings set value = 'green' where name = 'room'")

    async def leading() -> None:
        with pytest.raises(DatabaseUnavailable):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "leading", "x")
                nursery.start_soon(noting.note, "second")
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(asking, "third")
                await trio.testing.wait_all_tasks_blocked()
                monkeypatch.setattr(Connection, "command", failing)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leading)
    monkeypatch.undo()
    found = await values(storage)
    assert refused == ["third"]
    assert not {"third", "leading"} & found.keys()
    assert found["second"] == "green"  # It was run anew.
    told = [event.payload for event in await storage.logged(0)]
    assert told == ['"first"', '"second"']


async def test_who_supposes_without_being_run_anew_is_refused(storage: PostgresStorage) -> None:
    with pytest.raises(WronglySupposed):  # noqa: PT012
        async with storage.write() as tx:
            tx.begin_supposing()
            assert await likely(tx, VALUE, "room", supposed=[("open",)]) == [("open",)]
            await set_value(tx, "kept", "x")
    assert await values(storage) == {}


def test_only_so_many_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppositions, "MOST_KEPT", 2)
    answers = suppositions.LastAnswers()
    for number in range(3):
        answers.keep("select", (number,), [(number,)])
        assert answers.to("select", (0,)) == [(0,)]  # and so it was used last
    assert answers.to("select", (1,)) is None
    assert answers.to("select", (2,)) == [(2,)]


async def test_a_cancellation_at_any_wait_leaves_all_or_nothing(
    server: Postgres, database: str, storage: PostgresStorage, cut
) -> None:
    await save(storage, "room", "open")
    noting = Noting(storage)
    await noting.note("first")
    names = iter(range(1000))

    class Work:
        def __init__(self) -> None:
            self.name = f"cut {next(names)}"

        async def __aenter__(self) -> None:
            async with trio.open_nursery() as nursery:
                with trio.CancelScope(shield=True):
                    nursery.start_soon(self._shielded, f"{self.name} before")
                    await trio.lowlevel.checkpoint()
                nursery.start_soon(self._shielded, f"{self.name} after")
                await noting.note(self.name)

        async def __aexit__(self, *_: object) -> None:
            pass

        async def _shielded(self, name: str) -> None:
            with trio.CancelScope(shield=True):
                await noting.note(name)

    waits = await cut.count(Work)
    for number in range(2 * waits):
        await cut.at(number, Work)
    there, logged = await values(storage), {event.payload for event in await storage.logged(0)}
    for name in [f"cut {number}" for number in range(next(names))]:
        assert (name in there) == (f"{name}/left" in there) == (f'"{name}"' in logged)
        assert f"{name} before" in there
        assert f"{name} after" in there
