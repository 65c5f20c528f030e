"""The page on S3: the rights it asks for are enough and none too many, and images lie in the bucket."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.docs.beside import Beside, Handler, answering
from tests.docs.machine import Machine, Running, channel_of
from tests.docs.pages import blocks
from tests.operations.conftest import PIXEL

PAGE = "how-to/keep-images-in-s3.md"
[POLICY] = blocks(PAGE, "json")
AMAZON, OWN_STORE = blocks(PAGE, "toml")
[COPY] = blocks(PAGE, "sh")
ACTIONS = {"PUT": "s3:PutObject", "GET": "s3:GetObject", "DELETE": "s3:DeleteObject"}

s3 = import_module("plugins.teamchat-files-s3.tests.conftest")
tls_server = s3.tls_server


@pytest.fixture
def store() -> Iterator[Any]:
    made = s3.S3Server()
    yield made
    made.remove()


def bucket(store: Any) -> Path:
    """Make the page's bucket in a store of the tests; return where its objects lie."""
    directory = Path(store.directory) / "chat-images"
    directory.mkdir()
    return directory


def upload(server: Running) -> str:
    """Upload an image and see that it is given back; return its name."""
    body = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
    with server.sign_in() as ada:
        answer = ada.post(f"{channel_of(ada)}/messages/image", json=body)
        assert answer.status_code == 200, answer.text
        name = str(answer.json()["filename"])
    assert_shown(server, name)
    return name


def assert_shown(server: Running, name: str) -> None:
    with server.sign_in() as ada:
        assert ada.get(f"{channel_of(ada)}/messages/image/{name}").content == PIXEL


class Gate(Beside):
    """Stands before a store and lets through what a policy allows.

    `passed` are the actions so far, `regions` those that the requests were signed for.
    """

    def __init__(self, endpoint: str, policy: str) -> None:
        super().__init__(Passage)
        self.endpoint = endpoint
        self.statements = json.loads(policy)["Statement"]
        self.passed: set[str] = set()
        self.regions: set[str] = set()

    def allows(self, action: str, arn: str) -> bool:
        return any(
            statement["Effect"] == "Allow"
            and action in statement["Action"]
            and fnmatchcase(arn, statement["Resource"])
            for statement in self.statements
        )


class Passage(Handler):
    """One request to the gate."""

    server: Gate

    def pass_on(self) -> None:
        action, body = ACTIONS[self.command], self.body()
        if not self.server.allows(action, f"arn:aws:s3:::{self.path[1:]}"):
            self.send_error(403)
            return
        self.server.passed.add(action)
        self.server.regions.add(self.headers["Authorization"].split("/")[2])
        answer = httpx2.request(
            self.command, self.server.endpoint + self.path, headers=self.headers.items(), content=body
        )
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    do_PUT = do_GET = do_DELETE = pass_on  # noqa: N815 - their names in http.server


def test_on_amazon_an_account_with_these_rights_is_enough_and_uses_them_all(
    machine: Machine, store: Any
) -> None:
    objects = bucket(store)
    secret = machine.write("s3-secret", s3.SECRET)
    text = AMAZON.replace("AKIA…", s3.ACCOUNT).replace("/run/secrets/s3", str(secret))
    machine.write("teamchat.toml", text)
    with answering(Gate(store.endpoint, POLICY)) as gate:
        with machine.serves("teamchat serve", TEAMCHAT_IMAGES__ENDPOINT=gate.base) as server:
            name = upload(server)
            assert server.end() == 0
        assert gate.passed == set(gate.statements[0]["Action"]) == {*ACTIONS.values()}
        assert gate.regions == {"eu-central-1"}
        assert gate.allows("s3:ListBucket", "arn:aws:s3:::chat-images")
    assert name in {file.name for file in objects.iterdir()}


def own_store(machine: Machine, store: Any, certificates: Path) -> None:
    """Configure the page's own store."""
    machine.write("etc/tls/ca.pem", certificates.read_text())
    text = OWN_STORE.replace("https://s3.example.org", store.endpoint)
    machine.write("teamchat.toml", text.replace('"teamchat"', f'"{s3.ACCOUNT}"'))
    machine.environment["S3_SECRET"] = s3.SECRET


def test_a_store_of_your_own_with_a_certificate_of_your_own_ca_has_the_image(
    machine: Machine, tls_server: tuple[Any, Path]
) -> None:
    store, certificates = tls_server
    objects = bucket(store)
    own_store(machine, store, certificates)
    with machine.serves("teamchat serve") as server:
        assert upload(server) in {file.name for file in objects.iterdir()}
        assert server.end() == 0
    assert "ok       image store           puts, gets and deletes in" in machine.types("teamchat check")


@pytest.mark.skipif(shutil.which("aws") is None, reason="the page copies with aws")
def test_the_images_you_have_are_copied_with_any_client_and_back(
    machine: Machine, tls_server: tuple[Any, Path]
) -> None:
    store, certificates = tls_server
    bucket(store)
    with machine.serves("teamchat serve") as server:
        name = upload(server)
        assert server.end() == 0
    machine.environment |= {
        "AWS_ACCESS_KEY_ID": s3.ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": s3.SECRET,
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_CA_BUNDLE": str(certificates),
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    }
    machine.types(COPY)
    own_store(machine, store, certificates)
    with machine.serves("teamchat serve", TEAMCHAT_IMAGES__PREFIX="chat") as server:
        assert_shown(server, name)
        assert server.end() == 0
    kept = machine.root / "teamchat-data" / "images"
    shutil.rmtree(kept)
    command, source, target = COPY.rsplit(maxsplit=2)
    machine.types(f"{command} {target} {source}")
    assert (kept / name).read_bytes() == PIXEL
