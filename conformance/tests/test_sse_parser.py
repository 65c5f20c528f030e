"""Bytes of a stream to frames: however they are cut, whatever the line ends."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat_conformance.http import Recorder
from teamchat_conformance.sse import Observer, Parser, field_of
from teamchat_conformance.verdicts import Miss

LINES = st.lists(
    st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), min_size=1, max_size=12),
    max_size=3,
).map(tuple)
FRAMES = st.lists(LINES, max_size=5)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def fed(pieces: list[bytes]) -> list[tuple[str, ...]]:
    parser = Parser()
    return list(itertools.chain.from_iterable(parser.feed(piece) for piece in pieces))


def written(frames: list[tuple[str, ...]], end: str) -> bytes:
    return "".join("".join(line + end for line in frame) + end for frame in frames).encode()


@given(FRAMES, ENDS, st.data())
def test_frames_are_the_same_however_the_bytes_are_cut(
    frames: list[tuple[str, ...]], end: str, data: st.DataObject
) -> None:
    raw = written(frames, end) + b": the end\n\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:stop] for start, stop in itertools.pairwise([0, *cuts, len(raw)])]
    assert fed(pieces) == fed([raw]) == fed([bytes([byte]) for byte in raw])


@given(FRAMES, ENDS)
def test_every_frame_comes_out_as_it_was_written(frames: list[tuple[str, ...]], end: str) -> None:
    if frames and frames[0] and frames[0][0].startswith("\ufeff"):
        return
    expected = [*frames, (": the end",)]
    assert fed([written(frames, end) + b": the end\n\n"]) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_in_any_script_survives_single_bytes(end: str) -> None:
    raw = f"data: \u65e5\U0001f468\u200d\U0001f469 \u2028\u0085{end}{end}:{end}".encode()
    assert fed([bytes([byte]) for byte in raw]) == [("data: \u65e5\U0001f468\u200d\U0001f469 \u2028\u0085",)]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_line() -> None:
    assert fed([b"\xef", b"\xbb\xbf", b"data: x\n\n"]) == [("data: x",)]
    assert fed([b"data: x\n\n\xef\xbb\xbfdata: y\n\n"])[1] == ("\ufeffdata: y",)


def test_what_is_not_utf_8_is_a_miss() -> None:
    with pytest.raises(Miss, match="not UTF-8"):
        fed([b"data: \xff\xfe\xfd\xfc\xfb\n\n"])


def test_a_frame_without_its_empty_line_is_not_given_out() -> None:
    assert fed([b"data: x\n"]) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("data: x", ("data", "x")),
        ("data:x", ("data", "x")),
        ("data:  x", ("data", " x")),
        ("data", ("data", "")),
        (": x", ("", "x")),
        ("a:b:c", ("a", "b:c")),
    ],
)
def test_a_line_has_a_name_and_a_value(line: str, found: tuple[str, str]) -> None:
    assert field_of(line) == found


def an_observer() -> Observer:
    return Observer("U", "u1", Recorder("run"))


def test_events_comments_and_what_is_neither_are_told_apart() -> None:
    observer = an_observer()
    observer.take(b': hello\n\ndata: {"type":"A","payload":{"id":"1"}}\n\ndata: nonsense\n\ndata: [1]\n\n')
    assert [(event.type, event.payload) for event in observer.events] == [("A", {"id": "1"})]
    assert [text for _, text in observer.comments] == ["hello"]
    assert observer.odd_frames == [("data: nonsense",), ("data: [1]",)]


def test_a_field_that_an_event_does_not_have_is_a_miss_and_no_fault_of_the_suite() -> None:
    observer = an_observer()
    observer.take(b'data: {"type":"XX","payload":{"id":"1"}}\n\n')
    with pytest.raises(Miss, match="has no name, but id"):
        observer.events[0].payload["name"]


def test_events_are_found_by_type_fields_and_place() -> None:
    observer = an_observer()
    observer.take(b'id: 7\ndata: {"type":"A","payload":{"id":"1","n":null}}\n\n')
    mark = observer.mark()
    observer.take(b'data: {"type":"A","payload":{"id":"2"}}\n\ndata: {"type":"B","payload":null}\n\n')
    assert [event.payload["id"] for event in observer.since(0, "A")] == ["1", "2"]
    assert [event.payload["id"] for event in observer.since(mark, "A")] == ["2"]
    assert observer.since(0, "A", id="1", n=None) != []
    assert observer.since(0, "A", missing=None) == []
    assert observer.since(0, "B", id="2") == []
    assert observer.last_id == "7"


async def test_an_event_that_does_not_come_is_a_miss_that_names_what_came(autojump_clock: object) -> None:
    observer = an_observer()
    observer.take(b'data: {"type":"A","payload":{}}\n\n')
    with pytest.raises(Miss, match=r"U: no B \{\"id\": \"1\"\} within 5 s; came: A"):
        await observer.expect("B", id="1", seconds=5)


async def test_waiting_ends_with_the_stream() -> None:
    observer = an_observer()
    observer.finish(properly=True)
    with pytest.raises(Miss, match="the stream ended before B"):
        await observer.expect("B")
    await observer.ended(1)
