"""Tools about the server itself: how it is, and where the caller may go."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts import queries as accounts
from codemem.accounts.values import Action
from codemem.client.version import VERSION
from codemem.embedding import EmbeddingUnavailable, reembedding
from codemem.gateway import health, statistics
from codemem.gateway import scope as scopes
from codemem.gateway.reembedding import ChangeView, change_view
from codemem.gateway.tool import Arguments, Call, CodeArguments, Result, Toolset, registry, tool
from codemem.gateway.tools.consolidation import ConsolidationRunView, latest_runs
from graph import queries as graph
from indexing import queries as indexing
from memory import queries as memory
from memory.services import count_drifted
from workers import queue

Section = Literal[
    "counts", "code", "health", "queues", "tools", "runs", "embedding", "consolidation"
]
_SECTIONS: tuple[Section, ...] = (
    "counts", "code", "health", "queues", "tools", "runs", "embedding", "consolidation",
)  # fmt: skip
_CONSOLIDATION_RUNS = 10


# --- codemem_status -------------------------------------------------------------------------------
class StatusArguments(CodeArguments):
    include: list[Section] = Field([], description="Only these sections; default all.")


class ServerView(Result):
    version: str
    now: datetime


class CountsView(Result):
    namespaces: int
    repositories: int
    memories: int
    memories_without_vector: int
    my_memories_drifted: int = Field(
        0, description="Yours whose cited code changed: memory_history, view drifted."
    )
    nodes: dict[str, int]
    edges: dict[str, int]


class ToolView(Result):
    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class RunProgress(Result):
    repository: str
    state: str
    step: str
    files_done: int
    files_total: int


class EmbeddingView(Result):
    model: str = Field(description="Its vectors answer.")
    configured: str | None = Field(None, description="What the settings name, if another.")
    change: ChangeView | None = Field(None, description="The change of models under way, or last.")


class StatusResult(Result):
    scope: scopes.ScopeEcho
    server: ServerView
    counts: CountsView | None = None
    code: scopes.CodeEcho | None = None
    health: dict[str, str] | None = None
    queues: dict[str, int] | None = None
    tools: dict[str, ToolView] | None = None
    runs: list[RunProgress] | None = None
    embedding: EmbeddingView | None = None
    consolidation: list[ConsolidationRunView] | None = Field(None, description="The last runs.")
    notes: list[str] | None = None


@tool(Toolset.ADMINISTRATION, reads_only=True)
def codemem_status(call: Call, arguments: StatusArguments) -> StatusResult:
    """Report how the server is: what it holds for you, which commit of the repository it shows,
    whether its parts answer, what waits in the queues, and calls and latency of each tool over all
    processes. Use it when answers look old or are missing.
    """
    wanted = arguments.include or _SECTIONS
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_GRAPH)
    repository = scopes.find_repository(call, arguments, namespaces=namespaces)
    if repository is not None:
        namespaces = (repository.namespace,)
    notes: list[str] = []
    result = StatusResult(
        scope=scopes.echo(repository) if repository else scopes.echo_namespaces(namespaces, source),
        server=ServerView(version=VERSION, now=call.now),
    )
    if "counts" in wanted:
        result.counts = _counts(call, namespaces)
    if "code" in wanted and repository is not None:
        result.code = scopes.code_state(call, arguments, repository.repository)
    if "health" in wanted:
        result.health = health.parts()
    if "queues" in wanted:
        result.queues = _queues(notes)
    if "tools" in wanted:
        result.tools = _tools(notes)
    if "runs" in wanted:
        result.runs = _runs(namespaces)
    if "embedding" in wanted:
        result.embedding = _embedding(notes)
    if "consolidation" in wanted:
        ids = [scope.id for scope in namespaces]
        # Examples only for who asks for nothing else: they are most of a report.
        result.consolidation = latest_runs(
            call,
            ids,
            limit=_CONSOLIDATION_RUNS,
            with_examples=arguments.include == ["consolidation"],
        )
    result.notes = notes or None
    return result


# --- list_namespaces ------------------------------------------------------------------------------
class ListArguments(Arguments):
    pass


class NamespaceView(Result):
    name: str
    description: str | None = None
    role: str
    memory_count: int | None = Field(None, description="Absent without the right to read them.")
    repositories: list[str]


class ListResult(Result):
    namespaces: list[NamespaceView]


@tool(Toolset.ADMINISTRATION, reads_only=True)
def list_namespaces(call: Call, arguments: ListArguments) -> ListResult:
    """List the namespaces you belong to (or only the one named, or those that have the repository
    named), with your role, their repositories, and how many memories they hold. Use it when you do
    not know what to name as scope.
    """
    mine = list(accounts.member_namespaces(caller=call.caller))
    if arguments.namespace is not None:
        named = scopes.get_namespace(call, arguments.namespace)
        mine = [row for row in mine if row.pk == named.id]
    if arguments.repository is not None:
        ids = [row.pk for row in mine]
        holding = _namespaces_holding(arguments.repository, namespace_ids=ids)
        mine = [row for row in mine if row.pk in holding]
    held = {
        counted.namespace_id: counted.total
        for counted in memory.counts(caller=call.caller, now=call.now)
    }
    readable = set(call.caller.namespaces_for(Action.READ_MEMORY))
    repositories: dict[object, list[str]] = {row.pk: [] for row in mine}
    for value in graph.list_repositories(namespace_ids=tuple(row.pk for row in mine)):
        repositories[value.namespace_id].append(value.name)
    return ListResult(
        namespaces=[
            NamespaceView(
                name=row.name,
                description=row.description or None,
                role=call.caller.roles[row.pk].title,
                memory_count=held.get(row.pk, 0) if row.pk in readable else None,
                repositories=sorted(repositories[row.pk]),
            )
            for row in mine
        ]
    )


# --- Parts ----------------------------------------------------------------------------------------
def _counts(call: Call, namespaces: Sequence[scopes.NamespaceScope]) -> CountsView:
    ids = tuple(scope.id for scope in namespaces)
    held = [
        counted
        for counted in memory.counts(caller=call.caller, now=call.now)
        if counted.namespace_id in ids
    ]
    counts = graph.counts(namespace_ids=ids)
    return CountsView(
        namespaces=len(ids),
        repositories=counts.repositories,
        memories=sum(counted.total for counted in held),
        memories_without_vector=sum(counted.not_embedded for counted in held),
        my_memories_drifted=sum(
            count
            for key, count in count_drifted(caller=call.caller, now=call.now).items()
            if key in ids
        ),
        nodes=dict(counts.nodes),
        edges=dict(counts.edges),
    )


def _namespaces_holding(repository: str, *, namespace_ids: Sequence[UUID]) -> set[UUID]:
    found = graph.find_repositories(namespace_ids=namespace_ids, name=repository)
    if not found:
        raise scopes.repository_unknown(repository)
    return {row.namespace_id for row in found}


def _queues(notes: list[str]) -> dict[str, int] | None:
    try:
        return {depth.queue.value: depth.waiting for depth in queue.depths()}
    except queue.QueueUnavailable as error:
        notes.append(str(error))
        return None


def _tools(notes: list[str]) -> dict[str, ToolView] | None:
    measured = statistics.of_tools(list(registry()))
    if measured is None:
        notes.append("Redis does not answer, so the tools' statistics are not to be had.")
        return None
    return {name: ToolView(**asdict(figures)) for name, figures in measured.items()}


def _embedding(notes: list[str]) -> EmbeddingView | None:
    try:
        models = reembedding.models()
    except EmbeddingUnavailable as error:
        notes.append(str(error))
        return None
    if models.serving != models.configured:
        notes.append(
            "The settings name another model than the one that answers: start to re-embed."
        )
    change = reembedding.latest()
    return EmbeddingView(
        model=models.serving,
        configured=models.configured if models.configured != models.serving else None,
        change=change_view(change) if change else None,
    )


def _runs(namespaces: Sequence[scopes.NamespaceScope]) -> list[RunProgress]:
    repositories = {
        value.id: value.name
        for value in graph.list_repositories(namespace_ids=tuple(scope.id for scope in namespaces))
    }
    return [
        RunProgress(
            repository=repositories[run.repository_id],
            state=run.state,
            step=run.step,
            files_done=run.files_done,
            files_total=run.files_total,
        )
        for run in indexing.active_runs(repository_ids=list(repositories))
    ]
