"""The pages on PostgreSQL: made as told, moved to from SQLite, and shared by two servers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import pytest
from psycopg.conninfo import conninfo_to_dict

from teamchat.settings import load
from tests.docs.machine import Machine, like, said_in, say
from tests.docs.pages import blocks
from tests.harness import free_port
from tests.postgres import Postgres, shared

[CREATE] = blocks("how-to/use-postgresql.md", "sql")
[CHOOSE] = blocks("how-to/use-postgresql.md", "toml")
[START] = blocks("how-to/use-postgresql.md", "sh")
[WITH_A_STANDBY] = blocks("how-to/use-postgresql.md", "text")
[SECOND] = blocks("how-to/move-to-postgresql.md", "toml")
[MOVE] = blocks("how-to/move-to-postgresql.md", "sh")
[TOLD] = blocks("how-to/move-to-postgresql.md", "text")
[OF_EACH] = blocks("how-to/run-two-nodes.md", "toml")
[MAKE_SECRET] = blocks("how-to/run-two-nodes.md", "sh")


@pytest.fixture
def made() -> Iterator[Postgres]:
    """A PostgreSQL in which the page's user has made the page's database."""
    server = shared()
    for statement in CREATE.split(";\n")[:-1]:
        server.run(statement)
    try:
        yield server
    finally:
        server.run("drop database teamchat with (force)")
        server.run("drop role teamchat")


def of_here(url: str, server: Postgres) -> str:
    """Return a page's address with the throw-away server in the place of its host, which speaks no TLS."""
    told = urlsplit(url)
    at = told.netloc.rpartition("@")[0]
    query = told.query.replace("sslmode=verify-full&sslrootcert=system", "")
    return urlunsplit(told._replace(netloc=f"{at}@127.0.0.1:{server.port}", query=query))


def test_the_database_is_made_chosen_and_served(machine: Machine, made: Postgres) -> None:
    machine.install(".venv/bin")
    machine.write("teamchat.toml", CHOOSE)
    [url] = re.findall("'(postgresql://.*?)'", START)
    [password] = re.findall("password '(.*?)'", CREATE)
    assert conninfo_to_dict(url)["password"] == password
    start = START.replace(url, of_here(url, made))
    with machine.serves(start) as server, server.sign_in() as ada:
        say(ada, "hello")
        assert server.end() == 0
    assert made.query("select content from messages", "teamchat") == [("hello",)]
    assert sorted(file.name for file in (machine.root / "teamchat-data").iterdir()) == [
        *("files", "images"),
        "jwt-secret",
    ]

    both = WITH_A_STANDBY.strip().replace("one.example.org", f"127.0.0.1:{free_port()}")
    both = both.replace("other.example.org", f"127.0.0.1:{made.port}")
    with machine.serves(start.splitlines()[-1], DATABASE_URL=both) as server, server.sign_in() as ada:
        assert [message["content"] for message in said_in(ada)] == ["hello"]
        assert server.end() == 0


def test_an_installation_moves_and_everyone_stays_signed_in(machine: Machine, made: Postgres) -> None:
    url = f"postgresql://teamchat@127.0.0.1:{made.port}/teamchat"
    machine.write("teamchat.toml", "")
    assert SECOND.startswith("# chat-postgres.toml\n")
    machine.write("chat-postgres.toml", SECOND)
    with machine.serves("teamchat serve --config teamchat.toml") as server, server.sign_in() as ada:
        for content in ("one", "two"):
            say(ada, content)
        before = said_in(ada)
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        assert server.end() == 0
    said = machine.types(MOVE, DATABASE_URL=url)
    for line in TOLD.splitlines():
        assert any(like(line).fullmatch(told) for told in said.splitlines()), line
    [start] = [line.removeprefix("Next: ") for line in TOLD.splitlines() if line.startswith("Next: ")]
    with machine.serves(start, DATABASE_URL=url) as server, server.client(token) as ada:
        assert said_in(ada) == before
        say(ada, "three")
        assert server.end() == 0
    assert made.query("select count(*) from messages", "teamchat") == [(3,)]
    with machine.serves("teamchat serve --config teamchat.toml") as server, server.client(token) as ada:
        assert said_in(ada) == before, "the old database was changed"
        assert server.end() == 0


def test_two_servers_are_as_one_and_a_third_that_differs_is_told(machine: Machine, made: Postgres) -> None:
    config = OF_EACH.replace("10.0.0.11", "127.0.0.1")
    machine.write("etc/teamchat/teamchat.toml", config)
    (machine.root / "mnt" / "shared").mkdir(parents=True)
    machine.types(f"cd /etc/teamchat && {MAKE_SECRET}")
    assert re.fullmatch(r"[0-9a-f]{64}\n", (machine.root / "etc/teamchat/jwt-secret").read_text())
    database = {"DATABASE_URL": f"postgresql://teamchat@127.0.0.1:{made.port}/teamchat"}
    settings = load(machine.root / "etc/teamchat/teamchat.toml", os.environ | database)
    assert settings.server.trusted_proxies == ["10.0.0.10"]
    serve = "teamchat serve --config /etc/teamchat/teamchat.toml"
    elsewhere = {"TEAMCHAT_IMAGES__PATH": str(machine.root / "elsewhere")}
    with machine.serves(serve, **database) as one, machine.serves(serve, **database) as other:
        with one.sign_in() as ada:
            assert ada.get("/ready").status_code == 200
            say(ada, "said at one")
            token = ada.headers["Authorization"].removeprefix("Bearer ")
        with other.client(token) as ada:
            assert [message["content"] for message in said_in(ada)] == ["said at one"]
        said = machine.types(serve, status=1, **database, TEAMCHAT_AUTH__JWTSECRET="another " * 8)
        assert "auth.jwtSecret: another server runs on this storage with another secret" in said
        with machine.serves(serve, **database, **elsewhere) as third:
            assert third.end() == 0
        told = "images.path: another server on this storage keeps its images elsewhere"
        assert told in third.log.read_text()
        one.kill()
        with other.client(token) as ada:
            say(ada, "said at the other")
            assert len(said_in(ada)) == 2
        assert other.end() == 0
