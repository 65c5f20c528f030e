"""What a file is, told from its first bytes (G-4).

The name and the type that the sender declares are hints: they tell apart what the bytes leave open (one
office document from another, CSV from other text), and never make a file one of those that are shown in the
browser.  Whatever is not known for certain is ``application/octet-stream``.
"""

from __future__ import annotations

import re

HEAD_BYTES = 64 * 1024
"""How many of a file's first bytes are looked at."""

UNKNOWN = "application/octet-stream"
PLAIN_TEXT = "text/plain"

INLINE = frozenset(
    {
        *("image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"),
        *("video/mp4", "video/webm", "video/ogg", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav"),
        PLAIN_TEXT,
    }
)
"""What a browser may show by itself; everything else is an attachment."""

PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
"""What thumbnails are made of."""


def media_type(head: bytes, *, name: str = "", declared: str = "") -> str:
    """Return the media type of a file that begins with `head`, its first `HEAD_BYTES` or all of it."""
    head = head[:HEAD_BYTES]
    found = _by_magic(head)
    if found is None:
        return _text(head, name, declared) or (_PDF if _is_pdf(head) else UNKNOWN)
    if found in INLINE and _is_polyglot(head):
        return UNKNOWN
    return _refined(found, head, name, declared)


def is_inline(found: str) -> bool:
    """Return whether a browser may show a file of this type by itself."""
    return found in INLINE


def is_picture(found: str) -> bool:
    """Return whether thumbnails are made of a file of this type."""
    return found in PICTURES


_PDF = "application/pdf"
_ZIP = "application/zip"
_COMPOUND = "application/x-ole-storage"

# In this order: what begins with a longer mark first.
_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"8BPS\0\x01", "image/vnd.adobe.photoshop"),
    (b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (b"\xff\x0a", "image/jxl"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"%PDF-", _PDF),
    (b"%!PS", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
    (b"PK\x03\x04", _ZIP),
    (b"PK\x05\x06", _ZIP),
    (b"PK\x07\x08", _ZIP),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"MSCF\0\0\0\0", "application/vnd.ms-cab-compressed"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _COMPOUND),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xfe\xed\xfa\xce", "application/x-mach-binary"),
    (b"\xfe\xed\xfa\xcf", "application/x-mach-binary"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\xca\xfe\xba\xbe", UNKNOWN),  # Java's classes and universal programs of macOS alike.
    (b"\0asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\0", "font/otf"),
    (b"\0\x01\0\0\0", "font/ttf"),
    (b"fLaC", "audio/flac"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"#!AMR", "audio/amr"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
)
# Marks of letters alone stand in front of texts too: the bytes after them decide.
_PATTERNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "application/x-bzip2"),
    (re.compile(rb"MZ[^\0]{0,62}\0", re.DOTALL), "application/vnd.microsoft.portable-executable"),
    (re.compile(rb"ID3[\x02-\x04][\0-\x0f].[\0-\x7f]{4}", re.DOTALL), "audio/mpeg"),
    (re.compile(rb"BM.{4}\0{4}.{4}[\x0c-\x7c]\0{3}", re.DOTALL), "image/bmp"),
    (re.compile(rb".{257}ustar", re.DOTALL), "application/x-tar"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}


def _by_magic(head: bytes) -> str | None:
    for mark, found in _PREFIXES:
        if head.startswith(mark):
            return found
    for pattern, found in _PATTERNS:
        if pattern.match(head):
            return found
    for look in (_riff, _iso_media, _matroska, _ogg, _mpeg_audio):
        if (seen := look(head)) is not None:
            return seen
    return None


def _riff(head: bytes) -> str | None:
    if head[:4] != b"RIFF" or len(head) < 12:
        return None
    return _RIFF.get(head[8:12], UNKNOWN)


_BRANDS: tuple[tuple[frozenset[bytes], str], ...] = (
    (frozenset({b"avif", b"avis"}), "image/avif"),
    (frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"}), "image/heic"),
    (frozenset({b"mif1", b"msf1"}), "image/heif"),
    (frozenset({b"M4A ", b"M4B ", b"M4P ", b"F4A "}), "audio/mp4"),
    (frozenset({b"qt  "}), "video/quicktime"),
    (frozenset({b"3gp4", b"3gp5", b"3gp6", b"3gp7", b"3ge6", b"3gg6"}), "video/3gpp"),
    (
        frozenset(
            {
                *(b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"iso7", b"iso8", b"iso9"),
                *(b"mp41", b"mp42", b"avc1", b"dash", b"M4V ", b"M4VH", b"M4VP", b"mmp4", b"MSNV", b"f4v "),
            }
        ),
        "video/mp4",
    ),
)


def _iso_media(head: bytes) -> str | None:
    """Look at the brands of a file of ISO/IEC 14496-12: the major one first, then the compatible ones."""
    if head[4:8] != b"ftyp" or len(head) < 12:
        return None
    end = min(int.from_bytes(head[:4], "big"), len(head), 512)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, end - 3, 4))]
    major = next((found for known, found in _BRANDS if brands[0] in known), None)
    if major not in (None, "image/heif"):
        return major
    # A sequence or picture of the general brand says among the others how it is coded.
    return next((found for known, found in _BRANDS if known & set(brands)), UNKNOWN)


