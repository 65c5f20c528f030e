"""What photographs tell of where they were taken."""

from __future__ import annotations

import io
import struct
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image, PngImagePlugin
from teamchat_files.location import MOST_SEGMENTS, Patch, location_patches, patched, without_gps

XMP = (
    b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>'
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    b'xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" '
    b'xmlns:dc="http://purl.org/dc/elements/1.1/" exif:GPSLatitude="48,8.1234N" photoshop:City=\'Munich\' '
    b'dc:format="image/jpeg"><exif:GPSLongitude>11,34.5678E</exif:GPSLongitude><e:LocationShown '
    b'xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><rdf:Bag><rdf:li e:City="Pasing"/></rdf:Bag>'
    b"</e:LocationShown><dc:title>Sunset at the lake</dc:title></rdf:Description></rdf:RDF></x:xmpmeta>"
    b'<?xpacket end="w"?>'
)
TELLING = [b"48,8.1234", b"34.5678", b"Munich", b"Pasing", b"GPSLat"]
KEPT = [b"Sunset at the lake", b'dc:format="image/jpeg"']


def exif() -> Image.Exif:
    made = Image.Exif()
    made[ExifTags.Base.Make] = "Camera"
    made[ExifTags.Base.Orientation] = 6
    made[ExifTags.Base.Software] = "a program with a long name"
    made._ifds[ExifTags.IFD.Exif] = {0x9003: "2026:01:02 03:04:05"}
    made._ifds[ExifTags.IFD.GPSInfo] = {
        1: "N",
        2: (48.0, 8.0, 12.5),
        3: "E",
        4: (11.0, 34.0, 56.75),
        0x1D: "2026:01:02",
    }
    return made


def picture() -> Image.Image:
    return Image.linear_gradient("L").resize((80, 60)).convert("RGB")


