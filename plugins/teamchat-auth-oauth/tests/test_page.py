"""The page that tells how to describe a provider is true: the server reads its configuration."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from teamchat_auth_oauth.failures import REASONS
from teamchat_auth_oauth.providers import configured

from teamchat.settings import CustomProvider, load

from .conftest import no_preset

PAGE_OF = Path(__file__).parents[3] / "docs" / "how-to"
PAGE = (PAGE_OF / "sign-in-with-your-own-provider.md").read_text()


def test_every_configuration_on_the_page_is_read_and_describes_the_provider(tmp_path: Path) -> None:
    found = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 2
    for text in found:
        file = tmp_path / "teamchat.toml"
        file.write_text(text)
        settings = load(file, {"ACME_CLIENT_SECRET": "from the environment"})
        [at] = configured(settings, no_preset)
        assert at.client_secret == "from the environment"
        assert at.redirect_uri.endswith("/auth/oauth/acme/callback")


def test_the_page_tells_every_key() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \| .* \|$", PAGE.partition("| Key |")[2], re.MULTILINE)
    keys = {field.encode_name for field in msgspec.structs.fields(CustomProvider)}
    assert keys <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}


WITH_ERRORS = [
    page for page in PAGE_OF.glob("sign-in-with-*.md") if "| `oauth_error` |" in page.read_text("utf-8")
]


def test_the_page_of_every_preset_tells_of_errors() -> None:
    assert {page.stem.removeprefix("sign-in-with-") for page in WITH_ERRORS} == {
        *("github", "gitlab", "google", "microsoft", "your-own-provider")
    }


@pytest.mark.parametrize("page", WITH_ERRORS, ids=lambda page: page.stem)
def test_the_page_tells_what_each_oauth_error_means(page: Path) -> None:
    table = page.read_text("utf-8").partition("| `oauth_error` |")[2]
    told = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(told) == REASONS
    assert len(told) == len(REASONS)
