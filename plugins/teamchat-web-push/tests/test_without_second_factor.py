"""What waits for somebody who has to set up a second factor first."""

from __future__ import annotations

from pathlib import Path

from teamchat_web_push.judging import WITHOUT_FACTOR_MS

from tests.push_world import HOUR, PushContract, opened


class WithFactors(PushContract):
    """Demands a second factor of admins."""

    second_factor = "admins"


async def test_who_has_to_set_up_a_second_factor_is_pushed_nothing_before_and_all_of_it_then(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        cleo, _ = await world.subscribe(world.cleo)
        await world.hear()
        first = await world.post("@bob @cleo before he is an admin")
        await world.hear()
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        later = await world.direct("and after")
        await world.go()
        assert bob.payloads == [], "it is asked when a push is sent, not when it is queued"
        assert [one["messageId"] for one in cleo.payloads] == [first], "others are held up by nothing"
        world.ahead += 11 * HOUR
        await world.go()
        assert bob.payloads == []
        await world.set_up_second_factor(world.bob)
        world.ahead += WITHOUT_FACTOR_MS
        await world.go()
        [push] = bob.payloads
        assert push["kind"] == "summary"
        assert push["messageId"] == later


async def test_who_is_an_admin_no_longer_is_pushed_what_waited_for_a_second_factor(tmp_path: Path) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        message = await world.direct("hello")
        await world.go()
        assert await world.reasons() == [(None, "second factor")]
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "user")
        world.ahead += WITHOUT_FACTOR_MS
        await world.go()
        assert [one["messageId"] for one in bob.payloads] == [message]


async def test_what_waits_for_a_second_factor_is_given_up_after_its_time(tmp_path: Path) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        await world.direct("hello")
        await world.go()
        world.ahead += 25 * HOUR
        await world.go()
        assert [outcome for outcome, _ in await world.reasons()] == ["expired"]
        assert bob.payloads == []
