"""RFC 8291, appendix A, and RFC 8292, section 2.4: what this server writes is what the RFCs print."""

from __future__ import annotations

import json

import pytest
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from teamchat_web_push.encryption import MOST_PLAIN_BYTES, encrypted, point_of, public_key
from teamchat_web_push.loopback import decrypted, verified
from teamchat_web_push.vapid import Vapid, base64url, from_base64url, private_key

PLAIN = b"When I grow up, I want to be a watermelon"
BROWSER_PRIVATE = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
BROWSER_PUBLIC = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
SERVER_PRIVATE = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
AUTH, SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w"
    "EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)
TOKEN = (
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3"
    "NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwD"
    "Xb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
)
TOKEN_KEY = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"


def test_rfc_8291_appendix_a_is_written_byte_for_byte() -> None:
    body = encrypted(
        PLAIN,
        from_base64url(BROWSER_PUBLIC),
        from_base64url(AUTH),
        private=private_key(SERVER_PRIVATE),
        salt=from_base64url(SALT),
    )
    assert base64url(body) == BODY


def test_the_push_service_of_the_tests_reads_it_as_the_browser_of_the_rfc_would() -> None:
    assert decrypted(from_base64url(BODY), private_key(BROWSER_PRIVATE), from_base64url(AUTH)) == PLAIN


@given(plain=st.binary(max_size=MOST_PLAIN_BYTES), bit=st.integers(0, 7), data=st.data())
def test_a_browser_reads_what_was_written_for_it_and_nothing_that_was_touched(
    plain: bytes, bit: int, data: st.DataObject
) -> None:
    private, auth = ec.generate_private_key(ec.SECP256R1()), b"0123456789abcdef"
    body = encrypted(plain, point_of(private.public_key()), auth)
    assert decrypted(body, private, auth) == plain
    assert body != encrypted(plain, point_of(private.public_key()), auth), "salt and key are the same twice"
    place = data.draw(st.integers(86, len(body) - 1))
    touched = body[:place] + bytes([body[place] ^ 1 << bit]) + body[place + 1 :]
    with pytest.raises(InvalidTag):
        decrypted(touched, private, auth)


def test_what_is_too_long_for_some_phone_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        encrypted(bytes(MOST_PLAIN_BYTES + 1), from_base64url(BROWSER_PUBLIC), from_base64url(AUTH))


@given(st.binary(max_size=70))
def test_what_is_no_point_of_the_curve_is_no_key(point: bytes) -> None:
    try:
        key = public_key(point)
    except ValueError:
        return
    assert point_of(key) == point


def test_the_push_service_of_the_tests_takes_the_token_of_rfc_8292() -> None:
    header = f"vapid t={TOKEN}, k={TOKEN_KEY}"
    claims = verified(header, "https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV")
    assert claims == {"aud": "https://push.example.net", "exp": 1453523768, "sub": "mailto:push@example.com"}
    with pytest.raises(InvalidSignature):
        verified(header.replace("i3CYb7", "i3CYb8"), "https://push.example.net/p/")
    with pytest.raises(ValueError, match="another service"):
        verified(header, "https://push.example.org/")


def test_a_token_has_the_parts_of_rfc_8292_to_the_letter_but_for_its_signature() -> None:
    vapid = Vapid(
        private_key(SERVER_PRIVATE), "mailto:push@example.com", clock=lambda: 1453523768 - 12 * 3600
    )
    header = vapid.authorization("https://push.example.net/p/1")
    token = header.removeprefix("vapid t=").partition(",")[0]
    assert token.split(".")[:2] == TOKEN.split(".")[:2]
    assert verified(header, "https://push.example.net/p/2")["exp"] == 1453523768


def test_a_service_gets_the_same_token_for_some_hours_and_another_service_another() -> None:
    now = [1_000_000.0]
    vapid = Vapid(private_key(SERVER_PRIVATE), "mailto:push@example.com", clock=lambda: now[0])
    first = vapid.authorization("https://push.example.net/p/1")
    now[0] += 5 * 3600
    assert vapid.authorization("https://push.example.net/p/2") == first
    assert vapid.authorization("https://other.example.net/p/2") != first
    now[0] += 2 * 3600
    later = vapid.authorization("https://push.example.net/p/1")
    assert json.loads(from_base64url(later.split(".")[1]))["exp"] == now[0] + 12 * 3600


@given(st.binary(max_size=80))
def test_base64url_is_read_as_it_is_written_with_padding_or_without(data: bytes) -> None:
    assert from_base64url(base64url(data)) == data
    assert from_base64url(base64url(data) + "=" * (-len(base64url(data)) % 4)) == data


@pytest.mark.parametrize("text", ["ab+/", "é", "a b", "a"])
def test_what_is_no_base64url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"base64|Incorrect|Invalid|characters|data"):
        from_base64url(text)
