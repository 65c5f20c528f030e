"""``python -m teamchat.server.workers LINE LISTENER…``: a worker, which only the supervisor starts."""

from __future__ import annotations

import sys

from teamchat.server.workers.serving import main

if len(sys.argv) < 3 or not all(argument.isdecimal() for argument in sys.argv[1:]):
    sys.exit("teamchat: this starts a worker, which only `teamchat serve` can do (server.workers).")
sys.exit(main(sys.argv[1:]))
