"""Accounts: users, their sessions and tokens, passwords, links in mails, and the limits on guessing them.

`Accounts` is the whole of it; nothing outside this package touches its tables, save to read names.
"""

from __future__ import annotations

from teamchat.accounts.accounts import Accounts
from teamchat.accounts.attempts import Limits
from teamchat.accounts.links import Links
from teamchat.accounts.magic_links import MagicLinks
from teamchat.accounts.oauth import OAuth
from teamchat.accounts.passwords import Passwords
from teamchat.accounts.sessions import Sessions
from teamchat.accounts.users import Users

__all__ = ["Accounts", "Limits", "Links", "MagicLinks", "OAuth", "Passwords", "Sessions", "Users"]
