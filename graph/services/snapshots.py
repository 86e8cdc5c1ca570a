"""Writing a snapshot: the whole graph of one commit, as the difference to what is stored.

The stored and the desired state are compared file by file through digests; only files that differ
are staged (COPY into temporary tables) and written by the set-based statements of sql/put.sql.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, Value, When
from django.db.models.functions import Now
from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER, FileVersion, Ref, Repository
from graph.staging import Desired, FileRows, desired_state, version_columns
from graph.statements import statements
from graph.values import (
    EdgeKind,
    FileFact,
    NodeKind,
    PutReport,
    RowChanges,
    Snapshot,
    SymbolFact,
    VertexLabel,
    key_of,
)

STILL_OPEN: Final = 9_999_999_999
"""What `vt` says of edges and vertices that live; a number, because agtype indexes no null."""

_ANALYZE_FROM_ROWS: Final = 5_000


class RefNotDefault(Exception):
    """The ref is not the repository's default branch, the only one that the graph shows."""


def put(*, repository_id: UUID, ref_name: str, snapshot: Snapshot) -> PutReport:
    """Make the graph show this snapshot and return what that changed.

    One transaction; calls for one repository wait for each other. Idempotent: the same snapshot
    again writes no row. Raise SnapshotInconsistent or RefNotDefault, and Repository.DoesNotExist.
    """
    desired = desired_state(snapshot)
    with transaction.atomic(), connection.cursor() as cursor:
        # The first indexing of a large repository takes longer than any question may.
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{repository_id}"]
        )
        repository = Repository.objects.get(pk=repository_id)
        _refuse_other_refs(repository, ref_name)
        report = _write_difference(cursor, repository, desired, at=snapshot.committed_at)
        _note_indexed(repository_id, ref_name, snapshot.commit, is_unchanged=report.is_unchanged)
    return report


def _refuse_other_refs(repository: Repository, ref_name: str) -> None:
    if repository.default_branch and ref_name != repository.default_branch:
        raise RefNotDefault(
            f"{ref_name} is not {repository.name}'s default branch, {repository.default_branch}."
        )


def _write_difference(
    cursor: Any, repository: Repository, desired: Desired, *, at: int
) -> PutReport:
    difference = _difference(repository.pk, desired)
    if not difference:
        return PutReport(files=RowChanges(), symbols=RowChanges(), edges=RowChanges())
    graph = cypher.ensure_graph(repository.namespace_id)
    writer = _Writer(cursor=cursor, graph=graph, repository_id=repository.pk, at=at)
    writer.stage(difference)
    files = writer.write_files()
    symbols = writer.write_symbols(difference)
    writer.write_vertices()
    edges = writer.write_edges(difference, desired)
    return PutReport(files=files, symbols=symbols, edges=edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileChange:
    """A file that differs from what is stored; `rows` is None when it is gone."""

    path: str
    rows: FileRows | None
    symbols_changed: bool
    edges_changed: bool


def _difference(repository_id: UUID, desired: Desired) -> list[_FileChange]:
    stored = {version.file.path: version for version in _live_versions(repository_id)}
    changes = [
        _FileChange(
            path=path,
            rows=rows,
            symbols_changed=known is None or bytes(known.symbols_digest) != rows.symbols_digest,
            edges_changed=known is None or bytes(known.edges_digest) != rows.edges_digest,
        )
        for path, rows in desired.files.items()
        if (known := stored.get(path)) is None or _differs(known, rows)
    ]
    gone = [
        _FileChange(path=path, rows=None, symbols_changed=True, edges_changed=True)
        for path in stored
        if path not in desired.files
    ]
    return changes + gone


def _live_versions(repository_id: UUID) -> Iterable[FileVersion]:
    return FileVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None
    ).select_related("file")


