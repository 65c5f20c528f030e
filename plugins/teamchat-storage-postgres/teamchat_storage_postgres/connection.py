"""One connection to PostgreSQL, on Trio.

* A statement that is cancelled here is cancelled on the server, and what it still had to say is read, before
  the cancellation goes on.  If that does not work within two seconds the connection is closed.  So after
  every call a connection is either usable or closed, whatever happened.
* The end of a transaction that only read need not be waited for (`part`): what the server answers is read
  when the connection is used next.
* Nothing is waited for without a deadline: connecting, a statement, a cancellation each have one.  A server
  that is gone without a word is noticed by the deadline of a statement, and between statements by TCP.
* Integers go and come as integers, truth values too, as on SQLite.

It stands on parts of psycopg that are not public (`_connect_gen`, `wait`): psycopg is pinned exactly, and the
tests of this module are what a new version has to pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
import trio
from psycopg import generators, pq
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.conninfo import conninfo_attempts, conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper

from teamchat import SettingsError
from teamchat_storage_postgres import sockets
from teamchat_storage_postgres.exchange import Exchange, Row, Statement
from teamchat_storage_postgres.failures import ConnectionLost, unreachable
from teamchat_storage_postgres.options import PostgresOptions

CANCEL_SECONDS = 2.0
"""What a cancellation, or taking a transaction back, may take before the connection is given up."""

_TCP = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class Notice(NamedTuple):
    """A notification; `backend` is that of the connection which sent it."""

    channel: str
    payload: str
    backend: int


class _TruthAsNumber(Dumper):
    """The tables hold 0 and 1, for SQLite has no truth values."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class _TruthLoader(Loader):
    def load(self, data: pq.abc.Buffer) -> int:
        return int(bytes(data) == b"t")


class _WholeLoader(Loader):
    """``sum`` of 64-bit integers is a ``numeric`` for PostgreSQL."""

    def load(self, data: pq.abc.Buffer) -> int:
        return int(bytes(data))


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _TruthAsNumber)
    adapters.register_loader("bool", _TruthLoader)
    adapters.register_loader("numeric", _WholeLoader)
    return adapters


_ADAPTERS = _adapters()
# What is asked for is few rows by an index, from memory or from a disk that does not turn. Where another cost
# than PostgreSQL's own was chosen it stays.
_COST = """select set_config('random_page_cost', '1.1', false)
where current_setting('random_page_cost')::float8 = 4"""


