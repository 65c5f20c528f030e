"""Which texts hold a secret, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from time import process_time

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
LOCKED = (
    "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,4F\n\nTG9ja2Vk\n"
    "-----END RSA PRIVATE KEY-----"
)
SECRETS = {
    KEY: "a private key",
    LOCKED: "a private key",
    "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\nlQOY": "a private key",
    "AKIA" + "I" * 16: "an AWS access key",
    "ghp_" + "a1" * 18: "a GitHub token",
    "github_pat_" + "a" * 22: "a GitHub token",
    "glpat-" + "x" * 20: "a GitLab token",
    "glrt-" + "x" * 20: "a GitLab token",
    "xoxb-" + "1234567890-abc": "a Slack token",
    "xapp-" + "1-A0123-4567-abc": "a Slack token",
    "whsec_" + "C2FVsBQIhrscChlQ": "a webhook's secret",
    "sk_live_" + "9" * 24: "a Stripe key",
    "AIza" + "Z" * 35: "a Google API key",
    "tct_" + "_-aB3" * 8 + "xyz": "a teamchat token",
}


class TestRefusing(MessageFilterContract):
    def make_filter(self) -> SecretsFilter:
        return SecretsFilter(masks=False)


class TestMasking(MessageFilterContract):
    def make_filter(self) -> SecretsFilter:
        return SecretsFilter(masks=True)


@pytest.mark.parametrize(("secret", "kind"), SECRETS.items(), ids=lambda value: value[:18])
def test_a_secret_is_found_within_other_words_and_masked(secret: str, kind: str) -> None:
    text = f"here it is: {secret} (keep it)"
    assert found_in(text) == kind
    assert masked(text) == f"here it is: [removed: {kind}] (keep it)" or "PGP" in secret
    assert secret not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIA is a prefix",
        "yAKIA" + "I" * 16,
        "ghp_short",
        "tct_" + "x" * 20,
        "-----BEGIN CERTIFICATE-----",
        "sk_test_" + "9" * 24,
        "maxoxb-",
        "xoxb-and-other-words-that-are-joined",
    ],
)
def test_words_that_only_begin_like_a_secret_are_left_alone(text: str) -> None:
    assert found_in(text) is None
    assert masked(text) == text


@pytest.mark.parametrize("around", ["_{}_", "`{}`", "https://{}@example.org", '{{"key":"{}"}}'])
def test_a_secret_is_found_whatever_stands_around_it(around: str) -> None:
    token = "ghp_" + "a1" * 18
    assert token not in masked(around.format(token))


@given(st.text())
def test_what_is_masked_holds_no_secret_any_more(text: str) -> None:
    assert found_in(masked(text + KEY + text)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN ",
        "-----BEGIN A PRIVATE KEY-----",
        "-----BEGIN A PRIVATE KEY-----a-",
        "-",
        "ghp_a",
        "xoxb-",
        "xoxb-a",
        "AKIA",
        "sk_live_",
    ],
)
def test_a_hostile_text_takes_no_longer_than_another_of_its_length(piece: str) -> None:
    shorter, longer = seconds(piece, 10_000), seconds(piece, 40_000)
    assert longer < 12 * shorter, "in proportion to the length it is 4 times, to its square 16 times"


def seconds(piece: str, length: int) -> float:
    """Return how long a text takes the processor when nothing disturbs it."""
    text, taken = piece * (length // len(piece)), []
    for _ in range(7):
        before = process_time()
        masked(text)
        found_in(text)
        taken.append(process_time() - before)
    return min(taken)


async def test_what_is_refused_says_what_it_looks_like() -> None:
    with pytest.raises(BadRequest, match="looks like a GitLab token"):
        await SecretsFilter(masks=False).filter(Posting("glpat-" + "x" * 20, (), "u1", "c1", None))


@pytest.mark.slow
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
