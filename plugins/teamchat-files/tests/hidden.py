"""What the leak suite is told of files: a file in a message of each room, and an upload that is under way."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {"path fileId": "file", "path uploadId": "upload"}
HARMLESS: Mapping[str, str] = {
    "query download": "whether a file is to be kept or shown",
    "query ticket": "what nobody guesses; that it ends with its file and its session, the tests of files ask",
}
WHOLE_REQUESTS: Mapping[str, str] = {
    "POST /uploads": "the headers of tus; the place in them is asked about in the tests of files",
    "HEAD /uploads/<uploadId>": "the headers of tus",
    "PATCH /uploads/<uploadId>": "the headers of tus, and the bytes",
    "DELETE /uploads/<uploadId>": "the headers of tus",
    "GET /files/<fileId>": "Range, If-Range and If-None-Match, which are asked with",
    "GET /files/<fileId>/thumbnail": "Range, If-Range and If-None-Match, which are asked with",
}
_TUS = {"tus-resumable": "1.0.0"}
_BYTES = {"content-type": "application/offset+octet-stream"}
HEADERS: Mapping[str, Mapping[str, str]] = {
    "HEAD /uploads/<uploadId>": _TUS,
    "PATCH /uploads/<uploadId>": {**_TUS, **_BYTES, "upload-offset": "0"},
    "DELETE /uploads/<uploadId>": _TUS,
}
_SAID = b"what was said in a file"
_THUMBNAIL = b"RIFF    WEBP"


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Upload a file that stands in a message, one that stands in none, and begin with another."""
    place = ids["room"][0]
    attached = await _upload(client, place, _SAID)
    loose = await _upload(client, place, _SAID)
    begun = await _upload(client, place, b"", len(_SAID))
    await _look_at(client, attached)
    message = await client.ok("POST", f"{base}/messages", {"content": "", "files": [attached]})
    assert message["message"]["files"][0]["state"] == "ready"
    return {"file": [attached, loose], "upload": [attached, begun], "message": ids["message"]}


async def _upload(client: Any, place: str, data: bytes, size: int | None = None) -> str:
    pairs = {"placeId": place, "filename": "said in a name.txt"}
    metadata = ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in pairs.items()
    )
    headers = {**_TUS, "upload-length": str(size or len(data)), "upload-metadata": metadata}
    headers |= _BYTES if data else {}
    answer = await client.call("POST", "/uploads", raw=data, headers=headers.items())
    assert answer.status == 201, answer.body
    return str(answer.headers["location"].rpartition("/")[2])


async def _look_at(client: Any, file_id: str) -> None:
    """Do what a running server does with a new file, and give it a thumbnail."""
    app = client.app.core
    key = f"{file_id}-s"
    state = await app.file_store.begin(key, len(_THUMBNAIL))

    async def pieces() -> Any:
        yield _THUMBNAIL

    _, state = await app.file_store.write(key, len(_THUMBNAIL), state, 0, pieces(), None)
    await app.file_store.finish(key, len(_THUMBNAIL), state)
    async with app.storage.write() as tx:
        await tx.fetch(
            """update files set state = 'ready', todo = 0, small_key = $2, small_size = $3, large_key = $2,
            large_size = $3 where id = $1""",
            file_id,
            key,
            len(_THUMBNAIL),
        )
