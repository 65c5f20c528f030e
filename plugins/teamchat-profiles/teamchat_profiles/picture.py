"""The process that makes a face out of a picture that somebody sent: it is alone with it.

It is started by its path with nothing but the standard library and Pillow, for one picture, which it reads
from its standard input; on its standard output it writes three squares in WebP, each after its length in 4
bytes, the smallest first.  Memory, processor time and pixels are limited, and it writes no file: what a
picture can do to it is end it.
"""

from __future__ import annotations

import io
import resource
import struct
import sys
import warnings

from PIL import Image, ImageFile, ImageOps

LENGTH = struct.Struct(">I")
SIZES = (64, 128, 512)
"""The sides of the squares, in pixels."""
MOST_PIXELS = 40_000_000
ADDRESS_SPACE_BYTES = 768 * 1024 * 1024
CPU_SECONDS = 10
FORMATS = ("JPEG", "PNG", "WEBP")


def main() -> None:
    """Make the squares of the one picture."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    for square in squares(sys.stdin.buffer.read()):
        sys.stdout.buffer.write(LENGTH.pack(len(square)) + square)


def squares(data: bytes) -> list[bytes]:
    """Return the middle of a picture in all sizes, turned as it is seen, without what else was in it."""
    with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise ValueError("too many pixels")
        opened.draft(None, (2 * max(SIZES), 2 * max(SIZES)))
        opened.load()
        seen = ImageOps.exif_transpose(opened)
    if seen.mode.startswith("I"):
        # 16 bits a pixel: the upper eight are what is seen.
        seen = seen.convert("I").point(lambda value: value / 256).convert("L")
    seen = seen.convert("RGBA" if seen.has_transparency_data else "RGB")
    return [_webp(ImageOps.fit(seen, (side, side), Image.Resampling.LANCZOS)) for side in SIZES]


def _webp(square: Image.Image) -> bytes:
    written = io.BytesIO()
    square.save(written, "WEBP", quality=82, method=4, exif=b"", icc_profile=b"")
    return written.getvalue()


if __name__ == "__main__":
    main()
