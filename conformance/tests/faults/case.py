"""A fault, or several in one server where none hides another, and the checks that must name each."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.tests.proxy import Fault

_QUICK = ("dev", "magic")


@dataclass(frozen=True)
class Case:
    """`checks` must fail; the scenarios of `beside` are played too. `kind` is one of servers.KINDS.

    One that is `alone` has a server for itself; one that `is_long` takes long in itself.
    """

    faults: tuple[Fault, ...]
    checks: tuple[str, ...]
    beside: tuple[str, ...] = ()
    kind: str = "dev"
    alone: bool = False
    is_long: bool = False

    @property
    def slow(self) -> bool:
        """Tell whether it is left to `make test-all`: hashing passwords takes its time."""
        return self.is_long or self.kind not in _QUICK

    @property
    def name(self) -> str:
        return " + ".join(fault.name for fault in self.faults)


def found(
    fault: Fault, checks: str, beside: str = "", *, kind: str = "dev", alone: bool = False, slow: bool = False
) -> Case:
    """Say which checks a fault must fail; ids are parted by spaces."""
    return Case((fault,), tuple(checks.split()), tuple(beside.split()), kind, alone, slow)


def together(*cases: Case) -> Case:
    """Put the faults of several cases into one proxy; each check must see its own."""
    first = cases[0]
    return Case(
        tuple(fault for case in cases for fault in case.faults),
        tuple(id for case in cases for id in case.checks),
        tuple(id for case in cases for id in case.beside),
        first.kind,
        first.alone,
        first.is_long,
    )
