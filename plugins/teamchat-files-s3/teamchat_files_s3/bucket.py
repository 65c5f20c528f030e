"""The requests to a bucket, and what goes wrong with them.

A request that fails is tried again, for each can be: a part is written under its number, an object under its
key.  No error carries what the store said but its code (a word such as ``SlowDown``).
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from xml.etree import ElementTree

import httpx2
import trio

from teamchat import SettingsError, StorageError, Unavailable
from teamchat_files_s3.options import Place, S3Options, place
from teamchat_files_s3.roles import Role
from teamchat_files_s3.signing import EMPTY, query_of, signed

TRIES = 4
RETRY_SECONDS = 10.0
"""A request without a body that failed later than this after it began is not tried again."""
REFUSAL_SECONDS = 5.0
"""How long a refusal may take to say what for."""
FIRST_PAUSE_SECONDS = 0.1
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
_MOST_ANSWER_BYTES = 1024 * 1024

_log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # It logs whole addresses.


class S3Error(Exception):
    """The store refused; `code` is its word for why, or the status."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Body(NamedTuple):
    """What is sent: how to begin reading it, its length in bytes and its SHA-256 in hexadecimal digits."""

    read: Callable[[], AsyncIterator[bytes]]
    length: int
    digest: str


class Bucket:
    """Makes the requests. Opened by `open_bucket`."""

    def __init__(self, options: S3Options, where: Place, requests: httpx2.AsyncClient) -> None:
        self._options = options
        self._where = where
        self._host = where.origin.partition("://")[2]
        self._requests = requests
        self._role = Role(requests, where.region)
        self._fails = False
        self.patience = options.write_seconds + RETRY_SECONDS
        """For how many seconds a change is waited for, with all its tries."""

    async def put(self, key: str, body: Body, **parameters: str) -> None:
        """Write an object, or with ``partNumber`` and ``uploadId`` a part of one."""
        await self._asked("PUT", key, parameters, body=body)

    async def delete(self, key: str, **parameters: str) -> None:
        """Remove an object, or with ``uploadId`` an upload of parts; one that is not there is no error."""
        try:
            await self._asked("DELETE", key, parameters)
        except S3Error as error:
            if error.status != 404 or error.code == "NoSuchBucket":
                raise

    async def begin_upload(self, key: str) -> str:
        """Begin an object of several parts, and return the upload's id."""
        answer = await self._asked("POST", key, {"uploads": ""})
        return _found(answer, "UploadId")

    async def parts(self, key: str, upload_id: str) -> dict[int, str]:
        """Return the ETags of the parts that were written, by number. Raises `S3Error` for no such upload."""
        tags: dict[int, str] = {}
        after = "0"
        while True:
            asked = {"uploadId": upload_id, "part-number-marker": after}
            document = _document(await self._asked("GET", key, asked))
            page = {int(part["PartNumber"]): part["ETag"] for part in map(_fields, document.iter("Part"))}
            tags |= page
            said = _fields(document)
            if (
                said.get("IsTruncated") != "true"
                or not page
                or said.get("NextPartNumberMarker") in (None, after)
            ):
                return tags
            after = said["NextPartNumberMarker"]

    async def complete_upload(self, key: str, upload_id: str, tags: dict[int, str]) -> None:
        """Make one object of the parts."""
        root = ElementTree.Element("CompleteMultipartUpload")
        for number, tag in sorted(tags.items()):
            part = ElementTree.SubElement(root, "Part")
            ElementTree.SubElement(part, "PartNumber").text = str(number)
            ElementTree.SubElement(part, "ETag").text = tag
        body = whole(ElementTree.tostring(root))
        answer = await self._asked("POST", key, {"uploadId": upload_id}, body=body)
        # Putting parts together can fail after the head of the answer was sent.
        if code := _CODE.search(answer):
            raise S3Error(200, code[1])

    async def size(self, key: str) -> int | None:
        """Return how many bytes an object has, or None if there is none."""
        try:
            async with self._answered("HEAD", key, {}, {}, None) as answer:
                return int(answer.headers.get("content-length", "0"))
        except S3Error as error:
            if error.status == 404:
                return None
            raise

    @asynccontextmanager
    async def reading(self, key: str, first: int, last: int | None) -> AsyncIterator[httpx2.Response | None]:
        """Open an object from byte `first` to `last`, both included; None if there is none."""
        span = {"range": f"bytes={first}-{'' if last is None else last}"} if first or last is not None else {}
        try:
            opened = await self._opened("GET", key, {}, span, None)
        except S3Error as error:
            if error.status != 404 or error.code == "NoSuchBucket":
                raise
            yield None
            return
        try:
            yield opened
        finally:
            with trio.CancelScope(shield=True):
                await opened.aclose()

    async def _asked(
        self, method: str, key: str, parameters: dict[str, str], *, body: Body | None = None
    ) -> str:
        async with self._answered(method, key, parameters, {}, body) as answer:
            try:
                return await _text(answer)
            except httpx2.TransportError as error:
                self._tell(type(error).__name__)
                raise Unavailable("The store can't be reached. Try again later.") from None

    @asynccontextmanager
    async def _answered(
        self, method: str, key: str, parameters: dict[str, str], headers: dict[str, str], body: Body | None
    ) -> AsyncIterator[httpx2.Response]:
        answer = await self._opened(method, key, parameters, headers, body)
        try:
            yield answer
        finally:
            with trio.CancelScope(shield=True):
                await answer.aclose()

    async def _opened(
        self, method: str, key: str, parameters: dict[str, str], headers: dict[str, str], body: Body | None
    ) -> httpx2.Response:
        """Return the answer with its head read, tried several times. Raises `S3Error` and `Unavailable`."""
        pause, tried_until = FIRST_PAUSE_SECONDS, trio.current_time() + RETRY_SECONDS
        for is_last in (*[False] * (TRIES - 1), True):
            try:
                answer = await self._sent(method, key, parameters, headers, body)
            except (httpx2.TransportError, OSError) as error:
                if is_last or (body is None and trio.current_time() > tried_until):
                    self._tell(type(error).__name__)
                    raise Unavailable("The store can't be reached. Try again later.") from None
            else:
                if answer.is_success:
                    self._tell(None)
                    return answer
                failed = await _refusal(answer)
                if (answer.status_code < 500 or answer.status_code == 501) and failed.code not in (
                    "RequestTimeout",
                    "SlowDown",
                ):
                    is_shut = failed.status in (401, 403) or failed.code == "NoSuchBucket"
                    self._tell(failed.code if is_shut else None)
                    raise failed
                if is_last:
                    self._tell(failed.code)
                    raise Unavailable("The store does not work. Try again later.")
            await trio.sleep(pause)
            pause *= 3
        raise AssertionError  # The last try returns or raises.

    async def _sent(
        self, method: str, key: str, parameters: dict[str, str], headers: dict[str, str], body: Body | None
    ) -> httpx2.Response:
        path, query = f"{self._where.path}/{key}", query_of(parameters)
        digest = EMPTY if body is None else body.digest
        credentials = self._where.credentials or await self._role.credentials()
        made = signed(credentials, method, self._host, path, query, headers, digest)
        if body is not None:
            made |= {"content-length": str(body.length)}
        request = self._requests.build_request(
            method,
            f"{self._where.origin}{path}" + (f"?{query}" if query else ""),
            headers=made,
            content=None if body is None else body.read(),
        )
        if body is not None:
            # Nothing is said until a part is written whole, which takes longer than a silence in reading.
            request.extensions["timeout"]["read"] = self._options.write_seconds
        return await self._requests.send(request, stream=True)

    def _tell(self, failure: str | None) -> None:
        """Log when the store begins to fail and when it works again, not each request in between."""
        if failure is not None and not self._fails:
            _log.warning("the bucket %s fails: %s", self._options.bucket, failure)
        elif failure is None and self._fails:
            _log.info("the bucket %s works again", self._options.bucket)
        self._fails = failure is not None


