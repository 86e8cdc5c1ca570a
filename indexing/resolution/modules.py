"""Which module a file belongs to and which module an import's text means, scheme by scheme.

A scheme is the only code a language may need beyond its row and its queries.
"""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from indexing.facts import BlobFacts
from indexing.languages import ImportScheme, language_named
from indexing.resolution.manifests import Manifests, joined, read_manifests
from indexing.resolution.program import Module


class Scheme(Protocol):
    """One way of naming modules, over all files of the languages that use it."""

    def module_of(self, path: str) -> Module:
        """Return the module that a file is, or is part of."""

    def qualifier(self, path: str) -> str:
        """Return the module path that begins the qualified names of a file's symbols."""

    def locate(self, importer: str, text: str) -> Module | None:
        """Return the module that `text`, imported in the file `importer`, means."""

    def child(self, module: Module, name: str) -> Module | None:
        """Return the module `name` below a module, as in `package.module`."""

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        """Yield the names that importing a whole module without an alias binds."""


class Modules:
    """All schemes behind one face: each file is answered by its language's scheme."""

    def __init__(self, files: Mapping[str, BlobFacts], manifests: Mapping[str, bytes]) -> None:
        known = read_manifests(manifests)
        families: defaultdict[tuple[ImportScheme, str], dict[str, BlobFacts]] = defaultdict(dict)
        for path in sorted(files):
            language = language_named(files[path].language)
            families[language.imports, language.family][path] = files[path]
        self._scheme_of: dict[str, Scheme] = {}
        for (scheme, _family), members in families.items():
            self._scheme_of.update(dict.fromkeys(members, _SCHEMES[scheme](members, known)))
        self.of = {path: scheme.module_of(path) for path, scheme in self._scheme_of.items()}
        self._scheme_of_module = {self.of[path]: self._scheme_of[path] for path in self.of}

    def qualifier(self, path: str) -> str:
        return self._scheme_of[path].qualifier(path)

    def locate(self, importer: str, text: str) -> Module | None:
        return self._scheme_of[importer].locate(importer, text)

    def child(self, module: Module, name: str) -> Module | None:
        return self._scheme_of_module[module].child(module, name)

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        return self._scheme_of[importer].bound_names(importer, text)


class DottedModules:
    """Python: `package.module` below a source root; a file is a module."""

    _SOURCE_FOLDERS = ("src", "lib", "python")
    _SUFFIXES = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyw")

    def __init__(self, files: Mapping[str, BlobFacts], manifests: Manifests) -> None:
        self._paths = frozenset(files)
        self._roots = self._source_roots(manifests)
        self._names = {path: self._name_of(path) for path in self._paths}
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self._paths, key=lambda path: (path.endswith("i"), path)):
            for name in self._import_names(path):
                self._named[name].append(path)

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        return self._names[path]

    def locate(self, importer: str, text: str) -> Module | None:
        if text.startswith("."):
            return self._relative(importer, text)
        candidates = self._named.get(text, ())
        # Of several `tests.conftest` in one repository, the importer means the nearest.
        nearest = max(candidates, key=lambda path: _shared_folders(path, importer), default=None)
        return Module(nearest) if nearest else None

    def child(self, module: Module, name: str) -> Module | None:
        folder, base = posixpath.split(module.key)
        return self._file(joined(folder, name)) if base.startswith("__init__.") else None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        names = text.split(".")
        for end in range(1, len(names) + 1):
            prefix = ".".join(names[:end])
            yield prefix, self.locate(importer, prefix)

    def _relative(self, importer: str, text: str) -> Module | None:
        rest = text.lstrip(".")
        folder = posixpath.dirname(importer)
        for _ in range(len(text) - len(rest) - 1):
            folder = posixpath.dirname(folder)
        return self._file(joined(folder, rest.replace(".", "/")) if rest else folder)

    def _file(self, base: str) -> Module | None:
        for suffix in self._SUFFIXES:
            path = (base + suffix).removeprefix("/")
            if path in self._paths:
                return Module(path)
        return None

    def _source_roots(self, manifests: Manifests) -> list[str]:
        projects = {"", *manifests.python_roots}
        folders = {joined(project, name) for project in projects for name in self._SOURCE_FOLDERS}
        sources = {folder for folder in folders if f"{folder}/__init__.py" not in self._paths}
        return sorted(projects | sources, key=lambda root: (-len(root), root))

    def _name_of(self, path: str) -> str:
        root = next(root for root in self._roots if not root or path.startswith(root + "/"))
        return _dotted(path[len(root) :].strip("/"))

    def _import_names(self, path: str) -> Iterable[str]:
        """Return the module's name, and its name seen from the folder above its packages."""
        folder = posixpath.dirname(path)
        while folder and f"{folder}/__init__.py" in self._paths:
            folder = posixpath.dirname(folder)
        return dict.fromkeys((self._names[path], _dotted(path[len(folder) :].strip("/"))))


