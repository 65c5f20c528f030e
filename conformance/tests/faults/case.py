"""A fault, or several in one server where none hides another, and the checks that must name each."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.tests.proxy import Fault


@dataclass(frozen=True)
class Case:
    """`checks` must fail; the scenarios of `beside` are played too. `kind` is one of servers.KINDS.

    One that is `alone` has a server for itself: it changes what others rely on, or looks at the order of
    all that happens.  All but a few that are `quick` are left to `make test-all`.
    """

    faults: tuple[Fault, ...]
    checks: tuple[str, ...]
    beside: tuple[str, ...] = ()
    kind: str = "dev"
    alone: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        """The first fault, and how many others there are: a test with a long name loses it in reports."""
        first, *others = self.faults
        return f"{first.name} + {len(others)}" if others else first.name


def found(
    fault: Fault,
    checks: str,
    beside: str = "",
    *,
    kind: str = "dev",
    alone: bool = False,
    quick: bool = False,
) -> Case:
    """Say which checks a fault must fail; ids are parted by spaces."""
    return Case((fault,), tuple(checks.split()), tuple(beside.split()), kind, alone, quick)


def together(*cases: Case) -> Case:
    """Put the faults of several cases into one proxy; each check must see its own."""
    first = cases[0]
    return Case(
        tuple(fault for case in cases for fault in case.faults),
        tuple(id for case in cases for id in case.checks),
        tuple(id for case in cases for id in case.beside),
        first.kind,
        first.alone,
        first.quick,
    )
