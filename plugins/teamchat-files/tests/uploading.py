"""A client of tus for the tests: as little of it as they need."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2

from teamchat.testing import Server

TUS = {"Tus-Resumable": "1.0.0"}
OFFSET = {**TUS, "Content-Type": "application/offset+octet-stream"}


def metadata(**values: str) -> str:
    return ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in values.items() if value
    )


def about(place: str, name: str = "a.bin", filetype: str = "") -> str:
    return metadata(placeId=place, filename=name, filetype=filetype)


async def first_channel(client: httpx2.AsyncClient) -> str:
    return str((await client.get("/channels")).json()["channels"][0]["id"])


async def begin(
    client: httpx2.AsyncClient, place: str, size: int, name: str = "a.bin", **headers: str
) -> httpx2.Response:
    return await client.post(
        "/uploads",
        headers={**TUS, "Upload-Length": str(size), "Upload-Metadata": about(place, name), **headers},
    )


async def upload(
    client: httpx2.AsyncClient, place: str, data: bytes, name: str = "a.bin", filetype: str = ""
) -> str:
    """Upload a small file in one request and return its id."""
    answer = await client.post(
        "/uploads",
        headers={
            **OFFSET,
            "Upload-Length": str(len(data)),
            "Upload-Metadata": about(place, name, filetype),
        },
        content=data,
    )
    assert answer.status_code == 201, answer.text
    assert answer.headers["Upload-Offset"] == str(len(data))
    return answer.headers["Location"].rpartition("/")[2]


async def patch(
    client: httpx2.AsyncClient, id_: str, offset: int, data: bytes, **headers: str
) -> httpx2.Response:
    return await client.patch(
        f"/uploads/{id_}", headers={**OFFSET, "Upload-Offset": str(offset), **headers}, content=data
    )


async def offset_of(client: httpx2.AsyncClient, id_: str) -> int:
    answer = await client.head(f"/uploads/{id_}", headers=TUS)
    assert answer.status_code == 200, answer.status_code
    return int(answer.headers["Upload-Offset"])


async def post(
    client: httpx2.AsyncClient, place: str, files: Sequence[str], content: str = ""
) -> dict[str, Any]:
    answer = await client.post(f"/channels/{place}/messages", json={"content": content, "files": list(files)})
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()["message"]
    return message


async def private_channel(client: httpx2.AsyncClient, name: str = "Secret") -> str:
    answer = await client.post("/private-channels", json={"name": name})
    assert answer.status_code in {200, 201}, answer.text
    return str(answer.json()["channel"]["id"])


__all__ = ["AsyncIterator", "Mapping", "Server"]
