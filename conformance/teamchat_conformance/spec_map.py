"""What the specification says, statement by statement, and which checks test it.

What must stay true: every statement has a check or a reason why it has none, every required check tests a
statement, and the map knows by digests which text of the specification it was made from.  The specification
itself is not kept here: with its file, `python -m teamchat_conformance.spec_map FILE` names what has changed.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from teamchat_conformance.registry import Registry

_DIGEST_LENGTH = 12


@dataclass(frozen=True)
class Statement:
    """One statement in short. `line` is where it stood; `digest` is of the text of that line."""

    section: str
    line: int
    says: str
    digest: str
    checks: tuple[str, ...]
    why: str
    """Why there is no check, if there is none."""


@dataclass(frozen=True)
class SpecMap:
    """All statements, and the digest of the whole text."""

    digest: str
    statements: tuple[Statement, ...]

    def of(self, id: str) -> list[Statement]:
        """Return the statements that a check tests."""
        return [statement for statement in self.statements if id in statement.checks]

    def problems(self, registry: Registry) -> list[str]:
        """Return what does not fit together."""
        found = []
        for statement in self.statements:
            name = f"{statement.section} line {statement.line}"
            unknown = [id for id in statement.checks if id not in registry.checks]
            found += [f"{name} names {id}, which there is not" for id in unknown]
            if not statement.checks and not statement.why:
                found.append(f"{name} has neither a check nor a reason")
            if len(set(statement.checks)) < len(statement.checks):
                found.append(f"{name} names a check twice")
        tested = {id for statement in self.statements for id in statement.checks}
        required = (check.id for check in registry.checks.values() if check.level == "required")
        return found + [f"{id} is required and tests no statement" for id in required if id not in tested]

    def changed(self, text: str) -> list[Statement]:
        """Return the statements whose line stands in this text of the specification no more."""
        if digest_of(text) == self.digest:
            return []
        there = {digest_of(line) for line in text.splitlines()}
        return [one for one in self.statements if one.digest and one.digest not in there]


def load() -> SpecMap:
    """Return the map."""
    tree = tomllib.loads(files(__package__).joinpath("data", "statements.toml").read_text("utf-8"))
    return SpecMap(tree["digest"], tuple(map(_statement, tree["statement"])))


def _statement(one: dict[str, Any]) -> Statement:
    checks = tuple(one.get("checks", ()))
    line, digest = one.get("line", 0), one.get("digest", "")
    return Statement(one["section"], line, one["says"], digest, checks, one.get("why", ""))


def digest_of(text: str) -> str:
    """Return the digest of a text, whatever white space stands around it."""
    return sha256(text.strip().encode()).hexdigest()[:_DIGEST_LENGTH]


def main(arguments: list[str]) -> int:
    """Compare a text of the specification with the map, and return 1 if they differ."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m teamchat_conformance.spec_map FILE\n")
        return 2
    text = Path(arguments[0]).read_text("utf-8")
    known = load()
    for one in known.changed(text):
        sys.stdout.write(f"changed: {one.section}, was line {one.line}: {one.says} {' '.join(one.checks)}\n")
    is_same = digest_of(text) == known.digest
    sys.stdout.write("the text of the map\n" if is_same else "another text than the map was made from\n")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
