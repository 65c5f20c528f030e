"""Thumbnails, and what pictures may do to the process that makes them."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from teamchat_files import thumbnailer, thumbnails
from teamchat_files.thumbnails import Thumbnailer, Thumbnails, open_thumbnailer


async def in_chunks(data: bytes) -> AsyncGenerator[bytes]:
    for at in range(0, len(data), 65536):
        yield data[at : at + 65536]
        await trio.lowlevel.checkpoint()


async def made_of(maker: Thumbnailer, data: bytes) -> Thumbnails | None:
    with trio.fail_after(60):
        async with aclosing(in_chunks(data)) as chunks:
            return await maker.make(chunks, len(data))


def written(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@pytest.fixture
async def maker() -> AsyncIterator[Thumbnailer]:
    async with open_thumbnailer() as made:
        yield made


def gradient(width: int, height: int, mode: str = "RGB") -> Image.Image:
    return Image.linear_gradient("L").resize((width, height)).convert(mode)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "AVIF"])
async def test_a_picture_of_each_kind_has_both_thumbnails(maker: Thumbnailer, kind: str) -> None:
    made = await made_of(maker, written(gradient(3000, 1500), kind))
    assert made is not None
    assert (made.width, made.height) == (3000, 1500)
    for data, size in [(made.small, (360, 180)), (made.large, (1280, 640))]:
        assert opened(data).format == "WEBP"
        assert opened(data).size == size


async def test_a_small_picture_is_not_enlarged(maker: Thumbnailer) -> None:
    made = await made_of(maker, written(gradient(40, 30), "PNG"))
    assert made is not None
    assert opened(made.small).size == opened(made.large).size == (40, 30)


async def test_a_line_of_pixels_stays_a_line(maker: Thumbnailer) -> None:
    made = await made_of(maker, written(gradient(5000, 1), "PNG"))
    assert made is not None
    assert opened(made.small).size == (360, 1)


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_a_photograph_is_turned_as_its_camera_was(maker: Thumbnailer, orientation: int) -> None:
    """The red corner is up left, wherever the tag says that the sensor had it."""
    seen = Image.new("RGB", (80, 40), "blue")
    seen.paste("red", (0, 0, 20, 20))
    turn = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = seen if turn is None else seen.transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    made = await made_of(maker, written(stored, "JPEG", exif=exif, quality=95))
    assert made is not None
    assert (made.width, made.height) == (80, 40)
    shown = opened(made.large).convert("RGB")
    assert shown.size == (80, 40)
    red, _, blue = shown.getpixel((5, 5))  # type: ignore[misc]
    assert red > 150 > blue
    red, _, blue = shown.getpixel((70, 30))  # type: ignore[misc]
    assert blue > 150 > red


async def test_what_is_transparent_stays_so(maker: Thumbnailer) -> None:
    for kind, mode in [("PNG", "RGBA"), ("PNG", "LA"), ("WEBP", "RGBA")]:
        image = Image.new(mode, (600, 600), 0)
        made = await made_of(maker, written(image, kind))
        assert made is not None
        assert opened(made.small).convert("RGBA").getpixel((10, 10))[3] == 0  # type: ignore[index]
    palette = Image.new("P", (50, 50), 0)
    made = await made_of(maker, written(palette, "GIF", transparency=0))
    assert made is not None
    assert opened(made.small).convert("RGBA").getpixel((10, 10))[3] == 0  # type: ignore[index]


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "I;16"), ("JPEG", "CMYK"), ("JPEG", "L"), ("PNG", "1")])
async def test_uncommon_kinds_of_pixels_are_shown_too(maker: Thumbnailer, kind: str, mode: str) -> None:
    image = Image.new("L", (500, 400), 128).convert("RGB" if mode == "CMYK" else "L").convert(mode)
    if mode == "I;16":
        image = Image.new("I;16", (500, 400), 128 * 256)
    made = await made_of(maker, written(image, kind))
    assert made is not None
    if mode != "1":
        assert all(110 < value < 146 for value in opened(made.small).convert("RGB").getpixel((9, 9)))  # type: ignore[union-attr]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """Return a small PNG that says it is huge, and whose pixels are all there, in a few bytes."""
    compressor = zlib.compressobj(9)
    lines = b"".join(compressor.compress(bytes(1 + width * 3)) for _ in range(min(height, 4000)))
    lines += compressor.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


@pytest.mark.slow
async def test_a_picture_bomb_has_no_thumbnail_and_the_next_picture_has(maker: Thumbnailer) -> None:
    assert await made_of(maker, bomb(20_000, 20_000)) is None
    assert await made_of(maker, bomb(100_000, 401)) is None
    assert await made_of(maker, written(gradient(40, 30), "PNG")) is not None


@pytest.mark.slow
async def test_forty_megapixels_are_made_within_the_memory(maker: Thumbnailer) -> None:
    image = Image.new("RGBA", (8000, 5000), (10, 20, 30, 128))
    made = await made_of(maker, written(image, "PNG", compress_level=1))
    assert made is not None
    assert (made.width, made.height) == (8000, 5000)


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"GIF89a\xff\xff\xff\xff\0\0\0",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"BM" + bytes(60),
        b"P6 1 1 255 abc",
    ],
)
async def test_what_is_no_picture_of_the_known_kinds_has_none(maker: Thumbnailer, data: bytes) -> None:
    assert await made_of(maker, data) is None


async def test_a_picture_cut_off_has_none(maker: Thumbnailer) -> None:
    whole = written(gradient(600, 600), "PNG")
    assert await made_of(maker, whole[: len(whole) // 2]) is None


async def test_pictures_take_turns_with_one_process(maker: Thumbnailer) -> None:
    data, answers = written(gradient(500, 500), "JPEG"), []

    async def make() -> None:
        answers.append(await made_of(maker, data))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(make)
    assert len(answers) == 5
    assert None not in answers


async def test_bytes_that_end_early_are_no_thumbnail(maker: Thumbnailer) -> None:
    data = written(gradient(500, 500), "JPEG")
    with trio.fail_after(30):
        async with aclosing(in_chunks(data[:-10])) as chunks:
            assert await maker.make(chunks, len(data)) is None
    assert await made_of(maker, data) is not None


async def test_an_error_of_the_store_is_the_callers(maker: Thumbnailer) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"\x89PNG"
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        await maker.make(broken(), 100)
    assert await made_of(maker, written(gradient(40, 30), "PNG")) is not None


async def test_who_stops_waiting_leaves_no_process_in_the_middle(maker: Thumbnailer) -> None:
    async def endless() -> AsyncGenerator[bytes]:
        yield b"\x89PNG"
        await trio.sleep_forever()

    with trio.move_on_after(0.2):
        async with aclosing(endless()) as chunks:
            await maker.make(chunks, 100)
    assert await made_of(maker, written(gradient(40, 30), "PNG")) is not None


def program(directory: Path, body: str) -> Path:
    """Return a program that stands for a decoder that a picture has taken over."""
    file = directory / "program.py"
    file.write_text("import os, sys, time\nsys.stdin.buffer.read(8 + 3)\n" + body)
    return file


@pytest.mark.parametrize(
    "body",
    [
        "os.abort()",
        "sys.exit(0)",
        "sys.stdout.buffer.write(b'\\0' * 5)",
        "sys.stdout.buffer.write(b'\\0' + b'\\xff' * 16); sys.stdout.flush(); time.sleep(100)",
        "while True: pass",
    ],
)
async def test_a_process_that_is_lost_costs_the_thumbnail_alone(
    tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "SECONDS", 2.0)
    async with open_thumbnailer(program(tmp_path, body)) as maker:
        assert await made_of(maker, b"abc") is None
        assert maker._process is None


async def test_a_process_that_reads_nothing_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "SILENCE_SECONDS", 0.3)
    async with open_thumbnailer(program(tmp_path, "time.sleep(100)")) as maker:
        assert await made_of(maker, bytes(1024 * 1024)) is None


async def test_the_process_can_use_neither_memory_nor_files_without_limit(tmp_path: Path) -> None:
    """The program's own limits, seen from inside: what runs after a decoder was taken over."""
    grown = tmp_path / "grown"
    probe = f"""
    tried = []
    for attempt in (lambda: bytearray(1 << 30), lambda: open({str(grown)!r}, "wb", 0).write(b"x")):
        try:
            attempt()
        except (MemoryError, OSError) as error:
            tried.append(type(error).__name__)
    assert tried == ["MemoryError", "OSError"], tried
    picture.seek(0)
"""
    source = thumbnails.PROGRAM.read_text().replace("    picture.seek(0)\n", probe)
    (tmp_path / "program.py").write_text(
        source.replace(
            "    main()", "    __import__('signal').signal(25, __import__('signal').SIG_IGN)\n    main()"
        )
    )
    async with open_thumbnailer(tmp_path / "program.py") as maker:
        assert await made_of(maker, written(gradient(40, 30), "PNG")) is not None
    assert grown.stat().st_size == 0


