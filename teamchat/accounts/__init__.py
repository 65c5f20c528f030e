"""Accounts: users, their sessions and tokens, links in mails, and the limits on guessing.

`Accounts` is all of it, and ``app.accounts`` is one. The other names are the parts from which ways to sign in
are made; functions that end in ``_in`` work in a transaction that is already open. Outside this package only
the ways to sign in touch its tables, each those that it is about.
"""

from __future__ import annotations

from teamchat.accounts import keys
from teamchat.accounts.accounts import Accounts
from teamchat.accounts.attempts import Attempt, Limits, MailLimits, RegistrationLimit, attempt, network_of
from teamchat.accounts.counters import APART, Counters
from teamchat.accounts.links import Links, Purpose, unusable
from teamchat.accounts.mail_turns import network_requester
from teamchat.accounts.proofs import Proofs, telling
from teamchat.accounts.records import (
    Account,
    account_by_email,
    as_user,
    has_password_in,
    user_by_email,
)
from teamchat.accounts.scopes import SCOPES
from teamchat.accounts.scrypt import Hasher, check_password, is_same
from teamchat.accounts.second_steps import Passed, SecondSteps
from teamchat.accounts.sessions import Sessions
from teamchat.accounts.users import Users

__all__ = [
    "APART",
    "SCOPES",
    "Account",
    "Accounts",
    "Attempt",
    "Counters",
    "Hasher",
    "Limits",
    "Links",
    "MailLimits",
    "Passed",
    "Proofs",
    "Purpose",
    "RegistrationLimit",
    "SecondSteps",
    "Sessions",
    "Users",
    "account_by_email",
    "as_user",
    "attempt",
    "check_password",
    "has_password_in",
    "is_same",
    "keys",
    "network_of",
    "network_requester",
    "telling",
    "unusable",
    "user_by_email",
]
