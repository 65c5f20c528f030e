"""FILES: uploads by tus 1.0, files in messages, and what is served of them (capability files, extension G).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

_OPTIONAL = ("width", "height", "hasThumbnail", "duration", "expiresAt")
FILE = dict.fromkeys(("id", "name", "mediaType", "size", "createdAt", "state", *_OPTIONAL))
_TUS = {"Tus-Resumable": "1.0.0"}
_BYTES = {**_TUS, "Content-Type": "application/offset+octet-stream"}
_PAGE = b"<!DOCTYPE html><html><script>alert(document.domain)</script></html>"
_DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'
_PDF = b"%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n%%EOF\n"
_BOTH = b"GIF89a/*" + b"\0" * 8 + b"*/=1;<script>alert(1)</script>"
HOSTILE = {
    "page.html": (_PAGE, "text/html"),
    "page.png": (_PAGE, "image/png"),
    "drawing.svg": (_DRAWING, "image/svg+xml"),
    "document.pdf": (_PDF, "application/pdf"),
    "tree.xml": (b'<?xml version="1.0"?><a xmlns="http://www.w3.org/1999/xhtml"/>', "image/jpeg"),
    "nothing": (bytes(range(256)), "text/html"),
    "both.gif": (_BOTH, "text/html"),
}
"""What would do harm if it ran in the origin of the chat, with the types that it is said to have."""
_DRAWN = "image/svg+xml"
_SHOWN = ("image/", "video/", "audio/", "text/plain")

area = Area(
    "FILES",
    "Files of any type",
    capability="files",
    fields=frozenset({"files", *FILE}),
    endpoints=(
        Endpoint("OPTIONS", "/uploads", "open", kind="text", successes=(204,)),
        Endpoint("POST", "/uploads", kind="text", successes=(201,)),
        Endpoint("HEAD", "/uploads/:uploadId", kind="text"),
        Endpoint("PATCH", "/uploads/:uploadId", kind="text", successes=(204,)),
        Endpoint("DELETE", "/uploads/:uploadId", kind="text", successes=(204,)),
        Endpoint("GET", "/files/:fileId/info", known={"file": FILE}),
        Endpoint("GET", "/files/:fileId", kind="image", successes=(200, 206)),
        Endpoint("GET", "/files/:fileId/thumbnail", kind="image"),
        Endpoint("POST", "/files/:fileId/link", known={"url": None, "expiresAt": None}),
    ),
)
area.required(
    "FILES-TUS-01",
    "G",
    "OPTIONS tells what uploads can do",
    words=["`Tus-Extension: creation,creation-with-upload,expiration,checksum,termination`"],
)
area.required(
    "FILES-TUS-02",
    "G",
    "A small file is one request, and is there at once",
    words=["a small file is one request", "exists once all bytes are there"],
)
area.required(
    "FILES-TUS-03",
    "G",
    "An upload goes on from the offset that HEAD tells",
    words=["200 `Upload-Offset`, `Upload-Length`, `Cache-Control: no-store`"],
)
area.required(
    "FILES-TUS-04",
    "G-1",
    "A wrong offset is 409, another version 412, a wrong checksum 460, what is too large 413",
    words=["Offset wrong: 409; version wrong: 412", "checksum: 460 as tus says"],
)
area.required(
    "FILES-TUS-05",
    "X-13",
    "An upload that is begun again under its Idempotency-Key is the same one, and with other bytes it is 400",
    words=["D-07b holds on every new POST that creates something."],
)
area.required(
    "FILES-SIGHT-01",
    "G-2",
    "A file is its uploader's alone until it stands in a message, and of who sees that then",
    words=["Before it is attached, a file is visible to its uploader alone"],
)
area.required(
    "FILES-ATTACH-01",
    "G-2",
    "Only one's own file of the same place is attached, and once",
    words=["Attaching: only one's own, of the same place, once; else"],
)
area.required(
    "FILES-GONE-01",
    "G-3",
    "A file is gone with its message, and when it is edited out",
    words=["Deleting or editing out removes access in that transaction"],
)
area.required(
    "FILES-SAFE-01",
    "G-4",
    "HTML, SVG, XML, PDF and what is unknown are downloads in a sandbox, whatever they are said to be",
    words=["HTML, SVG, XML, PDF and unknown are never inline"],
)
area.required(
    "FILES-PART-01",
    "G-4",
    "Bytes are served in parts, and not again to who has them",
    words=["`ETag`"],
)
area.required(
    "FILES-LINK-01",
    "G-5",
    "A link needs no header, and ends with the sight of the file",
    words=["a URL with a ticket for this file, this session, five minutes, checked anew at use by X-2"],
)


@area.scenario("FILES-TUS-01", "FILES-TUS-02", "FILES-TUS-03", "FILES-TUS-04", "FILES-TUS-05")
async def uploads_resume(run: Run) -> None:
    """Upload a small file at once, and another in parts, with mistakes in between."""
    channel = await run.channel()
    with run.verdict("FILES-TUS-01"):
        told = await run.u.ask("OPTIONS", at("uploads"))
        told.expect(204)
        require(told.header("tus-version") == "1.0.0", "Tus-Version is another")
        said = set((told.header("tus-extension") or "").split(","))
        wanted = {"creation", "creation-with-upload", "expiration", "checksum", "termination"}
        require(wanted <= said, "an extension of tus is missing")
        require((told.header("tus-max-size") or "").isdigit(), "Tus-Max-Size is no number")
    with run.verdict("FILES-TUS-02"):
        made = await _begin(run.u, channel, b"hello", "a.txt")
        require(made.header("upload-offset") == "5", "not all of it was taken")
        info = (await run.u.get(at("files", _id(made), "info"))).ok()["file"]
        require((info["name"], info["size"]) == ("a.txt", 5), "the file is another")
        require((await run.u.get(at("files", _id(made)))).body == b"hello", "its bytes are others")
    data = bytes(range(256)) * 40
    upload = _id(await _begin(run.u, channel, b"", "b.bin", size=len(data)))
    with run.verdict("FILES-TUS-03"):
        await _patch(run.u, upload, 0, data[:5000], 204)
        where = await run.u.ask("HEAD", at("uploads", upload), headers=_TUS)
        where.expect(200)
        require(where.header("upload-offset") == "5000", "Upload-Offset is another")
        require(where.header("upload-length") == str(len(data)), "Upload-Length is another")
        require("no-store" in (where.header("cache-control") or ""), "the answer may be kept")
    with run.verdict("FILES-TUS-04"):
        await _patch(run.u, upload, 4000, data[4000:], 409)
        await _patch(run.u, upload, 5000, data[5000:], 412, **{"Tus-Resumable": "0.2.2"})
        digest = b64encode(hashlib.sha256(b"other").digest()).decode()
        await _patch(run.u, upload, 5000, data[5000:], 460, **{"Upload-Checksum": f"sha256 {digest}"})
        await _patch(run.u, upload, 5000, data[5000:] + b"more", 413)
    with run.verdict("FILES-TUS-03"):
        digest = b64encode(hashlib.sha256(data[5000:]).digest()).decode()
        await _patch(run.u, upload, 5000, data[5000:], 204, **{"Upload-Checksum": f"sha256 {digest}"})
        require((await run.u.get(at("files", upload))).body == data, "the bytes are others")
    with run.verdict("FILES-TUS-05"):
        key = token_hex(16)
        first, again = [await _begin(run.u, channel, b"once", "c.txt", size=9, key=key) for _ in range(2)]
        require(_id(first) == _id(again), "it is another upload")
        require(again.header("upload-offset") == "4", "Upload-Offset is another")
        await _begin(run.u, channel, b"else", "c.txt", size=9, status=400, key=key)
        await _begin(run.u, channel, b"once", "d.txt", size=9, status=400, key=key)
        (await run.u.ask("DELETE", at("uploads", _id(first)), headers=_TUS)).expect(204)
        await _begin(run.u, channel, b"once", "c.txt", size=9, status=400, key=key)


@area.scenario("FILES-SIGHT-01", "FILES-ATTACH-01", "FILES-GONE-01", "FILES-LINK-01")
async def files_are_seen_with_their_messages(run: Run) -> None:
    """Upload files, post them, edit one out, and delete the message of the other."""
    channel, other = await run.channel(), await run.channel()
    first, second = [_id(await _begin(run.u, channel, b"seen", name)) for name in ("one", "two")]
    elsewhere = _id(await _begin(run.u, other, b"seen", "three"))
    theirs = _id(await _begin(run.v, channel, b"seen", "four"))
    post = at("channels", channel, "messages")
    with run.verdict("FILES-SIGHT-01"):
        (await run.u.get(at("files", first, "info"))).expect(200)
        for target in (at("files", first), at("files", first, "info")):
            (await run.v.get(target)).expect(404)
    with run.verdict("FILES-ATTACH-01"):
        for wrong in (elsewhere, theirs, "0" * 32):
            (await run.u.post(post, {"content": "x", "files": [wrong]})).expect(400)
        message = (await run.u.post(post, {"content": "", "files": [first, second]})).ok()["message"]
        require([one["id"] for one in message["files"]] == [first, second], "its files are others")
        (await run.u.post(post, {"content": "again", "files": [first]})).expect(400)
    with run.verdict("FILES-SIGHT-01"):
        require((await run.v.get(at("files", first))).body == b"seen", "who sees the message can't read it")
    with run.verdict("FILES-LINK-01"):
        url = str((await run.v.post(at("files", first, "link"))).ok()["url"])
        require((await run.n.get(url)).body == b"seen", "the link does not lead to the file")
    with run.verdict("FILES-GONE-01"):
        edit = {"content": "one left", "files": [second]}
        (await run.u.put(at("messages", message["id"]), edit)).expect(200)
        page = (await run.v.get(post)).ok()["messages"]
        [left] = [one.get("files", []) for one in page if one["id"] == message["id"]]
        require([one["id"] for one in left] == [second], "its files are others")
        for asker in (run.u, run.v):
            (await asker.get(at("files", first))).expect(404)
        (await run.u.put(at("messages", message["id"]), {"content": "kept"})).expect(200)
        (await run.v.get(at("files", second))).expect(200)
        (await run.u.delete(at("messages", message["id"]))).expect(200)
        (await run.v.get(at("files", second))).expect(404)
    with run.verdict("FILES-LINK-01"):
        (await run.n.get(url)).expect(404)


@area.scenario("FILES-SAFE-01", "FILES-PART-01")
async def nothing_runs_in_the_chat(run: Run) -> None:
    """Upload what would do harm if it ran, and read it back."""
    channel = await run.channel()
    with run.verdict("FILES-SAFE-01"):
        for name, (data, kind) in HOSTILE.items():
            file = _id(await _begin(run.u, channel, data, name, kind=kind))
            read = await run.u.get(at("files", file))
            read.expect(200)
            told = (read.header("content-type") or "").lower()
            is_shown = told.startswith(_SHOWN) and not told.startswith(_DRAWN)
            require(not is_shown, f"{name} is served as {told}")
            shown = (read.header("content-disposition") or "").lower()
            require(shown.startswith("attachment"), f"{name} is shown in the page")
            policy = read.header("content-security-policy") or ""
            require("sandbox" in policy and "default-src 'none'" in policy, f"{name} is in no sandbox")
            require(read.header("x-content-type-options") == "nosniff", f"{name} may be sniffed")
    with run.verdict("FILES-PART-01"):
        file = _id(await _begin(run.u, channel, b"0123456789", "part.bin"))
        whole = await run.u.get(at("files", file))
        tag = whole.header("etag") or ""
        part = await run.u.get(at("files", file), headers={"Range": "bytes=2-4"})
        part.expect(206)
        require(part.body == b"234", "the part is another")
        require(part.header("content-range") == "bytes 2-4/10", "Content-Range is another")
        (await run.u.get(at("files", file), headers={"Range": "bytes=10-"})).expect(416)
        (await run.u.get(at("files", file), headers={"If-None-Match": tag})).expect(304)
        other = {"Range": "bytes=2-4", "If-Range": '"another"'}
        (await run.u.get(at("files", file), headers=other)).expect(200)


async def _begin(
    asker: Client,
    place: str,
    data: bytes,
    name: str,
    *,
    size: int | None = None,
    kind: str = "",
    status: int = 201,
    key: str | None = None,
) -> Answered:
    said = {"placeId": place, "filename": name, "filetype": kind}
    metadata = ",".join(f"{key} {b64encode(value.encode()).decode()}" for key, value in said.items() if value)
    headers = {"Upload-Length": str(len(data) if size is None else size), "Upload-Metadata": metadata}
    headers |= (_BYTES if data else _TUS) | ({} if key is None else {"Idempotency-Key": key})
    made = await asker.ask("POST", at("uploads"), raw=data, headers=headers)
    made.expect(status)
    return made


async def _patch(asker: Client, upload: str, offset: int, data: bytes, status: int, **headers: str) -> Any:
    given = {**_BYTES, "Upload-Offset": str(offset), **headers}
    answered = await asker.ask("PATCH", at("uploads", upload), raw=data, headers=given)
    answered.expect(status)
    return answered


def _id(made: Answered) -> str:
    return (made.header("location") or "").rpartition("/")[2]
