"""What the specification says, statement by statement, and which checks test it.

Every statement has a check or a reason why it has none.  Every required check tests a statement that has
words: of the specification, whose text is kept with the suite, or of a decision.  The map knows by digests
which text it was made from; `python -m teamchat_conformance.spec_map FILE` names what has changed in another.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from teamchat_conformance.registry import Registry

_DIGEST_LENGTH = 12


@dataclass(frozen=True)
class Statement:
    """One statement in short. `line` is where it stands; `digest` is of the text of that line.

    `words` are the specification's own, or a decision's; a statement on which all others rest has none.
    """

    section: str
    line: int
    says: str
    digest: str
    checks: tuple[str, ...]
    why: str
    """Why there is no check, if there is none."""
    words: str = ""

    @property
    def is_decision(self) -> bool:
        """Whether this is one of the decisions that are as binding as the specification."""
        return self.section.startswith("D-")


@dataclass(frozen=True)
class SpecMap:
    """All statements, and the digest of the whole text."""

    digest: str
    statements: tuple[Statement, ...]

    def of(self, id: str) -> list[Statement]:
        """Return the statements that a check tests."""
        return [statement for statement in self.statements if id in statement.checks]

    def words_of(self, id: str) -> tuple[str, ...]:
        """Return the words of the statements that a check tests; before a decision's stands its id."""
        quoted = (
            f"{one.section}: {one.words}" if one.is_decision else one.words
            for one in self.of(id)
            if one.words
        )
        return tuple(dict.fromkeys(quoted))

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
        required = [
            check for check in registry.checks.values() if check.level == "required" and not check.capability
        ]
        return found + [
            f"{check.id} is required and quotes no words" for check in required if not self.words_of(check.id)
        ]

    def changed(self, text: str) -> list[Statement]:
        """Return the statements whose line stands in this text of the specification no more."""
        if digest_of(text) == self.digest:
            return []
        there = {digest_of(line) for line in text.splitlines()}
        return [one for one in self.statements if one.digest and one.digest not in there]


@cache
def load() -> SpecMap:
    """Return the map."""
    tree = tomllib.loads(files(__package__).joinpath("data", "statements.toml").read_text("utf-8"))
    return SpecMap(tree["digest"], tuple(map(_statement, tree["statement"])))


def text() -> str:
    """Return the specification, as it is kept with the suite."""
    return files(__package__).joinpath("data", "interface.md").read_text("utf-8")


def _statement(one: dict[str, Any]) -> Statement:
    checks = tuple(one.get("checks", ()))
    line, digest = one.get("line", 0), one.get("digest", "")
    return Statement(
        one["section"], line, one["says"], digest, checks, one.get("why", ""), one.get("words", "")
    )


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
