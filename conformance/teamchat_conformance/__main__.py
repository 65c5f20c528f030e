"""``python -m teamchat_conformance``."""

import sys

from teamchat_conformance.cli import main

sys.exit(main())
