"""What the audit log says of second factors."""

from __future__ import annotations

import json
from pathlib import Path

from teamchat.accounts.audit import asked_by
from tests.second_factor.world import ELSEWHERE, HOME, opened, outcome


async def test_what_is_set_up_and_taken_away_is_in_the_audit_log_without_a_secret(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_, secret, codes = await world.set_up(world.bob)
        await world.factors.remove(world.bob, id_, HOME, None)
        entries = await world.rows(
            """select action, target_id, details from audit_entries
               where action like 'second-factor%' order by id"""
        )
        assert [entry[:2] for entry in entries] == [
            ("second-factor.add", world.bob.user.id),
            ("second-factor.remove", world.bob.user.id),
        ]
        assert not [one for one in (secret, *codes) if one in json.dumps(entries)]


async def test_l4_a_right_password_without_the_right_code_is_in_the_audit_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        for code, ip in ((None, HOME), (None, HOME), (None, ELSEWHERE), ("12345", HOME)):
            assert await outcome(world.login(code=code, ip=ip)) == "SecondFactorNeeded"
        assert await outcome(world.login(password="wrong horse")) == "Unauthorized"
        await world.login(code=world.code(secret))
        entries = await world.rows(
            """select action, actor_id, target_id, ip, details from audit_entries
               where action in ('session.challenge', 'session.fail') order by id"""
        )
        bob = world.bob.user.id
        assert entries == [
            ("session.challenge", None, bob, HOME, '{"way":"password"}'),  # Of two within a minute one.
            ("session.challenge", None, bob, ELSEWHERE, '{"way":"password"}'),
            ("session.fail", None, bob, HOME, '{"way":"password","secondFactor":true}'),
            ("session.fail", None, bob, HOME, '{"way":"password"}'),
        ]


async def test_l4_a_sign_in_elsewhere_that_waits_for_the_code_is_in_the_audit_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        with asked_by(None, lambda: ELSEWHERE):
            await world.ticket()
        assert await world.rows(
            "select target_id, ip, details from audit_entries where action = 'session.challenge'"
        ) == [(world.bob.user.id, ELSEWHERE, '{"way":"oauth"}')]
