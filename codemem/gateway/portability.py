"""Exports and imports over REST, as files: nothing of them is held in memory.

GET  /exports?namespace=...&format=jsonl|json|csv|markdown   the file, written whole, then sent
POST /imports?namespace=...&format=...                       a file, or some lines of one

A large import comes in parts of whole lines (`first_line` numbers them); each is safe to repeat.
"""

import tempfile
from dataclasses import asdict
from typing import Annotated, Any, BinaryIO

from django.conf import settings
from django.http import FileResponse, HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from codemem.accounts import queries as accounts
from codemem.accounts.values import Action
from codemem.gateway import body
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, NotFound, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Call, Result
from graph import queries as graph
from memory.portability.exporting import Format, export
from memory.portability.importing import ArchiveInvalid, import_file
from memory.portability.reading import Selection
from memory.portability.restoring import Target
from memory.portability.tables import TableInvalid
from memory.values import MemoryType

register(
    {
        ArchiveInvalid: ("archive_invalid", 422),
        TableInvalid: ("archive_invalid", 422),
    }
)

_KEPT_IN_MEMORY_BYTES = 1 << 20


class ExportQuery(Schema):
    namespace: str
    format: Format = Format.JSONL
    repository: str | None = None
    type: list[MemoryType] = Field([], description="Only these types; default all.")
    active_only: bool = Field(False, description="Leave out what does not hold any more.")
    vectors: bool = Field(False, description="With the vectors and the model they are of.")


class ImportQuery(Schema):
    namespace: str
    format: Format = Format.JSONL
    dry_run: bool = False
    skip_duplicates: bool = Field(False, description="Pass over what a memory says already.")
    first_line: int = Field(1, ge=1, description="The number of the body's first line.")


class ProblemView(Result):
    line: int
    reason: str


class ReportView(Result):
    """What an import did; `problems` has at most 200 of `problem_count`."""

    created: int
    changed: int
    unchanged: int
    duplicates: int
    mapped: int
    redacted: int
    queued: int
    links: int
    settings: int
    reviews: int
    left_out: int
    problem_count: int
    problems: list[ProblemView]
    dry_run: bool


def portability_router() -> Router:
    router = Router(tags=["namespaces"], auth=bearer)
    failures: dict[int, Any] = {403: ErrorView, 404: ErrorView, 413: ErrorView, 422: ErrorView}
    router.get("/exports", summary="Export memories", response={403: ErrorView, 404: ErrorView})(
        get_export
    )
    router.post(
        "/imports",
        summary="Import memories",
        response={200: ReportView, **failures},
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    media: {"schema": {"type": "string", "format": "binary"}}
                    for media in ("application/x-ndjson", "text/csv", "application/zip")
                },
            }
        },
    )(post_import)
    return router


def get_export(request: HttpRequest, query: Annotated[ExportQuery, Query()]) -> FileResponse:
    """Return what the caller may see of a namespace as a file: of private memories their own."""
    _refuse_unknown(request, ExportQuery)
    call = call_of(request)
    place = scopes.get_namespace(call, query.namespace)
    scopes.require(call, Action.READ_MEMORY, place)
    selection = Selection(
        caller=call.caller,
        namespace=_row(call, query.namespace),
        now=call.now,
        repository_id=_repository(place, query.repository),
        memory_types=frozenset(query.type),
        holding_only=query.active_only,
        vectors=query.vectors,
    )
    made = export(selection=selection, form=query.format)
    response = FileResponse(
        made.file, as_attachment=True, filename=made.name, content_type=made.content_type
    )
    response["Content-Length"] = str(made.size)
    response["Cache-Control"] = "no-store"
    return response


def post_import(request: HttpRequest, query: Annotated[ImportQuery, Query()]) -> ReportView:
    """Take every memory of the body that can be taken, and name each line that cannot.

    Nothing that is there is overwritten; edits of tables and vaults become new versions.
    """
    _refuse_unknown(request, ImportQuery)
    call = call_of(request)
    place = scopes.get_namespace(call, query.namespace)
    scopes.require(call, Action.WRITE_MEMORY, place)
    target = Target(
        caller=call.caller,
        namespace=_row(call, query.namespace),
        now=timezone.now(),
        dry_run=query.dry_run,
        skip_duplicates=query.skip_duplicates,
    )
    with _spooled(request) as file:
        report = import_file(
            target=target, form=query.format, file=file, first_line=query.first_line
        )
    return ReportView(**asdict(report), dry_run=query.dry_run)


def _refuse_unknown(request: HttpRequest, query: type[Schema]) -> None:
    """Refuse a misspelt parameter: an import that was to be dry must never be a wet one."""
    for name in request.GET:
        if name not in query.model_fields:
            known = ", ".join(query.model_fields)
            raise ArgumentsInvalid(f"There is no parameter {name[:50]!r}; there are: {known}.")


def _spooled(request: HttpRequest) -> BinaryIO:
    """Return the body as a file, on disk when it is large; raise BodyTooLarge."""
    file = tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        for part in body.parts(request, maximum_bytes=settings.MAXIMUM_DIFF_BYTES):
            file.write(part)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file  # type: ignore[return-value]  # typeshed has it apart from BinaryIO


def _row(call: Call, name: str) -> Any:
    row = accounts.find_namespace(caller=call.caller, name=name)
    if row is None:
        raise NotFound(f"There is no namespace {name!r}.")
    return row


def _repository(place: scopes.NamespaceScope, name: str | None) -> Any:
    if name is None:
        return None
    found = graph.find_repositories(namespace_ids=(place.id,), name=name)
    if not found:
        raise scopes.repository_unknown(name)
    return found[0].id
