"""The steps of writing what differs: staged by COPY, then written by the statements of sql/put.sql.

Knows rows and label tables of one layer at one revision; what differs is told to it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER
from graph.services.entities import ensure_entities
from graph.staging import Desired, FileRows, OutsideNode, version_columns
from graph.statements import statements
from graph.values import (
    SNAPSHOT_KINDS,
    EdgeSource,
    EntityFact,
    FileFact,
    NodeKind,
    RowChanges,
    SymbolFact,
    VertexLabel,
    key_of,
)

STILL_OPEN: Final = 9_999_999_999
"""What `vt` says of edges and vertices that live; a number, because agtype indexes no null."""

_MANY_ROWS: Final = 500
"""From so many new rows on the planner is told, and words are indexed in bulk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that differs from what the layer holds.

    Without `rows` it is gone from the layer; an overlay where it `is_removed` hides its base's.
    """

    path: str
    rows: FileRows | None
    symbols_changed: bool = True
    edges_changed: bool = True
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One write on one cursor inside its transaction; its steps are called in this order."""

    cursor: Any
    graph: str
    namespace_id: UUID
    repository_id: UUID
    layer: int
    revision: int

    def stage(self, changes: list[FileChange]) -> None:
        self.cursor.execute(statements("put")["make_staging"])
        self.copy(f"put_file ({_FILE_COLUMNS})", (_file_columns(change) for change in changes))
        self.copy(f"put_symbol ({_SYMBOL_COLUMNS})", map(_symbol_columns, _symbols(changes)))
        self._count_staged("put_file", "put_symbol")

    def write_files(self) -> RowChanges:
        self.count_grown("graph_sourcefile", self.execute("add_source_files"))
        self.execute("identify_files")
        self._count_staged("put_file")
        changes = RowChanges(
            closed=self._end("file_versions"), opened=self.execute("open_file_versions")
        )
        self.count_grown("graph_fileversion", changes.opened)
        return changes

    def write_symbols(self, changes: list[FileChange]) -> RowChanges:
        self.count_grown("graph_symbol", self.execute("add_symbols"))
        if self._is_default:
            self.execute("rename_symbols")
        self.execute("identify_symbols")
        keys = {tuple(name): (symbol, file) for *name, symbol, file in self.cursor.fetchall()}
        rows = (
            (*keys[fact.path, fact.local_name, fact.ordinal], *version_columns(fact))
            for fact in _symbols(changes)
        )
        self.copy(f"put_version ({VERSION_COLUMNS})", rows)
        self.fill_words_index_in_bulk(len(keys))
        self._count_staged("put_version")
        written = RowChanges(
            closed=self._end("symbol_versions"), opened=self.execute("open_symbol_versions")
        )
        self.count_grown("graph_symbolversion", written.opened)
        return written

    def write_vertices(self) -> None:
        if self._is_default:
            self.execute("stage_symbol_vertices")
            self.execute("stage_file_vertices")
        else:
            self.execute("stage_overlay_vertices")
        self._count_staged("put_vertex")
        statement = "put_vertices" if self._is_default else "add_overlay_vertices"
        for label in (VertexLabel.SYMBOL, VertexLabel.FILE):
            changed = self.execute(statement, label=label.title, label_id=label.value)
            self.count_grown(label.title, changed, schema=self.graph)

    def write_edges(self, changes: list[FileChange], desired: Desired) -> RowChanges:
        vertices = self._resolve(changes, desired)
        self.copy(f"put_edge ({_EDGE_COLUMNS})", _edge_columns(changes, vertices))
        self._count_staged("put_edge")
        closed_count = opened_count = 0
        for label in SNAPSHOT_KINDS:
            closed_count += self._end("edges", label=label)
            opened = self.execute("open_edges", label=label)
            self.count_grown(label, opened, schema=self.graph)
            opened_count += opened
        return RowChanges(closed=closed_count, opened=opened_count)

    @property
    def _is_default(self) -> bool:
        return self.layer == DEFAULT_LAYER

    def _resolve(self, changes: list[FileChange], desired: Desired) -> dict[str, int]:
        """Return the vertices of all nodes that staged edges touch."""
        ids = {
            end
            for change in changes
            if change.rows is not None
            for row in change.rows.edges
            for end in (row.source, row.target)
        }
        ids.update(change.rows.fact.id for change in changes if change.rows is not None)
        facts = [desired.nodes[uid] for uid in ids]
        rows = (_node_columns(fact) for fact in facts if isinstance(fact, (FileFact, SymbolFact)))
        self.copy(f"put_node ({_NODE_COLUMNS})", rows)
        self._count_staged("put_node")
        self.execute("resolve_nodes")
        vertices: dict[str, int] = dict(self.cursor.fetchall())
        vertices |= {fact.id: fact.vertex for fact in facts if isinstance(fact, OutsideNode)}
        return vertices | ensure_entities(
            namespace_id=self.namespace_id,
            entities=[fact for fact in facts if isinstance(fact, EntityFact)],
            corrects=self._is_default,
        )

    def _end(self, rows: str, *, label: str = "") -> int:
        """End what is no more: closed on the default branch, gone without a trace in overlays."""
        return self.execute(f"{'close' if self._is_default else 'drop'}_{rows}", label=label)

    def execute(self, name: str, *, label: str = "", label_id: int = 0) -> int:
        """Run one statement of put.sql and return how many rows it touched."""
        parameters = {
            "repository": self.repository_id,
            "layer": self.layer,
            "at": self.revision,
            "open": STILL_OPEN,
            "symbol_label": VertexLabel.SYMBOL.value,
            "file_label": VertexLabel.FILE.value,
            "crossing": EdgeSource.CROSSING.value,
            "label": label,
            "label_id": label_id,
        }
        statement = sql.SQL(statements("put")[name]).format(
            graph=sql.Identifier(self.graph),
            label=sql.Identifier(label or "none"),
            live=cypher.is_head(table="e"),
            own=cypher.is_aside(table="e"),
            since=cypher.property_of("vf", table="vertex"),
            **{key: cypher.property_of(key, table="e") for key in ("f", "c", "r", "o", "s", "l")},
        )
        self.cursor.execute(statement, parameters)
        return int(self.cursor.rowcount)

    def copy(self, table: LiteralString, rows: Iterable[Any]) -> None:
        """Copy rows into a table, whose columns are named behind it."""
        with self.cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _count_staged(self, *tables: str) -> None:
        # Autovacuum never sees temporary tables; without statistics every join below is a guess.
        for table in tables:
            self._analyze(sql.Identifier(table), _COUNTED[table])

    def fill_words_index_in_bulk(self, new_symbols: int) -> None:
        if new_symbols >= _MANY_ROWS:
            self.execute("fill_words_index_in_bulk")

    def open_staged_versions(self) -> None:
        """Write versions that were staged beside others that were copied."""
        self._count_staged("put_version")
        self.execute("open_symbol_versions")

    def count_grown(self, table: str, new_rows: int, *, schema: str = "public") -> None:
        """Tell the planner of a table that got new rows, unless they are few."""
        # A new repository is not in the statistics: taken for a single row, it would be joined row
        # by row. Autovacuum comes too late, for this transaction and for the first questions.
        if new_rows >= _MANY_ROWS:
            self._analyze(sql.Identifier(schema, table), _COUNTED[table])

    def _analyze(self, table: sql.Identifier, columns: Sequence[str]) -> None:
        named = sql.SQL(", ").join(map(sql.Identifier, columns))
        # A quarter of the usual sample tells a planner enough until autovacuum counts anew.
        self.cursor.execute("SET LOCAL default_statistics_target = 25")
        self.cursor.execute(sql.SQL("ANALYZE {} ({})").format(table, named))


