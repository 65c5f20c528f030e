"""J-8: no push goes to a private network, whichever way its address is written."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from teamchat_web_push import addresses
from teamchat_web_push.addresses import Refused, Target, addresses_of, is_public, target_of

from teamchat import BadRequest


async def test_a_name_of_a_private_network_is_refused_and_one_of_both_goes_to_the_public_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = target_of("https://push.example.net/1", [])
    found = ["192.168.1.1"]

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (one, port)) for one in found]

    monkeypatch.setattr(addresses, "getaddrinfo", getaddrinfo)
    with pytest.raises(Refused):
        await addresses_of(target, trio.CapacityLimiter(1))
    found = ["10.0.0.1", "1.1.1.1"]
    assert await addresses_of(target, trio.CapacityLimiter(1)) == ["1.1.1.1"]


def test_a_host_that_is_named_may_be_http_and_nothing_else_is_named_with_it() -> None:
    assert target_of("http://push.lan:8080/1", ["PUSH.lan"]) == Target(
        "push.lan", 8080, True, False, "push.lan:8080", "/1"
    )
    assert target_of("http://[fd00::1]/1", ["[fd00::1]"]).is_allowed
    with pytest.raises(BadRequest):
        target_of("http://push.lan.example.net/1", ["push.lan"])


def test_addresses_of_a_site_are_private_though_nobody_gives_them_any_more() -> None:
    assert not is_public("fec0::1")
    assert not is_public("feff::1")
    assert is_public("2a00:1450::1")


def test_addresses_of_protocols_are_private_whatever_python_knows_of_them() -> None:
    assert not is_public("192.0.0.192")
    assert not is_public("::ffff:192.0.0.192")
    assert is_public("192.0.1.1")


@given(st.ip_addresses())
def test_an_address_is_public_in_whichever_way_it_is_written(address: Any) -> None:
    assert is_public(str(address)) <= address.is_global
    if address.version == 4:
        assert is_public(f"::ffff:{address}") == is_public(str(address))
        packed = f"64:ff9b::{int(address) >> 16:x}:{int(address) & 0xFFFF:x}"
        assert is_public(packed) == is_public(str(address))
