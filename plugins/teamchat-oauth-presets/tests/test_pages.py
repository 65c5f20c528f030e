"""The pages that tell how to set a preset up are true of it: the server reads their configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from teamchat_oauth_presets import oauth_providers

from teamchat.accounts.oauth.failures import REASONS
from teamchat.settings import load

ROOT = Path(__file__).parents[3]
IDS = [provider.id for provider in oauth_providers()]


def page(preset: str) -> str:
    return (ROOT / "docs" / "how-to" / f"sign-in-with-{preset}.md").read_text()


def configurations(text: str) -> list[str]:
    return re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("preset", IDS)
def test_every_configuration_on_the_page_is_read_and_sets_the_preset(preset: str, tmp_path: Path) -> None:
    found = configurations(page(preset))
    assert found
    for text in found:
        file = tmp_path / "teamchat.toml"
        file.write_text(text)
        settings = load(file, {f"{preset.upper()}_CLIENT_SECRET": "from the environment"})
        assert list(settings.oauth.presets) == [preset]
        assert settings.oauth.presets[preset].client_secret == "from the environment"


@pytest.mark.parametrize("preset", IDS)
def test_the_redirect_address_on_the_page_is_the_preset_s(preset: str) -> None:
    assert f"\n   https://chat.example.org/auth/oauth/{preset}/callback\n" in page(preset)


def test_the_readme_lists_each_preset_with_its_scopes() -> None:
    readme = (ROOT / "plugins" / "teamchat-oauth-presets" / "README.md").read_text()
    for provider in oauth_providers():
        assert f"| [`{provider.id}`](" in readme
        assert f"| `{provider.scopes}` |" in readme
    assert configurations(readme)


@pytest.mark.parametrize("preset", IDS)
def test_the_page_tells_what_each_oauth_error_means(preset: str) -> None:
    rows = page(preset).partition("| `oauth_error` |")[2]
    told = re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)
    assert set(told) == REASONS
    assert len(told) == len(REASONS)
