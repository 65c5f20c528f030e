"""FILES: uploads by tus 1.0, files in messages, and what is served of them (capability files, extension G).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from secrets import token_hex
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from teamchat_conformance.checks.places import Question, add, like_nothing, make_private
from teamchat_conformance.checks.steps import at, the_only, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require, told
from teamchat_conformance.fixtures import images
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_MOST_SENT = 16 * 1024 * 1024  # where a server takes more at once, less is not tried
_CLOCKS_DIFFER = 60_000
_SHOWN = ("image/", "video/", "audio/", "text/plain")

area = Area(
    "FILES",
    "Files of any type",
    capability="files",
    fields=frozenset({"files", *FILE}),
    endpoints=(
        Endpoint("OPTIONS", "/uploads", "open", kind="text", successes=(200, 204)),
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
area.required(
    "FILES-TUS-06",
    "G-6",
    "A file that is larger than the maxBytes that are announced is refused with 413",
    words=["Limits: `maxBytes` (100 MiB)", "exceeded: 413"],
)
area.required(
    "FILES-NAME-01",
    "G",
    "A name of more than 255 characters or with control characters is refused with 400",
    words=["`Upload-Metadata` file names have at most 255 characters; control characters are refused."],
)
area.required(
    "FILES-MOST-01",
    "G",
    "A message has ten files and images, and with one more it is 400",
    words=["ids, at most 10 together with `images`"],
)
area.required(
    "FILES-SAFE-02",
    "G-4",
    "What is served is for its reader alone, and is a download where that is asked for",
    words=["`Cache-Control: private", "`Vary: Authorization`", "`?download=1`"],
)
area.required(
    "FILES-TUS-07",
    "G",
    "Answers say which version of tus they are of, when an upload ends, and which checksums there are",
    words=["201, `Location`, `Upload-Offset`, `Upload-Expires`", "`Tus-Checksum-Algorithm: sha1,sha256`"],
)
area.required(
    "FILES-TUS-08",
    "G-1",
    "A request that carries more than the chunkBytes that are announced is refused with 413",
    words=["too large, or a PATCH above", "`chunkBytes` bounds bodies of POST too"],
)
area.required(
    "FILES-ATTACH-02",
    "G",
    "Replies and direct messages have files too, and their events tell them",
    words=["**Message**: optional `files`: array of File"],
)
area.required(
    "FILES-SAFE-03",
    "G-4",
    "A picture is shown in the page",
    words=["for all but JPEG, PNG, GIF, WebP, AVIF, MP4, WebM, MP3, Ogg, WAV, plain text"],
)
area.required(
    "FILES-LINK-02",
    "G-5",
    "A link is for one file, for five minutes, and ends with the session that asked for it",
    words=["a URL with a ticket for this file, this session, five minutes, checked anew at use by X-2"],
)
area.required(
    "FILES-HIDE-01",
    "X-3",
    "A file of a message that one does not see is as one nobody ever had, in parts and by its tag too",
    words=["conditional requests (`If-None-Match`) and range requests are no exception"],
)
area.required(
    "FILES-HIDE-02",
    "G-1",
    "Nothing is uploaded to a place that one does not see (404), nor to a conversation of others (403)",
    words=["Not\n  visible: 404 before a byte is read (another's direct conversation 403, D-03)."],
)
area.required(
    "FILES-HIDE-03",
    "G-1",
    "An upload of somebody else's is neither asked for, nor gone on with, nor ended (404)",
    words=["An upload belongs to its uploader"],
)
area.required(
    "FILES-ARCH-01",
    "B-6",
    "Nothing is uploaded to an archived channel (403)",
    words=["one place they may post to (checked at POST, at every PATCH, at attaching)"],
)


@area.scenario("FILES-TUS-01", "FILES-TUS-02", "FILES-TUS-03", "FILES-TUS-04", "FILES-TUS-05")
async def uploads_resume(run: Run) -> None:
    """Upload a small file at once, and another in parts, with mistakes in between."""
    channel = await run.channel()
    with run.verdict("FILES-TUS-01"):
        answer = (await run.u.ask("OPTIONS", at("uploads"))).expect(200, 204)
        require(answer.header("tus-version") == "1.0.0", "Tus-Version is another")
        said = set((answer.header("tus-extension") or "").split(","))
        wanted = {"creation", "creation-with-upload", "expiration", "checksum", "termination"}
        require(wanted <= said, "an extension of tus is missing")
        require((answer.header("tus-max-size") or "").isdigit(), "Tus-Max-Size is no number")
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
        link = urlsplit(str((await run.v.post(at("files", first, "link"))).ok()["url"]))
        url = urlunsplit(("", "", *link[2:]))
        require((await run.n.get(url)).body == b"seen", "the link does not lead to the file")
    with run.verdict("FILES-GONE-01"):
        edit = {"content": "one left", "files": [second]}
        (await run.u.put(at("messages", message["id"]), edit)).expect(200)
        page = (await run.v.get(post)).ok()["messages"]
        edited = the_only([one for one in page if one["id"] == message["id"]], "messages with its id")
        left = edited.get("files", [])
        require([one["id"] for one in left] == [second], "its files are others")
        for asker in (run.u, run.v):
            (await asker.get(at("files", first))).expect(404)
        (await run.u.put(at("messages", message["id"]), {"content": "kept"})).expect(200)
        (await run.v.get(at("files", second))).expect(200)
        (await run.u.delete(at("messages", message["id"]))).expect(200)
        (await run.v.get(at("files", second))).expect(404)
    with run.verdict("FILES-LINK-01"):
        (await run.n.get(url)).expect(404)


@area.scenario("FILES-TUS-07", "FILES-TUS-08")
async def answers_are_those_of_tus(run: Run) -> None:
    """Begin, ask for and go on with an upload, with either checksum, and send too much at once."""
    channel = await run.channel()
    begun = await _begin(run.u, channel, b"", "a.txt", size=6)
    upload = _id(begun)
    with run.verdict("FILES-TUS-07"):
        known = (await run.u.ask("OPTIONS", at("uploads"))).header("tus-checksum-algorithm") or ""
        require({"sha1", "sha256"} <= set(known.split(",")), f"Tus-Checksum-Algorithm is {known!r}")
        answers = [begun, await run.u.ask("HEAD", at("uploads", upload), headers=_TUS)]
        for name, data in (("sha1", b"abc"), ("sha256", b"def")):
            digest = b64encode(hashlib.new(name, data).digest()).decode()
            offset = 0 if name == "sha1" else 3
            more = {"Upload-Checksum": f"{name} {digest}"}
            answers.append(await _patch(run.u, upload, offset, data, 204, **more))
        for answer in answers:
            require(answer.header("tus-resumable") == "1.0.0", f"{answer.method} has no Tus-Resumable")
        require(begun.header("upload-expires"), "Upload-Expires is missing")
    with run.verdict("FILES-TUS-08"):
        most = run.announced.capabilities["files"].get("chunkBytes")
        if isinstance(most, int) and most <= _MOST_SENT:
            data = bytes(most + 1)
            await _begin(run.u, channel, data, "large.bin", status=413)
            upload = _id(await _begin(run.u, channel, b"", "large.bin", size=len(data)))
            await _patch(run.u, upload, 0, data, 413)
            (await run.u.ask("DELETE", at("uploads", upload), headers=_TUS)).expect(204)


@area.scenario("FILES-ATTACH-02", "FILES-SAFE-03", "FILES-LINK-02")
async def replies_and_direct_messages_have_files(run: Run) -> None:
    """Post a picture as a reply and to one user, and link one in a session that ends."""
    channel, talk = await run.channel(), await run.conversation(run.u, run.v)
    parent = str((await run.post(run.u, channel))["id"])
    posted = []
    async with run.listen(run.v) as observer:
        for place, target, key, kind in (
            (channel, at("messages", parent, "thread"), "reply", "NEW_THREAD_REPLY"),
            (talk, at("conversations", talk, "messages"), "message", "NEW_DM_MESSAGE"),
        ):
            with run.verdict("FILES-ATTACH-02"):
                file = _id(await _begin(run.u, place, images.png(), "one.png", kind="image/png"))
                mark = observer.mark()
                made = told(await run.u.post(target, {"content": "look", "files": [file]}), key)
                heard = (await observer.expect(kind, since=mark)).payload
                shown = heard["reply"] if key == "reply" else heard
                for one in (made, shown):
                    require([each["id"] for each in one.get("files", [])] == [file], f"of a {key} it is not")
                posted.append(file)
    with run.verdict("FILES-SAFE-03"):
        shown = (await run.v.get(at("files", posted[0]))).expect(200)
        require(shown.media_type == "image/png", f"its type is {shown.media_type}")
        kind = (shown.header("content-disposition") or "inline").lower()
        require(not kind.startswith("attachment"), "it is a download")
    with run.verdict("FILES-LINK-02"):
        other = await run.new_user(name="who leaves")
        link = (await other.post(at("files", posted[0], "link"))).ok()
        lasts = int(link["expiresAt"]) - int(time() * 1000)
        require(lasts <= 300_000 + _CLOCKS_DIFFER, f"it lasts for {lasts} ms")
        path, query = urlsplit(str(link["url"]))[2:4]
        (await run.n.get(f"{path}?{query}")).expect(200)
        another = _id(await _begin(other, channel, b"seen", "another"))
        (await run.n.get(f"{path.replace(posted[0], another)}?{query}")).error(401, 403, 404)
        (await other.delete("/auth/sessions")).expect(200)
        (await run.n.get(f"{path}?{query}")).error(401, 403, 404)


@area.scenario("FILES-HIDE-01")
async def files_of_a_private_channel(run: Run) -> None:
    """Post a file in a private channel, add somebody who does not see it, and ask for it in every way."""
    with run.verdict("FILES-HIDE-01"):
        direct = await run.conversation(run.u, run.v)
        file = await _posted(run, at("conversations", direct, "messages"), direct)
        for target in (at("files", file), at("files", file, "info")):
            (await run.v.get(target)).expect(200)
            (await run.w.get(target)).error(404)
        if not run.announced.version("private-channels"):
            return
        made = await make_private(run, run.u, historyFor="joiners")
        place = str(made["id"])
        file = await _posted(run, at("channels", place, "messages"), place)
        await add(run.u, made, run.v)
        tag = (await run.u.get(at("files", file))).expect(200).header("etag") or '"none"'
        for who in (run.v, run.w, run.b):
            for question in _of_file(tag):
                await like_nothing(who, question, file)


@area.scenario("FILES-HIDE-02", "FILES-HIDE-03", "FILES-ARCH-01")
async def uploads_where_one_may_not(run: Run) -> None:
    """Begin uploads to places of others, and go on with one of somebody else's."""
    with run.verdict("FILES-HIDE-02"):
        await _begin(run.w, await run.conversation(run.u, run.v), b"no", "a.txt", status=403)
        unseen = [unknown(run)]
        if run.announced.version("private-channels"):
            unseen.append(str((await make_private(run, run.u))["id"]))
        for who in (run.w, run.b):
            answers = [await _begin(who, place, b"no", "a.txt", status=404) for place in unseen]
            require(len({one.body for one in answers}) == 1, "a hidden place is told from none")
    channel = await run.channel()
    upload = _id(await _begin(run.u, channel, b"be", "b.txt", size=5))
    with run.verdict("FILES-HIDE-03"):
        (await run.v.ask("HEAD", at("uploads", upload), headers=_TUS)).expect(404)
        await _patch(run.v, upload, 2, b"gin", 404)
        (await run.v.ask("DELETE", at("uploads", upload), headers=_TUS)).expect(404)
    with run.verdict("FILES-ARCH-01"):
        if run.announced.version("archive"):
            (await run.a.post(at("channels", channel, "archive"))).expect(200)
            await _begin(run.u, channel, b"no", "c.txt", status=403)
            await _patch(run.u, upload, 2, b"gin", 403)
            (await run.a.post(at("channels", channel, "unarchive"))).expect(200)
    with run.verdict("FILES-HIDE-03"):
        await _patch(run.u, upload, 2, b"gin", 204)
        require((await run.u.get(at("files", upload))).body == b"begin", "somebody else has changed it")


