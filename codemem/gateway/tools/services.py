"""Tools about what crosses repositories: packages, endpoints, requests, topics."""

from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import NotFound
from codemem.gateway.tool import Call, CodeArguments, Result, Toolset, tool
from codemem.gateway.views import CodeResult
from indexing.crossing import queries as crossing
from indexing.crossing.queries import CrossingFilter

Part = Literal[
    "packages", "workspaces", "dependencies", "edges", "unresolved", "endpoints", "requests",
    "topics",
]  # fmt: skip
_CANDIDATE_BELOW = 0.5
_UNRESOLVED_SHOWN = 5


class PackageView(Result):
    manager: str
    name: str
    version: str | None = None
    path: str


class WorkspaceView(Result):
    manager: str
    path: str
    members: list[str] = Field(description="Manifests of the members.")


class DependencyView(Result):
    manager: str
    name: str
    range: str | None = None
    scope: str
    path: str = Field(description="The manifest that declares it.")
    repository: str | None = Field(None, description="The repository here that makes it.")


class UseView(Result):
    """A use of another package's name that no repository here shows."""

    name: str
    path: str
    line: int


class UnresolvedView(Result):
    manager: str
    package: str
    repository: str | None = Field(None, description="The repository here that makes it.")
    imports: int
    uses: int
    resolved: int
    examples: list[UseView] | None = None


class EvidenceView(Result):
    """Where something stands, and how sure that is what it is."""

    path: str
    line: int
    symbol: str | None = Field(None, description="Id of the definition it stands in.")
    confidence: float
    is_test: bool | None = None
    text: str | None = None


class EndpointView(EvidenceView):
    method: str
    route: str
    framework: str
    handler: str | None = None


class RequestView(EvidenceView):
    method: str
    url: str
    library: str


class TopicView(EvidenceView):
    bus: str | None = None
    topic: str | None = Field(None, description="Absent when it is only known at run time.")
    role: Literal["publish", "subscribe"]


class CrossEdgeView(Result):
    """An edge across repositories, services or packages, with the line that says so."""

    relationship: str
    source: str
    source_repository: str
    target: str
    target_repository: str | None = None
    confidence: float
    candidate: bool | None = Field(None, description="True: one of several, and no fact.")
    rule: str
    path: str
    line: int
    text: str | None = None


# --- get_cross_repo -------------------------------------------------------------------------------
class CrossArguments(CodeArguments):
    include: list[Part] = Field([], description="Only these parts; default all.")
    query: str = Field("", max_length=200, description="Part of a name, path, route or topic.")
    method: str = Field("", max_length=10, description="HTTP method of endpoints and requests.")
    include_tests: bool = Field(False, description="Also what test code declares and sends.")
    limit: int = Field(50, ge=1, le=500, description="Of rows in each part.")


class CrossResult(CodeResult):
    counts: dict[str, int] = Field(description="All that fit, shown or not.")
    packages: list[PackageView] | None = None
    workspaces: list[WorkspaceView] | None = None
    dependencies: list[DependencyView] | None = None
    edges: list[CrossEdgeView] | None = Field(None, description="To and from other repositories.")
    unresolved: list[UnresolvedView] | None = None
    endpoints: list[EndpointView] | None = None
    requests: list[RequestView] | None = None
    topics: list[TopicView] | None = None
    note: str | None = None


