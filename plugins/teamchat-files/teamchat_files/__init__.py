"""Files of any type: the capability `files`, version 1 (extension G)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, DraftFields, KeepsFiles, Parts, hookimpl
from teamchat_files.attaching import MOST, Attaching, FileDraft, have_files, texts
from teamchat_files.endpoints import section_for
from teamchat_files.events import FileChanged
from teamchat_files.exported import FilesExported
from teamchat_files.options import FilesOptions
from teamchat_files.processing import Processing
from teamchat_files.removal import Removal
from teamchat_files.tables import CHECKS, MIGRATIONS
from teamchat_files.uploads import Uploads

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, options: FilesOptions) -> Parts:
    """Return what the capability brings to one server."""
    processing, removal = Processing(app, options), Removal(app, options)
    uploads = Uploads(app, options, processing.process)
    attaching = Attaching(options.retention_days)
    return Parts(
        limits={"maxBytes": options.max_bytes, "chunkBytes": options.chunk_bytes, "perMessage": MOST},
        routes=[section_for(app, uploads, options)],
        changes=attaching,
        message_fields=attaching.fields,
        draft_fields=DraftFields(
            kind=FileDraft,
            write=attaching.write,
            stands_alone=attaching.stands_alone,
            concerns=attaching.concerns,
        ),
        message_tests={"has:file": have_files},
        message_texts=texts,
        jobs=[removal.sweep],
        services=[processing, removal],
    )


FILES = Capability(
    name="files",
    version=1,
    options=FilesOptions,
    tables=MIGRATIONS,
    events=[FileChanged],
    checks=CHECKS,
    files=KeepsFiles(backend=lambda options: options.backend, table="files_stored", key="key", size="size"),
    export=FilesExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [FILES]
