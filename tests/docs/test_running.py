"""The pages on running a server: by hand, with TLS of its own, behind a proxy, its stream read by curl."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from teamchat.settings import load
from teamchat.testing import ADMIN, PASSWORD
from tests.docs.machine import Machine, channel_of, say
from tests.docs.pages import DOCS, ROOT, blocks
from tests.docs.recipes import recipe
from tests.test_tls import certificate

RUN = "how-to/run-a-server.md"
INSTALL = "how-to/install.md"
BEHIND = "how-to/run-behind-a-reverse-proxy.md"
[BY_HAND] = blocks(RUN, "sh")
WORKERS, TLS = blocks(RUN, "toml")
[PORT_443] = blocks(RUN, "ini")
[SHARED_IMAGES] = blocks(INSTALL, "ini")
BEHIND_A_PROXY, AT_A_PATH = blocks(BEHIND, "toml")
[LISTEN] = blocks(BEHIND, "sh")
NEEDS_CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl")


def test_a_server_is_installed_configured_and_run_by_hand(machine: Machine) -> None:
    machine.install(".venv/bin")
    machine.write("Makefile", "install:\n\techo installed\n")
    machine.environment = {"INITIAL_USER_PASSWORD": PASSWORD}
    with machine.serves(BY_HAND) as server:
        assert "installed" in server.said
        assert "teamchat.toml is written. Next: teamchat serve --config teamchat.toml" in server.said
        assert PASSWORD not in server.said
        with server.client() as client:
            answer = client.post("/auth/password-login", json={"email": ADMIN, "password": PASSWORD})
        assert answer.status_code == 200
        kept = {file.name for file in (machine.root / "teamchat-data").iterdir()}
        assert kept >= {"teamchat.db", "teamchat.db-wal", "images", "jwt-secret"}
        assert server.end() == 0
    written = (machine.root / "teamchat.toml").read_text()
    named = re.findall(r"^- `(\w+\.\w+)`:", (DOCS / RUN).read_text(), re.MULTILINE)
    assert "storage.path" in named
    assert not [key for key in named if f"[{key}]" not in written and key.split(".")[1] not in written]
    assert recipe(BY_HAND.splitlines()[0])


@pytest.mark.parametrize("workers", [4, "auto"])
def test_the_number_of_workers_is_read(workers: int | str, machine: Machine) -> None:
    shown = WORKERS if workers == 4 else WORKERS.replace("= 4 ", f'= "{workers}"')
    assert load(machine.write("teamchat.toml", shown), {}).server.workers == workers


@NEEDS_CURL
def test_with_a_certificate_it_speaks_https_itself(machine: Machine) -> None:
    place = machine.root / "etc" / "tls"
    place.mkdir(parents=True)
    certificate(place, "chat.example.org")
    settings = load(machine.write("teamchat.toml", TLS), {})
    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 443)
    machine.environment = {"INITIAL_USER_PASSWORD": PASSWORD, "TEAMCHAT_SERVER__HOST": "127.0.0.1"}
    with machine.serves("teamchat serve") as server:
        assert server.base.startswith("https://127.0.0.1:")
        port = server.base.rpartition(":")[2]
        ask = (
            f"curl -s --cacert /etc/tls/chat.example.org.pem -w ' %{{http_version}}' https://localhost:{port}"
        )
        assert machine.types(f"{ask}/health").split()[-1] == "2"
        assert machine.types(f"{ask}/health --http1.1").split()[-1] == "1.1"
        assert "in order; people sign in by password" in machine.types("teamchat check")
        assert server.end() == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
@pytest.mark.parametrize("added", [PORT_443, SHARED_IMAGES])
def test_systemd_takes_what_is_added_to_the_unit(added: str, machine: Machine) -> None:
    machine.install()
    unit = machine.write("teamchat.service", (ROOT / "deploy" / "teamchat.service").read_text())
    machine.write("teamchat.service.d/override.conf", added)
    verified = ["systemd-analyze", "verify", str(unit)]
    said = subprocess.run(verified, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@NEEDS_CURL
def test_behind_a_proxy_the_stream_is_heard_at_once_and_the_clients_address_is_seen(machine: Machine) -> None:
    machine.write("teamchat.toml", BEHIND_A_PROXY)
    with machine.serves("teamchat serve", TEAMCHAT_EVENTS__KEEPALIVESECONDS="1") as server:
        client = server.sign_in()
        token = client.headers["Authorization"].removeprefix("Bearer ")
        listen = LISTEN.replace("https://chat.example.org", server.base).strip()
        heard = [
            f"{listen} -s > heard & trap 'kill %1' EXIT",
            "until grep -q CONNECTED heard; do sleep 0.01; done",
            f"curl -s {server.base}{channel_of(client)}/messages -H 'Authorization: Bearer {token}'"
            """ -H 'Content-Type: application/json' -d '{"content": "hello"}'""",
            "until grep -q NEW_MESSAGE heard; do sleep 0.01; done",
            "until grep -q '^:' heard; do sleep 0.01; done",
        ]
        machine.types("\n".join(heard), TOKEN=token)
        with server.client(**{"X-Forwarded-For": "203.0.113.9"}) as proxied:
            proxied.post("/auth/dev-login", json={"email": ADMIN})
        sessions = client.get("/auth/sessions").json()["sessions"]
        client.close()
        assert {session["ip"] for session in sessions} == {"127.0.0.1", "203.0.113.9"}
        assert server.end() == 0
    settings = load(machine.root / "teamchat.toml", {})
    assert settings.server.trusted_proxies == ["127.0.0.1", "::1"]
    assert load(machine.write("path.toml", AT_A_PATH), {}).auth.app_url == "https://example.org/chat"


def test_the_page_on_serving_http_configures_what_it_says(machine: Machine) -> None:
    [chosen] = blocks("explanation/serving-http.md", "toml")
    settings = load(machine.write("teamchat.toml", chosen), {})
    assert settings.server.http1 == "hypercorn"
    assert settings.server.tls is not None


@NEEDS_CURL
def test_a_stream_goes_on_where_it_was_as_the_page_on_it_shows(machine: Machine) -> None:
    listen, post, come_back = blocks("explanation/the-stream.md", "sh")
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        machine.environment |= {
            "BASE": server.base,
            "TOKEN": ada.headers["Authorization"].removeprefix("Bearer "),
            "CHANNEL": channel_of(ada).rpartition("/")[2],
            "JSON": "Content-Type: application/json",
        }
        say(ada, "before anybody listened")
        listen = listen.replace("before.txt\n", "before.txt || [ $? = 28 ]  # it is cut after a second\n")
        come_back = come_back.replace('LAST"\n', 'LAST" || [ $? = 28 ]\n')
        said = machine.types("\n".join([listen, post, "echo; echo ---", come_back]))
        heard = said.partition("---\n")[2]
        events = [json.loads(data) for data in re.findall(r"^data: (.*)$", heard, re.MULTILINE)]
        assert [event["type"] for event in events] == ["CONNECTED", "NEW_MESSAGE"]
        assert events[1]["payload"]["content"] == "while you were away"
        assert server.end() == 0
