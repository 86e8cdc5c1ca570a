"""What the analyses read of the graph: the files and symbols of the head, and who uses whom."""

import re
from collections.abc import Collection, Iterator
from uuid import UUID

from graph.columns import read_network
from graph.models import DEFAULT_LAYER, FileVersion, SymbolVersion
from graph.values import NodeKind, VertexLabel, Visibility, graph_id, symbol_id
from indexing.findings.values import HeadFile, HeadSymbol, Uses
from indexing.languages import is_test_path

# class A(B), class A extends B, class A : B, class A < B
_BASES = re.compile(
    r"\b(?:class|struct|object|enum)\b[^({]*?(?:\(\s*\w|:\s+\w|<\s+\w)|\b(?:extends|implements)\b"
)
_SYMBOL_COLUMNS = (
    *("symbol_id", "symbol__path", "symbol__name", "symbol__local_name", "symbol__ordinal"),
    *("symbol__kind", "language", "start_line", "end_line", "visibility", "is_test", "doc"),
    "signature",
    *("parameters", "decorators", "cyclomatic", "cognitive"),
)


def read_uses(*, repository_id: UUID) -> Uses:
    """Return the dependencies among the repository's own nodes."""
    network = read_network(repository_id=repository_id)
    edges = network.edges()
    return Uses(sources=network.vertices[edges.sources], targets=network.vertices[edges.targets])


def read_files(*, repository_id: UUID) -> dict[str, HeadFile]:
    """Return the files of the head in known languages, by path. One query."""
    rows = (
        FileVersion.objects.filter(
            repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None, skipped=""
        )
        .exclude(language="")
        .values_list("file_id", "file__path", "blob", "lines", "language")
    )
    return {
        path: HeadFile(
            vertex=graph_id(label=VertexLabel.FILE, key=key),
            path=path,
            blob=blob,
            lines=lines,
            language=language,
            is_test=is_test_path(path),
        )
        for key, path, blob, lines, language in rows.iterator()
    }


def read_symbols(
    *, repository_id: UUID, paths: Collection[str] | None = None
) -> Iterator[HeadSymbol]:
    """Yield the symbols of the head, of some files or of all. One query."""
    rows = SymbolVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None
    )
    if paths is not None:
        rows = rows.filter(file__path__in=list(paths))
    columns = rows.values_list(*_SYMBOL_COLUMNS)
    for row in columns.iterator():
        key, path, name, local_name, ordinal, kind, language, start, end, *rest = row
        visibility, is_test, doc, signature, parameters, decorators, cyclomatic, cognitive = rest
        yield HeadSymbol(
            vertex=graph_id(label=VertexLabel.SYMBOL, key=key),
            id=symbol_id(path=path, local_name=local_name, ordinal=ordinal),
            path=path,
            name=name,
            local_name=local_name,
            kind=NodeKind(kind),
            language=language,
            start_line=start,
            end_line=end,
            visibility=Visibility(visibility),
            is_test=is_test or is_test_path(path),
            has_doc=bool(doc),
            has_bases=_BASES.search(signature) is not None,
            parameters=tuple(parameters),
            decorators=tuple(decorators),
            cyclomatic=cyclomatic,
            cognitive=cognitive,
        )
