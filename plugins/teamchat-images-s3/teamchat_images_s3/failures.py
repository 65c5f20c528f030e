"""What goes wrong with a store, told as teamchat tells it.

No error carries what the store or the library said, for it holds addresses, keys of
objects and parts of requests; only the code of S3's error (a word such as ``NoSuchBucket``) and the name of
the key of the configuration that has to do with it.
"""

from __future__ import annotations

import re

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from teamchat import StorageError, Unavailable

_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
_STATUS = re.compile(r"non-2xx status code: ([0-9]{3})")
_KEYS_ARE_WRONG = {
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidToken",
    "ExpiredToken",
    "InvalidSecurity",
}
_REGION_IS_WRONG = {
    "AuthorizationHeaderMalformed",
    "PermanentRedirect",
    "TemporaryRedirect",
    "IllegalLocationConstraintException",
}
# Where the library asks for credentials if none were given: the machine's or the container's role.
_ROLE = ("/latest/api/token", "/latest/meta-data", "/v2/credentials", "AssumeRole", "sts.")
_CERTIFICATE = ("invalid peer certificate", "UnknownIssuer", "certificate verify", "CertNotValid")


class StoreUnavailable(Unavailable):
    """The store can't be used now: a client gets 503 and may try again."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The image store {why}. Try again later.")


def code_of(error: Exception) -> str:
    """Return S3's word for an error, else the HTTP status, else the error's type: never any other text."""
    said = str(error)
    found = _CODE.search(said) or _STATUS.search(said)
    return found[1] if found else type(error).__name__


def is_no_bucket(error: Exception) -> bool:
    """Return whether it is the bucket that is missing, and not an object in it."""
    return code_of(error) == "NoSuchBucket"


def unavailable(error: Exception) -> StoreUnavailable:
    """Return what to raise when a request failed, after all tries."""
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return StoreUnavailable("does not let this server in")
    if is_no_bucket(error):
        return StoreUnavailable("has lost its bucket")
    if _CODE.search(str(error)) or _STATUS.search(str(error)):
        return StoreUnavailable("does not work")
    return StoreUnavailable("can't be reached")


def refused_at_start(error: Exception) -> StorageError:
    """Return what to tell the operator, naming the key to look at."""
    said, code = str(error), code_of(error)
    if code == "NoSuchBucket":
        return StorageError(
            "images.bucket names a bucket that the store does not have. Make it, or mend images.bucket or "
            "images.region."
        )
    if code in _REGION_IS_WRONG or "non-2xx status code: 301" in said:
        return StorageError(f"images.region is not the region of images.bucket ({code}).")
    if code in _KEYS_ARE_WRONG or isinstance(error, UnauthenticatedError):
        return StorageError(f"The store refused images.accessKeyId and images.secretAccessKey ({code}).")
    if isinstance(error, PermissionDeniedError):
        return StorageError(
            f"The account of images.accessKeyId may not write, read and delete in images.bucket ({code}). "
            "Give it s3:PutObject, s3:GetObject and s3:DeleteObject there."
        )
    if any(part in said for part in _ROLE):
        return StorageError(
            "There are no credentials for the image store. "
            "Give images.accessKeyId and images.secretAccessKey."
        )
    if any(part in said for part in _CERTIFICATE):
        return StorageError(
            "images.endpoint: the store's certificate is not one for this name that is trusted here. "
            "For a private CA, give images.caFile."
        )
    if _CODE.search(said) or _STATUS.search(said):
        return StorageError(f"images.endpoint: what answers there does not work as a store ({code}).")
    return StorageError(
        "images.endpoint: no store answers there. Look at the address, whether it begins with http:// or "
        "https://, and whether the store runs."
    )