@area.scenario("FILES-TUS-06", "FILES-NAME-01", "FILES-MOST-01")
async def too_large_too_long_too_many(run: Run) -> None:
    """Announce a file that is too large, names that can't be, and post more files than a message has."""
    channel = await run.channel()
    with run.verdict("FILES-TUS-06"):
        most = run.announced.capabilities["files"].get("maxBytes")
        if isinstance(most, int):
            await _begin(run.u, channel, b"", "a.bin", size=most + 1, status=413)
    with run.verdict("FILES-NAME-01"):
        for name in ("n" * 256, "a\nb", "a\x00b"):
            await _begin(run.u, channel, b"x", name, status=400)
        made = _id(await _begin(run.u, channel, b"x", "é" * 255))
        info = (await run.u.get(at("files", made, "info"))).ok()["file"]
        require(info["name"] == "é" * 255, "a name of 255 characters is another")
    with run.verdict("FILES-MOST-01"):
        post = at("channels", channel, "messages")
        files = [_id(await _begin(run.u, channel, b"x", f"{number}")) for number in range(11)]
        (await run.u.post(post, {"content": "many", "files": files})).error(400)
        image = {"filename": "one.png", "image": b64encode(images.png()).decode()}
        name = (await run.u.post(at("channels", channel, "messages", "image"), image)).ok()["filename"]
        (await run.u.post(post, {"content": "x", "files": files[:10], "images": [name]})).error(400)
        message = (await run.u.post(post, {"content": "ten", "files": files[:10]})).ok()["message"]
        require([one["id"] for one in message["files"]] == files[:10], "its files are others")