async def test_the_process_ends_when_nothing_is_to_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "KEPT_SECONDS", 0.1)
    async with open_thumbnailer() as maker:
        assert await made_of(maker, written(gradient(40, 30), "PNG")) is not None
        process = maker._process
        assert process is not None
        with trio.fail_after(30):
            await process.wait()
            async with maker._turn:
                assert maker._process is None


def test_both_sides_speak_of_the_same() -> None:
    assert thumbnails.REQUEST.format == thumbnailer.REQUEST.format
    assert thumbnails.ANSWER.format == thumbnailer.ANSWER.format
    assert thumbnails.MADE == thumbnailer.MADE


WHOLE = written(gradient(64, 48), "JPEG"), written(gradient(64, 48), "PNG"), written(gradient(64, 48), "WEBP")


async def test_damaged_pictures_never_cost_more_than_their_thumbnail(maker: Thumbnailer) -> None:
    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(WHOLE), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8))
    def damaged(whole: bytes, changes: list[tuple[int, int]]) -> None:
        data = bytearray(whole)
        for at, value in changes:
            data[at % len(data)] = value
        examples.append(bytes(data))

    examples: list[bytes] = []
    damaged()
    for data in examples:
        made = await made_of(maker, data)
        assert made is None or opened(made.small).format == "WEBP"
    assert await made_of(maker, WHOLE[0]) is not None
