"""A description to begin with, and the configuration of the server that makes it true.

What is written can be read back by `instance.load`, and every key in it is explained.
"""

from __future__ import annotations

from dataclasses import replace

from teamchat_conformance.instance import Instance
from teamchat_conformance.launch import nested, toml
from teamchat_conformance.profiles import Profile, described, keys_of

_ADMIN = "# An admin whom the suite may be. It makes its own users, and removes them in the end."
_LAUNCH = """
# To have the suite start the server (--launch): the command, and what the server calls its keys.
# {config}, {port} and {data} are put in; keys that are not named keep the specification's names.
#[launch]
#command = ["my-server", "--config", "{config}"]
#config_format = "json"
#keys = {"server.port" = "listen.port"}
#config = {"log.level" = "debug"}
"""


def commented(profile: Profile, base_url: str) -> tuple[str, str]:
    """Return a commented description for a server like a profile's, and the server's matching keys."""
    instance = _plain(described(profile, Instance(), port=iter((3000, 2525, 9400)).__next__), base_url)
    auth, mail = instance.auth, instance.mail
    lines = [
        "# Who is under test. Any text here may be env:NAME or file:PATH.",
        _table("instance", name="my server", version="", base_url=instance.base_url),
        "# How it signs people in: dev, magic-link or password; and for how long, in seconds.",
        _table("auth", mode=auth.mode, invite_required=auth.invite_required, app_url=auth.app_url,
               access_seconds=auth.access_seconds, refresh_seconds=auth.refresh_seconds,
               magic_seconds=auth.magic_seconds, max_active_sessions=auth.max_active_sessions),
        _ADMIN,
        _table("admin", email=instance.admin.email,
               **({"password": "env:ADMIN_PASSWORD"} if instance.admin.password else {})),
    ]  # fmt: skip
    if mail.kind != "none":
        lines += [
            "# The suite's own mail server, to which the server sends.",
            _table("mail", kind=mail.kind, listen=mail.listen, username=mail.username,
                   password=mail.password, subject=mail.subject),
        ]  # fmt: skip
    if instance.oauth.provider:
        lines += [
            "# The suite's own identity provider, and the providers of the server that lead to it.",
            toml({"oauth": _oauth(instance)}),
        ]
    lines += [
        "# Whether it belongs to this run alone: then is also tried what could lock everybody out.",
        _table("isolation", exclusive=False),
        "# Patience: multiplies every wait.",
        _table("timing", factor=1.0),
    ]
    return "\n".join(lines) + _LAUNCH, toml(nested(keys_of(instance)))


def _plain(instance: Instance, base_url: str) -> Instance:
    base_url = base_url.rstrip("/")
    moved = [
        replace(one, redirect_uri=f"{base_url}/auth/oauth/{one.id}/callback")
        for one in instance.oauth.provider
    ]
    return replace(
        instance.at(base_url),
        auth=replace(instance.auth, app_url=base_url),
        oauth=replace(instance.oauth, provider=tuple(moved)),
    )


def _oauth(instance: Instance) -> dict[str, object]:
    given = instance.oauth
    return {
        "listen": given.listen,
        "public_url": given.public_url,
        "provider": [
            {
                "id": one.id,
                "name": one.name,
                "client_id": one.client_id,
                "client_secret": one.client_secret,
                "redirect_uri": one.redirect_uri,
            }
            for one in given.provider
        ],
    }


def _table(section: str, /, **values: object) -> str:
    return toml({section: values}) + "\n"
