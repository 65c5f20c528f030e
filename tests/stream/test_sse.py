"""The frames of the event stream."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.events import LoggedEvent, Payload
from teamchat.stream import sse


class Said(Payload, frozen=True):
    type = "SAID"
    text: str


@given(st.text())
def test_d33_a_frame_is_exactly_one_data_line_and_an_empty_line(text: str) -> None:
    event = Said(text.encode("utf-8", "replace").decode()).to()
    frame = sse.frame(event.type, event.payload)
    assert frame.startswith(b"data: {")
    assert frame.endswith(b"}\n\n")
    assert b"\n" not in frame[:-2]
    assert b"\r" not in frame
    told = json.loads(frame[6:-2])
    assert told == {"type": "SAID", "payload": json.loads(event.payload)}


def test_d34_a_resuming_clients_frame_has_its_id_first() -> None:
    frame = sse.Frame(LoggedEvent(42, "SAID", "{}", None))
    assert frame.identified == b"id: 42\n" + frame.plain
    assert frame.identified is frame.identified, "it is made once"


def test_each_form_of_a_parcel_is_made_once() -> None:
    frames = [sse.Frame(LoggedEvent(number, "SAID", "{}", None)) for number in (1, 2)]
    batch = sse.Batch(frames)
    plain = b'data: {"type":"SAID","payload":{}}\n\n' * 2
    assert batch[0].data == plain
    assert batch[sse.WITH_IDS].data == b"".join(frame.identified for frame in frames)
    assert batch[sse.CHUNKED].data == b"%x\r\n%b\r\n" % (len(plain), plain)
    assert batch[sse.CHUNKED | sse.WITH_IDS].data == sse.chunk(batch[sse.WITH_IDS].data)
    assert all(batch[form] is batch[form] for form in range(4))


def test_a_remark_is_the_same_with_and_without_ids() -> None:
    remark = sse.Comment(sse.KEEP_ALIVE)
    assert remark[0].data == remark[sse.WITH_IDS].data == b": keep-alive\n\n"
    assert remark[sse.CHUNKED].data == b"e\r\n: keep-alive\n\n\r\n"


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", " 1", "1\n", "٣", "9" * 40, "0x1", "1_0"])
def test_d34_what_is_no_number_is_no_position(text: str) -> None:
    assert sse.read_position(text) is None


def test_d34_a_number_is_a_position() -> None:
    assert sse.read_position("0") == 0
    assert sse.read_position("120") == 120