def _matroska(head: bytes) -> str | None:
    if head[:4] != b"\x1a\x45\xdf\xa3":
        return None
    doc_type = re.search(rb"\x42\x82[\x81-\x90]([a-z]+)", head[:4096])
    names = {b"webm": "video/webm", b"matroska": "video/x-matroska"}
    return names.get(doc_type[1], UNKNOWN) if doc_type else UNKNOWN


def _ogg(head: bytes) -> str | None:
    if head[:5] != b"OggS\0" or len(head) < 28:
        return None
    first = head[27 + head[26] :][:16]
    if first.startswith((b"\x01vorbis", b"OpusHead", b"\x7fFLAC", b"Speex   ")):
        return "audio/ogg"
    return "video/ogg" if first.startswith((b"\x80theora", b"fishead\0")) else UNKNOWN


_MPEG1_RATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_RATES = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_SAMPLES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


def _mpeg_audio(head: bytes) -> str | None:
    """Take it for MP3 only if a second frame stands where the first one ends: the mark of one has 11 bits."""
    length = _mp3_frame_bytes(head)
    if length is not None and _mp3_frame_bytes(head[length:]) is not None:
        return "audio/mpeg"
    is_adts = len(head) > 6 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0
    if is_adts:
        length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
        following = head[length : length + 2]
        if length > 6 and len(following) == 2 and following[0] == 0xFF and following[1] & 0xF6 == 0xF0:
            return "audio/aac"
    return None