def _differs(known: FileVersion, rows: FileRows) -> bool:
    fact = rows.fact
    return (
        *(known.blob, known.size, known.lines, known.language, known.skipped),
        *(bytes(known.symbols_digest), bytes(known.edges_digest)),
    ) != (
        *(fact.blob, fact.size, fact.lines, fact.language or "", fact.skipped or ""),
        *(rows.symbols_digest, rows.edges_digest),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    """The steps of one put, on one cursor inside its transaction."""

    cursor: Any
    graph: str
    repository_id: UUID
    at: int

    def stage(self, changes: list[_FileChange]) -> None:
        self.cursor.execute(statements("put")["make_staging"])
        self._copy("put_file", _FILE_COLUMNS, (_file_columns(change) for change in changes))
        self._copy("put_symbol", _SYMBOL_COLUMNS, map(_symbol_columns, _symbols(changes)))
        self._analyze("put_file", "put_symbol")

    def write_files(self) -> RowChanges:
        self._analyze_grown("graph_sourcefile", self._execute("add_source_files"))
        self._execute("identify_files")
        self._analyze("put_file")
        changes = RowChanges(
            closed=self._execute("close_file_versions"),
            updated=self._execute("update_file_versions"),
            opened=self._execute("open_file_versions"),
        )
        self._analyze_grown("graph_fileversion", changes.opened)
        return changes

    def write_symbols(self, changes: list[_FileChange]) -> RowChanges:
        self._analyze_grown("graph_symbol", self._execute("add_symbols"))
        self._execute("rename_symbols")
        self._execute("identify_symbols")
        keys = {tuple(name): (symbol, file) for *name, symbol, file in self.cursor.fetchall()}
        rows = (
            (*keys[fact.path, fact.local_name, fact.ordinal], *version_columns(fact))
            for fact in _symbols(changes)
        )
        self._copy("put_version", _VERSION_COLUMNS, rows)
        self._analyze("put_version")
        written = RowChanges(
            closed=self._execute("close_symbol_versions"),
            updated=self._execute("update_symbol_versions"),
            opened=self._execute("open_symbol_versions"),
        )
        self._analyze_grown("graph_symbolversion", written.opened)
        return written

    def write_vertices(self) -> None:
        self._execute("stage_symbol_vertices")
        self._execute("stage_file_vertices")
        self._analyze("put_vertex")
        for label in (VertexLabel.SYMBOL, VertexLabel.FILE):
            changed = self._execute("update_vertices", label=label.title)
            changed += self._execute("add_vertices", label=label.title, label_id=label.value)
            self._analyze_grown(label.title, changed, schema=self.graph)

    def write_edges(self, changes: list[_FileChange], desired: Desired) -> RowChanges:
        vertices = self._resolve(changes, desired)
        self._copy("put_edge", _EDGE_COLUMNS, _edge_columns(changes, vertices))
        self._analyze("put_edge")
        total = [0, 0, 0]
        for label in EdgeKind:
            closed = self._execute("close_edges", label=label)
            updated = self._execute("update_edges", label=label)
            opened = self._execute("open_edges", label=label)
            self._analyze_grown(label, opened, schema=self.graph)
            total = [total[0] + closed, total[1] + updated, total[2] + opened]
        return RowChanges(closed=total[0], updated=total[1], opened=total[2])

    def _resolve(self, changes: list[_FileChange], desired: Desired) -> dict[str, int]:
        """Return the vertices of all files and symbols that staged edges touch."""
        ids = {
            end
            for change in changes
            if change.rows is not None
            for row in change.rows.edges
            for end in (row.source, row.target)
        }
        ids.update(change.rows.fact.id for change in changes if change.rows is not None)
        self._copy("put_node", _NODE_COLUMNS, (_node_columns(uid, desired) for uid in ids))
        self._analyze("put_node")
        self._execute("resolve_nodes")
        return dict(self.cursor.fetchall())

    def _execute(self, name: str, *, label: str = "", label_id: int = 0) -> int:
        """Run one statement of put.sql and return how many rows it touched."""
        parameters = {
            "repository": self.repository_id,
            "layer": DEFAULT_LAYER,
            "at": self.at,
            "open": STILL_OPEN,
            "symbol_label": VertexLabel.SYMBOL.value,
            "file_label": VertexLabel.FILE.value,
            "label": label,
            "label_id": label_id,
        }
        statement = sql.SQL(statements("put")[name]).format(
            graph=sql.Identifier(self.graph),
            label=sql.Identifier(label or "none"),
            live=cypher.is_head(table="e"),
            **{key: cypher.property_of(key, table="e") for key in ("f", "vf", "c", "r", "o")},
        )
        self.cursor.execute(statement, parameters)
        return int(self.cursor.rowcount)

    def _copy(self, table: LiteralString, columns: LiteralString, rows: Iterable[Any]) -> None:
        with self.cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _analyze(self, *tables: LiteralString) -> None:
        # Autovacuum never sees temporary tables; without statistics every join below is a guess.
        for table in tables:
            self.cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))

    def _analyze_grown(self, table: str, new_rows: int, *, schema: str = "public") -> None:
        # A new repository is not in the statistics: taken for a single row, it would be joined row
        # by row. Autovacuum comes too late, for this transaction and for the first questions.
        if new_rows >= _ANALYZE_FROM_ROWS:
            self.cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(schema, table)))


