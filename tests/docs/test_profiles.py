"""The page about profiles: what it shows is taken by a server, and does what is said there."""

from __future__ import annotations

import io
import json
import os
import tomllib
from pathlib import Path

import trio
from PIL import Image

from tests.docs.pages import blocks
from tests.harness import running

PAGE = "how-to/show-who-people-are.md"
[COMMANDS] = blocks(PAGE, "sh")
[OFF] = blocks(PAGE, "toml")


async def test_somebody_has_a_name_a_face_and_a_status_as_the_page_says(tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), "teal").save(tmp_path / "face.png")
    async with running(tmp_path) as server, await server.sign_in() as ada:
        user = (await ada.get("/me")).json()["user"]
        given = {
            "PATH": os.environ["PATH"],
            "BASE": server.base,
            "JSON": "Content-Type: application/json",
            "TOKEN": str(ada.headers["Authorization"]).removeprefix("Bearer "),
            "SOMEBODY": user["id"],
        }
        await trio.run_process(["sh", "-ec", COMMANDS], env=given, cwd=tmp_path, capture_stdout=True)
        [shown] = (await ada.get("/users")).json()["users"]
    assert (shown["fullName"], shown["title"], shown["timezone"]) == (
        "Grace Hopper",
        "Compilers",
        "America/New_York",
    )
    assert (shown["status"]["emoji"], shown["status"]["text"]) == ("🌴", "On holiday")
    with Image.open(io.BytesIO((tmp_path / "face.webp").read_bytes())) as face:
        assert (face.format, face.size) == ("WEBP", (128, 128))


async def test_it_is_turned_off_as_the_page_says(tmp_path: Path) -> None:
    async with running(tmp_path, **tomllib.loads(OFF)) as server, await server.sign_in() as ada:
        assert "profiles" not in (await ada.get("/capabilities")).json()["capabilities"]
        body = json.dumps({"fullName": "Ada"})
        assert (await ada.put("/me/profile", content=body)).status_code == 404
