"""Accounts: users, their sessions and tokens, their passwords, and the limits on guessing them.

`Accounts` is the whole of it; nothing outside this package touches its tables, save to read names.
"""

from __future__ import annotations

from teamchat.accounts.accounts import Accounts
from teamchat.accounts.attempts import Limits
from teamchat.accounts.oauth import OAuth
from teamchat.accounts.passwords import Passwords
from teamchat.accounts.sessions import Sessions
from teamchat.accounts.users import Users

__all__ = ["Accounts", "Limits", "OAuth", "Passwords", "Sessions", "Users"]