_FILE_COLUMNS: Final = (
    "path, is_removed, symbols_changed, edges_changed,"
    " blob, size, lines, language, skipped, symbols_digest, edges_digest"
)
_SYMBOL_COLUMNS: Final = "path, local_name, kind, ordinal, qualified_name, name"
_VERSION_COLUMNS: Final = (
    "symbol_id, file_id, start_line, end_line, language, visibility, is_test, signature, doc,"
    " source_text, body_hash, tokens, embedding_digest"
)
_NODE_COLUMNS: Final = "uid, path, local_name, kind, ordinal"
_EDGE_COLUMNS: Final = "label, source, target, file_id, confidence, rule, line_offset"


def _file_columns(change: _FileChange) -> tuple[object, ...]:
    rows = change.rows
    if rows is None:
        return (change.path, True, True, True, *[None] * 7)
    fact = rows.fact
    return (
        *(change.path, False, change.symbols_changed, change.edges_changed),
        *(fact.blob, fact.size, fact.lines, fact.language or "", fact.skipped or ""),
        *(rows.symbols_digest, rows.edges_digest),
    )


def _symbols(changes: list[_FileChange]) -> Iterator[SymbolFact]:
    for change in changes:
        if change.rows is not None and change.symbols_changed:
            yield from change.rows.symbols


def _symbol_columns(fact: SymbolFact) -> tuple[object, ...]:
    return (
        *(fact.path, fact.local_name, fact.kind, fact.ordinal),
        *(fact.qualified_name, fact.name),
    )


def _node_columns(uid: str, desired: Desired) -> tuple[object, ...]:
    match desired.nodes[uid]:
        case SymbolFact() as fact:
            return (uid, fact.path, fact.local_name, fact.kind, fact.ordinal)
        case FileFact() as fact:
            return (uid, fact.path, None, NodeKind.FILE, None)


def _edge_columns(
    changes: list[_FileChange], vertices: Mapping[str, int]
) -> Iterator[tuple[object, ...]]:
    for change in changes:
        if change.rows is None or not change.edges_changed:
            continue
        file = key_of(vertices[change.rows.fact.id])
        for row in change.rows.edges:
            source, target = vertices[row.source], vertices[row.target]
            yield (row.label, source, target, file, row.confidence, row.rule, row.line_offset)


def _note_indexed(repository_id: UUID, ref_name: str, commit: str, *, is_unchanged: bool) -> None:
    ref, _ = Ref.objects.get_or_create(
        repository_id=repository_id,
        name=ref_name,
        defaults={"head_commit": commit, "head_seen_at": Now()},
    )
    if ref.indexed_commit == commit and is_unchanged:
        return
    Ref.objects.filter(pk=ref.pk).update(
        indexed_commit=commit,
        indexed_at=Now(),
        # Whoever saw a newer head counts again; until then the distance is not known.
        commits_behind=Case(When(head_commit=commit, then=Value(0)), default=None),
    )
