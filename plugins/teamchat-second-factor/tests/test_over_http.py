"""Second factors over HTTP: the order of checks, and a POST that is sent again (D-03, X-13)."""

from __future__ import annotations

from pathlib import Path

from teamchat_second_factor import SECOND_FACTOR

from tests.capabilities.serving import served

FACTORS = "/me/second-factors"


async def test_d03_what_is_not_ones_own_is_404_whatever_the_body_says(tmp_path: Path) -> None:
    async with served(tmp_path, SECOND_FACTOR) as here:
        ada, bob = await here.user(), await here.user("bob@example.org")
        begun = (await ada.call("POST", FACTORS, {"type": "totp"})).json()
        own, theirs = f"{FACTORS}/{begun['id']}", f"{FACTORS}/{'0' * 32}"
        for body in (b"", b"{", b"[]", b"{}", b'{"code": 7}'):
            for who, address in ((bob, own), (ada, theirs)):
                (await who.call("PUT", address, raw=body)).problem(404)
                (await who.call("DELETE", address, raw=body)).problem(404)
            (await ada.call("PUT", own, raw=body)).problem(400)
        (await ada.call("DELETE", own, raw=b'{"code": 7}')).problem(400)
        (await ada.call("PUT", own, {"code": "000000"})).problem(400)


async def test_x13_a_key_that_is_repeated_is_409_and_what_it_made_stays(tmp_path: Path) -> None:
    async with served(tmp_path, SECOND_FACTOR) as here:
        ada, keyed = await here.user(), [("idempotency-key", "a key")]
        begun = await ada.call("POST", FACTORS, {"type": "totp"}, headers=keyed)
        assert begun.status == 200
        (await ada.call("POST", FACTORS, {"type": "totp"}, headers=keyed)).problem(409)
        (await ada.call("PUT", f"{FACTORS}/{begun.json()['id']}", {"code": "000000"})).problem(400)
