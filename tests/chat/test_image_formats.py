from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.chat import image_formats
from teamchat.chat.image_formats import Dimensions
from teamchat.errors import BadRequest


def png(width: int = 1, height: int = 1) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 4))
        + chunk(b"IEND", b"")
    )


def jpeg(width: int = 1, height: int = 1, frame: int = 0xC0) -> bytes:
    app0 = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    table = b"\xff\xc4\x00\x05\x00\x01\x02"
    return (
        b"\xff\xd8"
        + app0
        + table
        + b"\xff\xff"  # a fill byte
        + bytes([frame])
        + struct.pack(">HBHH", 11, 8, height, width)
        + b"\x01\x01\x11\x00\xff\xd9"
    )


def webp(kind: bytes, body: bytes) -> bytes:
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def lossy(width: int = 1, height: int = 1) -> bytes:
    return webp(b"VP8 ", b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\0" * 8)


def lossless(width: int = 1, height: int = 1) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 8)


def extended(width: int = 1, height: int = 1) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\0\0\0\0" + sizes)


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
RASTERS = [png, jpeg, lossy, lossless, extended]


@pytest.mark.parametrize("make", RASTERS)
def test_the_dimensions_are_read_from_the_header(make) -> None:
    assert image_formats.dimensions(make(640, 480)) == Dimensions(640, 480)


def test_every_kind_of_jpeg_frame_is_read() -> None:
    for frame in (0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCF):
        assert image_formats.dimensions(jpeg(3, 4, frame)) == Dimensions(3, 4)


@given(st.sampled_from(RASTERS), st.data())
def test_a_damaged_header_never_fails_otherwise_than_by_refusal(make, data) -> None:
    whole = bytearray(make(5, 7))
    cut = data.draw(st.integers(0, len(whole)))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)):
        whole[at] = data.draw(st.integers(0, 255))
    image_formats.dimensions(bytes(whole[:cut]))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_svg_or_are_not(data: bytes) -> None:
    image_formats.is_svg(data)


@pytest.mark.parametrize(("name", "extension"), [("a.png", "png"), ("A.B.JPeG", "jpeg"), ("ü.WebP", "webp")])
def test_d30_the_filename_gives_the_extension_without_regard_to_case(name: str, extension: str) -> None:
    assert image_formats.extension(name) == extension


@pytest.mark.parametrize("name", ["", "png", ".png", "a.gif", "a.png.exe", "a.", "a\0.png", "a\ud800.png"])
def test_d30_other_filenames_are_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="filename"):
        image_formats.extension(name)


