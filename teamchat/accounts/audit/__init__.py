"""The audit log: who did what, if somebody may have to answer for it (extension L-4).

An entry is written in the transaction of what it records, so neither exists without the other. It is neither
changed nor deleted before ``audit.retentionDays`` have passed. It contains ids and what was set, and nothing
that was said.
"""

from __future__ import annotations

from teamchat.accounts.audit.entries import Audit, AuditEntry, AuditPage, AuditQuery
from teamchat.accounts.audit.writing import asked_by, note, note_challenge, note_failure

__all__ = [
    "Audit",
    "AuditEntry",
    "AuditPage",
    "AuditQuery",
    "asked_by",
    "note",
    "note_challenge",
    "note_failure",
]