class Connection(psycopg.AsyncConnection[Row]):
    """A connection in autocommit mode: statements begin and end transactions. Made by `connect_to`."""

    statement_seconds = 30.0

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        super().__init__(pgconn)
        self._autocommit = True
        self._adapters = _ADAPTERS
        self._exchange = Exchange(pgconn, self)
        self._has_parted = False
        self.used = trio.current_time()

    @property
    def answered(self) -> list[list[Row]]:
        """The rows of each statement that was carried out, of those that went together last."""
        return self._exchange.answered

    @property
    def is_idle(self) -> bool:
        """Whether the next statement begins a transaction: nothing is under way or open."""
        self._hear()
        return self.pgconn.transaction_status == pq.TransactionStatus.IDLE

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open in which nothing has failed."""
        return self.pgconn.transaction_status == pq.TransactionStatus.INTRANS

    @property
    def was_hung_up(self) -> bool:
        """Whether the server has closed it, as far as this machine knows.

        An idle connection has nothing to say: what can be read is the end, unless the answer to `part` is yet
        to come, which may be there by now.  Then the next statement finds out.
        """
        self._hear()
        if self.closed or self._has_parted:
            return self.closed
        return bool(sockets.ready_now(self.pgconn.socket, sockets.READABLE))

    async def run(self, sql: str, *params: Any) -> list[Row]:
        """Run a statement and return its rows.

        Raises `psycopg.Error` if the server refused it, `ConnectionLost` if there was no answer in time or
        the connection has ended.
        """
        return (await self.run_together([self.statement(sql, *params)]))[-1]

    def statement(self, sql: str, *params: Any) -> Statement:
        """Return a statement for `run_together`. Raises `psycopg.Error` if a parameter can't be sent."""
        return self._exchange.statement(sql, params)

    async def run_together(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run statements in one round trip, in order until one fails; return the rows of each.

        Raises as `run` does.  `answered` has the rows of those before it.
        """
        return await self._within_limits(self.wait(self._after_parting(self._exchange.of(statements))))

    async def command(self, sql: str) -> None:
        """As `run`, for one or more statements without parameters, of which no rows are wanted."""
        await self._within_limits(self.wait(self._after_parting(self._commanding(sql))))

    def part(self) -> None:
        """Have a transaction that only read end, and do not wait for it. Never raises."""
        with suppress(psycopg.OperationalError):
            self.pgconn.send_query(b"commit")
            self._has_parted = True
            self.pgconn.flush()

    def _after_parting(self, steps: sockets.Steps[sockets.T]) -> sockets.Steps[sockets.T]:
        if self._has_parted:
            yield from generators.execute(self.pgconn)
            self._has_parted = False
        return (yield from steps)

    def _hear(self) -> None:
        """Take the answer to `part`, if it has come."""
        with suppress(psycopg.OperationalError):
            if self._has_parted:
                self.pgconn.consume_input()
            while self._has_parted and not self.pgconn.is_busy():
                self._has_parted = self.pgconn.get_result() is not None

    def _commanding(self, sql: str) -> sockets.Steps[None]:
        self.pgconn.send_query(sql.encode())
        for result in (yield from generators.execute(self.pgconn)):
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise psycopg.errors.error_from_result(result, "utf-8")

    async def _within_limits(self, work: Awaitable[sockets.T]) -> sockets.T:
        try:
            # The server's own limit comes first, and leaves the connection usable.
            with trio.move_on_after(self.statement_seconds + CANCEL_SECONDS):
                return await work
        except psycopg.Error as error:
            # A server that shuts down says so (57P01 to 57P05) before it hangs up.
            is_ending = self.closed or (error.sqlstate or "").startswith("57P")
            if not is_ending and not self.pgconn.pipeline_status:
                raise
        await self.close()
        raise ConnectionLost

    @property
    def backend(self) -> int:
        """The number of the process that serves it, by which others know it."""
        return self.pgconn.backend_pid

    async def notified(self) -> list[Notice]:
        """Wait for notifications, and return them."""
        return [
            Notice(found.relname.decode(), found.extra.decode(), found.be_pid)
            for found in await self.wait(generators.notifies(self.pgconn))
        ]

    async def wait(self, gen: sockets.Steps[sockets.T], *_: object, **__: object) -> sockets.T:
        """What psycopg calls to wait; its other parameters are for other event loops."""
        socket = self.pgconn.socket
        try:
            return await sockets.run(gen, socket)
        except (trio.Cancelled, KeyboardInterrupt):
            if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                await self._call_off(gen, socket)
            raise

    async def _call_off(self, gen: sockets.Steps[Any], socket: int) -> None:
        with trio.move_on_after(CANCEL_SECONDS, shield=True):
            try:
                cancelling = self.pgconn.cancel_conn()
                cancelling.start()
                await sockets.run_connecting(generators.cancel(cancelling))
                await sockets.resume(gen, socket)
            except psycopg.errors.QueryCanceled:
                return
            except psycopg.Error:
                if self.closed:
                    return
            if self.pgconn.transaction_status != pq.TransactionStatus.ACTIVE:
                return
        await self.close()

    async def roll_back(self) -> None:
        """End an open transaction; if that does not work in time, close the connection. Never raises."""
        with trio.move_on_after(CANCEL_SECONDS, shield=True):
            with suppress(psycopg.Error, ConnectionLost):
                await self.command("rollback")
        if not self.is_idle:
            await self.close()

    async def close(self) -> None:
        """Close the socket. It never waits."""
        if not self._closed:
            self._closed = True
            if self.pgconn.status == pq.ConnStatus.OK:
                trio.lowlevel.notify_closing(self.pgconn.socket)
            self.pgconn.finish()


async def connect_to(options: PostgresOptions) -> Connection:
    """Connect, trying each address of the host in turn. Raises `DatabaseUnavailable` or `SettingsError`."""
    failure: psycopg.Error = psycopg.errors.ConnectionTimeout()
    for attempt in await _resolved(options):
        try:
            with trio.fail_after(options.connect_seconds):
                connection = await sockets.run_connecting(Connection._connect_gen(attempt))
                return await _prepared(connection, options)
        except psycopg.Error as error:
            failure = error
        except (ConnectionLost, trio.TooSlowError):
            failure = psycopg.errors.ConnectionTimeout()
    raise unreachable(failure) from None


async def _resolved(options: PostgresOptions) -> list[str]:
    with trio.move_on_after(options.connect_seconds):
        return await trio.to_thread.run_sync(_attempts, options.url, abandon_on_cancel=True)
    return []


def _attempts(url: str) -> list[str]:
    """Resolve the host's name, which blocks, and return one connection string for each address."""
    try:
        asked = conninfo_to_dict(url)
    except psycopg.Error:
        raise SettingsError(
            "storage.url is no PostgreSQL connection URL. Give one such as "
            "postgresql://teamchat@db.example.org/teamchat."
        ) from None
    params = _TCP | {"application_name": "teamchat"} | asked | {"client_encoding": "utf8"}
    try:
        return [make_conninfo("", **attempt) for attempt in conninfo_attempts(params)]
    except psycopg.Error as error:
        raise unreachable(error) from None


async def _prepared(connection: Connection, options: PostgresOptions) -> Connection:
    """Set what every session needs; what the server enforces holds even when this process is gone."""
    statement, acquire = (
        max(1, int(seconds * 1000)) for seconds in (options.statement_seconds, options.acquire_seconds)
    )
    connection.statement_seconds = options.statement_seconds
    try:
        # The third: a server that vanished in its turn to write holds up the others for no longer.
        await connection.command(
            f"set statement_timeout = {statement}; set lock_timeout = {acquire};"
            f"set idle_in_transaction_session_timeout = {acquire}; {_COST}"
        )
    except BaseException:
        await connection.close()
        raise
    return connection
