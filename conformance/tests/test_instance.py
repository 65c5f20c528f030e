"""The description of an instance: what may stand in it, and what is said of what may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from teamchat_conformance.instance import DescriptionError, Instance, load, override, parse


def test_an_empty_description_is_a_good_one() -> None:
    assert parse({}) == Instance()


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"auht": {}}, r"auht is no key of a description"),
        ({"auth": {"moed": "dev"}}, "auth.moed is no key"),
        ({"auth": {"mode": "none"}}, "auth.mode must be one of dev, magic-link, password"),
        ({"auth": []}, "auth must be a table"),
        ({"auth": {"invite_required": 1}}, "auth.invite_required has a value of the wrong kind"),
        ({"auth": {"access_seconds": True}}, "auth.access_seconds has a value of the wrong kind"),
        ({"auth": {"access_seconds": "9"}}, "auth.access_seconds has a value of the wrong kind"),
        ({"timing": {"factor": "2"}}, "timing.factor has a value of the wrong kind"),
        ({"network": {"source_addresses": [1]}}, r"network.source_addresses\[0\] has a value"),
        ({"oauth": {"provider": [{}]}}, r"oauth.provider\[0\].id is missing"),
        ({"oauth": {"provider": [{"id": "a", "colour": "red"}]}}, r"oauth.provider\[0\].colour is no key"),
        ({"admin": {"password": "env:CONFORMANCE_IS_NOT_SET"}}, "CONFORMANCE_IS_NOT_SET is not set"),
        ({"admin": {"password": "file:/nowhere/at/all"}}, "admin.password: the file /nowhere/at/all can't"),
    ],
)
def test_a_wrong_description_names_the_key(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        parse(tree)


def test_a_secret_may_stand_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.setenv("CONFORMANCE_SECRET", "from the environment")
    assert parse({"admin": {"password": f"file:{tmp_path / 'secret'}"}}).admin.password == "from a file"
    assert parse({"admin": {"password": "env:CONFORMANCE_SECRET"}}).admin.password == "from the environment"


@pytest.mark.parametrize("text", ["[auth", "mode = 1 = 2"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "instance.toml"
    path.write_text(text)
    with pytest.raises(DescriptionError, match=r"instance\.toml can't be read"):
        load(path)
    with pytest.raises(DescriptionError, match=r"nothing\.toml can't be read"):
        load(tmp_path / "nothing.toml")


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "instance.toml"
    path.write_text('[auth]\nmode = "dev"\n[timing]\nfactor = 2\n[[oauth.provider]]\nid = "a"\n')
    found = load(path)
    assert (found.auth.mode, found.timing.factor, found.oauth.provider[0].id) == ("dev", 2.0, "a")


def test_single_keys_are_set_over_a_file() -> None:
    tree: dict[str, Any] = {"auth": {"mode": "dev"}}
    override(tree, "auth.mode=password")
    override(tree, "auth.access_seconds=5")
    override(tree, 'admin.email = "a@b.c"')
    found = parse(tree)
    assert (found.auth.mode, found.auth.access_seconds, found.admin.email) == ("password", 5, "a@b.c")


@pytest.mark.parametrize("assignment", ["auth.mode", "mode=dev"])
def test_an_assignment_has_a_section_a_key_and_a_value(assignment: str) -> None:
    with pytest.raises(DescriptionError, match=r"section\.key=value"):
        override({}, assignment)


@pytest.mark.parametrize(
    ("tree", "met", "not_met"),
    [
        ({}, {"pw", "invite", "nomail", "nooauth"}, {"dev", "magic", "open", "mail", "idp", "short"}),
        ({"auth": {"mode": "dev", "invite_required": False}}, {"dev", "open"}, {"pw", "invite"}),
        ({"auth": {"mode": "magic-link"}, "mail": {"kind": "builtin"}}, {"magic", "mail"}, {"nomail"}),
        ({"auth": {"access_seconds": 10}}, {"short"}, set()),
        ({"auth": {"access_seconds": 11}}, set(), {"short"}),
        ({"oauth": {"provider": [{"id": "a"}]}}, {"idp"}, {"idp2", "nooauth"}),
        ({"oauth": {"provider": [{"id": "a"}, {"id": "b"}]}}, {"idp", "idp2"}, {"nooauth"}),
        ({"network": {"client_ip_header": "X-Forwarded-For"}}, {"ips"}, set()),
        ({"isolation": {"exclusive": True}}, {"exclusive"}, {"launch", "slow", "load"}),
    ],
)
def test_what_is_declared_is_what_is_asked_for(
    tree: dict[str, Any], met: set[str], not_met: set[str]
) -> None:
    found = parse(tree).capabilities()
    assert met <= found
    assert not not_met & found


def test_slow_load_and_launch_are_asked_for_by_the_caller() -> None:
    assert {"slow", "load", "launch"} <= Instance().capabilities(slow=True, load=True, launched=True)


def test_an_address_has_no_slash_at_its_end() -> None:
    assert Instance().at("http://127.0.0.1:1/x/").base_url == "http://127.0.0.1:1/x"
