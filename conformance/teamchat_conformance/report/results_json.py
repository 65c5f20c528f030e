"""The report as JSON: everything that is known, for programs. `SCHEMA_VERSION` tells its form."""

from __future__ import annotations

import json
from typing import Any

from teamchat_conformance.report.document import Checked, Document


def rendered(document: Document) -> str:
    """Return the JSON."""
    return json.dumps(tree(document), ensure_ascii=False, separators=(",", ":"), default=vars) + "\n"


def tree(document: Document) -> dict[str, Any]:
    """Return it as a tree, in which what is a record of the report stands as itself."""
    return {
        "schemaVersion": document.schema_version,
        "suite": {
            "name": "teamchat-conformance",
            "version": document.suite_version,
            "python": document.python,
        },
        "claim": vars(document.claim) | {"line": document.claim.line},
        "counts": document.counts,
        "passed": document.passed,
        "failed": document.failed,
        "skipped": document.skipped,
        "warnings": document.warnings,
        "seconds": round(document.seconds, 3),
        "checks": [_check(check) for check in document.checks],
        "observations": {
            check.id: {told.profile: told.value for told in check.told if told.outcome == "recorded"}
            for check in document.checks
            if check.level == "recorded" and check.verdict == "recorded"
        },
        "monitors": {
            check.id: {"verdict": check.verdict, "samples": [told.value for told in check.told]}
            for check in document.checks
            if check.is_monitored
        },
        "profiles": list(document.profiles),
    }


def _check(check: Checked) -> dict[str, Any]:
    told = vars(check) | {"profile": check.decisive.profile if check.decisive else ""}
    return {key: value for key, value in told.items() if key not in ("decided_by", "title")}
