"""The page on second factors: what it configures, and its command, on a server where somebody has one."""

from __future__ import annotations

import base64
import time
import tomllib

from teamchat_second_factor import totp

from tests.docs.machine import Machine
from tests.docs.pages import blocks

[DEMANDED] = blocks("how-to/ask-for-a-second-factor.md", "toml")
[COMMAND] = blocks("how-to/ask-for-a-second-factor.md", "sh")
FACTORS = "/me/second-factors"


def test_admins_must_have_one_and_the_command_takes_it_away(machine: Machine) -> None:
    assert tomllib.loads(DEMANDED) == {"auth": {"secondFactor": "admins"}}
    machine.write("teamchat.toml", DEMANDED)
    with machine.serves("teamchat serve --config teamchat.toml") as server:
        with server.sign_in() as client:
            assert client.get("/channels").status_code == 403
            assert client.get("/auth/me").json()["mustSetUpSecondFactor"] is True
            begun = client.post(FACTORS, json={"type": "totp"}).json()
            code = totp.code_at(base64.b32decode(begun["secret"]), totp.step_at(int(time.time() * 1000)))
            confirmed = client.put(f"{FACTORS}/{begun['id']}", json={"code": code})
            assert len(confirmed.json()["recoveryCodes"]) == 10
            assert client.get("/channels").status_code == 200
            email = client.get("/auth/me").json()["user"]["email"]
            said = machine.types(COMMAND.replace("grace@example.org", email))
            assert f"{email} has no second factor any more" in said
            assert client.get("/auth/me").status_code == 401
        with server.sign_in() as client:
            assert client.get("/channels").status_code == 403
