"""Which packages a repository's imports mean, and which symbols of its siblings their uses.

A sibling is a repository of the same namespace. What a name means there is asked of its live graph:
by its whole qualified name (.95), through the imports of the module it is taken from (.95), or
by its bare name inside of the package, where only one symbol has it (.8).
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from graph import queries as graph
from graph.models import DEFAULT_LAYER, FileVersion, SymbolVersion
from graph.queries import OuterTarget
from graph.values import VertexLabel, graph_id
from indexing.crossing.imports import OuterImport, OuterUse
from indexing.crossing.values import Manager, normalized
from indexing.scip.symbols import Suffix, parts_of_key

_EXACT, _ONLY = 0.95, 0.8
_IN = 2_000
_SEPARATORS: Final = re.compile(r"::|\\|/(?!.*/)|\.")
_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "grpc": "grpcio",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mysqldb": "mysqlclient",
    "openssl": "pyopenssl",
    "pil": "pillow",
    "psycopg2": "psycopg2-binary",
    "rest-framework": "djangorestframework",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "usb": "pyusb",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Python modules whose distribution has another name, where no manifest says which."""


class LinkRule(StrEnum):
    """How the symbol behind a use was found."""

    QUALIFIED = "package-name"
    EXPORTED = "package-export"
    ONLY = "package-only"


class OwnPackage(NamedTuple):
    """A package that a repository of the namespace declares."""

    manager: str
    name: str
    repository_id: UUID
    directory: str
    namespaces: tuple[str, ...]


class Found(NamedTuple):
    """A symbol of a sibling that a use means."""

    vertex: int
    id: str
    confidence: float
    rule: LinkRule


@dataclass(frozen=True, slots=True)
class Attributed:
    """One import with its package, and the sibling that makes it, if one does."""

    path: str
    outer: OuterImport
    package: str
    sibling: OwnPackage | None
    is_declared: bool


