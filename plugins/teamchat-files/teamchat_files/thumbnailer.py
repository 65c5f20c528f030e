"""The process that makes thumbnails: it decodes what strangers sent, and is alone with it (G-8).

It is started by its path with nothing but the standard library and Pillow, reads one picture at a time from
its standard input, and answers on its standard output.  What a picture can do to it is end it: address space,
CPU time and pixels are limited, it writes no file, and whoever started it reads only lengths and bytes.

A request is the length of the picture in 8 bytes and the picture; an answer is a status byte, width and
height in 4 bytes each, the lengths of both thumbnails in 4 bytes each, and the thumbnails.
"""

from __future__ import annotations

import io
import resource
import struct
import sys
import warnings
from typing import BinaryIO

from PIL import Image, ImageFile

REQUEST = struct.Struct(">Q")
ANSWER = struct.Struct(">BIIII")
MADE, FAILED = 0, 1

SMALL, LARGE = 360, 1280
"""The longer side of the thumbnails, in pixels."""
MOST_PIXELS = 40_000_000
ADDRESS_SPACE_BYTES = 768 * 1024 * 1024
CPU_SECONDS = 10
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "AVIF")
_PIECE_BYTES = 1024 * 1024


def main() -> None:
    """Answer requests until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    while len(head := given.read(REQUEST.size)) == REQUEST.size:
        # From now on, and only for this picture: the process lives longer than one.
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_SECONDS, resource.RLIM_INFINITY))
        answers.write(_answer(_read(given, REQUEST.unpack(head)[0])))
        answers.flush()


def _read(given: BinaryIO, length: int) -> io.BytesIO:
    picture = io.BytesIO()
    while length > 0 and (piece := given.read(min(length, _PIECE_BYTES))):
        picture.write(piece)
        length -= len(piece)
    picture.seek(0)
    return picture


def _answer(picture: io.BytesIO) -> bytes:
    try:
        (width, height), small, large = _made(picture)
    except Exception:  # Whatever a decoder finds to complain of: there is no thumbnail.
        return ANSWER.pack(FAILED, 0, 0, 0, 0)
    return ANSWER.pack(MADE, width, height, len(small), len(large)) + small + large


def _made(picture: io.BytesIO) -> tuple[tuple[int, int], bytes, bytes]:
    """Return the size of a picture as it is seen, turned by its EXIF, and both thumbnails in WebP."""
    with Image.open(picture, formats=FORMATS) as opened:
        width, height = opened.size
        if width * height > MOST_PIXELS:
            raise ValueError("too many pixels")
        orientation = opened.getexif().get(0x0112, 1)
        profile = opened.info.get("icc_profile")
        bounds = _bounded(opened.size, LARGE)
        # JPEG's decoder can leave out what would be thrown away: this alone makes large ones cheap.
        opened.draft(None, bounds)
        large = _plain(opened).resize(bounds, Image.Resampling.LANCZOS, reducing_gap=2.0)
        keeps_profile = opened.mode.startswith(("RGB", "P")) and len(profile or b"") <= 16_384
    if orientation in _TURNS:
        large = large.transpose(_TURNS[orientation])
    small = large.resize(_bounded(large.size, SMALL), Image.Resampling.LANCZOS, reducing_gap=2.0)
    seen = (height, width) if orientation in (5, 6, 7, 8) else (width, height)
    kept = profile if keeps_profile else None
    return seen, _webp(small, kept), _webp(large, kept)


# How to undo what the tag of EXIF says.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def _bounded(size: tuple[int, int], longer: int) -> tuple[int, int]:
    most = max(size)
    if most <= longer:
        return size
    return max(1, round(size[0] * longer / most)), max(1, round(size[1] * longer / most))


def _plain(image: Image.Image) -> Image.Image:
    """Return it in a mode that WebP has, with its transparency."""
    image.load()
    if image.mode in ("RGB", "RGBA") and "transparency" not in image.info:
        return image
    if image.mode.startswith("I"):
        # 16 bits a pixel: the upper eight are what is seen.
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    has_alpha = image.has_transparency_data
    return image.convert("RGBA" if has_alpha else "RGB")


def _webp(image: Image.Image, profile: bytes | None) -> bytes:
    written = io.BytesIO()
    image.save(written, "WEBP", quality=80, method=4, icc_profile=profile or b"")
    return written.getvalue()


if __name__ == "__main__":
    main()