@given(st.binary(max_size=100))
def test_d30_base64_is_decoded_with_and_without_a_data_prefix(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    assert image_formats.decode_base64("image", encoded) == data
    assert image_formats.decode_base64("image", f"data:image/png;base64,{encoded}") == data


@pytest.mark.parametrize(
    "encoded",
    [
        *(
            "A",
            "AA",
            "AAA",
            "AA=A",
            "=AAA",
            "AAAA=",
            "AAAA====",
            "AA==AAAA",
            "AA-_",
            "AA A",
            "AAAA\n",
            "äAAA",
        ),
        *("\ud800AAA", "data:image/png,AAAA", "data:;base64,AA", "AA==\0", "A===", "QQ==QQ=="),
    ],
)
def test_d30_what_is_not_standard_base64_is_refused(encoded: str) -> None:
    with pytest.raises(BadRequest, match="image is not base64"):
        image_formats.decode_base64("image", encoded)


@pytest.mark.parametrize(("size", "fits"), [(-1, True), (0, True), (1, False), (2, False), (3, False)])
def test_d30_ten_megabytes_fit_and_one_byte_more_does_not(size: int, fits: bool) -> None:
    encoded = base64.b64encode(bytes(image_formats.MAX_BYTES + size)).decode()
    if fits:
        assert len(image_formats.decode_base64("image", encoded)) == image_formats.MAX_BYTES + size
    else:
        with pytest.raises(BadRequest, match="larger than 10 MB"):
            image_formats.decode_base64("image", encoded)


def test_a_long_text_is_decoded_across_slices_and_a_padding_inside_is_refused() -> None:
    data = bytes(range(256)) * 20_000
    encoded = base64.b64encode(data).decode()
    assert image_formats.decode_base64("image", encoded) == data
    with pytest.raises(BadRequest):
        image_formats.decode_base64("image", encoded[: (1 << 20) - 2] + "==" + encoded[1 << 20 :])


@pytest.mark.parametrize(
    ("data", "extension", "media_type"),
    [
        (png(), "png", "image/png"),
        (jpeg(), "jpg", "image/jpeg"),
        (jpeg(), "jpeg", "image/jpeg"),
        (lossy(), "webp", "image/webp"),
        (lossless(), "webp", "image/webp"),
        (extended(), "webp", "image/webp"),
        (SVG, "svg", "image/svg+xml"),
    ],
)
def test_d30_bytes_that_are_what_the_extension_says_pass(
    data: bytes, extension: str, media_type: str
) -> None:
    assert image_formats.check_image(data, extension) == media_type


@pytest.mark.parametrize(
    ("data", "extension"),
    [
        (png(), "jpg"),
        (jpeg(), "png"),
        (png(), "webp"),
        (png(), "svg"),
        (SVG, "png"),
        (b"", "png"),
        (b"", "svg"),
        (png()[:20], "png"),
        (png(0, 5), "png"),
        (jpeg()[:12], "jpg"),
        (lossy()[:22], "webp"),
        (webp(b"JUNK", bytes(20)), "webp"),
        (b"GIF89a\x01\x00\x01\x00", "png"),
        (b"<html></html>", "svg"),
    ],
)
def test_d30_bytes_that_are_not_what_the_extension_says_are_refused(data: bytes, extension: str) -> None:
    with pytest.raises(BadRequest, match="image is not"):
        image_formats.check_image(data, extension)


@pytest.mark.parametrize("make", [png, extended])
def test_d30_an_image_has_thirty_five_million_pixels_at_most(make) -> None:
    for extension in ("png", "webp"):
        if image_formats.raster_type(make()) == f"image/{extension}":
            image_formats.check_image(make(7000, 5000), extension)
            with pytest.raises(BadRequest, match="million pixels"):
                image_formats.check_image(make(7000, 5001), extension)


@pytest.mark.parametrize("make", RASTERS)
def test_d30_a_thumbnail_is_told_by_its_own_bytes(make) -> None:
    assert image_formats.check_thumbnail(make()) == image_formats.raster_type(make())


@pytest.mark.parametrize("data", [b"", SVG, png()[:20], b"GIF89a"])
def test_d30_a_thumbnail_is_a_raster_image(data: bytes) -> None:
    with pytest.raises(BadRequest, match="thumbnail is not"):
        image_formats.check_thumbnail(data)


def test_d30_a_thumbnail_has_a_bound_of_pixels_too() -> None:
    with pytest.raises(BadRequest, match="thumbnail has more than 35 million pixels"):
        image_formats.check_thumbnail(png(10_000, 10_000))


@pytest.mark.parametrize(
    "data",
    [
        SVG,
        b"<svg/>",
        b"\xef\xbb\xbf" + SVG,
        b'<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<!-- drawn -->\n' + SVG,
        b'<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:g/></s:svg>',
        '<svg xmlns="http://www.w3.org/2000/svg"><text>Grüße 🦊</text></svg>'.encode(),
        b"<svg>" + b"<g>" * 5000 + b"</g>" * 5000 + b"</svg>",
        b"<svg><!--" + b"x" * 1_000_000 + b"--></svg>",
    ],
)
def test_an_svg_is_xml_whose_root_is_svg(data: bytes) -> None:
    assert image_formats.is_svg(data)


BOMB = b'<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><svg>&b;</svg>'


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"   ", b"<svg", b"<svg>", b"<svg/><svg/>", b"svg", b"<html/>", b"\xff\xfe<svg/>"),
        BOMB,
        b'<!DOCTYPE svg SYSTEM "file:///etc/passwd"><svg/>',
        b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://127.0.0.1/svg11.dtd"><svg/>',
        b"<svg>&undefined;</svg>",
        b'<svg xmlns="http://www.w3.org/1999/xhtml"/>',
        b'<?xml version="1.0" encoding="ISO-8859-1"?><svg/>',
        "<svg/>".encode("utf-16"),
        b"<svg>\xe4</svg>",
        b"<svg>\x00</svg>",
        b"<html><svg xmlns='http://www.w3.org/2000/svg'/></html>",
    ],
)
def test_what_has_another_root_a_document_type_or_an_entity_is_no_svg(data: bytes) -> None:
    assert not image_formats.is_svg(data)
