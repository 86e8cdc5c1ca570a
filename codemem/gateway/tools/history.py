"""Tools about time: what changed, what was there then, what nobody touches, what drifts apart."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway import views
from codemem.gateway.errors import ArgumentsInvalid, NotFound
from codemem.gateway.past import (
    TIME,
    CommitInfo,
    MomentView,
    commit_fields,
    commit_info,
    moment_view,
)
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from graph import queries as graph
from graph.events import CommitView, Happening, Touched
from graph.queries import history as queries
from graph.queries.stale import files_with_dependents
from graph.values import RepositoryValue
from indexing.history.drift import Coupling, Tie, drift
from indexing.history.past import (
    MomentUnknown,
    PastUnavailable,
    graph_at,
    instant,
    is_commit,
    moment,
)
from indexing.history.state import known_history

_TOUCHED_SHOWN = 50
_TIES_SHOWN = 50
_FILES_SHOWN = 100
_COUPLINGS_SHOWN = 10
_HOTSPOTS_SHOWN = 10


class PeriodArguments(Arguments):
    model_config = ConfigDict(extra="forbid", strict=True, serialize_by_alias=True)

    start: str = Field(alias="from", min_length=1, max_length=64, description=TIME)
    end: str | None = Field(
        None, alias="to", min_length=1, max_length=64, description=f"{TIME} Default: now."
    )


class HistoryEcho(Result):
    """How far the answer can be trusted: history is indexed newest first."""

    commits_indexed: int
    commits_total: int
    complete: bool
    known_since: datetime | None = Field(None, description="Older changes are not known yet.")
    note: str | None = None


class TouchedView(Result):
    """A symbol or file that a commit touched, by the id it had then."""

    id: str
    change: Literal["added", "modified", "removed", "moved", "left"]
    came_from: str | None = None
    went_to: str | None = None
    unchanged: bool | None = Field(None, description="Moved as it was.")
    formatting_only: bool | None = None


class CommitChanges(CommitInfo):
    repository: str | None = None
    files: list[TouchedView]
    symbols: list[TouchedView]
    more: bool | None = Field(None, description="Not all that it touched is shown.")


# --- what_changed ---------------------------------------------------------------------------------
class WhatChangedArguments(PeriodArguments):
    include_bots: bool = Field(True, description="Also commits of programs.")
    limit: int = Field(50, ge=1, le=500)


class WhatChangedResult(Result):
    scope: scopes.ScopeEcho
    history: HistoryEcho
    commits: list[CommitChanges]
    total: int
    note: str | None = None


@tool(Toolset.HISTORY, reads_only=True)
def what_changed(call: Call, arguments: WhatChangedArguments) -> WhatChangedResult:
    """List the commits of default branches between two times or commits, newest first, with what
    each did to files and symbols and the pull request that brought it. Without a repository: those
    of every repository of the namespace. Use it to catch up after an absence.
    """
    echo, repositories = _repositories(call, arguments)
    commits, total = _commits(call, arguments, repositories)
    names = {one.id: one.name for one in repositories}
    touched = {
        key: found
        for namespace_id in {one.namespace_id for one in repositories}
        for key, found in queries.touched_by(
            namespace_id=namespace_id,
            commits=[one.key for one in commits],
            limit=_TOUCHED_SHOWN + 1,
        ).items()
    }
    return WhatChangedResult(
        scope=echo,
        history=_history_echo(repositories),
        commits=[
            _commit_changes(
                one,
                touched.get(one.key, ()),
                repository=names[one.repository_id] if len(repositories) > 1 else None,
            )
            for one in commits
        ],
        total=total,
        note=None if commits else _why_nothing(arguments, repositories),
    )


# --- graph_at_time --------------------------------------------------------------------------------
class GraphAtTimeArguments(Arguments):
    at: str = Field(min_length=1, max_length=64, description=TIME)


class GraphAtTimeResult(Result):
    scope: scopes.ScopeEcho
    at: MomentView
    live_nodes: int
    live_edges: int
    nodes: dict[str, int] = Field(description="By kind.")
    edges: dict[str, int] = Field(description="By relationship.")


@tool(Toolset.HISTORY, reads_only=True)
def graph_at_time(call: Call, arguments: GraphAtTimeArguments) -> GraphAtTimeResult:
    """Count the files, symbols and relations that the code had at a commit or date, by kind: the
    graph is rebuilt from that commit's contents. To walk it, pass `at` to get_symbol_graph or
    graph_traverse. Use it to see how the code has grown.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    when = moment(repository_id=place.repository.id, text=arguments.at)
    counts = graph_at(when).counts()
    return GraphAtTimeResult(
        scope=scopes.echo(place),
        at=moment_view(when),
        live_nodes=sum(counts.nodes.values()),
        live_edges=sum(counts.edges.values()),
        nodes=dict(counts.nodes),
        edges=dict(counts.edges),
    )


