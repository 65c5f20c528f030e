"""The keys of ``[files]``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from teamchat import Options

_Bytes = Annotated[int, Meta(ge=1, le=2**48)]


class FilesOptions(Options, frozen=True, kw_only=True):
    """The keys of ``[files]``; sizes are in bytes (extensions G-6 to G-8)."""

    backend: Annotated[
        str, Meta(min_length=1, description="The store of files; its keys are in the table of its plugin.")
    ] = "directory"
    max_bytes: Annotated[
        int, Meta(ge=1, le=2**48, description="How large a file may be.", extra={"unit": "bytes"})
    ] = 100 * 1024 * 1024
    chunk_bytes: Annotated[
        int, Meta(ge=64 * 1024, le=2**32, description="How much of a file one request may carry.")
    ] = 8 * 1024 * 1024
    bytes_per_day: Annotated[
        _Bytes | None,
        Meta(
            description="How much a user may upload in 24 hours; no limit if not given.",
            examples=[5 * 1024 * 1024 * 1024],
        ),
    ] = None
    total_bytes: Annotated[
        _Bytes | None,
        Meta(
            description="How much all files may take together; no limit if not given.",
            examples=[200 * 1024 * 1024 * 1024],
        ),
    ] = None
    reserve_bytes: Annotated[
        int, Meta(ge=0, le=2**48, description="How much of the disk files leave free for everything else.")
    ] = 1024 * 1024 * 1024
    strip_location: Annotated[
        bool, Meta(description="Whether the place where a photograph was taken is removed from it.")
    ] = True
    retention_days: Annotated[
        int, Meta(ge=0, le=36500, description="After how many days files go, and messages stay; 0: never.")
    ] = 0
