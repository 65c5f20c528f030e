"""What a file is, from its bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_files.media_types import HEAD_BYTES, INLINE, UNKNOWN, is_inline, is_picture, media_type

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0"
MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)


def ftyp(major: bytes, *others: bytes) -> bytes:
    brands = major + b"\0\0\0\0" + b"".join(others)
    return (len(brands) + 8).to_bytes(4, "big") + b"ftyp" + brands + b"\0\0\0\x08free"


def ogg(first: bytes) -> bytes:
    return b"OggS\0\x02" + bytes(20) + b"\x01" + bytes([len(first)]) + first


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


def own_typed(kind: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), kind)
        archive.writestr("content.xml", "<x/>")
    return buffer.getvalue()


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return buffer.getvalue()


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (JPEG, "image/jpeg"),
        (PNG, "image/png"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (ftyp(b"avif", b"mif1", b"miaf"), "image/avif"),
        (ftyp(b"mif1", b"avif", b"miaf"), "image/avif"),
        (ftyp(b"mif1", b"heic"), "image/heic"),
        (ftyp(b"heic", b"mif1"), "image/heic"),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0", "image/bmp"),
        (ftyp(b"isom", b"iso2", b"avc1", b"mp41"), "video/mp4"),
        (ftyp(b"M4A ", b"mp42", b"isom"), "audio/mp4"),
        (ftyp(b"qt  "), "video/quicktime"),
        (ftyp(b"3gp4", b"isom"), "video/3gpp"),
        (ftyp(b"none", b"nope"), UNKNOWN),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\x82\x88matroska", "video/x-matroska"),
        (b"ID3\x04\0\0\0\0\x0f\x76TIT2", "audio/mpeg"),
        (MP3_FRAME + MP3_FRAME, "audio/mpeg"),
        (ogg(b"\x01vorbis\0\0\0\0"), "audio/ogg"),
        (ogg(b"OpusHead\1\2"), "audio/ogg"),
        (ogg(b"\x80theora\3\2"), "video/ogg"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
        (b"RIFF\x24\0\0\0AVI LIST", "video/x-msvideo"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        (b"\0\0 junk before it\n%PDF-1.4", "application/pdf"),
        (zipped("a.txt"), "application/zip"),
        (zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml"), WORD),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), SHEET),
        (own_typed("application/epub+zip"), "application/epub+zip"),
        (
            own_typed("application/vnd.oasis.opendocument.text"),
            "application/vnd.oasis.opendocument.text",
        ),
        (tarred(), "application/x-tar"),
        (b"\x1f\x8b\x08\0\0\0", "application/gzip"),
        (b"BZh91AY&SY\0\0", "application/x-bzip2"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "application/x-7z-compressed"),
        (b"Rar!\x1a\x07\x01\0", "application/vnd.rar"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "application/x-ole-storage"),
        (b"MZ\x90\0\3\0\0\0", "application/vnd.microsoft.portable-executable"),
        (b"\x7fELF\2\1\1", "application/x-executable"),
        (bytes(100), UNKNOWN),
    ],
)
def test_the_bytes_tell_what_a_file_is(head: bytes, expected: str) -> None:
    assert media_type(head) == expected
    assert media_type(head, name="lie.html", declared="text/html") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!DOCTYPE html><p>", "text/html"),
        ("  \n<!-- well --><HTML >", "text/html"),
        ("<script>alert(1)</script>", "text/html"),
        ("<img src=x onerror=alert(1)>", "text/html"),
        ("<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        ("<!-- made by --><svg onload='x()'>", "image/svg+xml"),
        ("<?xml version='1.0'?><!DOCTYPE svg><svg>", "image/svg+xml"),
        ("<?xml version='1.0'?><s:svg xmlns:s='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        ("<g:a xmlns:g='x'><g:svg/></g:a>", "image/svg+xml"),
        ("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "application/xhtml+xml"),
        ("<?xml version='1.0'?><?xml-stylesheet href='x'?><a/>", "application/xml"),
        ("<note><to>x</to></note>", "application/xml"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["notes.txt", "x.png", ""])
def test_markup_is_told_from_plain_text(text: str, expected: str, encoding: str, name: str) -> None:
    found = media_type(text.encode(encoding), name=name, declared="text/plain")
    assert found == expected
    assert not is_inline(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "Grüße 👋",
        "#include <stdio.h>",
        "<3 you",
        "<<<<<<< HEAD\n",
        "if a<b and c>d: pass",
        "MZ and BZh, ID3 and BM",
        "a\x1b[1mred\x1b[0m\tlog\f",
        "# Title\n<script>",
    ],
)
def test_what_people_write_is_plain_text(text: str) -> None:
    assert media_type(text.encode()) == "text/plain"
    assert media_type(text.encode("utf-16")) == "text/plain"


def test_an_old_encoding_is_text_too() -> None:
    assert media_type("Grüße aus Köln".encode("latin-1")) == "text/plain"


def test_a_character_that_the_head_cuts_is_no_binary() -> None:
    for shift in range(4):
        whole = "a" * shift + "👋" * HEAD_BYTES
        assert media_type(whole.encode()[:HEAD_BYTES]) == "text/plain"


@pytest.mark.parametrize(
    ("name", "declared", "expected"),
    [
        ("numbers.csv", "", "text/csv"),
        ("x.json", "", "application/json"),
        ("x", "text/csv; charset=utf-8", "text/csv"),
        ("page.html", "", "text/html"),
        ("picture.svg", "", "image/svg+xml"),
        ("x", "image/png", "text/plain"),
        ("x", "text/html", "text/plain"),
    ],
)
def test_hints_tell_texts_apart_and_make_nothing_more_of_them(
    name: str, declared: str, expected: str
) -> None:
    assert media_type(b"a <b, 1\n", name=name, declared=declared) == expected


def test_hints_tell_office_documents_apart_where_the_bytes_do_not() -> None:
    head = zipped("[Content_Types].xml", "_rels/.rels", "docProps/app.xml")
    assert media_type(head, name="a.docx") == WORD
    assert media_type(head, declared=SHEET) == SHEET
    assert media_type(head, name="a.docm") == "application/vnd.ms-word.document.macroEnabled.12"
    assert media_type(zipped("x"), name="a.docx", declared=WORD) == "application/zip"
    assert media_type(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", name="a.DOC") == "application/msword"


@pytest.mark.parametrize("start", [JPEG, PNG, b"GIF89a", ftyp(b"isom"), MP3_FRAME * 2, ogg(b"OpusHead\1")])
@pytest.mark.parametrize(
    "other", [b"%PDF-1.4", b"<script>", b"<!DOCTYPE html>", b"<SVG onload=x>", b"<html>", b"<?php x"]
)
def test_a_file_of_two_kinds_is_handed_out_as_neither(start: bytes, other: bytes) -> None:
    assert media_type(start + b"/*" + other, name="a.gif", declared="image/gif") == UNKNOWN


ACTIVE = {
    "text/html",
    "image/svg+xml",
    "application/xml",
    "application/xhtml+xml",
    "application/pdf",
    UNKNOWN,
}


def test_what_may_act_is_never_inline() -> None:
    assert not ACTIVE & INLINE
    assert not is_picture("image/svg+xml")


@given(st.binary(max_size=400), st.text(max_size=20), st.text(max_size=20))
def test_any_bytes_have_a_type_and_hints_never_make_a_file_inline(
    head: bytes, name: str, declared: str
) -> None:
    found = media_type(head, name=name, declared=declared)
    assert found.count("/") == 1
    assert found.isascii()
    bare = media_type(head)
    assert found == bare or not is_inline(found)


@given(
    st.sampled_from([JPEG, PNG, b"GIF89a", ftyp(b"isom"), b"", b"\xef\xbb\xbf", b"\n \t"]),
    st.binary(max_size=300),
)
def test_what_begins_as_html_is_never_inline(before: bytes, after: bytes) -> None:
    assert not is_inline(media_type(before + b"<script>" + after))
