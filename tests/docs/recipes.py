"""What `make` would do, for the pages that name a target which takes too long for a test."""

from __future__ import annotations

import os
import shlex
import subprocess

from tests.docs.pages import ROOT


def recipe(typed: str) -> list[str]:
    """Return the commands of a target, in their order; `typed` is the whole command."""
    program, *arguments = shlex.split(typed)
    assert program == "make"
    shown = subprocess.run(
        [program, "--dry-run", "--no-print-directory", *arguments],
        cwd=ROOT,
        # The tests may have been started by `make ARGS=…`, which would reach this one too.
        env={
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MAKE", "MFLAGS", "ARGS"))
        },
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.replace("\\\n", " ").splitlines()