@dataclass(slots=True)
class Attribution:
    """Finds the package that an import means, from what is declared and what is the namespace's."""

    declared: Collection[tuple[str, str, str]]  # manager, name, alias
    siblings: Iterable[OwnPackage]
    modules: Mapping[str, OwnPackage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._declared = {(manager, name) for manager, name, _ in self.declared}
        self._aliases = {(manager, alias): name for manager, name, alias in self.declared if alias}
        self._own = {(one.manager, one.name): one for one in self.siblings}
        self._prefixes = sorted(
            ((prefix, one) for one in self.siblings for prefix in one.namespaces),
            key=lambda pair: -len(pair[0]),
        )

    _declared: set[tuple[str, str]] = field(init=False)
    _aliases: dict[tuple[str, str], str] = field(init=False)
    _own: dict[tuple[str, str], OwnPackage] = field(init=False)
    _prefixes: list[tuple[str, OwnPackage]] = field(init=False)

    def of(self, path: str, outer: OuterImport) -> Attributed | None:
        """Return an import with its package; None where nothing says which one it is."""
        name = self._name(outer)
        sibling = self._own.get((outer.manager, name)) if name else self._by_prefix(outer)
        if sibling is not None:
            name = sibling.name
        if not name:
            return None
        is_declared = (outer.manager, name) in self._declared
        return Attributed(path, outer, name, sibling, is_declared)

    def _by_prefix(self, outer: OuterImport) -> OwnPackage | None:
        for prefix, package in self._prefixes:
            if package.manager == outer.manager and _is_below(outer.module, prefix):
                return package
        return None

    def _name(self, outer: OuterImport) -> str:
        module, manager = outer.module, outer.manager
        named: Mapping[str, Callable[[], str]] = {
            Manager.NPM: lambda: self._npm(module),
            Manager.PYPI: lambda: self._distribution(module.partition(".")[0]),
            Manager.GO: lambda: self._longest(manager, module, "/") or _go_module(module),
            Manager.CARGO: lambda: self._crate(module.partition("::")[0]),
            Manager.GEM: lambda: self._longest(manager, module, "/") or module.partition("/")[0],
            Manager.MAVEN: lambda: self._artifact(module),
        }
        find = named.get(manager)
        return find() if find else self._longest(manager, module.lower(), ".")

    def _npm(self, module: str) -> str:
        name = "/".join(module.split("/")[: 2 if module.startswith("@") else 1])
        return self._aliases.get((Manager.NPM.value, name), name)

    def _crate(self, crate: str) -> str:
        for name in (crate, crate.replace("_", "-")):
            known = self._aliases.get((Manager.CARGO.value, name), name)
            if self._is_known(Manager.CARGO, known):
                return known
        return ""

    def _artifact(self, module: str) -> str:
        """Return the one artifact of the longest group that begins a class's package."""
        names = [name for manager, name in self._declared if manager == Manager.MAVEN]
        groups = {group for name in names if _is_below(module, group := name.partition(":")[0])}
        longest = max(groups, key=len, default="")
        artifacts = [name for name in names if longest and name.startswith(f"{longest}:")]
        return artifacts[0] if len(artifacts) == 1 else ""

    def _is_known(self, manager: Manager, name: str) -> bool:
        return (manager.value, name) in self._declared or (manager.value, name) in self._own

    def _distribution(self, top: str) -> str:
        if top in self.modules:
            return self.modules[top].name
        name = normalized(Manager.PYPI, top).strip("-")
        if (Manager.PYPI.value, name) in self._declared:
            return name
        known = _DISTRIBUTIONS.get(name)
        if known and (Manager.PYPI.value, known) in self._declared:
            return known
        for prefix in ("python-", "py"):
            if (Manager.PYPI.value, prefix + name) in self._declared:
                return prefix + name
        return known or name

    def _longest(self, manager: str, module: str, separator: str) -> str:
        names = [name for one, name in (*self._declared, *self._own) if one == manager]
        fits = [n for n in names if module == n or module.startswith(n + separator)]
        return max(fits, key=len, default="")


def modules_of_siblings(
    *, tops: Collection[str], siblings: Collection[OwnPackage]
) -> dict[str, OwnPackage]:
    """Return top-level Python module -> the sibling's package that has it, by its files."""
    packages = [one for one in siblings if one.manager == Manager.PYPI]
    places = {
        (one.repository_id, posixpath.join(one.directory, root, tail)): (top, one)
        for one in packages
        for top in tops
        for root in ("", "src", "lib", "python")
        for tail in (f"{top}/__init__.py", f"{top}.py")
    }
    rows = FileVersion.objects.filter(
        repository_id__in={one.repository_id for one in packages},
        layer=DEFAULT_LAYER,
        valid_to=None,
        file__path__in={path for _, path in places},
    ).values_list("repository_id", "file__path")
    return dict(places[row] for row in rows if row in places)


def meant_by_compiler(package: OwnPackage, use: OuterTarget) -> OuterImport | None:
    """Return the import that a compiler's external symbol amounts to.

    A constructor is its type. The modules of npm's packages are the files that were built, which
    the sources lack: there the package stands for them.
    """
    parts = parts_of_key(use.key, package=use.package)
    names = [part.name for part in parts if part.suffix is not Suffix.NAMESPACE]
    if names and parts[-1].is_constructor and len(names) > 1:
        names.pop()
    if not names:
        return None
    modules = [part.name for part in parts if part.suffix is Suffix.NAMESPACE]
    between = "/" if package.manager == Manager.GO else "."
    module = package.name if package.manager == Manager.NPM else between.join(modules)
    return OuterImport(package.manager, module, ".".join(names), 0, ())


class SiblingSymbols:
    """Finds what uses mean in the live graphs of siblings, many at once."""

    def __init__(self, *, namespace_id: UUID) -> None:
        self._namespace_id = namespace_id

    def find(
        self, package: OwnPackage, uses: Iterable[tuple[OuterImport, OuterUse | None]]
    ) -> dict[tuple[OuterImport, OuterUse | None], Found]:
        """Return use -> symbol of the package's repository; what is not found is left out."""
        wanted = {one: list(_qualified_names(*one)) for one in uses}
        by_name = self._by_qualified_name(
            package.repository_id, {name for names in wanted.values() for name in names}
        )
        found: dict[tuple[OuterImport, OuterUse | None], Found] = {}
        open_uses = []
        for use, names in wanted.items():
            exact = next((by_name[name] for name in names if name in by_name), None)
            if exact is not None:
                found[use] = Found(*exact, _EXACT, LinkRule.QUALIFIED)
            else:
                open_uses.append(use)
        if open_uses:
            found |= self._exported(package, open_uses)
        return found

    def _by_qualified_name(
        self, repository_id: UUID, names: Collection[str]
    ) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        wanted = sorted(names)
        for start in range(0, len(wanted), _IN):
            rows = (
                _live_symbols(repository_id)
                .filter(qualified_name__in=wanted[start : start + _IN])
                .values_list(
                    "qualified_name", "symbol_id", "symbol__path", "symbol__local_name",
                    "symbol__ordinal",
                )
                .order_by("-symbol__ordinal", "symbol__path")
            )  # fmt: skip
            for name, key, path, local_name, ordinal in rows:
                found[name] = _vertex_and_id(key, path, local_name, ordinal)
        return found

    def _exported(
        self, package: OwnPackage, uses: list[tuple[OuterImport, OuterUse | None]]
    ) -> dict[tuple[OuterImport, OuterUse | None], Found]:
        """Find what a package's modules hand on, and what only one of its symbols is called."""
        names = {_first_name(*one) for one in uses} - {""}
        symbols: defaultdict[str, list[tuple[int, str, str, int]]] = defaultdict(list)
        rows = (
            _live_symbols(package.repository_id)
            .filter(symbol__name__in=names, is_test=False, symbol__local_name__in=names)
            .exclude(visibility="private")
            .values_list(
                "symbol__name", "symbol_id", "symbol__path", "symbol__local_name", "symbol__ordinal"
            )
        )
        for name, key, path, local_name, ordinal in rows:
            if not package.directory or path.startswith(package.directory + "/"):
                symbols[name].append((key, path, local_name, ordinal))
        handed_on = self._handed_on(package, uses)
        found = {}
        for use in uses:
            name = _first_name(*use)
            candidates = symbols.get(name, [])
            exported = [
                one
                for one in candidates
                if any((path, one[1], one[2]) in handed_on for path in _modules_of(package, use[0]))
            ]
            if exported:
                found[use] = Found(*_vertex_and_id(*exported[0]), _EXACT, LinkRule.EXPORTED)
            elif len(candidates) == 1 and _rest_of(*use) == "":
                found[use] = Found(*_vertex_and_id(*candidates[0]), _ONLY, LinkRule.ONLY)
        return found

    def _handed_on(
        self, package: OwnPackage, uses: list[tuple[OuterImport, OuterUse | None]]
    ) -> set[tuple[str, str, str]]:
        """Return (module's stem, path, local name) for what the modules import."""
        stems = {stem for outer, _ in uses for stem in _modules_of(package, outer)}
        files = {
            key: path
            for key, path in FileVersion.objects.filter(
                repository_id=package.repository_id, layer=DEFAULT_LAYER, valid_to=None
            ).values_list("file_id", "file__path")
            if posixpath.splitext(path)[0] in stems
        }
        return {
            (posixpath.splitext(files[one.file])[0], one.path, one.local_name)
            for one in graph.imports_of(namespace_id=self._namespace_id, files=list(files))
        }


def _live_symbols(repository_id: UUID) -> QuerySet[SymbolVersion]:
    return SymbolVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None
    )


