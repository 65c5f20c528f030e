"""M-1 and K-1: what becomes of tokens with the second factor of their user."""

from __future__ import annotations

from base64 import b32decode
from pathlib import Path

from teamchat_second_factor import totp

from teamchat.model import now_ms
from teamchat.operations.users import UserOffice
from tests.leaks.test_streams import Listener
from tests.leaks.world import open_world
from tests.web.client import Client


async def test_m1_where_an_operator_takes_a_factor_away_that_is_wanted_tokens_wait_for_another(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        bob, factors = await world.person("bob"), "/me/second-factors"
        wanted = {"name": "CI", "scopes": ["read", "events"]}
        token = (await bob.client.ok("POST", "/me/tokens", wanted))["token"]["token"]
        mine, begun = Client(world.site, token), await bob.client.ok("POST", factors, {"type": "totp"})
        code = totp.code_at(b32decode(begun["secret"]), totp.step_at(now_ms()))
        await bob.client.ok("PUT", f"{factors}/{begun['id']}", {"code": code})
        vars(world.app.accounts.second_steps)["_demanded"] = "all"
        await mine.ok("GET", "/channels")
        office = UserOffice(
            world.app.storage,
            world.app.accounts,
            _sends_mail=False,
            asks_for_passwords=False,
            passwords_must_change=False,
        )
        async with Listener(world.site, token, "").open() as listener:
            await office.remove_second_factor("bob@example.org")
            await listener.refusal()  # It returns when the stream has ended.
        (await mine.call("GET", "/channels")).problem(403)
