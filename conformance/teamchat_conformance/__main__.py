"""``python -m teamchat_conformance``."""

from teamchat_conformance.cli import main

main()
