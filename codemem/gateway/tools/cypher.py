"""The tool for people who think in graphs: their own Cypher, read-only, over one namespace."""

from typing import Any

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ScopeNeeded, register
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from graph import cypher_access
from graph import queries as graph
from graph.cypher_text import LONGEST, CypherRefused, read_query

register(
    {
        CypherRefused: ("cypher_refused", 422),
        cypher_access.CypherFailed: ("cypher_failed", 422),
        cypher_access.CypherTooSlow: ("cypher_too_slow", 504),
        cypher_access.GraphUnknown: ("not_found", 404),
        cypher_access.ReadersBusy: ("readers_busy", 503),
        cypher_access.ReaderMissing: ("cypher_unavailable", 503),
    }
)


class CypherArguments(Arguments):
    query: str = Field(min_length=1, max_length=LONGEST, description="openCypher that only reads.")
    limit: int = Field(100, ge=1, le=1000, description="Of rows.")


class CypherResult(Result):
    scope: scopes.ScopeEcho
    columns: list[str]
    # Values that a row lacks are null in place: their columns would be unknown without.
    rows: list[list[Any]]
    truncated: bool


@tool(Toolset.ARCHITECTURE, reads_only=True)
def graph_query(call: Call, arguments: CypherArguments) -> CypherResult:
    """Ask the live graph of the namespace in Cypher, where no other tool answers. Nodes: Symbol
    and File (uid, name, qname, kind, path, lang), Package, External, Endpoint, Topic, Commit,
    PullRequest. Edges: CALLS, REFERENCES, IMPORTS, INHERITS, IMPLEMENTS, CONTAINS, OVERRIDES,
    TYPE_OF, DEPENDS_ON, HANDLES, HTTP_CALLS, PUBLISHES_TO, SUBSCRIBES_TO, MODIFIED_BY, CO_CHANGED.
    For instance MATCH (a:Symbol)-[:CALLS]->(b:Symbol {name: 'save'}) RETURN a.uid. Default
    branches only; no paths of variable length; five seconds.
    """
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_GRAPH)
    place = scopes.find_repository(call, arguments, namespaces=namespaces)
    if place is not None:
        namespaces = (place.namespace,)
    if len(namespaces) > 1:
        raise ScopeNeeded(
            "Name the namespace whose graph is meant: pass `namespace`.",
            hint=f"You may read: {', '.join(namespace.name for namespace in namespaces[:20])}.",
        )
    names = graph.list_repositories(namespace_ids=[namespaces[0].id])
    answer = cypher_access.ask(
        namespace_id=namespaces[0].id,
        query=read_query(arguments.query),
        limit=arguments.limit,
        repository_names={repository.id: repository.name for repository in names},
        is_abandoned=call.is_abandoned,
    )
    return CypherResult(
        scope=scopes.echo_namespaces(namespaces, source),
        columns=list(answer.columns),
        rows=[list(row) for row in answer.rows],
        truncated=answer.is_truncated,
    )
