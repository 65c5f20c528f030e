"""The README is true of the presets."""

from __future__ import annotations

import re

from teamchat_oauth_presets import oauth_providers

from teamchat.settings import OAuthPreset
from tests.docs.pages import DOCS

README = DOCS.parent / "plugins" / "teamchat-oauth-presets" / "README.md"


def test_the_readme_lists_each_preset_with_its_scopes() -> None:
    readme = README.read_text()
    for provider in oauth_providers():
        assert f"| [`{provider.id}`](" in readme
        assert f"| `{provider.scopes}` |" in readme


def test_the_readme_names_every_key_of_a_preset() -> None:
    keys = set(OAuthPreset.__struct_encode_fields__)
    assert keys <= {*re.findall(r"(?:`|^)(\w+)(?:`| =)", README.read_text(), re.MULTILINE)}
