"""``python -m teamchat`` is the command ``teamchat``."""

from __future__ import annotations

from teamchat.cli import main

raise SystemExit(main())