def _mp3_frame_bytes(head: bytes) -> int | None:
    """Return how long the frame of layer III is that `head` begins with; None if it begins with none."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    rate, frequency, padding = head[2] >> 4, head[2] >> 2 & 3, head[2] >> 1 & 1
    if version == 1 or layer != 1 or rate in (0, 15) or frequency == 3:
        return None
    rates, samples = (_MPEG1_RATES, 144) if version == 3 else (_MPEG2_RATES, 72)
    return samples * rates[rate] * 1000 // _SAMPLES[version][frequency] + padding


def _is_pdf(head: bytes) -> bool:
    """Readers look for the mark in the first 1,024 bytes, whatever stands before it."""
    return b"%PDF-" in head[:1024]


# What makes readers of HTML, SVG or PDF take a picture for one of theirs. No picture, film or piece of music
# has it in its first bytes by chance; one that has it is handed out as a download.
_ACTIVE = re.compile(
    rb"<(?:!doctype\s|html[\s>]|head[\s>]|body[\s>]|script[\s>/]|svg[\s>]|iframe[\s>/]|object[\s>]|embed[\s>]"
    rb"|\?php|meta\s+http-equiv)",
    re.IGNORECASE,
)


def _is_polyglot(head: bytes) -> bool:
    return _is_pdf(head) or _ACTIVE.search(head) is not None


_OFFICE = "application/vnd.openxmlformats-officedocument."
_OOXML: dict[str, tuple[bytes, str]] = {
    "docx": (b"word/", _OFFICE + "wordprocessingml.document"),
    "xlsx": (b"xl/", _OFFICE + "spreadsheetml.sheet"),
    "pptx": (b"ppt/", _OFFICE + "presentationml.presentation"),
}
_COMPOUND_NAMES = {
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
    "msi": "application/x-msi",
}
_OWN_TYPE = re.compile(rb"application/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+)")
_ZIP_NAMES = {
    "apk": "application/vnd.android.package-archive",
    "jar": "application/java-archive",
    "docm": "application/vnd.ms-word.document.macroEnabled.12",
    "xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
    "pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
}


def _refined(found: str, head: bytes, name: str, declared: str) -> str:
    if found == _ZIP:
        return _zip(head, name, declared)
    if found == _COMPOUND:
        return _COMPOUND_NAMES.get(_suffix(name), found)
    return found


def _zip(head: bytes, name: str, declared: str) -> str:
    # The first entry of EPUB and OpenDocument is called "mimetype", is not compressed and holds the type.
    own = _OWN_TYPE.match(head, 38) if head[30:38] == b"mimetype" else None
    if own is not None:
        return own[0].decode()
    suffix = _suffix(name)
    if b"[Content_Types].xml" in head or b"_rels/.rels" in head:
        if suffix in ("docm", "xlsm", "pptm"):
            return _ZIP_NAMES[suffix]
        for folder, office in _OOXML.values():
            if b"PK\x03\x04" in head and re.search(rb"PK\x03\x04.{26}" + folder, head, re.DOTALL):
                return office
        by_declared = next((office for _, office in _OOXML.values() if office == declared), _ZIP)
        return _OOXML[suffix][1] if suffix in _OOXML else by_declared
    return _ZIP_NAMES.get(suffix, _ZIP) if suffix in ("apk", "jar") else _ZIP


# What the bytes can't tell from other text, and what a browser is never to show by itself.
_TEXTS: dict[str, str] = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "md": "text/markdown",
    "json": "application/json",
    "ics": "text/calendar",
    "vcf": "text/vcard",
    "eml": "message/rfc822",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
}
_MARKUP: tuple[tuple[str, str], ...] = (
    ("svg", "image/svg+xml"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "application/xhtml+xml"),
    ("xml", "application/xml"),
)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SVG = re.compile(r"<(?:[\w.-]+:)?svg[\s>/]", re.IGNORECASE)
_XHTML = re.compile(r"<(?:[\w.-]+:)?html[\s>/]", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s|<!--.*?-->)*", re.DOTALL)
# The beginnings by which browsers take a file for HTML (WHATWG MIME Sniffing, section 7.1), and a few more.
_HTML = re.compile(
    r"<(?:!doctype|html|head|script|iframe|h[1-6]|div|font|table|a|style|title|b|body|br|p|object|embed|img|meta"
    r"|link|base|form|video|audio|math|template|!--)(?=[\s>/])",
    re.IGNORECASE,
)


def _text(head: bytes, name: str, declared: str) -> str | None:
    """Return the type of a text: markup of any kind is told from what can be read as it is."""
    text = _decoded(head)
    if text is None:
        return None
    markup = _markup(text)
    if markup is not None:
        return markup
    # A name that makes programs run it as markup: what it holds is not plain, whatever it begins with.
    suffix = _suffix(name)
    for ending, found in _MARKUP:
        if suffix == ending and "<" in text:
            return found
    if _is_pdf(head):
        return _PDF
    by_name = _TEXTS.get(suffix)
    if by_name is not None:
        return by_name
    bare = declared.partition(";")[0].strip().lower()
    return bare if bare in _TEXTS.values() else PLAIN_TEXT


def _decoded(head: bytes) -> str | None:
    """Return the text of `head`, or None if it is none: UTF-8, UTF-16 with a mark, or a byte a character."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            text = head[len(mark) :].decode(encoding, "replace")
            return None if _NO_TEXT.search(text) else text
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        # The last character may be cut off where the head ends.
        is_cut = len(head) == HEAD_BYTES and error.start >= len(head) - 3
        text = head[: error.start].decode() if is_cut else head.decode("latin-1")
    return None if _NO_TEXT.search(text) else text


def _markup(text: str) -> str | None:
    begins = _COMMENTS.match(text)
    rest = text[begins.end() if begins else 0 :]
    if rest[:5].lower() == "<?xml" or (rest[:2] in ("<?", "<!") and _SVG.search(rest)):
        if _SVG.search(rest):
            return "image/svg+xml"
        return "application/xhtml+xml" if _XHTML.search(rest) else "application/xml"
    if _SVG.match(rest):
        return "image/svg+xml"
    if _HTML.match(rest) or _HTML.match(text.lstrip()):
        return "text/html"
    # Another element first: XML of some kind, if it is one at all.
    if re.match(r"<(?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*(?:\s+[\w:.-]+\s*=\s*[\"'][^<]*?)?/?>", rest):
        return "image/svg+xml" if _SVG.search(rest) else "application/xml"
    return None


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
