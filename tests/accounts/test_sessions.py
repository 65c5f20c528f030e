"""Sessions: their limit, their refresh tokens, and how they end."""

from __future__ import annotations

import pytest
import trio

from teamchat.accounts import Accounts
from teamchat.accounts.sessions import GRACE_MS
from teamchat.errors import BadRequest, NotFound, Unauthorized
from teamchat.model import Caller, SignedIn, TokenPair
from teamchat.model.ids import new_id
from teamchat.observability import metrics

from .conftest import World

BOB, EVE = "bob@example.org", "eve@example.org"


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(auth_mode="password", is_invite_required=False)


async def works(accounts: Accounts, token: str) -> bool:
    try:
        await accounts.authenticate(token)
    except Unauthorized:
        return False
    return True


async def refreshes(accounts: Accounts, token: str) -> bool:
    try:
        await accounts.sessions.refresh(token)
    except Unauthorized:
        return False
    return True


async def three(world: World, accounts: Accounts) -> list[tuple[Caller, SignedIn]]:
    signed = []
    for _ in range(3):
        signed.append(await world.sign_in(accounts, BOB))
        world.clock.pass_seconds(1)
    return signed


async def test_a_sign_in_gives_a_token_pair_that_works(world: World, accounts: Accounts) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    assert (signed_in.exp, signed_in.token_type) == (900, "Bearer")
    assert caller.user.email == BOB
    assert await refreshes(accounts, signed_in.refresh_token)


async def test_a_session_of_nobody_is_not_started(accounts: Accounts) -> None:
    with pytest.raises(Unauthorized):
        await accounts.sessions.start(new_id(), "192.0.2.1", "")


async def test_d09_name_and_role_are_read_afresh(world: World, accounts: Accounts) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    await accounts.users.rename(caller, "Robert")
    assert (await accounts.authenticate(signed_in.access_token)).user.user_name == "Robert"


