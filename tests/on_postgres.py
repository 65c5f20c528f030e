"""Runs a command while a PostgreSQL to throw away is there: ``python -m tests.on_postgres COMMAND…``.

Its address is in ``TEAMCHAT_TEST_POSTGRES_URL`` meanwhile, for ``tests/serve_on_postgres.py``.  The exit
status is the command's.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.postgres import Postgres


def main(command: list[str]) -> int:
    server = Postgres(os.environ.get("TEAMCHAT_TEST_POSTGRES", "18"))
    try:
        environment = os.environ | {"TEAMCHAT_TEST_POSTGRES_URL": server.url()}
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return 130
    finally:
        server.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
