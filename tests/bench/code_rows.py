"""A synthetic code base as `graph.services.put` would have written it, but by COPY: in seconds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID

import numpy as np
from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER, Revision
from graph.services.writer import STILL_OPEN
from graph.staging import version_columns
from graph.values import EdgeSource, FileFact, NodeKind, SymbolFact, VertexLabel, graph_id
from tests.bench.code_graph import SYMBOLS_PER_FILE, CodeGraph, Edges, symbol_fact
from tests.bench.copying import copy_lines, copy_rows, take_ids, without_indexes

COMMITTED_AT: Final = 1_760_000_000
_FORMERLY: Final = 0  # a revision before all others
_UNKNOWN_DIGEST: Final = bytes(32)  # whoever indexes this again must not think it is the same

_FILE_COLUMNS: Final = ("id", "repository_id", "path")
_FILE_VERSION_COLUMNS: Final = (
    *("file_id", "repository_id", "layer", "blob", "size", "lines", "language", "skipped"),
    *("is_removed", "symbols_digest", "edges_digest", "valid_from"),
)
_SYMBOL_COLUMNS: Final = (
    *("id", "repository_id", "path", "local_name", "kind", "ordinal", "qualified_name", "name"),
)
_SYMBOL_VERSION_COLUMNS: Final = (
    *("symbol_id", "repository_id", "file_id", "layer", "qualified_name", "start_line"),
    *("end_line", "language", "visibility", "is_test", "signature", "doc", "source_text"),
    *("parameters", "decorators", "cyclomatic", "cognitive", "body_hash", "tokens"),
    *("embedding_digest", "embedding_fingerprint", "valid_from"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCode:
    """Where the code base lies: positions of the synthetic graph are ids from these ranges."""

    repository_ids: tuple[UUID, ...]
    revision: int
    symbol_ids: range
    file_ids: range

    def vertex_of_symbol(self, symbol: int) -> int:
        return graph_id(label=VertexLabel.SYMBOL, key=self.symbol_ids[symbol])


def copy_code(
    cursor: Any, *, code: CodeGraph, graph: str, repository_ids: Sequence[UUID]
) -> LoadedCode:
    """Write rows, vertices and edges of a code base into empty repositories of one namespace."""
    revisions = [
        Revision.objects.create(
            repository_id=repository_id, commit="c" * 40, committed_at=COMMITTED_AT
        )
        for repository_id in repository_ids
    ]
    loaded = LoadedCode(
        repository_ids=tuple(repository_ids),
        # One for all of them: it is the newest that counts.
        revision=revisions[-1].pk,
        symbol_ids=take_ids(cursor, "graph_symbol", code.symbol_count),
        file_ids=take_ids(cursor, "graph_sourcefile", code.file_count),
    )
    repositories = [repository_ids[index] for index in code.repository_of_file.tolist()]
    _copy_files(cursor, code, loaded, repositories)
    _copy_symbols(cursor, code, loaded, repositories)
    _copy_vertices(cursor, code, loaded, repositories, graph)
    for edges in code.edges:
        with without_indexes(cursor, schema=graph, table=edges.kind):
            copy_lines(
                cursor,
                sql.Identifier(graph, edges.kind),
                ("start_id", "end_id", "properties"),
                _edge_lines(code, loaded, edges),
            )
    return loaded


def analyze(cursor: Any, *, graph: str) -> None:
    """Gather the statistics of everything that was copied; autovacuum comes too late."""
    tables = [
        sql.Identifier(table)
        for table in (
            "graph_symbol",
            "graph_symbolversion",
            "graph_sourcefile",
            "graph_fileversion",
        )
    ]
    cursor.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename NOT LIKE '\\_ag%%'",
        [graph],
    )
    tables += [sql.Identifier(graph, name) for (name,) in cursor.fetchall()]
    # Freezes the pages too: index-only scans then need no look into the table.
    cursor.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.SQL(", ").join(tables)))


def _copy_files(
    cursor: Any, code: CodeGraph, loaded: LoadedCode, repositories: Sequence[UUID]
) -> None:
    facts = list(zip(loaded.file_ids, repositories, code.file_facts(), strict=True))
    rows = ((key, repository, fact.path) for key, repository, fact in facts)
    copy_rows(cursor, "graph_sourcefile", _FILE_COLUMNS, rows)
    versions = (
        (*_file_version(key, repository, fact), loaded.revision) for key, repository, fact in facts
    )
    copy_rows(cursor, "graph_fileversion", _FILE_VERSION_COLUMNS, versions)


def _file_version(key: int, repository: UUID, fact: FileFact) -> tuple[object, ...]:
    return (
        *(key, repository, DEFAULT_LAYER, fact.blob, fact.size, fact.lines),
        *(fact.language or "", fact.skipped or "", False, _UNKNOWN_DIGEST, _UNKNOWN_DIGEST),
    )


def _copy_symbols(
    cursor: Any, code: CodeGraph, loaded: LoadedCode, repositories: Sequence[UUID]
) -> None:
    symbols = (
        (
            *(key, repository, fact.path, fact.local_name, fact.kind, fact.ordinal),
            *(fact.qualified_name, fact.name),
        )
        for key, repository, fact in _symbols(code, loaded, repositories)
    )
    copy_rows(cursor, "graph_symbol", _SYMBOL_COLUMNS, symbols)
    versions = (
        (
            *(key, repository, loaded.file_ids[number // SYMBOLS_PER_FILE], DEFAULT_LAYER),
            *_version_columns(code.number_in_repository(number)),
            loaded.revision,
        )
        for number, (key, repository, _) in enumerate(_symbols(code, loaded, repositories))
    )
    copy_rows(cursor, "graph_symbolversion", _SYMBOL_VERSION_COLUMNS, versions)


def _symbols(
    code: CodeGraph, loaded: LoadedCode, repositories: Sequence[UUID]
) -> Iterator[tuple[int, UUID, SymbolFact]]:
    for number, key in enumerate(loaded.symbol_ids):
        yield key, repositories[number // SYMBOLS_PER_FILE], code.symbol_fact(number)


@cache
def _version_columns(number: int) -> tuple[object, ...]:
    """Return what `put` stages of the nth symbol of the imagined code base."""
    return (*version_columns(symbol_fact(number), array=list), "")


def _copy_vertices(
    cursor: Any, code: CodeGraph, loaded: LoadedCode, repositories: Sequence[UUID], graph: str
) -> None:
    symbols = (
        _vertex_line(
            *(VertexLabel.SYMBOL, key, repository, fact),
            name=fact.name,
            kind=fact.kind,
            revision=loaded.revision,
        )
        for key, repository, fact in _symbols(code, loaded, repositories)
    )
    files = (
        _vertex_line(
            *(VertexLabel.FILE, key, repository, fact),
            name=fact.path.rpartition("/")[2],
            kind=NodeKind.FILE,
            revision=loaded.revision,
        )
        for key, repository, fact in zip(
            loaded.file_ids, repositories, code.file_facts(), strict=True
        )
    )
    for label, lines in ((VertexLabel.SYMBOL, symbols), (VertexLabel.FILE, files)):
        with without_indexes(cursor, schema=graph, table=label.title):
            copy_lines(cursor, sql.Identifier(graph, label.title), ("id", "properties"), lines)


def _vertex_line(
    label: VertexLabel,
    key: int,
    repository: UUID,
    fact: SymbolFact | FileFact,
    *,
    name: str,
    kind: NodeKind,
    revision: int,
) -> str:
    properties = cypher.agtype_text(
        {
            "head": True,
            "uid": fact.id,
            "name": name,
            "qname": fact.qualified_name if isinstance(fact, SymbolFact) else fact.path,
            "kind": kind,
            "path": fact.path,
            "repo": str(repository),
            "lang": fact.language,
            "vf": revision,
            "vt": STILL_OPEN,
        }
    )
    return f"{graph_id(label=label, key=key)}\t{properties}\n"


def _edge_lines(code: CodeGraph, loaded: LoadedCode, edges: Edges) -> Iterator[str]:
    symbol_shift = graph_id(label=VertexLabel.SYMBOL, key=loaded.symbol_ids.start)
    file_shift = graph_id(label=VertexLabel.FILE, key=loaded.file_ids.start) - code.symbol_count
    sources, targets = (
        nodes + np.where(nodes < code.symbol_count, symbol_shift, file_shift)
        for nodes in (edges.sources, edges.targets)
    )
    files = code.files_of(edges.sources) + loaded.file_ids.start
    sources_bits = EdgeSource.SYNTAX.value
    known = f'"s":{sources_bits},"c":{edges.rule.confidence},"r":"{edges.rule}","o":'
    rows = zip(
        *(column.tolist() for column in (sources, targets, files, edges.line_offsets)), strict=True
    )
    for number, (source, target, file, offset) in enumerate(rows):
        life = (
            f'"head":true,"vf":{loaded.revision},"vt":{STILL_OPEN}'
            if number < edges.live
            else f'"head":false,"vf":{_FORMERLY},"vt":{loaded.revision}'
        )
        yield f'{source}\t{target}\t{{{life},"l":{DEFAULT_LAYER},"f":{file},{known}{offset}}}\n'
