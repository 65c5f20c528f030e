"""The pages that tell how to set a preset up, and the README, are true of it."""

from __future__ import annotations

import re

import pytest
from teamchat_oauth_presets import oauth_providers

from teamchat.accounts.oauth.failures import REASONS
from teamchat.settings import OAuthPreset
from tests.guides.pages import DOCS

README = DOCS.parent / "plugins" / "teamchat-oauth-presets" / "README.md"


def test_the_readme_lists_each_preset_with_its_scopes() -> None:
    readme = README.read_text()
    for provider in oauth_providers():
        assert f"| [`{provider.id}`](" in readme
        assert f"| `{provider.scopes}` |" in readme


def test_the_readme_names_every_key_of_a_preset() -> None:
    keys = set(OAuthPreset.__struct_encode_fields__)
    assert keys <= {*re.findall(r"(?:`|^)(\w+)(?:`| =)", README.read_text(), re.MULTILINE)}


PRESETS = [provider.id for provider in oauth_providers()]


@pytest.mark.parametrize("preset", [*PRESETS, "your-own-provider"])
def test_the_page_tells_what_each_oauth_error_means(preset: str) -> None:
    page = (DOCS / "how-to" / f"sign-in-with-{preset}.md").read_text()
    told = re.findall(r"^\| `(\w+)` \|", page.partition("| `oauth_error` |")[2], re.MULTILINE)
    assert set(told) == REASONS
    assert len(told) == len(REASONS)