# --- find_stale_files -----------------------------------------------------------------------------
class StaleArguments(Arguments):
    stale_days: int = Field(90, ge=1, le=36_500)
    limit: int = Field(20, ge=1, le=500)


class StaleFile(Result):
    path: str
    last_changed: datetime | None = Field(None, description="Absent: before known_since.")
    days: int
    dependents: int = Field(description="Edges from elsewhere and inside that lead into it.")
    stale: bool


class StaleResult(Result):
    scope: scopes.ScopeEcho
    history: HistoryEcho
    files: list[StaleFile]
    total_stale: int
    note: str | None = None


@tool(Toolset.HISTORY, reads_only=True)
def find_stale_files(call: Call, arguments: StaleArguments) -> StaleResult:
    """Find files that much depends on and that nobody has changed for long, the weightiest first
    (dependents times age). When no file is that old, the oldest are listed all the same.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    files = files_with_dependents(repository_id=place.repository.id)
    known = known_history(repository_ids=[place.repository.id])
    if not known.commits_total:
        raise PastUnavailable("The history of this repository is not indexed yet; ask again soon.")
    changed = queries.last_changes(
        namespace_id=place.namespace.id, vertices=[vertex for vertex, _ in files.values()]
    )
    # What has no known change was changed before all that is known.
    first = queries.first_commit(repository_ids=[place.repository.id])
    oldest = known.since or (first.committed_at if first is not None else call.now)
    found = []
    for path, (vertex, dependents) in files.items():
        days = max(0, (call.now - changed.get(vertex, oldest)).days)
        found.append(
            StaleFile(
                path=path,
                last_changed=changed.get(vertex),
                days=days,
                dependents=dependents,
                stale=days >= arguments.stale_days,
            )
        )
    stale = [file for file in found if file.stale]
    shown = sorted(stale or found, key=lambda file: (-(file.dependents + 1) * file.days, file.path))
    return StaleResult(
        scope=scopes.echo(place),
        history=_history_echo([place.repository]),
        files=shown[: arguments.limit],
        total_stale=len(stale),
        note=None
        if stale
        else f"No file is older than {arguments.stale_days} days; these weigh most of those there.",
    )


# --- detect_drift ---------------------------------------------------------------------------------
class TieView(Result):
    relationship: str
    source: str
    target: str


class CouplingView(Result):
    source_module: str
    target_module: str
    before: int
    after: int


class Hotspot(Result):
    path: str
    commits: int


class DriftResult(Result):
    scope: scopes.ScopeEcho
    start: MomentView
    end: MomentView
    new_cross_module_edges: list[TieView]
    new_cross_module_total: int
    gone_cross_module_edges: list[TieView]
    gone_cross_module_total: int
    coupling_changes: list[CouplingView] = Field(description="Between directories, largest first.")
    hotspots: list[Hotspot] = Field(description="Files that most commits of the time changed.")
    added_files: list[str]
    added_files_total: int
    removed_files: list[str]
    removed_files_total: int


@tool(Toolset.HISTORY, reads_only=True)
def detect_drift(call: Call, arguments: PeriodArguments) -> DriftResult:
    """Compare the structure at two commits or dates: dependencies between directories that are new
    or gone, which directories grew together, files added and removed, and the files that changed
    most in between. Both graphs are rebuilt from their commits. Use it to see how far the design
    has moved.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    repository_id = place.repository.id
    start = moment(repository_id=repository_id, text=arguments.start)
    end = moment(
        repository_id=repository_id, text=arguments.end or call.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    _refuse_reversed(start.committed_at, end.committed_at)
    found = drift(graph_at(start), graph_at(end))
    hotspots = queries.changes_in_time(
        namespace_id=place.namespace.id,
        repository_id=repository_id,
        since=start.committed_at,
        until=end.committed_at,
        limit=_HOTSPOTS_SHOWN,
    )
    return DriftResult(
        scope=scopes.echo(place),
        start=moment_view(start),
        end=moment_view(end),
        new_cross_module_edges=_tie_views(found.new_ties),
        new_cross_module_total=len(found.new_ties),
        gone_cross_module_edges=_tie_views(found.gone_ties),
        gone_cross_module_total=len(found.gone_ties),
        coupling_changes=[_coupling_view(one) for one in found.couplings[:_COUPLINGS_SHOWN]],
        hotspots=[Hotspot(path=path, commits=commits) for path, commits in hotspots],
        added_files=list(found.added_files[:_FILES_SHOWN]),
        added_files_total=len(found.added_files),
        removed_files=list(found.removed_files[:_FILES_SHOWN]),
        removed_files_total=len(found.removed_files),
    )


# --- symbol_history -------------------------------------------------------------------------------
class SymbolHistoryArguments(Arguments):
    node_id: str = Field(
        min_length=1,
        max_length=1000,
        description="Id of a symbol or file, also of one that is gone, or a name.",
    )
    limit: int = Field(50, ge=1, le=500)


class EventView(CommitInfo):
    change: TouchedView
    on_default_branch: bool | None = Field(None, description="False after a force-push.")


class SymbolHistoryResult(Result):
    scope: scopes.ScopeEcho
    history: HistoryEcho
    node: str
    events: list[EventView]
    total: int
    valid_from: CommitInfo | None = Field(None, description="Since when it is in this place.")
    valid_to: CommitInfo | None = Field(None, description="Absent while it is there.")


@tool(Toolset.HISTORY, reads_only=True)
def symbol_history(call: Call, arguments: SymbolHistoryArguments) -> SymbolHistoryResult:
    """Tell what happened to one symbol or file, newest first: who changed it when, in which commit
    and pull request, and where it was moved or renamed from. Use it to learn why code is as it is.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    vertex, name = _vertex(place, arguments.node_id)
    events, total = queries.events_of(
        namespace_id=place.namespace.id, vertex=vertex, limit=arguments.limit
    )
    life = queries.lifetime_of(namespace_id=place.namespace.id, vertex=vertex)
    return SymbolHistoryResult(
        scope=scopes.echo(place),
        history=_history_echo([place.repository]),
        node=name,
        events=[
            EventView.model_validate(
                {
                    **commit_fields(event.commit),
                    "change": _touched_view(event.touched),
                    "on_default_branch": None if event.commit.is_landed else False,
                }
            )
            for event in events
        ],
        total=total,
        valid_from=commit_info(life.valid_from),
        valid_to=commit_info(life.valid_to),
    )


# --- Parts ----------------------------------------------------------------------------------------
def _repositories(
    call: Call, arguments: Arguments
) -> tuple[scopes.ScopeEcho, Sequence[RepositoryValue]]:
    """Return the repository that the call names, or all of the namespaces it means."""
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_GRAPH)
    named = scopes.find_repository(call, arguments, namespaces=namespaces)
    if named is not None:
        return scopes.echo(named), [named.repository]
    found = graph.list_repositories(namespace_ids=[scope.id for scope in namespaces])
    if not found:
        raise NotFound("There is no repository here yet.")
    return scopes.echo_namespaces(namespaces, source), found


def _commits(
    call: Call, arguments: WhatChangedArguments, repositories: Sequence[RepositoryValue]
) -> tuple[list[CommitView], int]:
    names_commit = any(is_commit(text) for text in (arguments.start, arguments.end or ""))
    if not names_commit:
        since = instant(arguments.start, is_end=False)
        until = instant(arguments.end, is_end=True) if arguments.end else call.now
        _refuse_reversed(since, until)
        return queries.commits_in_time(
            repository_ids=[one.id for one in repositories],
            since=since,
            until=until,
            limit=arguments.limit,
            with_bots=arguments.include_bots,
        )
    if len(repositories) > 1:
        raise ArgumentsInvalid("A commit is of one repository: name it.")
    (repository,) = repositories
    start = moment(repository_id=repository.id, text=arguments.start)
    end = moment(
        repository_id=repository.id,
        text=arguments.end or call.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    after, until_position = (
        queries.landed_at(commit=one.commit, repository_id=repository.id) for one in (start, end)
    )
    if after is None or until_position is None:
        raise MomentUnknown("That commit is not on the default branch (any more).")
    if after > until_position:
        raise ArgumentsInvalid("`from` comes after `to`: exchange them.")
    return queries.commits_between(
        repository_id=repository.id,
        after=after,
        until=until_position,
        limit=arguments.limit,
        with_bots=arguments.include_bots,
    )


def _refuse_reversed(since: datetime, until: datetime) -> None:
    if since > until:
        raise ArgumentsInvalid(
            f"`from` ({since:%Y-%m-%d %H:%M}) comes after `to` ({until:%Y-%m-%d %H:%M}):"
            " exchange them."
        )


def _why_nothing(arguments: WhatChangedArguments, repositories: Sequence[RepositoryValue]) -> str:
    first = queries.first_commit(repository_ids=[one.id for one in repositories])
    if first is None:
        return "No history is indexed yet; ask again soon."
    until = arguments.end
    if until and not is_commit(until) and instant(until, is_end=True) < first.committed_at:
        return f"The first commit is of {first.committed_at:%Y-%m-%d %H:%M} UTC, after that time."
    return "No commit came to a default branch in that time."


def _history_echo(repositories: Sequence[RepositoryValue]) -> HistoryEcho:
    known = known_history(repository_ids=[one.id for one in repositories])
    return HistoryEcho(
        commits_indexed=known.commits_done,
        commits_total=known.commits_total,
        complete=known.is_complete,
        known_since=known.since,
        note="A shallow clone: older commits are not there." if known.is_shallow else None,
    )


def _commit_changes(
    commit: CommitView, touched: Sequence[Touched], *, repository: str | None
) -> CommitChanges:
    files = [one for one in touched if one.id.startswith("file:")]
    symbols = [one for one in touched if not one.id.startswith("file:")]
    is_cut = max(len(files), len(symbols)) > _TOUCHED_SHOWN
    return CommitChanges.model_validate(
        {
            **commit_fields(commit),
            "repository": repository,
            "files": [_touched_view(one) for one in files[:_TOUCHED_SHOWN]],
            "symbols": [_touched_view(one) for one in symbols[:_TOUCHED_SHOWN]],
            "more": True if is_cut else None,
        }
    )


def _touched_view(touched: Touched) -> TouchedView:
    is_moved = touched.happening is Happening.MOVED
    is_left = touched.happening is Happening.LEFT
    return TouchedView.model_validate(
        {
            "id": touched.id,
            "change": touched.happening.value,
            "came_from": touched.other if is_moved else None,
            "went_to": touched.other if is_left else None,
            "unchanged": True if is_moved and not touched.is_changed else None,
            "formatting_only": True if touched.is_formatting else None,
        }
    )


def _tie_views(ties: Sequence[Tie]) -> list[TieView]:
    return [
        TieView(relationship=tie.kind, source=tie.source, target=tie.target)
        for tie in ties[:_TIES_SHOWN]
    ]


def _coupling_view(one: Coupling) -> CouplingView:
    return CouplingView(
        source_module=one.source_module,
        target_module=one.target_module,
        before=one.before,
        after=one.after,
    )


def _vertex(place: scopes.RepositoryScope, text: str) -> tuple[int, str]:
    """Return the vertex of a node that is there, or was once, and the name it answers to."""
    if text.startswith(("sym:", "file:")):
        vertex = queries.vertex_of_past(repository_id=place.repository.id, id=text)
        if vertex is not None:
            return vertex, text
    node = views.node_named(place, text)
    return node.vertex, node.id
