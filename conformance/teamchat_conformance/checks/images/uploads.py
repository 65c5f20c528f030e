"""How images are sent and fetched, and what their names look like."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from teamchat_conformance.checks.steps import at, each_bad
from teamchat_conformance.expect import Answered, require, text
from teamchat_conformance.fixtures.images import FOREIGN, encoded, png
from teamchat_conformance.http import Client

PATIENCE = 60.0
"""How long an upload of many bytes may take, in seconds."""

SIXTEEN_MEBIBYTES = 16 * 1_048_576
"""More bytes than any reading of "10 MB" allows."""

UPLOADED = {"success": True, "filename": text}
"""The answer to an upload (interface, part 4, Images)."""

_NAME = re.compile(r"(?P<time>[0-9]{13})-[A-Za-z0-9_-]+\.(?P<extension>[A-Za-z]+)\Z")


def channel_images(channel_id: str) -> str:
    """Return where images are sent to a channel."""
    return at("channels", channel_id, "messages", "image")


def direct_images(conversation_id: str) -> str:
    """Return where images are sent to a conversation."""
    return at("conversations", conversation_id, "messages", "image")


def body_of(data: bytes, name: str = "picture.png", thumbnail: bytes | None = None) -> dict[str, Any]:
    """Return the body of an upload."""
    body = {"filename": name, "image": encoded(data)}
    return body if thumbnail is None else {**body, "thumbnail": encoded(thumbnail)}


async def upload(
    who: Client, target: str, data: bytes, name: str = "picture.png", thumbnail: bytes | None = None
) -> Answered:
    """Upload an image and return the answer, whatever it is."""
    return await who.post(target, body_of(data, name, thumbnail), seconds=PATIENCE)


async def stored(
    who: Client, target: str, data: bytes, name: str = "picture.png", thumbnail: bytes | None = None
) -> str:
    """Upload an image and return where it can be fetched, if it is fetched where it was sent to."""
    answer = await upload(who, target, data, name, thumbnail)
    filename = answer.expect(200).shape(UPLOADED)["filename"]
    return f"{target}{at(filename)}"


async def gives(who: Client, target: str, data: bytes, media_type: str = "") -> Answered:
    """Require an image to be these bytes, of this type if one is given."""
    answer = (await who.get(target, seconds=PATIENCE)).expect(200)
    if answer.body != data:
        raise answer.miss(f"expected the {len(data)} bytes that were sent, got {len(answer.body)} others")
    if media_type and answer.media_type != media_type:
        raise answer.miss(f"expected the type {media_type}, got {answer.media_type or 'none'}")
    return answer


async def judges_images(who: Client, target: str) -> None:
    """Require a place for images to refuse what is none, and what is too much."""
    (await upload(who, target, FOREIGN["gif"], "file.gif")).error(400, accept=(415,))
    (await upload(who, target, png(size=SIXTEEN_MEBIBYTES))).error(400, accept=(413,))
    bodies = [{"filename": "x.png"}, {"filename": "x.png", "image": ""}, {"image": encoded(png())}]
    await each_bad(lambda body: who.post(target, body), bodies)


def time_in(filename: str, *extensions: str) -> int:
    """Return the time in a generated name, in epoch milliseconds; require the name's form and extension."""
    found = _NAME.match(filename)
    require(found, f"{filename!r} is not of the form <epoch ms>-<random>.<extension>")
    extension = found["extension"].lower() if found else ""
    if extensions:
        require(extension in extensions, f"{filename!r} does not end in {' or '.join(extensions)}")
    return int(found["time"]) if found else 0


def time_of(answer: Answered) -> int:
    """Return the server's own time of an answer in epoch milliseconds; ours, if it does not tell."""
    try:
        return int(parsedate_to_datetime(answer.header("date") or "").timestamp() * 1_000)
    except ValueError:
        return int(time.time() * 1_000)
