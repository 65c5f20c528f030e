"""Sign in with Google, Microsoft, GitHub or GitLab (interface, part 5 rules 13 to 15; decision D-20).

Each provider is a module with its addresses, its scopes and one function that reads who signed in.  What must
stay true of every one: the email in a profile is one that the provider vouches for, the subject is an id that
the provider never gives to anybody else, and whatever is missing or of another type than documented is
refused with ``email_not_verified``.
"""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import OAuthProvider, hookimpl
from teamchat_oauth_presets.github import GITHUB
from teamchat_oauth_presets.gitlab import GITLAB
from teamchat_oauth_presets.google import GOOGLE
from teamchat_oauth_presets.microsoft import MICROSOFT


@hookimpl
def oauth_providers() -> Sequence[OAuthProvider]:
    """Offer the four presets, in the order of the interface's rule 15."""
    return [GOOGLE, MICROSOFT, GITHUB, GITLAB]
