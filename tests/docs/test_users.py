"""The page on users: its commands one after the other, typed at a terminal and given by a script."""

from __future__ import annotations

import json
import os
import pty
import re
import select

from teamchat.testing import DEADLINE
from tests.docs.machine import Machine
from tests.docs.pages import blocks

BY_HAND, BY_SCRIPT = blocks("how-to/manage-users.md", "sh")
PASSWORD = "eight characters or more"


def at_a_terminal(machine: Machine, script: str, typed: str) -> str:
    """Run a script at a terminal, type this at each prompt for a password, and return what was shown."""
    child, terminal = pty.fork()
    if not child:  # pragma: no cover - another process
        os.chdir(machine.root)
        os.execvpe("bash", ["bash", "-euc", script], machine.environ())
    shown, answered = "", 0
    while select.select([terminal], [], [], DEADLINE)[0]:
        try:
            shown += os.read(terminal, 4096).decode()
        except OSError:  # the end of a terminal on Linux
            break
        if len(re.findall("(?:Password|Once more): ", shown)) > answered:
            answered += 1
            os.write(terminal, f"{typed}\n".encode())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    return shown


def test_the_commands_do_what_they_say_one_after_the_other(machine: Machine) -> None:
    machine.environment = {"INITIAL_USER_PASSWORD": PASSWORD}
    with machine.serves("teamchat serve") as server:
        shown = at_a_terminal(machine, BY_HAND, PASSWORD)
        assert PASSWORD not in shown
        assert shown.count("Password: ") == shown.count("Once more: ") == 2
        assert re.search(r"admin +admin@localhost", shown), shown
        for told in (
            "grace@example.org is now a user: Grace Hopper (user, ",
            "alan@example.org is now a user: alan (admin, ",
            "grace@example.org is an admin now.",
            "grace@example.org is no admin any more.",
            "grace@example.org has a new password, and all their sessions have ended.",
            "grace@example.org was removed. Their messages stay.",
        ):
            assert told in shown
        [generated] = re.findall(r"The password is (\S+) \(shown this once\)", shown)
        said = machine.types(BY_SCRIPT, PASSWORD=PASSWORD)
        assert "grace@example.org is now a user" in said
        for email, password in (("alan@example.org", generated), ("grace@example.org", PASSWORD)):
            with server.client() as client:
                answer = client.post("/auth/password-login", json={"email": email, "password": password})
                assert answer.status_code == 200, answer.text
        assert server.end() == 0
    machine.types("teamchat user remove alan@example.org")
    for verb in ("demote", "remove"):
        assert "The last admin" in machine.types(f"teamchat user {verb} admin@localhost", status=1)
    listed = {user["email"]: user for user in json.loads(machine.types("teamchat user list --json"))}
    assert {*listed} == {"admin@localhost", "grace@example.org"}
    # A user is named by their id as well.
    assert "grace@example.org" in machine.types(f"teamchat user promote {listed['grace@example.org']['id']}")
