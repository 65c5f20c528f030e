"""Virtual environments such as a plugin author has, made without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness import free_port

PROGRAMS = ("pip", "pytest", "mypy", "teamchat")


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a directory: what is installed there, and what this one has."""

    directory: Path

    @property
    def programs(self) -> Path:
        return self.directory / "bin"

    @property
    def variables(self) -> dict[str, str]:
        """What a shell has in which it was activated. Whoever needs an index fails."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")},
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.directory),
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # which means that there is none
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, script: str, cwd: Path) -> str:
        """Run a shell script in the activated environment and return what it printed; it must succeed."""
        ran = subprocess.run(
            ["bash", "-euc", script],
            cwd=cwd,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    @contextmanager
    def serving(self, serve: str, cwd: Path) -> Iterator[str]:
        """Run a command that serves, on a free port, and give the address once it is ready."""
        port = free_port()
        command = ["bash", "-c", f"exec {serve.strip()} --port {port}"]
        process = subprocess.Popen(
            command, cwd=cwd, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        with process, process.stdout as said:
            try:
                assert any("ready on" in line for line in said)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def environment(directory: Path) -> Environment:
    """Make a virtual environment that has, after its own, the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    [packages] = directory.glob("lib/python*/site-packages")
    line = f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n"
    (packages / "as_here.pth").write_text(line)
    made = Environment(directory)
    for program in PROGRAMS:
        script = made.programs / program
        script.write_text(f'#!/bin/sh\nexec {made.programs}/python -m {program} "$@"\n')
        script.chmod(0o755)
    return made
