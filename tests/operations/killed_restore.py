"""A restore that is killed: ``python -m tests.operations.killed_restore CONFIG FILE STEP``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from teamchat.operations import restore as module
from teamchat.operations.installation import Installation


def kill(*_: object, **__: object) -> None:
    """End this process as a power cut does."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(name: str) -> None:
    setattr(module, name, kill)


def after(name: str) -> None:
    original: Callable[..., Any] = getattr(module, name)

    async def then_kill(*arguments: Any, **more: Any) -> None:
        await original(*arguments, **more)
        kill()

    setattr(module, name, then_kill)


def after_the_secret() -> None:
    original = module.secret_to_keep

    @contextmanager
    def then_kill(*arguments: Any) -> Iterator[Callable[[], None]]:
        with original(*arguments) as keep:

            def keep_and_kill() -> None:
                keep()
                kill()

            yield keep_and_kill

    module.secret_to_keep = then_kill


STEPS: dict[str, Callable[[], None]] = {
    "nothing is written": lambda: before("_images_put"),
    "the images are written": lambda: before("_put_rows"),
    "the rows are written": lambda: after("replace_rows"),
    "the rows are committed": lambda: after("_put_rows"),
    "the secret is in place": after_the_secret,
    "all is done": lambda: before("_said_of_secret"),
}

if __name__ == "__main__":
    _, config, file, step = sys.argv
    STEPS[step]()
    trio.run(module.restore, Installation.load(Path(config), {}), Path(file), module.Wishes(replaces=True))