@area.scenario("FILES-SAFE-01", "FILES-PART-01", "FILES-SAFE-02")
async def nothing_runs_in_the_chat(run: Run) -> None:
    """Upload what would do harm if it ran, and read it back."""
    channel = await run.channel()
    with run.verdict("FILES-SAFE-01"):
        for name, (data, kind) in HOSTILE.items():
            file = _id(await _begin(run.u, channel, data, name, kind=kind))
            read = await run.u.get(at("files", file))
            read.expect(200)
            served = (read.header("content-type") or "").lower()
            is_shown = served.startswith(_SHOWN) and not served.startswith(_DRAWN)
            require(not is_shown, f"{name} is served as {served}")
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
    with run.verdict("FILES-SAFE-02"):
        file = _id(await _begin(run.u, channel, b"some text", 'a"b;c.txt', kind="text/plain"))
        for target in (at("files", file), at("files", file, download=1)):
            read = await run.u.get(target)
            require("private" in (read.header("cache-control") or ""), "a shared cache may keep it")
            require("authorization" in (read.header("vary") or "").lower(), "Vary does not say Authorization")
            require(read.header("cross-origin-resource-policy") is not None, "any page may embed it")
        shown = (read.header("content-disposition") or "").lower()
        require(shown.startswith("attachment"), "download=1 is no download")
        require("filename*=utf-8''a%22b%3bc.txt" in shown, f"the name is told as {shown}")


def _of_file(tag: str) -> Iterator[Question]:
    """Yield a good request of every kind that names a file."""
    yield Question("GET", "/files/{}/info")
    yield Question("POST", "/files/{}/link")
    given: tuple[dict[str, str], ...] = ({}, {"If-None-Match": tag}, {"Range": "bytes=0-1"})
    for headers in given:
        yield Question("GET", "/files/{}", headers=headers)
        yield Question("GET", "/files/{}/thumbnail", headers=headers)


async def _posted(run: Run, target: str, place: str) -> str:
    """Upload a picture and post it, and return the file's id."""
    file = _id(await _begin(run.u, place, images.png(), "one.png", kind="image/png"))
    (await run.u.post(target, {"content": "look", "files": [file]})).expect(200)
    return file


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
