"""The keys of ``[files-s3]``: what can't work is told at start and names its key."""

from __future__ import annotations

import os
import re
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from teamchat import SettingsError
from teamchat_files_s3.signing import Credentials

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}\Z")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\Z")
_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class S3Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which bucket, where it is, who may use it, and for how long anything is waited for, in seconds.

    What is left out of `endpoint`, `region` and the keys comes from the environment variables of AWS
    (``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID`` …), and keys else from the role of the
    machine or container (`teamchat_files_s3.roles`).  `path_style` puts the bucket into the
    path of addresses instead of the host; it is the default for an `endpoint` of one's own.  `ca_file` holds
    the certificates of a private CA.  `read_seconds` is how long the store may be silent while a file is
    read, `write_seconds` how long it may be silent after a part.  Where objects are small, and put at once,
    they need not be written `in_parts`, nor has the account to have the rights for that.
    """

    bucket: str = ""
    endpoint: str | None = None
    region: str | None = None
    prefix: str = ""
    access_key_id: str | None = None
    secret_access_key: Annotated[str | None, Meta(extra={"secret": True})] = None
    path_style: bool | None = None
    ca_file: str | None = None
    connect_seconds: _Seconds = 5.0
    read_seconds: _Seconds = 20.0
    write_seconds: _Seconds = 60.0
    in_parts: bool = True

    def __repr__(self) -> str:
        return f"S3Options(bucket={self.bucket!r}, endpoint={self.endpoint!r}, prefix={self.prefix!r})"


class Place(NamedTuple):
    """Where the objects are: `origin` such as ``https://s3.example.org``, and the path before each key.

    Without `credentials` a role has them.
    """

    origin: str
    path: str
    region: str
    credentials: Credentials | None


def place(options: S3Options) -> Place:
    """Return where the options lead. Raises `SettingsError` that names the key which can't work."""
    if not _BUCKET.match(options.bucket):
        raise SettingsError(
            "files-s3.bucket must be the name of a bucket: letters, digits, '-', '.' and '_'."
        )
    prefix = options.prefix
    if prefix and (not _PREFIX.match(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise SettingsError("files-s3.prefix must be a path such as chat/files, without a slash at its ends.")
    environment = os.environ
    region = options.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    region = region or "us-east-1"
    credentials = _credentials(options, region)
    given = options.endpoint or environment.get("AWS_ENDPOINT_URL")
    scheme, host = _endpoint(given or f"https://s3.{region}.amazonaws.com")
    is_path_style = given is not None if options.path_style is None else options.path_style
    inside = f"/{prefix}" if prefix else ""
    if is_path_style:
        return Place(f"{scheme}://{host}", f"/{options.bucket}{inside}", region, credentials)
    return Place(f"{scheme}://{options.bucket}.{host}", inside, region, credentials)


def _credentials(options: S3Options, region: str) -> Credentials | None:
    if (options.access_key_id is None) != (options.secret_access_key is None):
        missing = "secretAccessKey" if options.secret_access_key is None else "accessKeyId"
        raise SettingsError(f"files-s3.{missing} is missing. Give both keys, or neither.")
    key_id = options.access_key_id or os.environ.get("AWS_ACCESS_KEY_ID")
    secret = options.secret_access_key or os.environ.get("AWS_SECRET_ACCESS_KEY")
    token = None if options.access_key_id else os.environ.get("AWS_SESSION_TOKEN")
    for name, value in (("region", region), ("accessKeyId", key_id), ("secretAccessKey", secret)):
        if value and not (value.isascii() and value.isprintable() and value.strip()):
            raise SettingsError(f"files-s3.{name} must be of printable ASCII characters.")
    return Credentials(key_id, secret, token, region) if key_id and secret else None


def _endpoint(text: str) -> tuple[str, str]:
    """Take an address without a path: ``https://s3.example.org``, ``http://127.0.0.1:9000``."""
    try:
        parts = urlsplit(text.rstrip("/"))
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.path or parts.query or parts.fragment or "@" in text or not text.isprintable():
        raise SettingsError("files-s3.endpoint must be an address such as https://s3.example.org, no path.")
    return parts.scheme, parts.netloc