def _qualified_names(outer: OuterImport, use: OuterUse | None) -> Iterator[str]:
    """Yield the qualified names that a use may mean, the whole one first."""
    below = ".".join(part for part in (outer.name, use.name if use else "") if part)
    module = outer.module
    if outer.manager in (Manager.CARGO, Manager.COMPOSER):
        module = re.sub(r"::|\\", ".", module)
    if below:
        yield f"{module}.{below}"
    yield module


def _first_name(outer: OuterImport, use: OuterUse | None) -> str:
    below = outer.name if outer.name not in ("", "default") else (use.name if use else "")
    return below.partition(".")[0]


def _rest_of(outer: OuterImport, use: OuterUse | None) -> str:
    below = ".".join(part for part in (outer.name, use.name if use else "") if part)
    return below.partition(".")[2]


def _modules_of(package: OwnPackage, outer: OuterImport) -> list[str]:
    """Return the stems of the files that a package's module may be."""
    directory = package.directory
    if outer.manager == Manager.PYPI:
        inner = outer.module.replace(".", "/")
        tails = (inner, f"{inner}/__init__")
        roots = (directory, *(posixpath.join(directory, one) for one in ("src", "lib", "python")))
    else:
        subpath = outer.module.removeprefix(package.name).strip("/")
        tails = (subpath, f"{subpath}/index") if subpath else ("index", "main")
        roots = (directory, *(posixpath.join(directory, one) for one in ("src", "lib")))
    return [posixpath.join(root, tail) for root in roots for tail in tails]


def _vertex_and_id(key: int, path: str, local_name: str, ordinal: int) -> tuple[int, str]:
    suffix = f"~{ordinal}" if ordinal else ""
    return graph_id(label=VertexLabel.SYMBOL, key=key), f"sym:{path}#{local_name}{suffix}"


def _is_below(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith((prefix + ".", prefix + "\\", prefix + "::"))


def _go_module(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:3]) if parts[0] in _HOSTS else "/".join(parts[:2])


_HOSTS: Final = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