def written(kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture().save(file, kind, **options)
    return file.getvalue()


def png_with(keyword: str, text: str, *, is_compressed: bool = False, is_international: bool = True) -> bytes:
    info = PngImagePlugin.PngInfo()
    if is_international:
        info.add_itxt(keyword, text, zip=is_compressed)
    else:
        info.add_text(keyword, text, zip=is_compressed)
    return written("PNG", pnginfo=info)


async def stripped(data: bytes, media_type: str) -> bytes:
    async def read(offset: int, length: int) -> bytes:
        assert length <= 65536
        return data[offset : offset + length]

    patches = await location_patches(read, len(data), media_type)
    assert [patch.offset for patch in patches] == sorted(patch.offset for patch in patches)
    made = bytearray(data)
    for offset, changed in patches:
        made[offset : offset + len(changed)] = changed
    assert len(made) == len(data)
    for size in (1, 7, 65536):
        if len(data) < 20_000 or size > 1000:
            assert b"".join([piece async for piece in patched(in_chunks(data, size), patches)]) == made
    return bytes(made)


async def in_chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_exif_loses_its_location_and_nothing_else(kind: str) -> None:
    data = written(kind, exif=exif())
    assert opened(data).getexif().get_ifd(ExifTags.IFD.GPSInfo)
    made = await stripped(data, f"image/{kind.lower()}")
    left = opened(made).getexif()
    assert ExifTags.IFD.GPSInfo not in left
    assert left.get_ifd(ExifTags.IFD.GPSInfo) == {}
    assert left[ExifTags.Base.Make] == "Camera"
    assert left[ExifTags.Base.Orientation] == 6
    assert left[ExifTags.Base.Software] == "a program with a long name"
    assert left.get_ifd(ExifTags.IFD.Exif)[0x9003] == "2026:01:02 03:04:05"
    assert opened(made).tobytes() == opened(data).tobytes()
    assert b"2026:01:02\0" not in made, "the day by the satellites' clock is part of the location's directory"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_xmp_loses_its_location_and_nothing_else(kind: str) -> None:
    data = png_with("XML:com.adobe.xmp", XMP.decode()) if kind == "PNG" else written(kind, xmp=XMP)
    assert TELLING[0] in data
    made = await stripped(data, f"image/{kind.lower()}")
    assert not [telling for telling in TELLING if telling in made]
    assert all(kept in made for kept in KEPT)
    assert opened(made).tobytes() == opened(data).tobytes()
    assert "Sunset" in str(opened(made).info)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_a_picture_without_location_is_not_touched(kind: str) -> None:
    plain = Image.Exif()
    plain[ExifTags.Base.Make] = "Camera"
    for data in (written(kind), written(kind, exif=plain)):
        assert await stripped(data, f"image/{kind.lower()}") == data


async def test_text_of_a_png_that_can_not_be_changed_in_place_goes_as_a_whole() -> None:
    for data in (
        png_with("XML:com.adobe.xmp", XMP.decode(), is_compressed=True),
        png_with("Raw profile type exif", "\nexif\n   4\n45786966\n", is_international=False),
        png_with("Raw profile type APP1", "x" * 500, is_compressed=True, is_international=False),
    ):
        made = await stripped(data, "image/png")
        assert made != data
        assert opened(made).tobytes() == opened(data).tobytes()
        assert set(opened(made).info) <= {"Comment"}
    data = png_with("Title", "In a City: Munich", is_international=False)
    assert await stripped(data, "image/png") == data


def segment(marker: int, content: bytes) -> bytes:
    return b"\xff" + bytes([marker]) + (len(content) + 2).to_bytes(2, "big") + content


@pytest.mark.parametrize("before", [0, 30_000, 65_000])
async def test_the_small_picture_within_exif_loses_its_location_too(before: int) -> None:
    whole, small = written("JPEG"), written("JPEG", exif=exif(), xmp=XMP)
    within = exif().tobytes() + bytes(50_000) + small
    data = whole[:2] + segment(0xE4, bytes(before)) + segment(0xE1, within) + whole[2:]
    made = await stripped(data, "image/jpeg")
    left = opened(made[made.rindex(b"\xff\xd8", 0, -len(whole)) :]).getexif()
    assert left[ExifTags.Base.Make] == "Camera"
    assert left.get_ifd(ExifTags.IFD.GPSInfo) == {}
    assert b"2026:01:02\0" not in made
    assert not [telling for telling in TELLING if telling in made]
    assert opened(made).tobytes() == opened(data).tobytes()


async def test_iptc_loses_its_places() -> None:
    records = b"\x1c\x02\x5a\0\x06Munich\x1c\x02\x65\0\x07Bavaria\x1c\x02\x69\0\x06Sunset"
    iptc = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + len(records).to_bytes(4, "big") + records
    whole = written("JPEG")
    data = whole[:2] + segment(0xED, iptc) + whole[2:]
    made = await stripped(data, "image/jpeg")
    assert b"Munich" not in made
    assert b"Bavaria" not in made
    assert b"Sunset" in made
    assert opened(made).tobytes() == opened(data).tobytes()


async def test_what_stands_behind_the_first_picture_is_looked_at_too() -> None:
    """Telephones put a second picture after the first, with metadata of its own."""
    data = written("JPEG") + bytes(200_000) + written("JPEG", exif=exif(), xmp=XMP)
    made = await stripped(data, "image/jpeg")
    second = opened(made[-len(written("JPEG", exif=exif(), xmp=XMP)) :])
    assert ExifTags.IFD.GPSInfo not in second.getexif()
    assert TELLING[0] not in made


@pytest.mark.parametrize("before", [*range(65536 - 120, 65536 + 8, 3)])
async def test_metadata_is_found_wherever_the_pieces_end(before: int) -> None:
    whole = written("JPEG", exif=exif(), xmp=XMP)
    comment = segment(0xFE, b"c" * (before - 8)) if before - 8 <= 65533 else b""
    comment = comment or segment(0xFE, b"c" * 65000) + segment(0xFE, b"c" * (before - 65012))
    made = await stripped(whole[:2] + comment + whole[2:], "image/jpeg")
    assert ExifTags.IFD.GPSInfo not in opened(made).getexif()
    assert not [telling for telling in TELLING if telling in made]


async def test_the_rest_of_long_xmp_goes_where_it_may_tell() -> None:
    more = (
        b"http://ns.adobe.com/xmp/extension/\0" + b"A" * 32 + bytes(8) + b'<a exif:GPSLatitude="48,8.1234N"/>'
    )
    whole = written("JPEG")
    made = await stripped(whole[:2] + segment(0xE1, more) + whole[2:], "image/jpeg")
    assert b"48,8" not in made


async def test_other_kinds_are_left_alone() -> None:
    assert await stripped(b"whatever", "application/pdf") == b"whatever"
    assert await stripped(b"Exif\0\0", "text/plain") == b"Exif\0\0"


TIFF = exif().tobytes()[6:]


@given(st.lists(st.tuples(st.integers(0, len(TIFF) - 1), st.integers(0, 255)), max_size=12))
def test_damaged_exif_keeps_its_length_and_costs_nothing(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(TIFF)
    for at, value in changes:
        damaged[at] = value
    made = without_gps(bytes(damaged))
    assert len(made) == len(damaged)
    assert without_gps(made) == made or changes


@given(st.binary(max_size=600))
def test_any_bytes_keep_their_length(data: bytes) -> None:
    for head in (b"", b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"):
        assert len(without_gps(head + data)) == len(head + data)


@given(
    st.sampled_from(["image/jpeg", "image/png", "image/webp"]),
    st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=12),
)
def test_damaged_pictures_are_gone_through_to_their_end(
    media_type: str, changes: list[tuple[int, int]]
) -> None:
    kind = media_type.partition("/")[2].upper()
    damaged = bytearray(WHOLE[kind])
    for at, value in changes:
        damaged[at % len(damaged)] = value
    trio.run(stripped, bytes(damaged), media_type)


WHOLE = {
    kind: written(kind, exif=exif(), **({} if kind == "PNG" else {"xmp": XMP}))
    for kind in ("JPEG", "PNG", "WEBP")
}


async def test_hostile_metadata_takes_no_time() -> None:
    mark = b"http://ns.adobe.com/xap/1.0/\0"
    began = time.process_time()
    for body in (
        b"a" * 65000 + b":City",
        b"<a:City>" * 8000,
        b'a:City="' * 8000,
        b"a:City" + b" " * 64000,
        b"<a:City " * 8000,
    ):
        await stripped(b"\xff\xd8" + segment(0xE1, mark + body[:65000]) * 4, "image/jpeg")
    loop = b"II*\0\x08\0\0\0" + b"\xff\xff" + (b"\x69\x87\x04\0\x01\0\0\0\x08\0\0\0" * 5000)
    without_gps(loop)
    await stripped((b"\xff\xe1\xff\xffExif\0\0") * 20_000, "image/jpeg")
    assert time.process_time() - began < 30


def test_a_photograph_with_thousands_of_locations_that_overlap_takes_no_time() -> None:
    count = 5000
    first = 8 + 2 + 12 * count + 4
    entries = b"".join(struct.pack("<HHII", 0x8825, 4, 1, first + 12 * number) for number in range(count))
    overlapping = (b"\xff\xff" + bytes(10)) * count
    began = time.process_time()
    without_gps(b"II*\0\x08\0\0\0" + struct.pack("<H", count) + entries + bytes(4) + overlapping)
    assert time.process_time() - began < 2


async def test_segments_of_a_photograph_that_overlap_are_not_read_as_often_as_they_do() -> None:
    data = b"\xff\xd8" + b"\xff\xe1\xff\xffExif\0\0" * 30_000
    count = 0

    async def read(offset: int, length: int) -> bytes:
        nonlocal count
        piece = data[offset : offset + length]
        count += len(piece)
        return piece

    await location_patches(read, len(data), "image/jpeg")
    assert count < MOST_SEGMENTS * 65536 + len(data)


async def test_patches_across_chunks_are_made_once() -> None:
    patches = [Patch(3, b"XX"), Patch(9, b"YYY")]
    for size in range(1, 14):
        made = b"".join([piece async for piece in patched(in_chunks(b"abcdefghijklm", size), patches)])
        assert made == b"abcXXfghiYYYm"
