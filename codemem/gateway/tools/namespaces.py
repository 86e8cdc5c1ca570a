"""Tools about whole namespaces: what is in one, and deleting it."""

from datetime import datetime, timedelta
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from graph import queries as graph
from indexing import erasure
from indexing import queries as indexing
from memory.statistics import statistics
from workers import queue

register(
    {
        erasure.ConfirmationWrong: ("confirmation_wrong", 409),
        erasure.ErasureUnknown: ("not_found", 404),
    }
)

_GRACE_HOURS = 24


# --- namespace_stats ------------------------------------------------------------------------------
class StatsArguments(Arguments):
    pass


class IndexView(Result):
    repository: str
    indexed_commit: str | None = None
    behind_by: int | None = None
    behind: bool
    pending: bool


class StatsResult(Result):
    scope: scopes.ScopeEcho
    memories: int
    by_state: dict[str, int]
    by_type: dict[str, int]
    by_visibility: dict[str, int]
    by_repository: dict[str, int]
    by_author: dict[str, int]
    tags: dict[str, int]
    average_importance: float | None = None
    average_confidence: float | None = None
    oldest: datetime | None = None
    newest: datetime | None = None
    embedded_share: float | None = None
    repositories: list[IndexView]


@tool(Toolset.ADMINISTRATION, reads_only=True)
def namespace_stats(call: Call, arguments: StatsArguments) -> StatsResult:
    """Count what a namespace (or one repository of it) remembers for you, by state, type,
    visibility, repository, author and tag, with averages and ages, and how fresh its index is. Use
    it to see what a team has and how old it is.
    """
    scope = _one_namespace(call, arguments)
    repository = scopes.find_repository(call, arguments, namespaces=(scope,))
    found = statistics(
        caller=call.caller,
        namespace_id=scope.id,
        now=call.now,
        repository_id=repository.repository.id if repository else None,
    )
    return StatsResult(
        scope=scopes.echo(repository or scope),
        memories=found.total,
        by_state=dict(found.by_state),
        by_type=dict(found.by_type),
        by_visibility=dict(found.by_visibility),
        by_repository=dict(found.by_repository),
        by_author=dict(found.by_author),
        tags=dict(found.tags),
        average_importance=found.average_importance,
        average_confidence=found.average_confidence,
        oldest=found.oldest,
        newest=found.newest,
        embedded_share=found.embedded_share,
        repositories=_indexes(call, scope, repository),
    )


# --- delete_namespace -----------------------------------------------------------------------------
class DeleteNamespaceArguments(Arguments):
    confirm: str | None = Field(None, description="The namespace's name; without it: a preview.")
    grace_hours: int = Field(_GRACE_HOURS, ge=0, le=erasure.MAXIMUM_GRACE_HOURS)


class DeleteNamespaceResult(Result):
    scope: scopes.ScopeEcho
    state: str = Field(description="preview, or waiting: closed now, erased at due_at.")
    rows: dict[str, int] = Field(
        description="By table; others' private memories go too and are not counted."
    )
    receipt_id: UUID | None = None
    due_at: datetime | None = None
    note: str


@tool(Toolset.ADMINISTRATION, reads_only=False, destructive=True, idempotent=False)
def delete_namespace(call: Call, arguments: DeleteNamespaceArguments) -> DeleteNamespaceResult:
    """Delete a namespace for good: memories of everybody, repositories, graph, settings. Without
    `confirm`, say what would go. Closed at once; an administrator can restore it until due_at.
    """
    scope = scopes.namespace_for_write(call, arguments, Action.DELETE_NAMESPACE)
    if arguments.repository is not None:
        scopes.find_repository(call, arguments, namespaces=(scope,))
        raise ArgumentsInvalid("This deletes whole namespaces; leave `repository` out.")
    rows = erasure.count_rows(caller=call.caller, namespace_id=scope.id, now=call.now)
    if arguments.confirm is None:
        return DeleteNamespaceResult(
            scope=scopes.echo(scope),
            state="preview",
            rows=rows,
            note=f"Nothing was done. Export first; then pass confirm={scope.name!r}.",
        )
    receipt = erasure.request_erasure(
        caller=call.caller,
        namespace_id=scope.id,
        confirm=arguments.confirm,
        grace=timedelta(hours=arguments.grace_hours),
        now=call.now,
    )
    queue.erase_namespace(erasure_id=receipt.id)
    return DeleteNamespaceResult(
        scope=scopes.echo(scope),
        state=receipt.state,
        rows=rows,
        receipt_id=receipt.id,
        due_at=receipt.due_at,
        note=f"GET /api/v1/erasures/{receipt.id} says how far it is.",
    )


# --- Parts ----------------------------------------------------------------------------------------
def _one_namespace(call: Call, arguments: Arguments) -> scopes.NamespaceScope:
    found, _ = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    if len(found) > 1:
        names = ", ".join(scope.name for scope in found[:20])
        raise ArgumentsInvalid(f"Name the namespace: pass `namespace`. You may read: {names}.")
    return found[0]


def _indexes(
    call: Call, scope: scopes.NamespaceScope, only: scopes.RepositoryScope | None
) -> list[IndexView]:
    if not call.caller.can(Action.READ_GRAPH, scope.id):
        return []
    repositories = [
        repository
        for repository in graph.list_repositories(namespace_ids=(scope.id,))
        if only is None or repository.id == only.repository.id
    ]
    states = graph.list_ref_states(asked=[(repository.id, None) for repository in repositories])
    views = []
    for repository in repositories:
        state = states.get((repository.id, None))
        if state is None:  # deleted since it was listed
            continue
        views.append(
            IndexView(
                repository=repository.name,
                indexed_commit=state.indexed_commit,
                behind_by=state.behind_by,
                behind=state.indexed_commit != state.head_commit,
                pending=indexing.is_pending(
                    repository_id=repository.id,
                    ref=state.ref,
                    default_branch=repository.default_branch,
                ),
            )
        )
    return views