async def test_d09_the_access_token_ends_but_the_session_goes_on(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    world.clock.pass_seconds(900)
    assert not await works(accounts, signed_in.access_token)
    pair = await accounts.sessions.refresh(signed_in.refresh_token)
    assert await works(accounts, pair.access_token)


async def test_a_token_of_one_users_session_is_not_another_users(world: World, accounts: Accounts) -> None:
    bob, _ = await world.sign_in(accounts, BOB)
    eve, _ = await world.sign_in(accounts, EVE)
    mixed = accounts._callers._tokens.sign(eve.user, bob.session_id, 900)
    assert not await works(accounts, mixed)


async def test_a_sign_in_beyond_the_limit_ends_the_oldest_session(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    # Used last, but signed in first: age counts from sign-in.
    first = await accounts.sessions.refresh(signed[0][1].refresh_token)
    await world.sign_in(accounts, BOB)
    assert not await works(accounts, first.access_token)
    assert not await refreshes(accounts, first.refresh_token)
    assert [await works(accounts, one.access_token) for _, one in signed] == [False, True, True]
    assert await world.events("_SESSIONS_ENDED") == [{"sessionIds": [signed[0][0].session_id]}]


async def test_other_users_do_not_count_toward_the_limit(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    await world.sign_in(accounts, EVE)
    assert all([await works(accounts, one.access_token) for _, one in signed])


async def test_twenty_sign_ins_at_once_leave_three_sessions(world: World, accounts: Accounts) -> None:
    caller, _ = await world.sign_in(accounts, BOB)
    tokens: list[SignedIn] = []

    async def sign_in() -> None:
        tokens.append(await accounts.sessions.start(caller.user.id, "192.0.2.1", ""))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(sign_in)
    assert sum([await works(accounts, one.access_token) for one in tokens]) == 3
    assert sum([await refreshes(accounts, one.refresh_token) for one in tokens]) == 3


async def test_expired_sessions_make_room_first(world: World, accounts: Accounts) -> None:
    await three(world, accounts)
    world.clock.pass_seconds(604_800)
    signed = await three(world, accounts)
    assert all([await works(accounts, one.access_token) for _, one in signed])
    assert await world.fetch("select count(*) from sessions") == [(3,)]


async def test_d11_every_refresh_gives_another_token(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    seen = {signed_in.refresh_token}
    token = signed_in.refresh_token
    for _ in range(5):
        token = (await accounts.sessions.refresh(token)).refresh_token
        seen.add(token)
    assert len(seen) == 6


async def test_d11_refresh_tokens_are_stored_hashed(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    pair = await accounts.sessions.refresh(signed_in.refresh_token)
    kept = str(await world.fetch("select * from refresh_tokens")) + str(
        await world.fetch("select * from sessions")
    )
    assert signed_in.refresh_token not in kept
    assert pair.refresh_token not in kept


async def test_d11_a_retry_within_ten_seconds_gets_a_fresh_pair(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    first = await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.now += GRACE_MS
    second = await accounts.sessions.refresh(signed_in.refresh_token)
    assert second.refresh_token != first.refresh_token
    for pair in (first, second):
        assert await works(accounts, pair.access_token)
        assert await refreshes(accounts, pair.refresh_token)


async def test_d11_a_retry_where_the_clock_is_behind_is_one(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    first = await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.now -= 2 * GRACE_MS
    await accounts.sessions.refresh(signed_in.refresh_token)
    assert await refreshes(accounts, first.refresh_token)


@pytest.mark.parametrize("later", [GRACE_MS + 1, -60_001])
async def test_d11_a_second_use_after_ten_seconds_ends_the_session(
    world: World, accounts: Accounts, later: int
) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    _, other = await world.sign_in(accounts, BOB)
    pair = await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.now += later  # The clock may be set back in between.
    assert not await refreshes(accounts, signed_in.refresh_token)
    assert not await refreshes(accounts, pair.refresh_token)
    assert not await works(accounts, pair.access_token)
    assert not await works(accounts, signed_in.access_token)
    assert await refreshes(accounts, other.refresh_token), "the user's other session is none of the thief's"
    assert await world.events("_SESSIONS_ENDED") == [{"sessionIds": [caller.session_id]}]


async def test_d11_the_grace_counts_from_the_first_use(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.pass_seconds(8)
    await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.pass_seconds(8)
    assert not await refreshes(accounts, signed_in.refresh_token)


async def test_d11_refreshes_at_once_never_sign_anybody_out(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    token = signed_in.refresh_token
    for _ in range(20):
        pairs: list[TokenPair] = []

        async def refresh(token: str = token, pairs: list[TokenPair] = pairs) -> None:
            pairs.append(await accounts.sessions.refresh(token))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(refresh)
            nursery.start_soon(refresh)
        assert all([await works(accounts, pair.access_token) for pair in pairs])
        token = pairs[0].refresh_token
    assert await world.fetch("select count(*) from sessions") == [(1,)]


async def test_d11_each_refresh_token_has_a_new_lifetime(world: World, accounts: Accounts) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    token = signed_in.refresh_token
    for _ in range(3):
        world.clock.pass_seconds(604_799)
        token = (await accounts.sessions.refresh(token)).refresh_token
    [session] = await accounts.sessions.list(caller)
    assert session.last_used_at == world.clock.now
    assert session.expires_at == world.clock.now + 604_800_000
    world.clock.pass_seconds(604_800)
    assert not await refreshes(accounts, token)


async def test_d11_no_refresh_goes_past_the_longest_session(world: World) -> None:
    accounts = world.accounts(
        is_invite_required=False, max_session_seconds=100, refresh_token_expiry_seconds=60
    )
    caller, signed_in = await world.sign_in(accounts, BOB)
    world.clock.pass_seconds(50)
    pair = await accounts.sessions.refresh(signed_in.refresh_token)
    [session] = await accounts.sessions.list(caller)
    assert session.expires_at == world.clock.now + 50_000
    world.clock.pass_seconds(49)
    pair = await accounts.sessions.refresh(pair.refresh_token)
    assert await works(accounts, pair.access_token)
    world.clock.pass_seconds(1)
    assert not await refreshes(accounts, pair.refresh_token)
    assert not await works(accounts, pair.access_token)


@pytest.mark.parametrize("token", ["", "garbage", "\ud800", "x" * 100_000])
async def test_d11_a_bad_refresh_token_is_refused(accounts: Accounts, token: str) -> None:
    with pytest.raises(Unauthorized):
        await accounts.sessions.refresh(token)


async def test_tokens_of_one_kind_are_refused_as_the_other(world: World, accounts: Accounts) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    assert not await works(accounts, signed_in.refresh_token)
    assert not await refreshes(accounts, signed_in.access_token)


async def test_d12_logout_ends_the_session_of_the_token(world: World, accounts: Accounts) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    _, other = await world.sign_in(accounts, BOB)
    await accounts.sessions.logout(caller, signed_in.refresh_token)
    assert not await works(accounts, signed_in.access_token)
    assert not await refreshes(accounts, signed_in.refresh_token)
    assert await works(accounts, other.access_token)
    assert await world.events("_SESSIONS_ENDED") == [{"sessionIds": [caller.session_id]}]


async def test_d12_logout_leaves_another_users_session_alone(world: World, accounts: Accounts) -> None:
    _, bobs = await world.sign_in(accounts, BOB)
    eve, _ = await world.sign_in(accounts, EVE)
    await accounts.sessions.logout(eve, bobs.refresh_token)
    await accounts.sessions.logout(eve, "garbage")
    assert await works(accounts, bobs.access_token)
    assert await refreshes(accounts, bobs.refresh_token)
    assert await world.events("_SESSIONS_ENDED") == []


async def test_d14_without_a_refresh_token_logout_ends_the_callers_own_session(world: World) -> None:
    accounts = world.accounts(is_invite_required=False)
    caller, signed_in = await world.sign_in(accounts, BOB)
    await accounts.sessions.logout(caller, None)
    assert not await works(accounts, signed_in.access_token)
    await accounts.sessions.logout(caller, None)
    assert len(await world.events("_SESSIONS_ENDED")) == 1


async def test_d13_the_list_is_newest_first_and_ones_own(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    await world.sign_in(accounts, EVE)
    listed = await accounts.sessions.list(signed[1][0])
    assert [one.id for one in listed] == [caller.session_id for caller, _ in reversed(signed)]
    assert [one.is_current_session for one in listed] == [False, True, False]
    assert {(one.ip, one.user_agent) for one in listed} == {("192.0.2.1", "tests")}


async def test_d13_a_session_id_ends_that_session(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    assert await accounts.sessions.end(signed[0][0], session_id=signed[2][0].session_id) == 1
    assert [await works(accounts, one.access_token) for _, one in signed] == [True, True, False]


async def test_d13_a_session_id_of_somebody_else_is_not_found(world: World, accounts: Accounts) -> None:
    bob, signed_in = await world.sign_in(accounts, BOB)
    eve, _ = await world.sign_in(accounts, EVE)
    for session_id in (bob.session_id, new_id(), ""):
        with pytest.raises(NotFound):
            await accounts.sessions.end(eve, session_id=session_id)
    assert await works(accounts, signed_in.access_token)


async def test_d13_a_refresh_token_ends_all_but_its_own(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    caller = signed[0][0]
    assert await accounts.sessions.end(caller, refresh_token=signed[1][1].refresh_token) == 2
    assert [await works(accounts, one.access_token) for _, one in signed] == [False, True, False]


async def test_d13_a_foreign_refresh_token_ends_nothing(world: World, accounts: Accounts) -> None:
    bob, signed_in = await world.sign_in(accounts, BOB)
    _, eves = await world.sign_in(accounts, EVE)
    for token in (eves.refresh_token, "garbage"):
        with pytest.raises(BadRequest):
            await accounts.sessions.end(bob, refresh_token=token)
    assert await works(accounts, signed_in.access_token)


async def test_d13_with_neither_all_end_and_the_streams_are_told(world: World, accounts: Accounts) -> None:
    signed = await three(world, accounts)
    _, eves = await world.sign_in(accounts, EVE)
    assert await accounts.sessions.end(signed[0][0]) == 3
    assert not any([await works(accounts, one.access_token) for _, one in signed])
    assert await works(accounts, eves.access_token)
    [ended] = await world.events("_SESSIONS_ENDED")
    assert set(ended["sessionIds"]) == {caller.session_id for caller, _ in signed}
    assert ended["allOf"] == signed[0][0].user.id


async def test_that_all_others_end_is_told_also_where_they_had_expired_before(
    world: World, accounts: Accounts
) -> None:
    """What outlives a session that merely expired, as a device's pushes do, ends then (extension J-2)."""
    await world.sign_in(accounts, BOB)
    world.clock.pass_seconds(604_800)
    caller, signed_in = await world.sign_in(accounts, BOB)
    assert await accounts.sessions.end(caller, refresh_token=signed_in.refresh_token) == 0
    last = (await world.events("_SESSIONS_ENDED"))[-1]
    assert last == {"sessionIds": [], "allOf": caller.user.id}


async def test_a_user_agent_is_kept_short_and_printable(world: World, accounts: Accounts) -> None:
    _, signed_in = await accounts.sign_in(BOB, "192.0.2.1", "a\x00b\x1b[31m\ud800" + "x" * 1000)
    [session] = await accounts.sessions.list(await accounts.authenticate(signed_in.access_token))
    assert session.user_agent.startswith("ab[31mxxx")
    assert len(session.user_agent) <= 256


async def test_expired_refresh_tokens_are_removed_some_in_a_transaction(
    world: World, accounts: Accounts
) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    async with world.storage.write() as tx:
        for number in range(250):
            await tx.fetch(
                "insert into refresh_tokens (token_hash, session_id, expires_at) values ($1, $2, $3)",
                *(f"spent {number}", caller.session_id, world.clock()),
            )
    before = metrics.writes.value
    await accounts.sessions.sweep_tokens()
    assert metrics.writes.value - before == 3
    assert await world.fetch("select count(*) from refresh_tokens") == [(1,)]
    assert await refreshes(accounts, signed_in.refresh_token)


async def test_sweeping_removes_what_expired_and_ends_its_streams(world: World, accounts: Accounts) -> None:
    caller, signed_in = await world.sign_in(accounts, BOB)
    world.clock.pass_seconds(604_799)
    _, kept = await world.sign_in(accounts, EVE)
    await accounts.sweep()
    assert await world.events("_SESSIONS_ENDED") == []
    world.clock.pass_seconds(1)
    await accounts.sweep()
    ended = {"sessionIds": [caller.session_id], "haveExpired": True}
    assert await world.events("_SESSIONS_ENDED") == [ended]
    assert await world.fetch("select count(*) from refresh_tokens") == [(1,)]
    assert await refreshes(accounts, kept.refresh_token)
    assert not await refreshes(accounts, signed_in.refresh_token)
