"""The endpoints of files: uploads as tus 1.0 has them, and what is served of them (extension G)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

from teamchat import Conflict, NotFound, Problem, TooLarge, Unauthorized
from teamchat.model import Caller
from teamchat.observability import metrics
from teamchat.web import Answer, Request, Response, Section, Visitor, of_problem, partly
from teamchat_files import tickets, tus
from teamchat_files.forwarding import NewPlace, forward, there
from teamchat_files.listing import add_listing
from teamchat_files.media_types import PLAIN_TEXT, is_inline
from teamchat_files.names import disposition
from teamchat_files.retried import Brought
from teamchat_files.seeing import seen, while_signed_in
from teamchat_files.stored import File

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_files.options import FilesOptions
    from teamchat_files.uploads import Upload, Uploads

_POLICY = "sandbox; default-src 'none'"
_FOREVER = "private, max-age=31536000, immutable"
_FAILURES = (409, 410, 412, 413, 415, 429, 460, 507)


class FileAnswer(Answer, frozen=True):
    """A file."""

    file: File


class FileLink(Answer, frozen=True):
    """An address of the bytes that needs no header, until `expires_at` (epoch milliseconds)."""

    url: str
    expires_at: int


def section_for(app: Teamchat, uploads: Uploads, options: FilesOptions) -> Section:
    """Return the endpoints."""
    section = Section("files")
    _add_uploads(section, uploads, options)
    _add_files(section, app, options)
    _add_forwarding(section, app, uploads, options)
    add_listing(section, app)
    return section


def _add_uploads(section: Section, uploads: Uploads, options: FilesOptions) -> None:
    most = options.chunk_bytes

    async def check_new(caller: Caller, request: Request) -> None:
        tus.check_version(request)
        about = tus.metadata(request)
        await uploads.check_place(caller, about.place_id)
        tus.check_type(request, is_optional=True)
        _check_chunk(request, most)

    async def check_part(caller: Caller, request: Request, upload_id: str) -> None:
        tus.check_version(request)
        await uploads.find(caller, upload_id)
        tus.check_type(request, is_optional=False)
        _check_chunk(request, most)

    @section.endpoint("OPTIONS", "/uploads", open=True, statuses=(204,))
    async def upload_options() -> Response:
        """Ask what uploads can do."""
        return _answer(
            204,
            {
                "Tus-Version": tus.VERSION,
                "Tus-Extension": tus.EXTENSIONS,
                "Tus-Checksum-Algorithm": tus.ALGORITHMS,
                "Tus-Max-Size": str(options.max_bytes),
            },
        )

    @section.endpoint(
        "POST",
        "/uploads",
        scopes=("files",),
        within_places=True,
        first=check_new,
        streamed=True,
        failed=_failed,
        statuses=(201, *_FAILURES),
    )
    async def begin_upload(caller: Caller, request: Request, key: str | None) -> Response:
        """Begin an upload; the first bytes, or all of them, may come with it."""
        size, checksum = tus.length(request), tus.checksum(request)
        uploads.check_size(size)
        brings = request.headers.get("Content-Type") is not None
        upload = await uploads.begin(caller, tus.metadata(request), size, key, brings=brings)
        written = upload.written
        if brings and upload.brought is not None:
            await Brought.read(upload.brought).compare(request.body.pieces(most))
        if upload.is_complete:
            upload = await uploads.where(caller, upload.id)
        elif brings and written == 0:
            written = await uploads.write(
                caller,
                upload,
                request.body.pieces(most),
                length=request.body.announced,
                checksum=checksum,
                may_come_again=key is not None,
            )
        headers = {"Location": f"/uploads/{upload.id}", "Upload-Offset": str(written)}
        return _answer(201, {**headers, "Upload-Expires": tus.expires(upload.expires_at)})

    @section.endpoint(
        "HEAD",
        "/uploads/:uploadId",
        scopes=("files",),
        within_places=True,
        failed=_failed,
        statuses=(200, *_FAILURES),
    )
    async def upload_offset(caller: Caller, request: Request, upload_id: str) -> Response:
        """Ask how far an upload is."""
        tus.check_version(request)
        upload = await uploads.where(caller, upload_id)
        return _answer(200, {**_where(upload, upload.written), "Upload-Length": str(upload.size)})

    @section.endpoint(
        "PATCH",
        "/uploads/:uploadId",
        scopes=("files",),
        within_places=True,
        first=check_part,
        streamed=True,
        failed=_failed,
        statuses=(204, *_FAILURES),
    )
    async def go_on_with_upload(caller: Caller, request: Request, upload_id: str) -> Response:
        """Go on with an upload where it is."""
        offset, checksum = tus.offset(request), tus.checksum(request)
        upload = await uploads.where(caller, upload_id)
        if offset != upload.written:
            raise Conflict(f"The upload is at offset {upload.written}.")
        written = await uploads.write(
            caller, upload, request.body.pieces(most), length=request.body.announced, checksum=checksum
        )
        return _answer(204, _where(upload, written))

    @section.endpoint(
        "DELETE",
        "/uploads/:uploadId",
        scopes=("files",),
        within_places=True,
        failed=_failed,
        statuses=(204, *_FAILURES),
    )
    async def end_upload(caller: Caller, request: Request, upload_id: str) -> Response:
        """End an upload, and remove what has arrived."""
        tus.check_version(request)
        await uploads.end(caller, upload_id)
        return _answer(204, {})


def _add_files(section: Section, app: Teamchat, options: FilesOptions) -> None:
    is_for_others = bool(app.settings.server.allowed_origins)
    resource_policy = "cross-origin" if is_for_others else "same-site"

    async def asking(visitor: Visitor, bearer: str | None, file_id: str, ticket: str | None) -> Caller:
        if ticket is not None and bearer is None:
            return await tickets.holder(app, file_id, ticket)
        if bearer is None:
            raise Unauthorized
        caller = await app.accounts.authenticate(bearer, scopes=("read", "files"))
        app.accounts.used(caller, visitor.ip)
        return caller

    async def serve(
        request: Request,
        caller: Caller,
        key: str,
        kind: str,
        size: int,
        name: str,
        *,
        shown: bool,
        lasts: bool,
    ) -> Response:
        headers = {
            "Cache-Control": _FOREVER if lasts else "private, no-cache",
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Resource-Policy": resource_policy,
            "Content-Disposition": disposition(name, is_inline=shown),
            "Vary": "Authorization",
        }
        store = app.file_store

        async def read(start: int, stop: int) -> AsyncIterator[bytes] | None:
            chunks = await store.read(key, start, stop)
            return None if chunks is None else while_signed_in(app, caller, _counted(chunks))

        return await partly(
            request,
            read,
            f"{kind}; charset=utf-8" if kind == PLAIN_TEXT else kind,
            size=size,
            etag=key,
            headers=headers,
        )

    @section.endpoint(
        "GET", "/files/:fileId/info", scopes=("read", "files"), within_places=True, answer=FileAnswer
    )
    async def read_file_info(caller: Caller, file_id: str) -> FileAnswer:
        """Read what a file is."""
        async with app.storage.read() as tx:
            found = await seen(app, tx, caller, file_id)
        return FileAnswer(found.shown(options.retention_days))

    @section.endpoint(
        "GET",
        "/files/:fileId",
        answer=bytes,
        open=True,
        security="accessToken",
        query=("download", "ticket"),
        statuses=(206, 401, 410, 416),
    )
    async def read_file(
        request: Request,
        visitor: Visitor,
        bearer: str | None,
        file_id: str,
        download: str | None,
        ticket: str | None,
    ) -> Response:
        """Read the bytes of a file, or some of them."""
        caller = await asking(visitor, bearer, file_id, ticket)
        async with app.storage.read() as tx:
            found = there(await seen(app, tx, caller, file_id))
        shown = is_inline(found.media_type) and download in {None, "", "0"}
        is_ready = found.state == "ready"
        return await serve(
            request,
            *(caller, found.key, found.media_type, found.size, found.name),
            shown=shown,
            lasts=is_ready,
        )

    @section.endpoint(
        "GET",
        "/files/:fileId/thumbnail",
        answer=bytes,
        open=True,
        security="accessToken",
        query=("size", "ticket"),
        statuses=(206, 401, 410, 416),
    )
    async def read_thumbnail(
        request: Request,
        visitor: Visitor,
        bearer: str | None,
        file_id: str,
        size: str | None,
        ticket: str | None,
    ) -> Response:
        """Read a thumbnail of a picture, small or large."""
        caller = await asking(visitor, bearer, file_id, ticket)
        async with app.storage.read() as tx:
            found = there(await seen(app, tx, caller, file_id))
        key, length = found.small_key, found.small_size
        if size == "large":
            key, length = found.large_key, found.large_size
        if key is None or length is None:
            raise NotFound("This file has no thumbnail.")
        name = f"{found.name}.webp"
        return await serve(request, caller, key, "image/webp", length, name, shown=True, lasts=True)

    @section.endpoint(
        "POST", "/files/:fileId/link", scopes=("read", "files"), within_places=True, answer=FileLink
    )
    async def link_file(caller: Caller, file_id: str) -> FileLink:
        """Make a link to a file that needs no header, for five minutes."""
        async with app.storage.write() as tx:
            found = there(await seen(app, tx, caller, file_id))
            ticket, expires_at = await tickets.give(tx, caller, found.id)
        return FileLink(f"/files/{found.id}?ticket={ticket}", expires_at)


def _add_forwarding(section: Section, app: Teamchat, uploads: Uploads, options: FilesOptions) -> None:
    async def check(caller: Caller, file_id: str) -> None:
        async with app.storage.read() as tx:
            there(await seen(app, tx, caller, file_id))

    @section.endpoint(
        "POST",
        "/files/:fileId/forward",
        scopes=("files",),
        within_places=True,
        body=NewPlace,
        answer=FileAnswer,
        first=check,
        statuses=(409, 410),
    )
    async def forward_file(caller: Caller, file_id: str, body: NewPlace, key: str | None) -> FileAnswer:
        """Make a file for another place that shares the bytes of one."""
        made = await forward(app, uploads, caller, file_id, body.place_id, key)
        return FileAnswer(made.shown(options.retention_days))


async def _counted(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Pass on what is sent of a file, and count it."""
    metrics.file_reads.value += 1
    try:
        async for chunk in chunks:
            metrics.file_bytes_sent.value += len(chunk)
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _check_chunk(request: Request, most: int) -> None:
    if (request.body.announced or 0) > most:
        raise TooLarge(f"A request carries at most {most} bytes of a file here.")


def _where(upload: Upload, written: int) -> dict[str, str]:
    return {"Upload-Offset": str(written), "Upload-Expires": tus.expires(upload.expires_at)}


def _answer(status: int, headers: dict[str, str]) -> Response:
    return Response(
        status=status, headers={"Tus-Resumable": tus.VERSION, **headers, "Cache-Control": "no-store"}
    )


def _failed(_: Any, error: Exception) -> Response:
    """Answer what went wrong as everywhere, with what tus wants beside."""
    if not isinstance(error, Problem):
        raise error
    response = of_problem(error)
    response.add_header("Tus-Resumable", tus.VERSION)
    if isinstance(error, tus.OtherVersion):
        response.add_header("Tus-Version", tus.VERSION)
    return response
