"""The first snapshot of a repository: copied into its tables, for there is nothing to compare with.

Writes just the rows that graph.services.writer would write, at half the cost: nothing is staged,
joined or looked for, and properties come as text, which AGE reads faster than it builds them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from json.encoder import encode_basestring
from typing import Final, cast

from psycopg import sql

from graph.models import DEFAULT_LAYER
from graph.services.entities import ensure_entities
from graph.services.writer import STILL_OPEN, VERSION_COLUMNS, Writer
from graph.staging import Desired, version_columns
from graph.values import (
    EdgeKind,
    EntityFact,
    FileFact,
    PutReport,
    RowChanges,
    SymbolFact,
    VertexLabel,
    graph_id,
)

_AT_ONCE: Final = 5_000


def is_new(writer: Writer) -> bool:
    """Tell whether the graph never had anything of the repository. One query."""
    writer.cursor.execute(
        "SELECT NOT EXISTS (SELECT FROM graph_sourcefile WHERE repository_id = %s)",
        [writer.repository_id],
    )
    return bool(writer.cursor.fetchone()[0])


def load(*, desired: Desired, writer: Writer) -> PutReport:
    """Write a snapshot of the default branch of a repository that `is_new`.

    Whoever calls has the repository's turn (wait_for_turn): no other writer adds identities of it.
    """
    return Load(desired=desired, writer=writer).carried_out()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One first snapshot on its way into the tables; its steps are called in this order."""

    desired: Desired
    writer: Writer

    def carried_out(self) -> PutReport:
        facts = self.desired.nodes.values()
        files = {fact.path: fact for fact in facts if isinstance(fact, FileFact)}
        symbols = {
            uid: fact for uid, fact in self.desired.nodes.items() if isinstance(fact, SymbolFact)
        }
        file_keys = dict(zip(files, self._new_keys("graph_sourcefile", len(files)), strict=True))
        symbol_keys = dict(zip(symbols, self._new_keys("graph_symbol", len(symbols)), strict=True))
        self.copy_files(file_keys)
        self.copy_symbols(symbols, symbol_keys, file_keys)
        self.copy_vertices(symbols, symbol_keys, file_keys)
        vertices = {
            **_vertices(VertexLabel.FILE, {files[path].id: key for path, key in file_keys.items()}),
            **_vertices(VertexLabel.SYMBOL, symbol_keys),
            **ensure_entities(
                namespace_id=self.writer.namespace_id,
                entities=[fact for fact in facts if isinstance(fact, EntityFact)],
            ),
        }
        edges = self.copy_edges(vertices, file_keys)
        return PutReport(
            files=RowChanges(opened=len(files)),
            symbols=RowChanges(opened=len(symbols)),
            edges=RowChanges(opened=edges),
        )

    def _new_keys(self, table: str, count: int) -> list[int]:
        self.writer.cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [table, count],
        )
        return [key for (key,) in self.writer.cursor.fetchall()]

    def copy_files(self, keys: Mapping[str, int]) -> None:
        repository, at = str(self.writer.repository_id), self.writer.revision
        self.writer.copy(
            "graph_sourcefile (id, repository_id, path)",
            ((key, repository, path) for path, key in keys.items()),
        )
        self.writer.copy(
            "graph_fileversion (file_id, repository_id, layer, is_removed, blob, size, lines,"
            " language, skipped, symbols_digest, edges_digest, valid_from)",
            (
                (
                    *(keys[path], repository, DEFAULT_LAYER, False),
                    *(rows.fact.blob, rows.fact.size, rows.fact.lines),
                    *(rows.fact.language or "", rows.fact.skipped or ""),
                    *(rows.symbols_digest, rows.edges_digest, at),
                )
                for path, rows in self.desired.files.items()
            ),
        )
        for table in ("graph_sourcefile", "graph_fileversion"):
            self.writer.count_grown(table, len(keys))

    def copy_symbols(
        self,
        symbols: Mapping[str, SymbolFact],
        keys: Mapping[str, int],
        file_keys: Mapping[str, int],
    ) -> None:
        repository = str(self.writer.repository_id)
        self.writer.copy(
            "graph_symbol"
            " (id, repository_id, path, local_name, kind, ordinal, qualified_name, name)",
            (
                (
                    *(keys[uid], repository, fact.path, fact.local_name, str(fact.kind)),
                    *(fact.ordinal, fact.qualified_name, fact.name),
                )
                for uid, fact in symbols.items()
            ),
        )
        self.writer.count_grown("graph_symbol", len(symbols))
        self.writer.fill_words_index_in_bulk(len(symbols))
        rows = (
            (keys[uid], file_keys[fact.path], *version_columns(fact))
            for uid, fact in symbols.items()
        )
        self.writer.execute("make_staging")
        while portion := list(islice(rows, _AT_ONCE)):
            self._copy_versions(portion)
        self.writer.open_staged_versions()
        self.writer.count_grown("graph_symbolversion", len(symbols))

    def _copy_versions(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Copy versions; those whose text has a vector already are staged instead, to get it."""
        embedded = self._embedded(cast("bytes", row[-1]) for row in rows)
        more = (str(self.writer.repository_id), DEFAULT_LAYER, "", self.writer.revision)
        self.writer.copy(
            f"graph_symbolversion ({VERSION_COLUMNS},"
            " repository_id, layer, embedding_fingerprint, valid_from)",
            ((*row, *more) for row in rows if row[-1] not in embedded),
        )
        if embedded:
            self.writer.copy(
                f"put_version ({VERSION_COLUMNS})", (row for row in rows if row[-1] in embedded)
            )

    def _embedded(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those of some digests that a vector is stored under."""
        # As one text: psycopg asks for each element of a list what writes it.
        self.writer.cursor.execute(
            "SELECT DISTINCT embedding_digest FROM graph_symbolversion"
            " WHERE embedding_digest = ANY (%s::bytea[]) AND embedding IS NOT NULL",
            ["{" + ",".join(f'"\\\\x{digest.hex()}"' for digest in digests) + "}"],
        )
        return {bytes(digest) for (digest,) in self.writer.cursor.fetchall()}

    def copy_vertices(
        self,
        symbols: Mapping[str, SymbolFact],
        keys: Mapping[str, int],
        file_keys: Mapping[str, int],
    ) -> None:
        common = (
            f'"head": true, "repo": "{self.writer.repository_id}",'
            f' "vf": {self.writer.revision}, "vt": {STILL_OPEN}'
        )
        self._copy_label(
            VertexLabel.FILE.title,
            "id, properties",
            (
                f"{graph_id(label=VertexLabel.FILE, key=file_keys[path])}\t"
                f'{{{common}, "uid": {_text(rows.fact.id)},'
                f' "name": {_text(path.rpartition("/")[2])}, "qname": {_text(path)},'
                f' "kind": "file", "path": {_text(path)},'
                f' "lang": {_text(rows.fact.language or "")}}}\n'
                for path, rows in self.desired.files.items()
            ),
        )
        self._copy_label(
            VertexLabel.SYMBOL.title,
            "id, properties",
            (
                f"{graph_id(label=VertexLabel.SYMBOL, key=keys[uid])}\t"
                f'{{{common}, "uid": {_text(uid)}, "name": {_text(fact.name)},'
                f' "qname": {_text(fact.qualified_name)}, "kind": "{fact.kind.value}",'
                f' "path": {_text(fact.path)}, "lang": {_text(fact.language)}}}\n'
                for uid, fact in symbols.items()
            ),
        )

    def copy_edges(self, vertices: Mapping[str, int], file_keys: Mapping[str, int]) -> int:
        by_label: defaultdict[EdgeKind, list[str]] = defaultdict(list)
        said = _Said()
        lives = f'{{"head": true, "l": 0, "vf": {self.writer.revision}, "vt": {STILL_OPEN}, "f": '
        for path, rows in self.desired.files.items():
            file = file_keys[path]
            for label, source, target, confidence, rule, offset, sources in rows.edges:
                by_label[label].append(
                    f"{vertices[source]}\t{vertices[target]}\t{lives}{file}"
                    f', "o": {offset}, {said[confidence, rule, sources]}}}\n'
                )
        for label, lines in by_label.items():
            self._copy_label(label, "start_id, end_id, properties", iter(lines))
        return sum(map(len, by_label.values()))

    def _copy_label(self, label: str, columns: str, lines: Iterator[str]) -> None:
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(self.writer.graph, label),
            sql.SQL(", ").join(map(sql.Identifier, columns.split(", "))),
        )
        count = 0
        with self.writer.cursor.copy(statement) as copy:
            while portion := list(islice(lines, _AT_ONCE)):
                copy.write("".join(portion))
                count += len(portion)
        self.writer.count_grown(label, count, schema=self.writer.graph)


class _Said(dict[tuple[float, str, int], str]):
    """What edges say of how they are known, as text: few sayings for many edges."""

    def __missing__(self, key: tuple[float, str, int]) -> str:
        confidence, rule, sources = key
        self[key] = f'"c": {confidence!r}, "r": {_text(rule)}, "s": {sources}'
        return self[key]


def _text(value: str) -> str:
    """Return a text as agtype spells it, which is JSON, inside of COPY's text."""
    return encode_basestring(value).replace("\\", "\\\\")


def _vertices(label: VertexLabel, keys: Mapping[str, int]) -> dict[str, int]:
    return {uid: graph_id(label=label, key=key) for uid, key in keys.items()}