def whole(data: bytes) -> Body:
    """Return a body that is in memory."""
    from hashlib import sha256

    async def read() -> AsyncIterator[bytes]:
        yield data

    return Body(read, len(data), sha256(data).hexdigest())


def _client(options: S3Options) -> httpx2.AsyncClient:
    """Return what makes the requests. Raises `SettingsError` for a file of certificates that is none."""
    context = httpx2.create_ssl_context()
    if options.ca_file is not None:
        try:
            context.load_verify_locations(options.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"files-s3.caFile names a file that can't be read or holds no certificates "
                f"({type(error).__name__})."
            ) from None
    return httpx2.AsyncClient(
        verify=context,
        trust_env=False,
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20),
        timeout=httpx2.Timeout(
            options.read_seconds, connect=options.connect_seconds, pool=options.write_seconds
        ),
    )


@asynccontextmanager
async def open_bucket(options: S3Options) -> AsyncIterator[Bucket]:
    """Open the connections. Raises `SettingsError`; nothing is sent yet."""
    where = place(options)
    async with _client(options) as requests:
        yield Bucket(options, where, requests)


def unavailable(error: S3Error) -> Unavailable:
    """Return what to raise when the store refused a request."""
    if error.code == "NoSuchBucket":
        return Unavailable("The store has lost its bucket. Try again later.")
    if error.status in (401, 403):
        return Unavailable("The store does not let this server in. Try again later.")
    return Unavailable(f"The store refuses ({error.code}). Try again later.")