@tool(Toolset.ARCHITECTURE, reads_only=True)
def get_cross_repo(call: Call, arguments: CrossArguments) -> CrossResult:
    """Show what crosses the repository's border: the packages it makes and depends on, its HTTP
    endpoints, the requests it sends, the topics it publishes and subscribes to, and the edges to
    and from the other repositories of the namespace. Use it before you change a public function, a
    route or a message that another repository may rely on.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    _, code = scopes.ref_to_read(call, arguments, place.repository)
    wanted = CrossingFilter(
        text=arguments.query,
        method=arguments.method.upper(),
        include_tests=arguments.include_tests,
        limit=arguments.limit,
    )
    shown: dict[str, object] = {}
    counts: dict[str, int] = {}
    for part in arguments.include or _PARTS:
        read, view = _PARTS[part]
        section = read(repository_id=place.repository.id, wanted=wanted)
        counts[part] = section.total
        shown[part] = [view(row) for row in section.rows]
    seen = crossing.refreshed_at(repository_id=place.repository.id)
    return CrossResult.model_validate(
        {
            "scope": scopes.echo(place),
            "code": code,
            "counts": counts,
            **shown,
            "note": None if seen else "Nothing was looked at yet: a worker does after indexing.",
        }
    )


# --- find_service_links ---------------------------------------------------------------------------
class LinksArguments(CodeArguments):
    target: str = Field(
        min_length=1,
        max_length=500,
        description="Endpoint (GET /users/{id}, /users), topic, package, or an id of one of them.",
    )
    limit: int = Field(100, ge=1, le=1000)


class LinksResult(Result):
    scope: scopes.ScopeEcho
    total: int
    links: list[CrossEdgeView]


@tool(Toolset.ARCHITECTURE, reads_only=True)
def find_service_links(call: Call, arguments: LinksArguments) -> LinksResult:
    """Find who answers and who calls an endpoint, who publishes and who consumes a topic, who
    depends on a package: in all repositories of the namespace. Use it before you change one.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    found = crossing.edges_to(
        namespace_id=place.namespace.id,
        text=arguments.target,
        wanted=CrossingFilter(limit=arguments.limit),
    )
    if not found.total:
        raise NotFound(
            f"No endpoint, topic or package here is called {arguments.target!r}.",
            hint="get_cross_repo lists those of a repository.",
        )
    return LinksResult(
        scope=scopes.echo(place),
        total=found.total,
        links=[_edge_view(row) for row in found.rows],
    )


# --- Views ----------------------------------------------------------------------------------------
Row = Mapping[str, object]


def _package_view(row: Row) -> Result:
    return PackageView.model_validate({**row, "version": row["version"] or None})


def _workspace_view(row: Row) -> Result:
    return WorkspaceView.model_validate(row)


def _dependency_view(row: Row) -> Result:
    return DependencyView.model_validate(
        {**_without(row, "made_by"), "range": row["range"] or None, "repository": row["made_by"]}
    )


def _unresolved_view(row: Row) -> Result:
    unresolved = row["unresolved"]
    examples = [
        UseView(name=name, path=path, line=line)
        for name, path, line in (unresolved if isinstance(unresolved, list) else [])
    ]
    return UnresolvedView.model_validate(
        {
            **_without(row, "made_by", "name", "unresolved"),
            "package": row["name"],
            "repository": row["made_by"],
            "examples": examples[:_UNRESOLVED_SHOWN] or None,
        }
    )


def _endpoint_view(row: Row) -> Result:
    return EndpointView.model_validate(
        {
            **_evidence(row),
            "method": row["method"],
            "route": row["route"],
            "framework": row["framework"],
            "handler": row["handler_name"] or None,
        }
    )


def _request_view(row: Row) -> Result:
    return RequestView.model_validate(
        {**_evidence(row), "method": row["method"], "url": row["url"], "library": row["library"]}
    )


def _topic_view(row: Row) -> Result:
    return TopicView.model_validate(
        {
            **_evidence(row),
            "bus": row["bus"] or None,
            "topic": row["topic"] or None,
            "role": "publish" if row["is_publishing"] else "subscribe",
        }
    )


def _evidence(row: Row) -> dict[str, object]:
    symbol = str(row["symbol"]).removesuffix("~0")
    return {
        "path": row["path"],
        "line": row["line"],
        "symbol": f"sym:{row['path']}#{symbol}" if symbol else None,
        "confidence": row["certainty"],
        "is_test": row["is_test"] or None,
        "text": row["text"] or None,
    }


def _edge_view(row: Row) -> CrossEdgeView:
    is_candidate = float(str(row["confidence"])) < _CANDIDATE_BELOW
    return CrossEdgeView.model_validate(
        {
            **_without(row, "kind", "source_id", "target_id", "text"),
            "relationship": row["kind"],
            "source": row["source_id"],
            "target": row["target_id"],
            "candidate": True if is_candidate else None,
            "text": row["text"] or None,
        }
    )


def _without(row: Row, *names: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}


_PARTS: Mapping[Part, tuple[Callable[..., crossing.Section], Callable[[Row], Result]]] = {
    "packages": (crossing.packages_of, _package_view),
    "workspaces": (crossing.workspaces_of, _workspace_view),
    "dependencies": (crossing.dependencies_of, _dependency_view),
    "edges": (crossing.edges_between, _edge_view),
    "unresolved": (crossing.unresolved_of, _unresolved_view),
    "endpoints": (crossing.endpoints_of, _endpoint_view),
    "requests": (crossing.requests_of, _request_view),
    "topics": (crossing.topic_uses_of, _topic_view),
}
