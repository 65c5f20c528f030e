"""The section of all endpoints of files, and the endpoints of stored files (extension G)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat import NotFound
from teamchat.model import Caller
from teamchat.web import Answer, Request, Response, Section, Visitor
from teamchat_files import tickets
from teamchat_files.forwarding import NewPlace, forward, there
from teamchat_files.listing import add_listing
from teamchat_files.media_types import is_inline
from teamchat_files.seeing import seen
from teamchat_files.serving import Serving
from teamchat_files.stored import File
from teamchat_files.upload_endpoints import add_uploads

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_files.options import FilesOptions
    from teamchat_files.uploads import Uploads


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
    add_uploads(section, uploads, options)
    _add_files(section, app, options)
    _add_forwarding(section, app, uploads, options)
    add_listing(section, app)
    return section


def _add_files(section: Section, app: Teamchat, options: FilesOptions) -> None:
    serving = Serving(app)

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
        caller = await serving.asking(visitor, bearer, file_id, ticket)
        async with app.storage.read() as tx:
            found = there(await seen(app, tx, caller, file_id))
        shown = is_inline(found.media_type) and download in {None, "", "0"}
        is_ready = found.state == "ready"
        return await serving.serve(
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
        caller = await serving.asking(visitor, bearer, file_id, ticket)
        async with app.storage.read() as tx:
            found = there(await seen(app, tx, caller, file_id))
        key, length = found.small_key, found.small_size
        if size == "large":
            key, length = found.large_key, found.large_size
        if key is None or length is None:
            raise NotFound("This file has no thumbnail.")
        name = f"{found.name}.webp"
        return await serving.serve(request, caller, key, "image/webp", length, name, shown=True, lasts=True)

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
