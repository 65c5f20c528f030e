"""The endpoints of uploads, as tus 1.0 has them (extension G)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat import Conflict, Problem, TooLarge
from teamchat.model import Caller
from teamchat.web import Request, Response, Section, of_problem
from teamchat_files import tus
from teamchat_files.retried import Brought

if TYPE_CHECKING:
    from teamchat_files.options import FilesOptions
    from teamchat_files.uploads import Upload, Uploads

_FAILURES = (409, 410, 412, 413, 415, 429, 460, 507)


def add_uploads(section: Section, uploads: Uploads, options: FilesOptions) -> None:
    """Add the endpoints to a section."""
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
