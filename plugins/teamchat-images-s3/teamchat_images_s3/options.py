"""The keys of ``[images]`` for the backend ``s3``, and the two connections that are made of them.

What can't work is told at start and names its key; and no wait is without an end.
Reading has no deadline for the whole, for a client may take minutes to fetch an image, but one for every
silence of the store; writing has one for the whole, and none for silence, for a store says nothing until it
has all the bytes.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import SplitResult, urlsplit

from msgspec import Meta, Struct

from teamchat import SettingsError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

RETRIES = 3
RETRY_SECONDS = 10.0
"""A request that failed later than this after it began is not tried again."""

_FOREVER = timedelta(days=1)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}\Z")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\Z")
_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class S3Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which bucket, where it is, who may use it, and for how long anything is waited for, in seconds.

    What is left out of `endpoint`, `region` and the credentials comes from the environment variables of AWS
    (``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID`` …), or is the role of the machine there.
    `path_style` puts the bucket into the path of addresses instead of the host; it is the default for an
    `endpoint` of one's own.  `ca_file` holds the certificates of a private CA.
    """

    bucket: str
    endpoint: str | None = None
    region: str | None = None
    prefix: str = ""
    access_key_id: str | None = None
    secret_access_key: Annotated[str | None, Meta(extra={"secret": True})] = None
    path_style: bool | None = None
    ca_file: str | None = None
    connect_seconds: _Seconds = 5.0
    read_seconds: _Seconds = 20.0
    write_seconds: _Seconds = 30.0

    def __repr__(self) -> str:
        return f"S3Options(bucket={self.bucket!r}, endpoint={self.endpoint!r}, prefix={self.prefix!r})"


def connections(options: S3Options) -> tuple[S3Store, S3Store]:
    """Return what reads and what writes. Raises `SettingsError`; nothing is sent yet."""
    _check(options)
    config, certificates = _config(options), _certificates(options)
    silence, whole = timedelta(seconds=options.read_seconds), timedelta(seconds=options.write_seconds)
    reading: ClientConfig = {"read_timeout": silence, "timeout": _FOREVER}
    writing: ClientConfig = {"read_timeout": whole, "timeout": whole}
    return _connection(options, config, certificates | reading), _connection(
        options, config, certificates | writing
    )


def _connection(options: S3Options, config: S3Config, client: ClientConfig) -> S3Store:
    retry: RetryConfig = {
        "max_retries": RETRIES,
        "retry_timeout": timedelta(seconds=RETRY_SECONDS),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=2),
            "base": 2,
        },
    }
    from obstore.store import S3Store  # Not before it is needed: see the plugin's `_open`.

    try:
        return S3Store(
            options.bucket,
            prefix=options.prefix or None,
            config=config,
            client_options=client,
            retry_config=retry,
        )
    except ValueError:
        raise SettingsError(
            "images.caFile names a file that holds no certificates. Give a file with certificates in PEM."
        ) from None


def _check(options: S3Options) -> None:
    if not _BUCKET.match(options.bucket):
        raise SettingsError("images.bucket must be the name of a bucket: letters, digits, '-', '.' and '_'.")
    if options.prefix and (not _PREFIX.match(options.prefix) or {".", ".."} & set(options.prefix.split("/"))):
        raise SettingsError("images.prefix must be a path such as chat/images, without a slash at its ends.")
    if (options.access_key_id is None) != (options.secret_access_key is None):
        missing = "secretAccessKey" if options.secret_access_key is None else "accessKeyId"
        raise SettingsError(f"images.{missing} is missing. Give both keys, or neither.")
    for name in ("region", "access_key_id", "secret_access_key"):
        value = getattr(options, name)
        if value is not None and (not value.isascii() or not value.isprintable() or not value.strip()):
            raise SettingsError(f"images.{_camel(name)} must be of printable ASCII characters.")


def _config(options: S3Options) -> S3Config:
    is_path_style = options.endpoint is not None if options.path_style is None else options.path_style
    config: S3Config = {
        "virtual_hosted_style_request": not is_path_style,
        # Not every store knows the request that removes many; one at a time every store does.
        "disable_bulk_delete": True,
    }
    if options.endpoint is not None:
        parts = _endpoint(options.endpoint)
        host = parts.netloc if is_path_style else f"{options.bucket}.{parts.netloc}"
        config["endpoint"] = f"{parts.scheme}://{host}"
    if options.region is not None:
        config["region"] = options.region
    if options.access_key_id is not None and options.secret_access_key is not None:
        config["access_key_id"] = options.access_key_id
        config["secret_access_key"] = options.secret_access_key
    return config


def _endpoint(text: str) -> SplitResult:
    """Take an address without a path: ``https://s3.example.org``, ``http://127.0.0.1:9000``."""
    try:
        parts = urlsplit(text.rstrip("/"))
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.path or parts.query or parts.fragment or "@" in text or not text.isprintable():
        raise SettingsError("images.endpoint must be an address such as https://s3.example.org, no path.")
    return parts


def _certificates(options: S3Options) -> ClientConfig:
    client: ClientConfig = {
        "connect_timeout": timedelta(seconds=options.connect_seconds),
        "allow_http": options.endpoint is not None and options.endpoint.startswith("http://"),
    }
    if options.ca_file is not None:
        try:
            client["root_certificate"] = Path(options.ca_file).read_bytes()
        except OSError as error:
            raise SettingsError(
                f"images.caFile names a file that can't be read ({type(error).__name__})."
            ) from None
    return client


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