class PathModules:
    """JavaScript and TypeScript: relative paths, tsconfig aliases, packages of the workspace."""

    _SUFFIXES = (
        "",
        ".ts",
        ".tsx",
        ".d.ts",
        ".js",
        ".jsx",
        ".mts",
        ".mjs",
        ".cts",
        ".cjs",
        "/index.ts",
        "/index.tsx",
        "/index.d.ts",
        "/index.js",
        "/index.jsx",
        "/index.mjs",
    )
    _SOURCE_OF_OUTPUT = ((".js", (".ts", ".tsx")), (".jsx", (".tsx",)), (".mjs", (".mts",)))
    _OUTPUT_FOLDERS = frozenset({"dist", "lib", "build", "out", "cjs", "esm", "es"})
    _PACKAGE_ENTRIES = ("src/index", "index", "lib/index", "src/main", "main")

    def __init__(self, files: Mapping[str, BlobFacts], manifests: Manifests) -> None:
        self._paths = frozenset(files)
        self._manifests = manifests

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        return posixpath.splitext(path)[0].removesuffix(".d")

    def locate(self, importer: str, text: str) -> Module | None:
        if text.startswith("."):
            return self._file(joined(posixpath.dirname(importer), text))
        return self._aliased(importer, text) or self._packaged(text)

    def child(self, module: Module, name: str) -> Module | None:  # noqa: ARG002
        return None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:  # noqa: ARG002
        return iter(())

    def _aliased(self, importer: str, text: str) -> Module | None:
        for aliases in self._manifests.aliases:
            if aliases.directory and not importer.startswith(aliases.directory + "/"):
                continue
            for pattern, targets in aliases.patterns.items():
                found = _matched(pattern, text)
                for target in targets if found is not None else ():
                    module = self._file(target.replace("*", found or "", 1))
                    if module:
                        return module
        return None

    def _packaged(self, text: str) -> Module | None:
        name = "/".join(text.split("/")[: 2 if text.startswith("@") else 1])
        package = self._manifests.packages.get(name)
        if not package:
            return None
        subpath = text[len(name) :].strip("/")
        inner = [*self._sources_of(package.entries.get(subpath, ()))]
        inner += [f"src/{subpath}", subpath] if subpath else self._PACKAGE_ENTRIES
        for candidate in inner:
            module = self._file(joined(package.directory, candidate))
            if module:
                return module
        return None

    def _sources_of(self, entries: Iterable[str]) -> Iterator[str]:
        """Yield what built entry points were built from: `dist/server.d.ts` -> `src/server`."""
        for entry in entries:
            yield entry
            base = entry.removesuffix(".d.ts") if entry.endswith(".d.ts") else entry
            stem = posixpath.splitext(base)[0]
            folder, _, rest = stem.partition("/")
            if folder in self._OUTPUT_FOLDERS and rest:
                yield f"src/{rest}"

    def _file(self, base: str) -> Module | None:
        for suffix in self._SUFFIXES:
            if base + suffix in self._paths:
                return Module(base + suffix)
        for output, sources in self._SOURCE_OF_OUTPUT:
            stem = base.removesuffix(output)
            for source in sources if stem != base else ():
                if stem + source in self._paths:
                    return Module(stem + source)
        return None


class PackageModules:
    """Go: a package is a directory; its import path is go.mod's module path and the directory."""

    _TEST_PACKAGE = "_test"

    def __init__(self, files: Mapping[str, BlobFacts], manifests: Manifests) -> None:
        self._packages = {path: facts.package for path, facts in files.items()}
        self._module_paths = sorted(
            manifests.go_modules.items(), key=lambda item: len(item[1]), reverse=True
        )
        self._of_directory: dict[str, Module] = {}
        for path in sorted(files):
            if not self._packages[path].endswith(self._TEST_PACKAGE):
                self._of_directory.setdefault(posixpath.dirname(path), self.module_of(path))

    def module_of(self, path: str) -> Module:
        return Module(f"{posixpath.dirname(path)}#{self._packages[path]}")

    def qualifier(self, path: str) -> str:
        directory = posixpath.dirname(path)
        for module_path, root in self._module_paths:
            if not root or directory == root or directory.startswith(root + "/"):
                return posixpath.join(module_path, directory[len(root) :].strip("/")).rstrip("/")
        return directory or self._packages[path]

    def locate(self, importer: str, text: str) -> Module | None:  # noqa: ARG002
        for module_path, root in self._module_paths:
            if text == module_path or text.startswith(module_path + "/"):
                directory = joined(root, text[len(module_path) :].strip("/"))
                if directory in self._of_directory:
                    return self._of_directory[directory]
        return None

    def child(self, module: Module, name: str) -> Module | None:  # noqa: ARG002
        return None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        module = self.locate(importer, text)
        yield (module.key.rpartition("#")[2] if module else _go_package_name(text)), module


_SCHEMES: dict[ImportScheme, type[DottedModules | PathModules | PackageModules]] = {
    ImportScheme.DOTTED: DottedModules,
    ImportScheme.RELATIVE_PATH: PathModules,
    ImportScheme.PACKAGE_PATH: PackageModules,
}


def _dotted(path: str) -> str:
    parts = posixpath.splitext(path)[0].split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _shared_folders(path: str, other: str) -> int:
    return len(posixpath.commonprefix([path.split("/")[:-1], other.split("/")[:-1]]))


def _matched(pattern: str, text: str) -> str | None:
    """Return what `*` stands for when `text` matches a tsconfig pattern, None when it does not."""
    head, star, tail = pattern.partition("*")
    if not star:
        return "" if text == pattern else None
    fits = len(text) >= len(head) + len(tail) and text.startswith(head) and text.endswith(tail)
    return text[len(head) : len(text) - len(tail)] if fits else None


def _go_package_name(text: str) -> str:
    """Guess an external package's name: the last segment that is not a major version."""
    segments = [part for part in text.split("/") if not (part[:1] == "v" and part[1:].isdigit())]
    return (segments or [text])[-1].partition(".")[0]
