"""Second factors over HTTP: the order of checks, and a POST that is sent again (D-03, X-13)."""

from __future__ import annotations

from base64 import b32decode
from pathlib import Path

from teamchat_second_factor import SECOND_FACTOR, totp

from teamchat.model import now_ms
from tests.capabilities.serving import served
from tests.web.client import declared

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
        assert 409 in declared(here.site, "begin_second_factor")
        (await ada.call("PUT", f"{FACTORS}/{begun.json()['id']}", {"code": "000000"})).problem(400)


async def test_x11_the_list_is_cut_by_limit_and_goes_on_at_next(tmp_path: Path) -> None:
    async with served(tmp_path, SECOND_FACTOR) as here:
        ada, made = await here.user(), []
        for _ in range(3):
            begun = (await ada.call("POST", FACTORS, {"type": "totp"})).json()
            code = totp.code_at(b32decode(begun["secret"]), totp.step_at(now_ms()))
            assert (await ada.call("PUT", f"{FACTORS}/{begun['id']}", {"code": code})).status == 200
            made.append(begun["id"])
        whole = (await ada.call("GET", FACTORS)).json()
        listed = [one["id"] for one in whole["secondFactors"]]
        assert (sorted(listed), whole["next"]) == (sorted(made), None)
        first = (await ada.call("GET", f"{FACTORS}?limit=2")).json()
        rest = (await ada.call("GET", f"{FACTORS}?limit=2&cursor={first['next']}")).json()
        assert [one["id"] for one in [*first["secondFactors"], *rest["secondFactors"]]] == listed
        assert rest["next"] is None
        for wrong in ("limit=0", "limit=x", "cursor=", "cursor=1", "cursor=1.x"):
            (await ada.call("GET", f"{FACTORS}?{wrong}")).problem(400)
        # A cursor survives what it points at.
        await ada.call("DELETE", f"{FACTORS}/{listed[1]}")
        again = (await ada.call("GET", f"{FACTORS}?limit=2&cursor={first['next']}")).json()
        assert [one["id"] for one in again["secondFactors"]] == listed[2:]
