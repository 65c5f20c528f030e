"""Credentials of the role that a machine or a container of AWS has, asked for again before they expire.

As with AWS's own programs the environment says who is asked: a token of the cluster
(``AWS_WEB_IDENTITY_TOKEN_FILE``), the container's address (``AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`` or
``_FULL_URI``), else the machine.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import msgspec
import trio

from teamchat import Unavailable
from teamchat_files_s3.signing import Credentials

_EARLY = timedelta(minutes=5)
_CONTAINERS = "http://169.254.170.2"
_MACHINE = "http://169.254.169.254"


class NoCredentials(Unavailable):
    """Nobody gave any."""

    def __init__(self) -> None:
        super().__init__("The store does not let this server in. Try again later.")


class _Answer(msgspec.Struct, rename="pascal"):
    access_key_id: str
    secret_access_key: str
    expiration: datetime
    token: str = ""
    session_token: str = ""


class Role:
    """Gives the credentials of now."""

    def __init__(self, requests: httpx2.AsyncClient, region: str) -> None:
        self._requests, self._region = requests, region
        self._asking = trio.Lock()
        self._held: Credentials | None = None
        self._expires_at = datetime.min.replace(tzinfo=UTC)

    async def credentials(self) -> Credentials:
        """Return credentials that last for some minutes. Raises `NoCredentials`."""
        async with self._asking:
            now = datetime.now(UTC)
            if self._held is not None and now < self._expires_at - _EARLY:
                return self._held
            try:
                found = await self._asked()
            except (httpx2.HTTPError, OSError, msgspec.MsgspecError, ElementTree.ParseError):
                if self._held is None or now > self._expires_at:
                    raise NoCredentials from None
                return self._held
            token = found.token or found.session_token or None
            self._held = Credentials(found.access_key_id, found.secret_access_key, token, self._region)
            self._expires_at = found.expiration
            return self._held

    async def _asked(self) -> _Answer:
        environment = os.environ
        if file := environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
            return await self._of_cluster(await _read(file))
        full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        if relative := environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
            full = f"{_CONTAINERS}{relative}"
        if full:
            token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
            if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
                token = await _read(file)
            return _decoded(await self._said("GET", full, {"authorization": token} if token else {}))
        return await self._of_machine(environment.get("AWS_METADATA_ENDPOINT", _MACHINE).rstrip("/"))

    async def _of_cluster(self, token: str) -> _Answer:
        parameters = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": os.environ.get("AWS_ROLE_ARN", ""),
            "RoleSessionName": os.environ.get("AWS_ROLE_SESSION_NAME", "teamchat"),
            "WebIdentityToken": token,
        }
        service = os.environ.get("AWS_ENDPOINT_URL_STS", f"https://sts.{self._region}.amazonaws.com")
        text = await self._said("POST", service, {"accept": "application/xml"}, data=parameters)
        # From the address that the operator's environment names; it has no DTD, and entities would need one.
        root = ElementTree.fromstring(text)  # noqa: S314
        told = {element.tag.rpartition("}")[2]: element.text for element in root.iter()}
        return msgspec.convert(told, _Answer, strict=False)

    async def _of_machine(self, machine: str) -> _Answer:
        asking = {"x-aws-ec2-metadata-token-ttl-seconds": "600"}
        token = {"x-aws-ec2-metadata-token": await self._said("PUT", f"{machine}/latest/api/token", asking)}
        roles = f"{machine}/latest/meta-data/iam/security-credentials/"
        role = (await self._said("GET", roles, token)).partition("\n")[0].strip()
        return _decoded(await self._said("GET", roles + role, token))

    async def _said(
        self, method: str, url: str, headers: dict[str, str], data: dict[str, str] | None = None
    ) -> str:
        answer = await self._requests.request(method, url, headers=headers, data=data)
        return answer.raise_for_status().text


def _decoded(text: str) -> _Answer:
    return msgspec.json.decode(text, type=_Answer)


async def _read(file: str) -> str:
    return (await trio.Path(Path(file)).read_text()).strip()
