"""The tutorials work as they stand: what they say to type is typed here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from tests.harness import DEADLINE, PASSWORD, running

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
ONE_MODULE_ONE_TEST = {
    "first-filter.md": ("house-rules", "message-filter"),
    "sign-in-plugin.md": ("front-door", "auth-mode"),
}


def blocks(page: str, language: str) -> list[str]:
    text = (TUTORIALS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ONE_MODULE_ONE_TEST)
def test_a_plugin_made_by_its_tutorial_passes_its_tests(page: str, tmp_path: Path) -> None:
    name, kind = ONE_MODULE_ONE_TEST[page]
    module, test = blocks(page, "python")
    new_plugin, run_tests = blocks(page, "sh")
    assert new_plugin.strip() == f"teamchat new-plugin {name} --kind {kind}"
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", new_plugin], cwd=tmp_path, env=environment, check=True)
    made, package = tmp_path / f"teamchat-{name}", f"teamchat_{name.replace('-', '_')}"
    (made / package / "__init__.py").write_text(module)
    (made / "tests" / f"test_{name.replace('-', '_')}.py").write_text(test)
    environment |= {"PYTHONPATH": str(made), "PYTHONWARNINGS": "error"}
    ran = subprocess.run(
        ["bash", "-euc", run_tests],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    checked = subprocess.run(
        [programs / "mypy", "--strict", "--cache-dir", tmp_path / "cache", made / package],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial uses curl")
async def test_the_bot_answers(tmp_path: Path) -> None:
    [bot] = blocks("first-bot.md", "python")
    (tmp_path / "bot.py").write_text(bot)
    sign_in, webhook, start, ask = blocks("first-bot.md", "sh")
    assert "BASE=http://127.0.0.1:3000\n" in sign_in
    user = {"userName": "Ada", "email": "admin@localhost", "password": PASSWORD}
    async with running(tmp_path, auth={"authMode": "password"}, chat={"initialUser": user}) as server:
        sign_in = sign_in.replace("http://127.0.0.1:3000", server.base)
        start = start.replace("bot.py &", "bot.py > said &")
        waiting = f"for i in $(seq {int(DEADLINE * 50)}); do grep -q {{}} {{}} && break; sleep 0.02; done"
        read = 'curl -s $BASE/channels/$CHANNEL/messages -H "Authorization: Bearer $TOKEN"'
        script = [
            sign_in,
            webhook,
            start,
            waiting.format("listening", "said"),
            ask,
            f"for i in $(seq {int(DEADLINE * 20)}); do {read} | grep 'rolls a' && break; sleep 0.05; done",
            "kill $!",
        ]
        ran = await trio.run_process(
            ["bash", "-euc", "\n".join(script)],
            cwd=tmp_path,
            env=os.environ | {"PASSWORD": PASSWORD},
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        assert re.search(r"Ada rolls a [1-6]", ran.stdout.decode())
        assert '"isBot":true' in ran.stdout.decode()
