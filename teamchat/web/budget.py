"""A budget of bytes in memory for clients: in total, for one user, and for one network (decision D-44).

Nobody has a fixed share. A user may hold a quarter of what is then left, and a network as much as is left. So
a user alone gets a fifth of the whole, a network alone gets half, and whoever comes next gets a part of the
rest, which none of them can take completely. The oldest request of each may hold more, so that whatever is
allowed at all can be sent or received, as long as an eighth of the whole stays free.

Bytes that several requests hold, such as a cached page, count once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import trio

from teamchat.errors import Unavailable

WAIT_SECONDS = 30.0
"""How long a request waits for room before it is answered 503."""
RETRY_SECONDS = 5
TOO_MUCH = "The server has too much to send or to take in at once. Try again later."
USER = "teamchat.user"
"""Where the scope of a request holds the id of its caller, once that is known."""
_USER_PART, _NETWORK_PART = 0.25, 1.0
_KEPT_FREE = 8  # one part in so many


class Owner(NamedTuple):
    """For whom bytes are held; None has no share of its own (nobody signed in, or who speaks for many)."""

    user: str | None
    network: str | None


class _Pool:
    """What is held in all, for one user, or for one network."""

    __slots__ = ("data", "held", "holds", "part")

    def __init__(self, part: float) -> None:
        self.part = part
        self.held = 0
        self.holds: dict[Hold, None] = {}  # the oldest first
        self.data: dict[int, int] = {}  # how many hold the same bytes, by their identity

    def cost(self, size: int, data: bytes | None) -> int:
        return size if data is None or id(data) in self.data else size + len(data)

    def add(self, hold: Hold, size: int, data: bytes | None) -> None:
        self.held += self.cost(size, data)
        self.holds[hold] = None
        if data is not None:
            self.data[id(data)] = self.data.get(id(data), 0) + 1

    def remove(self, hold: Hold) -> None:
        del self.holds[hold]
        self.held -= hold.size
        if (data := hold.data) is not None:
            self.data[id(data)] -= 1
            if not self.data[id(data)]:
                del self.data[id(data)]
                self.held -= len(data)

    def allows(self, hold: Hold, cost: int, free: int, kept_free: int) -> bool:
        """Whether it may take so much, where so much is free after that."""
        if self.held + cost <= self.part * free:
            return True
        return free >= kept_free and next(iter(self.holds), hold) is hold


class Hold:
    """What one request holds: `size` bytes of its own, and `data`, which others may hold too."""

    __slots__ = ("_budget", "_pools", "data", "owner", "size")

    def __init__(self, budget: Budget, owner: Owner) -> None:
        self._budget = budget
        self._pools: Sequence[_Pool] = ()
        self.owner = owner
        self.size = 0
        self.data: bytes | None = None

    def take(self, size: int, data: bytes | None = None, *, by_force: bool = False) -> bool:
        """Take room for so many bytes more, and once for `data`; False if there is none.

        By force there always is: a committed write must be answered, whatever that takes.
        """
        pools = self._pools or self._budget.pools_of(self.owner)
        if not by_force and not self._budget.allows(self, pools, size, data):
            return False
        for pool in pools:
            pool.add(self, size, data)
        if not self._pools:
            self._pools = pools
            self._budget.keep(self.owner, pools)
        self.size += size
        self.data = self.data if data is None else data
        return True

    def change(self, size: int, data: bytes) -> bool:
        """Hold this instead of what was held; False if there is no room, and then nothing is held."""
        self._let_go()
        was_taken = self.take(size, data)
        self._budget.given_back(self.owner)
        return was_taken

    async def wait(self, line: Hashable, size: int) -> None:
        """Wait for room for so many bytes more, behind those of the same line, and take it.

        Raises `Unavailable` after 30 s.
        """
        await self._budget.wait(self, line, size)

    def release(self) -> None:
        """Give everything back."""
        self._let_go()
        self._budget.given_back(self.owner)

    def _let_go(self) -> None:
        for pool in self._pools:
            pool.remove(self)
        self._pools = ()
        self.size, self.data = 0, None


class _Waiter(NamedTuple):
    hold: Hold
    size: int
    granted: trio.Event


class Budget:
    """So many bytes for all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._all = _Pool(1.0)
        self._users: dict[str, _Pool] = {}
        self._networks: dict[str, _Pool] = {}
        self.lines: dict[Hashable, deque[_Waiter]] = {}
        """Who waits, each line in its order."""

    @property
    def held(self) -> int:
        """How many bytes are held."""
        return self._all.held

    def pools_of(self, owner: Owner) -> Sequence[_Pool]:
        """Return where an owner's bytes count: among all, and where they have a share."""
        pools = [self._all]
        if owner.user is not None:
            pools.append(self._users.get(owner.user) or _Pool(_USER_PART))
        if owner.network is not None:
            pools.append(self._networks.get(owner.network) or _Pool(_NETWORK_PART))
        return pools

    def keep(self, owner: Owner, pools: Sequence[_Pool]) -> None:
        """Keep an owner's pools, which hold something now."""
        if owner.user is not None:
            self._users[owner.user] = pools[1]
        if owner.network is not None:
            self._networks[owner.network] = pools[-1]

    def allows(self, hold: Hold, pools: Sequence[_Pool], size: int, data: bytes | None) -> bool:
        """Whether there is room. What is alone on the server always finds it."""
        if len(self._all.holds) == (hold in self._all.holds):
            return True
        free = self.most - self._all.held - self._all.cost(size, data)
        kept_free = self.most // _KEPT_FREE
        return free >= 0 and all(
            pool.allows(hold, pool.cost(size, data), free, kept_free) for pool in pools[1:]
        )

    async def wait(self, hold: Hold, line: Hashable, size: int) -> None:
        """See `Hold.wait`."""
        waiter = _Waiter(hold, size, trio.Event())
        self.lines.setdefault(line, deque()).append(waiter)
        try:
            self._serve()
            with trio.move_on_after(WAIT_SECONDS):
                await waiter.granted.wait()
                return
        finally:
            if not waiter.granted.is_set():
                self.lines[line].remove(waiter)
                self.given_back(hold.owner)
        raise Unavailable(TOO_MUCH, retry_after=RETRY_SECONDS)

    def given_back(self, owner: Owner) -> None:
        """Forget an owner who holds nothing, and let those in who find room now."""
        if self.lines:
            self._serve()
        for pools, name in ((self._users, owner.user), (self._networks, owner.network)):
            if name is not None and name in pools and not pools[name].holds:
                del pools[name]

    def _serve(self) -> None:
        # Somebody may wait in a thousand lines; who finds no room in one is not asked again for each.
        without_room: set[Owner] = set()
        for line, row in tuple(self.lines.items()):
            while row and row[0].hold.owner not in without_room:
                if not row[0].hold.take(row[0].size):
                    without_room.add(row[0].hold.owner)
                    break
                row.popleft().granted.set()
            if not row:
                del self.lines[line]
