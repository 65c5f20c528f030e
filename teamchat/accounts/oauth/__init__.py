"""Sign-in at other providers: OAuth 2.0 with PKCE (interface, part 4 and part 5 rules 13 to 15; D-20).

`OAuth` is the face.  `providers` are the configuration made whole, `states` what is kept of a sign-in under
way, `client` the talk with a provider, `identities` who is who.
"""

from teamchat.accounts.oauth.sign_in import Callback, OAuth

__all__ = ["Callback", "OAuth"]
