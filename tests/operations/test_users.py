"""Users by the command line: on a running server, which follows at once, and on none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from teamchat.cli import main
from teamchat.testing import Server, listening, mailed
from tests.harness import running
from tests.operations.conftest import configure, teamchat

PASSWORD = "eight characters or more"


async def asked(*arguments: str | Path, stdin: str = "", status: int = 0) -> str:
    """Run the command beside a running server."""
    return await trio.to_thread.run_sync(lambda: teamchat(*arguments, stdin=stdin, status=status))


async def signs_in(server: Server, email: str, password: str) -> int:
    async with server.client() as client:
        body = {"email": email, "password": password}
        return (await client.post("/auth/password-login", json=body)).status_code


@pytest.mark.slow
async def test_a_running_server_follows_what_is_done_with_users(tmp_path: Path) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path, auth={"authMode": "dev", "isInviteRequired": True}) as server:
        async with await server.sign_in() as ada, listening(ada) as events:
            said = await asked("user", "add", "--config", config, "grace@example.org", "--name", "Grace")
            assert "grace@example.org is now a user: Grace (user, " in said
            assert (await events.until("NEW_USER"))["userName"] == "Grace"

            async with await server.sign_in("grace@example.org") as grace, listening(grace) as her_events:
                assert (await grace.post("/channels", json={"name": "x"})).status_code == 403
                await asked("user", "promote", "--config", config, "GRACE@example.org")
                assert (await grace.post("/channels", json={"name": "x"})).status_code == 200
                await asked("user", "demote", "--config", config, "grace@example.org")
                assert (await grace.post("/channels", json={"name": "y"})).status_code == 403
                await her_events.until("NEW_CHANNEL")

                said = await asked("user", "remove", "--config", config, "grace@example.org")
                assert "grace@example.org was removed" in said
                assert (await events.until("REMOVE_USER"))["email"] == "grace@example.org"
                assert (await grace.get("/auth/me")).status_code == 401
                with pytest.raises(AssertionError, match="the stream ended"):
                    await her_events.until("NEVER")
            said = await asked("user", "demote", "--config", config, "admin@localhost", status=1)
            assert "teamchat: The last admin must stay one" in said
            said = await asked("user", "remove", "--config", config, "admin@localhost", status=1)
            assert "teamchat: The last admin can't be removed" in said
        await server.end()
    [listed] = json.loads(teamchat("user", "list", "--json", "--config", config))
    assert listed["email"] == "admin@localhost"
    assert listed["isAdmin"]


@pytest.mark.slow
async def test_l1_who_is_deactivated_here_is_shut_out_of_a_running_server_until_they_are_activated(
    tmp_path: Path,
) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path, auth={"authMode": "dev", "isInviteRequired": True}) as server:
        await asked("user", "add", "--config", config, "grace@example.org")
        async with await server.sign_in("grace@example.org") as grace, listening(grace) as her_events:
            said = await asked("user", "deactivate", "--config", config, "GRACE@example.org")
            assert "grace@example.org is deactivated" in said
            assert (await grace.get("/auth/me")).status_code == 401
            with pytest.raises(AssertionError, match="the stream ended"):
                await her_events.until("NEVER")
        listed = await asked("user", "list", "--config", config)
        assert [line.endswith("(deactivated)") for line in listed.splitlines()] == [False, True]
        said = await asked("user", "deactivate", "--config", config, "admin@localhost", status=1)
        assert "teamchat: The last admin can't be deactivated" in said
        body = {"email": "grace@example.org"}
        async with server.client() as client:
            assert (await client.post("/auth/dev-login", json=body)).status_code == 401
            await asked("user", "activate", "--config", config, "grace@example.org")
            assert (await client.post("/auth/dev-login", json=body)).status_code == 200
        await server.end()


@pytest.mark.slow
async def test_l4_the_audit_log_is_read_beside_a_running_server_in_words_and_as_json_lines(
    tmp_path: Path,
) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path, auth={"authMode": "dev", "isInviteRequired": True}) as server:
        async with await server.sign_in() as ada:
            me = (await ada.get("/auth/me")).json()["user"]
            added = (await ada.post("/users/add", json={"email": "grace@example.org"})).json()["userId"]
            page = (await ada.get("/admin/audit", params={"action": "user", "limit": "1"})).json()
        for _ in range(2):  # What did not happen has no entry.
            await asked("user", "promote", "--config", config, "grace@example.org")
        said = await asked("audit", "--json", "--target", "grace@example.org", "--config", config)
        await server.end()
    [created, promoted] = [json.loads(line) for line in said.splitlines()]
    assert page["entries"] == [created]
    assert created["ip"] == "127.0.0.1"
    assert (created["actorId"], created["action"], created["targetId"]) == (me["id"], "user.create", added)
    assert (promoted["actorId"], promoted["ip"], promoted["details"]) == (None, None, {"role": "admin"})
    words = teamchat("audit", "--action", "user.create", "--actor", me["email"], "--config", config)
    assert [line.split()[2:6] for line in words.splitlines()] == [
        ["127.0.0.1", me["userName"], "user.create", "user"]
    ]
    assert "grace" in words
    assert teamchat("audit", "--until", "2020-01-01", "--config", config) == ""
    assert "is no time" in teamchat("audit", "--since", "yesterday", "--config", config, status=2)
    for option, unknown in (
        ("--actor", "nobody@example.org"),
        ("--actor", "grace"),
        ("--actor", "0" * 32),
        ("--target", "nobody@example.org"),
    ):
        told = teamchat("audit", option, unknown, "--config", config, status=1)
        assert told.startswith(f"teamchat: There is no user {unknown}.")
    assert teamchat("audit", "--actor", added, "--config", config) == "", "she has done nothing"


@pytest.mark.slow
async def test_passwords_come_from_stdin_or_are_made_and_end_all_sessions(tmp_path: Path) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path, auth={"authMode": "password", "isInviteRequired": True}) as server:
        said = await asked("user", "add", "--config", config, "a@example.org", stdin=PASSWORD + "\n")
        assert PASSWORD not in said
        assert await signs_in(server, "a@example.org", PASSWORD) == 200
        said = await asked("user", "reset-password", "--config", config, "a@example.org", "--generate")
        made = said.split("The password is ")[1].split()[0]
        assert await signs_in(server, "a@example.org", PASSWORD) == 401
        assert await signs_in(server, "a@example.org", made) == 200
        await asked("user", "add", "--config", config, "b@example.org", stdin="short\n", status=1)
        await asked("user", "add", "--config", config, "b@example.org", stdin="", status=1)
        await asked("user", "reset-password", "--config", config, "b@example.org", status=1)
        await server.end()
    assert "b@example.org" not in teamchat("user", "list", "--config", config)


@pytest.mark.slow
async def test_a_link_to_set_a_password_is_mailed_by_the_server(tmp_path: Path) -> None:
    config = tmp_path / "teamchat.json"
    mails = {"backend": "files", "sender": "chat@example.org"}
    async with running(
        tmp_path, auth={"authMode": "password", "isInviteRequired": True}, email=mails
    ) as server:
        await asked("user", "add", "--config", config, "a@example.org", "--mail")
        assert "mode=setup" in (await mailed(server.mails, "a@example.org")).link
        await server.end()


def test_without_an_installation_none_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["user", "list"]) == 1
    assert "there is no directory ./teamchat-data" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path)})
    assert main(["user", "list", "--config", str(config)]) == 1
    assert "there is no database in" in capsys.readouterr().err
    assert main(["user", "add", "--config", str(config), "a@b", "--mail"]) == 1


@pytest.mark.slow
def test_mail_is_refused_where_none_is_configured(tmp_path: Path) -> None:
    async def once() -> None:
        async with running(tmp_path) as server:
            await server.end()

    trio.run(once)
    config = tmp_path / "teamchat.json"
    said = teamchat("user", "add", "--config", config, "a@b", "--mail", status=1)
    assert "no mail is configured" in said
    for email in ("nonsense", "two@at@signs"):
        assert "not a valid address" in teamchat("user", "add", "--config", config, email, status=1)
    said = teamchat("user", "add", "--config", config, "admin@localhost", status=1)
    assert "exists already" in said
    assert "There is no user nobody" in teamchat("user", "promote", "--config", config, "nobody", status=1)


@pytest.mark.slow
async def test_d43_a_password_from_the_command_line_must_be_changed_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    config = tmp_path / "teamchat.json"
    auth = {"authMode": "password", "isInviteRequired": True, "mustChangeSetPasswords": True}
    async with running(tmp_path, auth=auth) as server:
        said = await asked("user", "add", "--config", config, "a@example.org", stdin=PASSWORD + "\n")
        assert "They must change it" in said
        made = await asked("user", "reset-password", "--config", config, "admin@localhost", "--generate")
        new = made.split("The password is ")[1].split()[0]
        for email, password in (("a@example.org", PASSWORD), ("admin@localhost", new)):
            async with server.client() as client:
                answer = await client.post(
                    "/auth/password-login", json={"email": email, "password": password}
                )
                assert answer.json()["mustChangePassword"] is True
                client.headers["Authorization"] = f"Bearer {answer.json()['accessToken']}"
                for path in ("/users", "/events"):
                    assert (await client.get(path)).status_code == 403
        await server.end()
