"""The command line: what it takes, what it says, and the exit code that it ends with."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.faults.accounts import NO_HEALTH
from conformance.tests.proxy.shaping import without
from conformance.tests.report_support import a_result, findings, registry
from conformance.tests.support import ADMIN, ADMIN_PASSWORD, Background
from teamchat_conformance import catalogue, cli, instance
from teamchat_conformance.judging import accept, judge
from teamchat_conformance.matrix import plan
from teamchat_conformance.profiles import PROFILES
from teamchat_conformance.registry import load
from teamchat_conformance.report import compose
from teamchat_conformance.runner import Options

PASSWORD = ADMIN_PASSWORD
DEV = ("--admin-email", ADMIN)

Serve = Callable[..., str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def background() -> Iterator[Background]:
    """Serve from other threads, since the command line has the loop of this one."""
    servers = Background()
    yield servers
    servers.end()


@pytest.fixture
def serve(background: Background) -> Serve:
    return background.serve


def run(*arguments: str) -> int:
    """Return the exit code; argparse ends the program itself where it can't read what it was given."""
    try:
        return cli.main(arguments)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1


# What the exit code says.


@pytest.mark.slow
def test_a_server_that_conforms_ends_with_0(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--base-url", serve(), *DEV, "--select", "CHAN-NEW-*", "--select", "MSG-NEW-01") == 0
    out = capsys.readouterr().out
    assert "seed" in out.splitlines()[0]
    assert out.splitlines()[-1].endswith(" skipped")
    assert " 0 failed, " in out.splitlines()[-1]


def test_one_that_does_not_ends_with_1(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    base_url = serve(faults=[without("GET /server/settings", "name")])
    assert run("--base-url", base_url, *DEV, "--select", "SET-GET-01") == 1
    out = capsys.readouterr().out
    assert "The server does not conform: SET-GET-01." in out
    assert out.splitlines()[-1].startswith("0 passed, 1 failed, ")


@pytest.mark.slow
def test_a_server_without_health_is_looked_at_all_the_same(serve: Serve) -> None:
    base_url = serve(faults=[NO_HEALTH])
    assert run("--base-url", base_url, *DEV, "--select", "GEN-HLTH-01") == 1
    assert run("--base-url", base_url, *DEV, "--select", "MSG-NEW-01") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("run", "--level", "important", "--base-url", "http://127.0.0.1:1"),
        ("run", "--seed", "-1"),
        ("run", "--format", "pdf"),
        ("run", "--launch", "nowhere"),
        ("nonsense",),
        ("init", "--profile", "nonsense"),
        ("list", "--format", "pdf"),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which server?"),
        (("doctor",), "which server?"),
        (("--base-url", "http://127.0.0.1:1", "--set", "auth.mood=x"), "auth.mood is no key"),
        (("--base-url", "http://127.0.0.1:1", "--set", "nonsense"), "section.key=value"),
        (("--base-url", "http://127.0.0.1:1", "--select", "NOTHING-*"), "selects no check"),
        (("--base-url", "http://127.0.0.1:1", "--area", "XYZ"), "no area is called XYZ"),
        (("--instance", "missing.toml"), "missing.toml can't be read"),
        (("--launch", "all"), "--launch needs launch.command"),
        (("explain", "NO-SUCH-01"), "no check is called NO-SUCH-01"),
        (("list", "--area", "XYZ"), "no area is called XYZ"),
    ],
)
def test_what_can_not_be_carried_out_ends_with_2_and_says_why(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_a_server_that_is_not_there_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--base-url", "http://127.0.0.1:1", *DEV) == 3
    assert "The server can't be reached" in capsys.readouterr().err


def test_without_an_admin_it_is_said_what_to_do(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--base-url", serve()) == 3
    err = capsys.readouterr().err
    assert "The server signs in by dev." in err
    assert "--admin-email" in err


@pytest.mark.slow
def test_a_wrong_password_ends_with_3(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    base_url = serve("password")
    assert run("--base-url", base_url, *DEV, "--admin-password", "a wrong one") == 3
    assert "can't get in as an admin" in capsys.readouterr().err


@pytest.mark.slow
def test_magic_links_without_mail_end_with_3(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--base-url", serve("magic"), *DEV) == 3
    assert "init --profile magic-invite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "strict", "complete", "code", "said"),
    [
        ({}, True, True, 0, ""),
        ({"XX_ONE_01": "fail"}, False, False, 1, "does not conform: XX-ONE-01"),
        ({"XX_ONE_01": "note"}, False, True, 0, ""),
        ({"XX_ONE_01": "note"}, True, False, 1, "does not conform: XX-ONE-01"),
        ({"XX_TWO_01": "fail"}, False, False, 0, ""),
        ({"XX_TWO_01": "fail"}, True, False, 1, "does not conform: XX-TWO-01"),
        ({"XX_ONE_01": "blocked"}, False, False, 0, ""),
        ({"XX_ONE_01": "blocked"}, False, True, 4, "Incomplete: of what is required nothing"),
        ({"XX_ONE_01": "not-exercised"}, False, True, 4, "nothing can be said about XX-ONE-01"),
        ({"XX_ONE_01": "not-applicable"}, False, True, 0, ""),
        ({"XX_TWO_01": "blocked"}, False, True, 0, ""),
        ({"XX_TWO_01": "error"}, False, False, 4, "by a fault of the suite itself"),
        ({"XX_TWO_01": "error", "XX_ONE_01": "fail"}, False, False, 1, "does not conform: XX-ONE-01."),
    ],
)
def test_what_was_found_says_how_it_ends(
    outcome: dict[str, Any], strict: bool, complete: bool, code: int, said: str
) -> None:
    document = compose([a_result(findings(**outcome))], registry(), strict=strict)
    found, why = judge(document, complete=complete or strict)
    assert found == code
    assert said in why
    assert bool(why) == bool(code)


def test_a_note_that_the_description_accepts_is_no_warning() -> None:
    results = [
        a_result(findings(XX_ONE_01="note", XX_TWO_01="fail"), profile=name) for name in ("one", "two")
    ]
    assert accept(results, {"XX-ONE-01": "it is decided so", "XX-TWO-01": "no", "YY-ODD-01": "no"}) == []
    document = compose(results, registry(), strict=True)
    assert judge(document, complete=True)[1] == "The server does not conform: XX-TWO-01."
    message = next(one.message for one in document.checks if one.id == "XX-ONE-01")
    assert message == "accepted, since it is decided so: it was note"


def test_what_is_accepted_without_need_is_told() -> None:
    assert accept([a_result()], {"XX-ONE-01": "it was so once"}) == ["XX-ONE-01"]


def test_an_accepted_check_must_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "teamchat-conformance.toml").write_text('[accepted]\nNO-SUCH-01 = "why"\n', "utf-8")
    assert run("--base-url", "http://127.0.0.1:1") == 2
    assert "accepted.NO-SUCH-01: no check is called that" in capsys.readouterr().err


def test_of_many_the_first_are_named() -> None:
    found = findings(XX_ONE_01="fail", XX_ONE_02="fail")
    assert "XX-ONE-01, XX-ONE-02." in judge(compose([a_result(found)], registry()), complete=False)[1]


# What is found out by asking.


@pytest.mark.slow
def test_the_way_to_sign_in_is_found_by_asking(serve: Serve) -> None:
    base_url = serve("password")
    assert run("--base-url", base_url, *DEV, "--admin-password", PASSWORD, "--select", "SET-GET-*") == 0


@pytest.mark.slow
def test_a_password_server_where_anybody_registers_is_found_to_be_one(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    base_url = serve("password open")
    assert (
        run("--base-url", base_url, *DEV, "--admin-password", PASSWORD, "--select", "PWD-REG-01", "-v") == 0
    )
    assert "pass           PWD-REG-01" in capsys.readouterr().out


@pytest.mark.slow
def test_reports_are_written(serve: Serve, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    arguments = ("--base-url", serve(), *DEV, "--select", "GEN-HLTH-01", "--report", str(reports))
    assert run(*arguments, "--format", "json,junit", "--seed", "7") == 0
    assert {path.name for path in reports.iterdir()} == {"results.json", "junit.xml"}
    told = json.loads((reports / "results.json").read_text("utf-8"))
    assert "GEN-HLTH-01" in json.dumps(told)


# The other commands.


@pytest.mark.parametrize("profile", PROFILES)
def test_what_init_writes_is_a_description_of_that_kind(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "secret")
    file = tmp_path / "described.toml"
    assert run("init", "--profile", profile, "--base-url", "http://chat.example.org/", str(file)) == 0
    found, wanted = instance.load(file), PROFILES[profile]
    assert found.base_url == "http://chat.example.org"
    assert (found.auth.mode, found.auth.invite_required) == (wanted.auth.mode, wanted.auth.invite_required)
    assert (found.mail.kind == "builtin") == wanted.has_mail
    assert len(found.oauth.provider) == (2 if wanted.has_oauth else 0)
    keys = tomllib.loads(capsys.readouterr().out)
    assert keys["auth"]["authMode"] == wanted.auth.mode
    assert ("email" in keys) == wanted.has_mail
    for one in keys.get("oauth", {}).get("custom", []):
        assert one["redirectUri"] == f"http://chat.example.org/auth/oauth/{one['id']}/callback"


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "teamchat-conformance.toml").write_text("mine", "utf-8")
    assert run("init") == 2
    assert (tmp_path / "teamchat-conformance.toml").read_text("utf-8") == "mine"


def test_a_description_that_lies_here_is_taken(serve: Serve, tmp_path: Path) -> None:
    text = f'[instance]\nbase_url = "{serve()}"\n[auth]\nmode = "dev"\n[admin]\nemail = "{ADMIN}"\n'
    (tmp_path / "teamchat-conformance.toml").write_text(text, "utf-8")
    assert run("--select", "GEN-HLTH-01") == 0


def test_the_checks_are_listed_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--area", "SET", "--level", "required,recommended", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["id"].partition("-")[0] for row in rows} == {"SET"}
    assert {row["level"] for row in rows} <= {"required", "recommended"}
    for format in ("table", "md"):
        assert run("list", "--format", format) == 0
        lines = capsys.readouterr().out.splitlines()
        ids = load().checks
        assert sum(any(id in line for id in ids) for line in lines) == len(ids)


def test_every_check_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    registry = load()
    for id, check in registry.checks.items():
        assert check.text in catalogue.explained(registry, id)
    assert run("explain", "msg-new-01") == 0
    assert capsys.readouterr().out.strip() == catalogue.explained(registry, "MSG-NEW-01")


def test_the_doctor_finds_a_good_server_well(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--base-url", serve(), *DEV) == 0
    out = capsys.readouterr().out
    assert "not well" not in out
    for tried in ("reachable", "clock", "sign-in", "admin", "users", "stream", "limits"):
        assert f"well      {tried}" in out


def test_the_doctor_says_what_is_wrong(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--base-url", serve(), *DEV, "--set", "auth.mode=password") == 3
    out = capsys.readouterr().out
    assert "not well  sign-in" in out
    assert "password is described, and there is dev" in out


# Many servers.


def test_in_a_matrix_every_check_that_can_be_made_is_made_somewhere() -> None:
    suite, given = load(), instance.Instance()
    planned = plan(suite, list(PROFILES.values()), given, Options())
    everywhere = set().union(*planned.values())
    needs = {"slow", "load"}
    for id, check in suite.checks.items():
        plays = [play for play in suite.plays() if id in play.ids]
        if needs & set(check.needs).union(*(play.needs for play in plays)):
            continue
        assert id in everywhere, id
    assert {id for id in planned["core"] if id.startswith("CFG-")} == set()
    assert {id.partition("-")[0] for id in planned["configuration"]} == {"CFG"}


def test_what_no_profile_can_show_is_told_by_the_first() -> None:
    planned = plan(load(), [PROFILES["dev-open"], PROFILES["dev-invite"]], instance.Instance(), Options())
    assert "PWD-LOGIN-01" in planned["dev-open"]
    assert "PWD-LOGIN-01" not in planned["dev-invite"]


def test_a_profile_with_nothing_of_its_own_to_show_is_left_out() -> None:
    options = Options(select=("CHAN-NEW-01",))
    planned = plan(load(), [PROFILES["core"], PROFILES["short"]], instance.Instance(), options)
    assert planned == {"core": {"CHAN-NEW-01"}, "short": frozenset()}


@pytest.fixture
def launched(tmp_path: Path) -> str:
    described = tmp_path / "launched.toml"
    described.write_text('[launch]\ncommand = ["teamchat", "serve", "--config", "{config}"]\n', "utf-8")
    return str(described)


@pytest.mark.slow
def test_servers_are_started_and_told_of_as_one(launched: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("run", "--instance", launched, "--launch", "dev-invite,password-plain")
    assert run(*arguments, "--select", "PWD-LOGIN-01", "--select", "DEV-01", "-v") == 0
    out = capsys.readouterr().out
    assert "dev-invite: DEV-01" in out
    assert "password-plain: PWD-LOGIN-01" in out
    assert out.splitlines()[-1].startswith("2 passed, 0 failed, ")


def test_a_server_that_does_not_start_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "broken.toml"
    described.write_text(f'[launch]\ncommand = ["{sys.executable}", "-c", "exit(\'no\')"]\n', "utf-8")
    assert run("--instance", str(described), "--launch", "core") == 3
    assert "core: no run could begin. the server ended at once, with exit code 1" in capsys.readouterr().err


def test_an_interrupted_run_leaves_nothing_behind(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    base_url = serve()
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        assert run("--base-url", base_url, *DEV) == 130
    finally:
        timer.cancel()
    assert "interrupted" in capsys.readouterr().err
    assert run("--base-url", base_url, *DEV, "--select", "GEN-HLTH-01") == 0
