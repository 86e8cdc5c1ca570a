"""The benchmark's code must lie as the server writes it, or its figures mean nothing."""

from collections import Counter
from typing import Any

from django.db import connection

from graph import cypher
from graph import services as graph
from graph.models import FileVersion, Repository, Symbol, SymbolVersion
from graph.values import EdgeFact, FileFact, Snapshot, SymbolFact
from tests import factories
from tests.bench.code_graph import SYMBOLS_PER_FILE, CodeGraph, make_code_graph
from tests.bench.code_rows import COMMITTED_AT, copy_code


def test_copied_code_lies_as_put_would_have_written_it(namespace, repository):
    code = make_code_graph(symbols=200, edges=900, shares=(1.0,))
    indexed = factories.make_repository(namespace, "indexed")

    copy(code, repository)
    graph.put(repository_id=indexed.pk, ref_name="main", snapshot=snapshot_of(code))

    assert rows_of(repository) == rows_of(indexed)
    assert vertices_of(repository) == vertices_of(indexed)
    edges = live_edges_of(repository)
    assert edges == live_edges_of(indexed)
    assert edges.total() == code.live_edge_count == 900


def test_indexing_copied_code_writes_nothing_but_digests(repository):
    code = make_code_graph(symbols=200, edges=900, shares=(1.0,))
    copy(code, repository)

    report = graph.put(repository_id=repository.pk, ref_name="main", snapshot=snapshot_of(code))

    assert (report.symbols.total, report.edges.total) == (0, 0)
    assert (report.files.opened, report.files.closed) == (20, 20)


def copy(code: CodeGraph, repository: Repository) -> None:
    with connection.cursor() as cursor:
        copy_code(
            cursor,
            code=code,
            graph=cypher.graph_name(repository.namespace_id),
            repository_ids=[repository.pk],
        )


def snapshot_of(code: CodeGraph) -> Snapshot:
    """Return what indexing would have said of the only repository."""
    return Snapshot(
        commit="c" * 40,
        committed_at=COMMITTED_AT,
        files=tuple(code.file_facts()),
        symbols=tuple(code.symbol_facts()),
        edges=tuple(edge_facts(code)),
    )


def edge_facts(code: CodeGraph) -> list[EdgeFact]:
    return [
        EdgeFact(
            edges.kind,
            node(code, source).id,
            node(code, target).id,
            edges.rule.confidence,
            edges.rule,
            getattr(node(code, source), "start_line", 1) + offset,
        )
        for edges in code.edges
        for source, target, offset in zip(
            edges.sources[: edges.live].tolist(),
            edges.targets[: edges.live].tolist(),
            edges.line_offsets[: edges.live].tolist(),
            strict=True,
        )
    ]


def node(code: CodeGraph, position: int) -> FileFact | SymbolFact:
    if position < code.symbol_count:
        return code.symbol_fact(position)
    return code.file_fact(position - code.symbol_count)


def rows_of(repository: Repository) -> list[list[dict[str, Any]]]:
    """Return files, symbols and their versions, without keys and digests of the whole file."""
    named = {"repository", "repository_id", "id", "file_id", "symbol_id", "pk"}
    left_out = named | {"symbols_digest", "edges_digest", "valid_from"}
    tables = [
        FileVersion.objects.order_by("file__path"),
        Symbol.objects.order_by("path", "local_name"),
        SymbolVersion.objects.order_by("symbol__path", "symbol__local_name"),
    ]
    return [
        [
            {
                key: bytes(value) if isinstance(value, memoryview) else value
                for key, value in row.items()
                if key not in left_out
            }
            for row in rows.filter(repository=repository).values()
        ]
        for rows in tables
    ]


def vertices_of(repository: Repository) -> list[dict[str, Any]]:
    found = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (n {repo: $repository}) RETURN n ORDER BY n.uid",
        columns=("node",),
        parameters={"repository": str(repository.pk)},
    )
    return [{"label": n.label, **n.properties, "repo": None, "vf": None} for (n,) in found]


def live_edges_of(repository: Repository) -> "Counter[tuple[object, ...]]":
    found = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (a {repo: $repository})-[e {head: true}]->(b) RETURN a.uid, e, b.uid",
        columns=("source", "edge", "target"),
        parameters={"repository": str(repository.pk)},
    )
    return Counter(
        (
            source,
            target,
            edge.label,
            *sorted({**edge.properties, "f": None, "vf": None}.items(), key=str),
        )
        for source, edge, target in found
    )


def test_every_file_has_the_same_number_of_symbols():
    code = make_code_graph(symbols=400, edges=1_000)

    assert code.symbol_count == code.file_count * SYMBOLS_PER_FILE == 400