def refused_at_start(error: S3Error, *, in_parts: bool) -> StorageError:
    """Return what to tell the operator, naming the key to look at."""
    code = error.code
    if code == "NoSuchBucket":
        return StorageError("files-s3.bucket names a bucket that the store does not have. Make it.")
    if code in ("AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "301", "307"):
        return StorageError(f"files-s3.region is not the region of files-s3.bucket ({code}).")
    if code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "401"):
        return StorageError(f"The store refused files-s3.accessKeyId and files-s3.secretAccessKey ({code}).")
    if error.status == 403:
        parts = ", s3:ListMultipartUploadParts and s3:AbortMultipartUpload" if in_parts else ""
        return StorageError(
            f"The account of files-s3.accessKeyId may not do in files-s3.bucket what is needed ({code}). "
            f"Give it s3:PutObject, s3:GetObject, s3:DeleteObject{parts} there."
        )
    return StorageError(f"files-s3.endpoint: what answers there does not work as a store ({code}).")


async def _refusal(answer: httpx2.Response) -> S3Error:
    """Return what a refusal says; where the rest of it does not come, its status says enough."""
    text = ""
    with trio.CancelScope(shield=True):
        with trio.move_on_after(REFUSAL_SECONDS), suppress(httpx2.TransportError):
            text = await _text(answer)
        await answer.aclose()
    code = _CODE.search(text)
    return S3Error(answer.status_code, code[1] if code else str(answer.status_code))


async def _text(answer: httpx2.Response) -> str:
    text = bytearray()
    async for piece in answer.aiter_raw():
        text += piece
        if len(text) > _MOST_ANSWER_BYTES:
            break
    return text.decode("utf-8", "replace")


def _document(text: str) -> ElementTree.Element:
    try:
        # From the store that the operator chose; it has no DTD, and entities would need one.
        return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text, count=1))  # noqa: S314
    except ElementTree.ParseError:
        raise Unavailable("The store does not work. Try again later.") from None


def _fields(element: ElementTree.Element) -> dict[str, str]:
    return {child.tag: child.text or "" for child in element}


def _found(text: str, name: str) -> str:
    found = _fields(_document(text)).get(name)
    if not found:
        raise Unavailable("The store does not work. Try again later.")
    return found
