"""Index runs for the client: have a branch of the repository indexed, and see how far that is.

POST /runs          asked for by ref; the answer is the run that waits, new or not
GET  /runs/<id>
"""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Status
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem.accounts.values import Action
from codemem.gateway import body
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, NotFound
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Arguments, Result
from graph import queries as graph
from indexing import queries as indexing
from indexing import services as indexing_services
from workers import queue


class Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    ref: str = Field("", max_length=255, description="A branch; default: the default branch.")


class RunView(Result):
    id: UUID
    ref: str
    commit: str
    state: str
    step: str
    files_done: int
    files_total: int
    counts: dict[str, int]
    seconds: dict[str, float]
    skipped: dict[str, dict[str, object]]
    whole_because: str = Field(
        description="Why all files were resolved; blank when only what a change concerns was."
    )
    error: str
    queued_at: datetime
    finished_at: datetime | None


def runs_router() -> Router:
    router = Router(tags=["runs"], auth=bearer)
    router.post(
        "", response={202: RunView, 403: ErrorView, 503: ErrorView}, summary="Index a branch"
    )(request_run)
    router.get("/{run_id}", response={200: RunView, 404: ErrorView}, summary="See a run")(get_run)
    return router


def request_run(request: HttpRequest) -> Status[RunView]:
    """Have a worker fetch the repository of this scope and index a branch."""
    call = call_of(request)
    place = scopes.repository_to_read(call, Arguments(), Action.READ_GRAPH)
    scopes.require(call, Action.REQUEST_INDEX, place.namespace)
    wanted = _wanted(request)
    run_id = indexing_services.request_index(
        repository_id=place.repository.id, ref=wanted.ref, requested_by=call.caller.username
    )
    queue.index(run_id=run_id)
    return Status(202, _view(indexing.get_run(run_id=run_id)))


def get_run(request: HttpRequest, run_id: UUID) -> RunView:
    """Return one run of a repository that the caller may read."""
    caller = call_of(request).caller
    found = indexing.find_run(run_id=run_id)
    visible = graph.visible_repositories(caller=caller, action=Action.READ_GRAPH)
    if found is None or not visible.filter(pk=found.repository_id).exists():
        raise NotFound(f"There is no run {run_id}.")
    return _view(found)


def _wanted(request: HttpRequest) -> Wanted:
    decoded = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    try:
        return Wanted.model_validate(decoded)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise ArgumentsInvalid(f"{where or 'The body'}: {first['msg']}.") from error


def _view(run: indexing.RunView) -> RunView:
    return RunView(
        id=run.id,
        ref=run.ref,
        commit=run.commit,
        state=run.state,
        step=run.step,
        files_done=run.files_done,
        files_total=run.files_total,
        counts=dict(run.counts),
        seconds=dict(run.seconds),
        skipped=dict(run.skipped),
        whole_because=run.whole_because,
        error=run.error,
        queued_at=run.queued_at,
        finished_at=run.finished_at,
    )
