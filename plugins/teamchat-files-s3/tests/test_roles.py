"""Credentials that nobody configured: of a machine's role, of a container's, and of a cluster's token."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from teamchat_files_s3.roles import NoCredentials, Role

LATER = datetime.now(UTC) + timedelta(hours=6)
ROLES = "/latest/meta-data/iam/security-credentials/"


def given(expires: datetime = LATER) -> str:
    at = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps({"AccessKeyId": "id", "SecretAccessKey": "key", "Token": "token", "Expiration": at})


class Answers:
    """Answers requests by method and address; `asked` are those that came."""

    def __init__(self) -> None:
        self.by: dict[tuple[str, str], str] = {}
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        text = self.by.get((request.method, str(request.url)))
        return httpx2.Response(404 if text is None else 200, text=text or "")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    return Answers()


@pytest.fixture
async def role(answers: Answers) -> AsyncIterator[Role]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answers)) as requests:
        yield Role(requests, "eu-central-1")


async def test_a_machine_is_asked_with_a_token_once_as_long_as_its_answer_lasts(
    role: Role, answers: Answers
) -> None:
    machine = "http://169.254.169.254"
    answers.by = {
        ("PUT", f"{machine}/latest/api/token"): "of-the-session",
        ("GET", f"{machine}{ROLES}"): "chat-role",
        ("GET", f"{machine}{ROLES}chat-role"): given(),
    }
    for _ in range(2):
        found = await role.credentials()
        assert (found.key_id, found.secret, found.token, found.region) == (
            "id",
            "key",
            "token",
            "eu-central-1",
        )
    assert [request.headers.get("x-aws-ec2-metadata-token") for request in answers.asked] == [
        None,
        "of-the-session",
        "of-the-session",
    ]


async def test_what_is_about_to_expire_is_asked_for_again_and_used_until_it_has(
    role: Role, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/role")
    soon = datetime.now(UTC) + timedelta(minutes=2)
    answers.by = {("GET", "http://127.0.0.1/role"): given(soon)}
    first = await role.credentials()
    answers.by = {}
    assert await role.credentials() == first
    assert len(answers.asked) == 2
    answers.by = {("GET", "http://127.0.0.1/role"): given(datetime.now(UTC) - timedelta(minutes=2))}
    await role.credentials()
    answers.by = {}
    with pytest.raises(NoCredentials):
        await role.credentials()


async def test_a_container_is_asked_with_the_token_of_its_file(
    role: Role, answers: Answers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("of-the-container\n")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/role")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(file))
    answers.by = {("GET", "http://169.254.170.2/v2/role"): given()}
    assert (await role.credentials()).secret == "key"
    assert answers.asked[0].headers["authorization"] == "of-the-container"


async def test_a_cluster_gives_its_token_to_the_service(
    role: Role, answers: Answers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("of-the-cluster")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/chat")
    answers.by = {
        ("POST", "https://sts.eu-central-1.amazonaws.com"): f"""<AssumeRoleWithWebIdentityResponse
        xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>id</AccessKeyId><SecretAccessKey>key</SecretAccessKey><SessionToken>token</SessionToken>
        <Expiration>{LATER.isoformat()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
        </AssumeRoleWithWebIdentityResponse>"""
    }
    found = await role.credentials()
    assert (found.key_id, found.secret, found.token) == ("id", "key", "token")
    sent = answers.asked[0].content.decode()
    assert "WebIdentityToken=of-the-cluster" in sent
    assert "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fchat" in sent


async def test_who_has_no_role_is_told(role: Role) -> None:
    with pytest.raises(NoCredentials):
        await role.credentials()