# What statements join and filter by. To count the texts and properties beside would take as long as
# to write them; autovacuum does it when it comes.
_COUNTED: Final[Mapping[str, Sequence[str]]] = {
    "put_file": ("path", "symbols_changed", "edges_changed", "file_id"),
    "put_symbol": ("path", "local_name", "kind", "ordinal"),
    "put_version": ("symbol_id", "file_id", "embedding_digest"),
    "put_node": ("path", "local_name", "kind", "ordinal"),
    "put_edge": ("label", "source", "target", "file_id"),
    "put_vertex": ("id",),
    "graph_sourcefile": ("repository_id", "path"),
    "graph_fileversion": ("file_id", "repository_id", "layer", "valid_from", "valid_to"),
    "graph_symbol": ("repository_id", "path", "local_name", "kind", "ordinal", "name"),
    "graph_symbolversion": (
        *("symbol_id", "repository_id", "file_id", "layer", "qualified_name", "language"),
        *("embedding_digest", "embedding_fingerprint", "valid_from", "valid_to"),
    ),
    **{label.title: ("id",) for label in (VertexLabel.SYMBOL, VertexLabel.FILE)},
    **dict.fromkeys(SNAPSHOT_KINDS, ("start_id", "end_id")),
}

_FILE_COLUMNS: Final = (
    "path, is_gone, is_removed, symbols_changed, edges_changed,"
    " blob, size, lines, language, skipped, symbols_digest, edges_digest"
)
_SYMBOL_COLUMNS: Final = "path, local_name, kind, ordinal, qualified_name, name"
VERSION_COLUMNS: Final[LiteralString] = (
    "symbol_id, file_id, qualified_name, start_line, end_line, language, visibility, is_test,"
    " signature, doc, source_text, parameters, decorators, cyclomatic, cognitive, body_hash,"
    " tokens, embedding_digest"
)
_NODE_COLUMNS: Final = "uid, path, local_name, kind, ordinal"
_EDGE_COLUMNS: Final = "label, source, target, file_id, confidence, rule, line_offset, sources"
_NOTHING: Final = ("", 0, 0, "", "", b"", b"")


def _file_columns(change: FileChange) -> tuple[object, ...]:
    rows = change.rows
    state = (rows is None and not change.is_removed, change.is_removed)
    if rows is None:
        return (change.path, *state, True, True, *_NOTHING)
    fact = rows.fact
    return (
        *(change.path, *state, change.symbols_changed, change.edges_changed),
        *(fact.blob, fact.size, fact.lines, fact.language or "", fact.skipped or ""),
        *(rows.symbols_digest, rows.edges_digest),
    )


def _symbols(changes: list[FileChange]) -> Iterator[SymbolFact]:
    for change in changes:
        if change.rows is not None and change.symbols_changed:
            yield from change.rows.symbols


def _symbol_columns(fact: SymbolFact) -> tuple[object, ...]:
    return (
        *(fact.path, fact.local_name, fact.kind, fact.ordinal),
        *(fact.qualified_name, fact.name),
    )


def _node_columns(fact: FileFact | SymbolFact) -> tuple[object, ...]:
    if isinstance(fact, SymbolFact):
        return (fact.id, fact.path, fact.local_name, fact.kind, fact.ordinal)
    return (fact.id, fact.path, None, NodeKind.FILE, None)


def _edge_columns(
    changes: list[FileChange], vertices: Mapping[str, int]
) -> Iterator[tuple[object, ...]]:
    for change in changes:
        if change.rows is None or not change.edges_changed:
            continue
        file = key_of(vertices[change.rows.fact.id])
        for row in change.rows.edges:
            source, target = vertices[row.source], vertices[row.target]
            yield (
                *(row.label, source, target, file),
                *(row.confidence, row.rule, row.line_offset, row.sources),
            )
