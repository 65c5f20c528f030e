"""The page about presence: what it shows is taken by a server, and does what is said there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import trio

from tests.docs.pages import blocks
from tests.harness import running

[COMMANDS] = blocks("how-to/see-who-is-there.md", "sh")
[HIDDEN] = blocks("how-to/see-who-is-there.md", "json")
[OFF] = blocks("how-to/see-who-is-there.md", "toml")


async def test_a_status_is_chosen_and_asked_for_as_the_page_says(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        own = (await ada.get("/me")).json()["user"]["id"]
        given = {
            "BASE": server.base,
            "JSON": "Content-Type: application/json",
            "TOKEN": str(ada.headers["Authorization"]).removeprefix("Bearer "),
            "SOMEBODY": own,
        }
        done = await trio.run_process(["sh", "-ec", COMMANDS], env=given, capture_stdout=True)
        chosen, found = map(json.loads, done.stdout.decode().replace("}{", "}\n{").splitlines())
        assert chosen == {"status": "away"}
        assert [one["userId"] for one in found["presence"]] == [own]
        answer = await bob.put("/me/notifications", json=json.loads(HIDDEN))
        assert answer.json() == answer.json() | json.loads(HIDDEN)


async def test_it_is_turned_off_as_the_page_says(tmp_path: Path) -> None:
    async with running(tmp_path, **tomllib.loads(OFF)) as server, await server.sign_in() as ada:
        announced = (await ada.get("/capabilities")).json()["capabilities"]
        assert not {"presence", "typing"} & announced.keys()
        assert (await ada.get("/presence/me")).status_code == 404
