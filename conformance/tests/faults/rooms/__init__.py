"""What a server may do wrong with rooms: channels, private ones, groups, notes, archives; roles of users."""

from __future__ import annotations

from conformance.tests.faults.case import Case, together
from conformance.tests.faults.rooms import events, groups, membership, private_channels

_ON_ONE_RUN = (
    "PRIV-TELL-09 PRIV-HIDE-05 PRIV-HIST-02 PRIV-SEE-02",
    "ME-GET-01 CAP-DOC-04 NOTE-NEW-01 MEM-MAKE-01",
    "MEM-FORM-02 GRP-NEW-06",
    "MEM-JOIN-01 MEM-WHO-03",
    "MEM-ADD-01 MEM-KICK-01",
    "MEM-ADD-03 MEM-POST-02",
    "MEM-MAN-03 GRP-END-02",
    "MEM-MAN-01 PRIV-INV-01",
    "MEM-ASOF-01 PRIV-MAKE-07 PRIV-ADM-05",
    "PRIV-MAKE-04 PRIV-HIST-01 PRIV-TELL-05 PRIV-HOOK-05",
    "PRIV-NAME-01 GRP-NEW-02",
    "GRP-ADD-01 PRIV-TELL-06 PRIV-OPEN-01",
    "PRIV-HIST-04 ARCH-SET-02",
    "ARCH-DENY-07 GRP-NEW-01",
    "ARCH-DENY-01 GRP-CONV-01",
    "NOTE-HIDE-02 PRIV-HOOK-03",
    "PRIV-CLOSE-01 PRIV-HOOK-01",
    "PRIV-ADM-08 MEM-LAST-02",
    "MEM-LIST-01 PRIV-HIDE-06",
    "MEM-LIST-02 PRIV-CLOSE-04",
    "PRIV-OPEN-03 PRIV-TELL-01",
    "ROLE-PUT-01 PRIV-ADM-02 MEM-DEF-01",  # alone: these count all users and channels
)
"""Cases, by their first check, whose faults let each other's scenarios be: one run shows them all."""


def _cases() -> list[Case]:
    every = (*membership.CASES, *private_channels.CASES, *events.CASES, *groups.CASES)
    left = {case.checks[0]: case for case in every}
    if len(left) < len(every):
        raise ValueError("two cases begin with the same check")
    merged = [together(*(left.pop(id) for id in ids.split())) for ids in _ON_ONE_RUN]
    return [*merged, *left.values()]


CASES = _cases()
