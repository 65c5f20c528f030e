"""Following a Containerfile step by step without containers: what is copied, run, set and started.

The steps are those of the file, in its order, and a step that is not understood fails.
What stands for a container is a directory for each stage; a path that begins at the root means one in it.
Three commands are stood in for: ``pip install -r`` finds everything installed already, at the versions that
the lock names, for there may be no network; ``pip install`` of wheels goes into that directory; and users
are not made.  The processes are those of whoever runs the tests.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

_PYTHON = f"{shlex.quote(sys.executable)} -m pip --disable-pip-version-check --quiet"
_ROOTED = re.compile(r"(?<![\w./])/(?=[a-z])")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+?)(?: ; (.*?))? \\$", re.MULTILINE)
_USERS = ("groupadd ", "useradd ")


@dataclass
class Stage:
    """One stage, as it stands after its last step."""

    root: Path
    workdir: str = "/"
    env: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    users: set[str] = field(default_factory=set)
    healthcheck: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    volumes: set[str] = field(default_factory=set)

    def inside(self, text: str) -> str:
        """Return a text in which each path that begins at the root leads into the stage."""
        return _ROOTED.sub(f"{self.root}/", text)

    @property
    def installed(self) -> Path:
        """The directory that wheels are installed into."""
        return self.root / "installed"

    def argv(self, command: list[str]) -> list[str]:
        """Return what starts a command of the image here."""
        program, *rest = command
        if program == "python":
            return [sys.executable, *rest]
        return [sys.executable, "-S", str(self.installed / "bin" / program), *rest]

    def environ(self) -> dict[str, str]:
        """Return what the image's processes find set, and where Python finds what is installed."""
        libraries = f"{self.installed}:{sysconfig.get_paths()['purelib']}"
        return {name: self.inside(value) for name, value in self.env.items()} | {"PYTHONPATH": libraries}


def follow(file: Path, context: Path, directory: Path) -> Stage:
    """Follow every step below `directory`, and return the last stage."""
    stages: dict[str, Stage] = {}
    text = re.sub(r"\\\n\s*", "", file.read_text())
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        step, _, rest = line.partition(" ")
        if step == "FROM":
            _, _, name = rest.partition(" AS ")
            root = directory / (name or "last")
            root.mkdir()
            stage = stages[name] = Stage(root)
        else:
            _STEPS[step](stage, rest, context, stages)
    return stage


def _copy(stage: Stage, rest: str, context: Path, _: dict[str, Stage]) -> None:
    *sources, target = rest.split()
    into = Path(stage.inside(str(Path(stage.workdir) / target)))
    for source in sources:
        found = context / source
        if found.is_dir():
            shutil.copytree(found, into, ignore=shutil.ignore_patterns("__pycache__", "tests", "build"))
        else:
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, into)


def _run(stage: Stage, rest: str, _: Path, stages: dict[str, Stage]) -> None:
    while rest.startswith("--mount="):
        mount, _, rest = rest.partition(" ")
        told = dict(part.split("=") for part in mount.removeprefix("--mount=").split(","))
        source = stages[told["from"]].inside(told["source"])
        shutil.copytree(source, stage.inside(told["target"]))
    for command in rest.split(" && "):
        _run_one(stage, command)


def _run_one(stage: Stage, command: str) -> None:
    words = command.split()
    if command.startswith(_USERS):
        stage.users.add(words[-1])
        return
    if words[:2] == ["pip", "install"] and "-r" in words:
        assert "--require-hashes" in words
        _check_installed(Path(stage.inside(str(Path(stage.workdir) / words[-1]))))
        return
    if words[0] == "install":
        assert set(words[words.index("--owner") + 1 :: 2]) & stage.users
        command = re.sub(r" --(owner|group) \S+", "", command)
    command = stage.inside(command).replace("pip wheel", f"{_PYTHON} wheel --no-index")
    command = command.replace("pip install", f"{_PYTHON} install --target {stage.installed}")
    subprocess.run(command, shell=True, check=True, cwd=stage.inside(stage.workdir))


def _check_installed(lock: Path) -> None:
    for name, version, condition in _PIN.findall(lock.read_text()):
        if not condition:
            assert metadata.version(name) == version, name


def _set(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))


def _workdir(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.workdir = rest
    Path(stage.inside(rest)).mkdir(parents=True, exist_ok=True)


def _user(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    assert rest in stage.users
    stage.user = rest


def _healthcheck(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.healthcheck = json.loads(rest[rest.index("CMD ") + 4 :])


def _entrypoint(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.entrypoint = json.loads(rest)


def _cmd(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.command = json.loads(rest)


def _volume(stage: Stage, rest: str, _: Path, __: dict[str, Stage]) -> None:
    stage.volumes.add(rest)


_STEPS = {
    "COPY": _copy,
    "RUN": _run,
    "ENV": _set,
    "WORKDIR": _workdir,
    "USER": _user,
    "HEALTHCHECK": _healthcheck,
    "ENTRYPOINT": _entrypoint,
    "CMD": _cmd,
    "VOLUME": _volume,
    "EXPOSE": lambda *_: None,
}
