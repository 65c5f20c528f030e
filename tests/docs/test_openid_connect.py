"""The pages on OpenID Connect: their configurations are good ones, and say what the pages say."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import yaml

from teamchat.settings import load
from tests.docs.machine import Machine
from tests.docs.pages import DOCS, ROOT, blocks, fenced

PAGE, BEHIND = "how-to/sign-in-with-openid-connect.md", "how-to/put-ldap-or-saml-behind-openid-connect.md"
FIRST, KEYCLOAK = blocks(PAGE, "toml")
[BEHIND_DEX] = blocks(BEHIND, "toml")
[DEX] = map(yaml.safe_load, blocks(BEHIND, "yaml"))
README = "plugins/teamchat-oidc/README.md"
[OF_README] = [text for kind, text in fenced((ROOT / README).read_text("utf-8")) if kind == "toml"]


@pytest.mark.parametrize("configuration", [FIRST, KEYCLOAK, BEHIND_DEX, OF_README])
def test_each_configuration_names_one_provider(configuration: str, machine: Machine) -> None:
    config = machine.write("teamchat.toml", configuration)
    [found] = load(config, {"WORK_CLIENT_SECRET": "a secret"}).oauth.oidc
    assert (found.id, found.client_secret) == ("company", "a secret")
    [table] = tomllib.loads(configuration)["oauth"]["oidc"]
    assert found.issuer == table["issuer"]


def test_the_addresses_to_register_are_those_of_the_provider() -> None:
    text = (DOCS / PAGE).read_text("utf-8")
    for end in ("callback", "backchannel-logout"):
        assert f"`https://chat.example.org/auth/oauth/company/{end}`" in text


def test_dex_leads_back_to_the_chat() -> None:
    client: dict[str, Any]
    [client] = DEX["staticClients"]
    [table] = tomllib.loads(BEHIND_DEX)["oauth"]["oidc"]
    assert client["redirectURIs"] == ["https://chat.example.org/auth/oauth/company/callback"]
    assert (client["id"], DEX["issuer"]) == (table["clientId"], table["issuer"])
