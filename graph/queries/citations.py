"""What stands at some paths and in some symbols: for those who cited them and ask again."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from graph.models import SymbolVersion
from graph.queries.nodes import vertices_by_id
from graph.queries.seen import seen_files, seen_symbols
from graph.values import LIVE, NodeKind, VertexLabel, View, graph_id, key_of, symbol_id


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSymbol:
    """A symbol as a view shows it; `body_hash` is of its text, whatever its indentation."""

    id: str
    vertex: int
    name: str
    body_hash: str
    start_line: int
    end_line: int


def blobs_of(
    *, repository_id: UUID, paths: Collection[str], view: View = LIVE
) -> dict[str, tuple[str, int]]:
    """Return the blob id of each of some files, and the file's vertex. One query."""
    if not paths:
        return {}
    rows = seen_files(view).filter(repository_id=repository_id, file__path__in=paths)
    return {
        path: (blob, graph_id(label=VertexLabel.FILE, key=key))
        for path, blob, key in rows.values_list("file__path", "blob", "file_id")
    }


def cited_symbols(
    *, repository_id: UUID, ids: Collection[str], view: View = LIVE
) -> dict[str, CitedSymbol]:
    """Return those of some symbols (text ids) that a view shows. Two queries."""
    known = vertices_by_id(repository_id=repository_id, ids=ids, view=view)
    keys = {
        key_of(found.vertex): uid for uid, found in known.items() if found.kind is not NodeKind.FILE
    }
    if not keys:
        return {}
    rows = seen_symbols(view).filter(symbol_id__in=keys).select_related("symbol").only(*_COLUMNS)
    return {keys[row.symbol_id]: _cited(row) for row in rows}


def symbols_named(
    *, repository_id: UUID, name: str, view: View = LIVE, limit: int = 50
) -> list[CitedSymbol]:
    """Return the symbols with a bare name, wherever they stand. One query."""
    rows = seen_symbols(view).filter(repository_id=repository_id, symbol__name=name)
    return [_cited(row) for row in rows.select_related("symbol").only(*_COLUMNS)[:limit]]


_COLUMNS = (
    *("symbol_id", "body_hash", "start_line", "end_line"),
    *("symbol__path", "symbol__local_name", "symbol__ordinal", "symbol__name"),
)


def _cited(row: SymbolVersion) -> CitedSymbol:
    symbol = row.symbol
    return CitedSymbol(
        id=symbol_id(path=symbol.path, local_name=symbol.local_name, ordinal=symbol.ordinal),
        vertex=graph_id(label=VertexLabel.SYMBOL, key=row.symbol_id),
        name=symbol.name,
        body_hash=row.body_hash,
        start_line=row.start_line,
        end_line=row.end_line,
    )
