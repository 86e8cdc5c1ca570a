"""What the graph knows around the traffic of a repository: imports, constants, tasks, vertices."""

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from uuid import UUID

from graph import queries as graph
from graph.models import DEFAULT_LAYER, FileVersion, SourceFile, Symbol, SymbolVersion
from graph.values import VertexLabel, graph_id
from indexing.crossing.composition import Place
from indexing.crossing.reading.source import constants_of
from indexing.crossing.traffic import NameFact

_LOADED_AT_ONCE = 5_000


class GraphSurroundings:
    """Answers `composition.Surroundings` for one repository from its live graph."""

    def __init__(self, *, namespace_id: UUID, repository_id: UUID, paths: Collection[str]) -> None:
        self._repository_id = repository_id
        keys = dict(
            SourceFile.objects.filter(
                repository_id=repository_id, path__in=list(paths)
            ).values_list("pk", "path")
        )
        self._imports: defaultdict[tuple[str, int], list[Place]] = defaultdict(list)
        for found in graph.imports_of(namespace_id=namespace_id, files=list(keys)):
            place = Place(found.path, found.local_name)
            self._imports[keys[found.file], found.line].append(place)
        self._constants: dict[str, Mapping[str, str]] = {}

    def target(self, path: str, name: NameFact, below: str) -> Place | None:
        """Return what an import's name means, by the edges that resolution found at its line."""
        places = self._imports.get((path, name.line), [])
        wanted = name.name or name.local
        for place in places:
            if place.local_name and place.local_name.rpartition(".")[2] == wanted:
                return place
        files = [place for place in places if not place.local_name]
        named = [one for one in files if _stem(one.path) == wanted.rpartition(".")[2]]
        if named or len(files) == 1:
            return (named or files)[0]
        if len(files) > 1 and below:
            return self._file_with([one.path for one in files], below)
        # A default import has the name that its file chose.
        return places[0] if len(places) == 1 else None

    def _file_with(self, paths: list[str], local_name: str) -> Place | None:
        """Return the file of a package that defines a name."""
        found = Symbol.objects.filter(
            repository_id=self._repository_id, path__in=paths, local_name=local_name
        )
        path = found.values_list("path", flat=True).first()
        return Place(path, "") if path is not None else None

    def file_of_module(self, path: str, module: str) -> str | None:
        """Return the nearest file of a module named by a text."""
        if module.startswith("."):
            base = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
            ends = [
                base + end for end in ("", ".js", ".ts", ".mjs", ".cjs", "/index.js", "/index.ts")
            ]
            return next((end for end in ends if end in self._paths), None)
        base = module.replace(".", "/")
        names = {f"{base}.py", f"{base}/__init__.py"}
        folder = path.split("/")[:-1]
        found = [
            one
            for one in self._by_name.get(base.rpartition("/")[2], ())
            if one in names or any(one.endswith("/" + name) for name in names)
        ]
        return max(
            found,
            key=lambda one: (len(posixpath.commonprefix([one.split("/"), folder])), -len(one)),
            default=None,
        )

    def constant(self, place: Place) -> str | None:
        """Return the text that a variable of a file stands for, as its source says."""
        if place.path not in self._constants:
            rows = SymbolVersion.objects.filter(
                repository_id=self._repository_id,
                layer=DEFAULT_LAYER,
                valid_to=None,
                symbol__path=place.path,
                symbol__kind__in=("variable", "field"),
            ).values_list("symbol__local_name", "source_text")[:_LOADED_AT_ONCE]
            self._constants[place.path] = {
                constant.name: constant.text
                for local_name, text in rows
                for constant in constants_of(local_name, text)
            }
        known = self._constants[place.path]
        if place.local_name in known:
            return known[place.local_name]
        # settings.PREFIX, where settings is made of a class that has it.
        last = place.local_name.rpartition(".")[2]
        named = {text for name, text in known.items() if name.rpartition(".")[2] == last}
        return named.pop() if len(named) == 1 else None

    def task_name(self, place: Place) -> str:
        """Return module and function: what a task is called that does not say otherwise."""
        rows = SymbolVersion.objects.filter(
            repository_id=self._repository_id,
            layer=DEFAULT_LAYER,
            valid_to=None,
            symbol__path=place.path,
            symbol__local_name=place.local_name,
        )
        return rows.values_list("symbol__qualified_name", flat=True).first() or ""

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(
            FileVersion.objects.filter(
                repository_id=self._repository_id, layer=DEFAULT_LAYER, valid_to=None
            ).values_list("file__path", flat=True)
        )

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            if path.endswith(".py"):
                found[_stem(path)].append(path)
        return found


class Vertices:
    """The vertices of a repository's live files and symbols, loaded for the paths that matter."""

    def __init__(self, *, repository_id: UUID, paths: Iterable[str]) -> None:
        self._files: dict[str, int] = {}
        self._symbols: dict[tuple[str, str, int], int] = {}
        self._named: defaultdict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
        self._lines: dict[int, int] = {}
        wanted = sorted(set(paths))
        for start in range(0, len(wanted), _LOADED_AT_ONCE):
            self._load(repository_id, wanted[start : start + _LOADED_AT_ONCE])

    def file(self, path: str) -> int | None:
        """Return the vertex of a live file."""
        key = self._files.get(path)
        return None if key is None else graph_id(label=VertexLabel.FILE, key=key)

    def file_key(self, path: str) -> int | None:
        return self._files.get(path)

    def symbol(self, path: str, symbol: str) -> int | None:
        """Return the vertex of `local_name~ordinal`, or of the file where it is gone or ""."""
        local_name, _, ordinal = symbol.rpartition("~")
        key = self._symbols.get((path, local_name, int(ordinal or 0))) if local_name else None
        if key is None:
            return self.file(path)
        return graph_id(label=VertexLabel.SYMBOL, key=key)

    def handler(self, path: str, name: str) -> tuple[str, int] | None:
        """Return local name and vertex of what a route names: by its whole name, or by its last."""
        key = self._symbols.get((path, name, 0))
        if key is not None:
            return name, graph_id(label=VertexLabel.SYMBOL, key=key)
        named = self._named.get((path, name.rpartition(".")[2]), [])
        if len(named) != 1:
            return None
        local_name, key = named[0]
        return local_name, graph_id(label=VertexLabel.SYMBOL, key=key)

    def first_line(self, vertex: int) -> int:
        """Return where a symbol begins; a file begins at 1."""
        return self._lines.get(vertex, 1)

    def _load(self, repository_id: UUID, paths: list[str]) -> None:
        live = {"repository_id": repository_id, "layer": DEFAULT_LAYER, "valid_to": None}
        self._files |= dict(
            FileVersion.objects.filter(**live, file__path__in=paths).values_list(
                "file__path", "file_id"
            )
        )
        rows = SymbolVersion.objects.filter(**live, symbol__path__in=paths).values_list(
            "symbol_id",
            "symbol__path",
            "symbol__local_name",
            "symbol__ordinal",
            "symbol__name",
            "start_line",
        )
        for key, path, local_name, ordinal, name, line in rows.iterator():
            self._symbols.setdefault((path, local_name, ordinal), key)
            self._named[path, name].append((local_name, key))
            self._lines[graph_id(label=VertexLabel.SYMBOL, key=key)] = line


def _stem(path: str) -> str:
    folder, name = posixpath.split(path)
    stem = name.partition(".")[0]
    return posixpath.basename(folder) if stem in ("__init__", "index", "mod") else stem
