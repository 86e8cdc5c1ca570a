"""Which module a file belongs to and which module an import's text means, scheme by scheme.

A scheme is the only code a language may need beyond its row and its queries.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from indexing.facts import BlobFacts
from indexing.languages import ImportScheme, language_named
from indexing.resolution.manifests import Manifests, joined
from indexing.resolution.reading import Key, Reading
from indexing.resolution.things import Module


class Scheme(Protocol):
    """One way of naming modules, over all files of one family of languages.

    Finds files by the keys that they offer and by nothing else, so that it need not know them all
    and it shows on which of them an answer depends.
    """

    def __init__(self, files: "Files", manifests: Manifests) -> None: ...

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:
        """Yield the keys by which `locate` and the others find a file: what it may be called."""

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:
        """Return the key of the module that a file is (its path), or is part of."""

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

    def bare(self, importer: str, name: str) -> Module | None:
        """Return the module that a name means which nothing in the file explains."""

    def surroundings(self, path: str) -> Iterator[Module]:
        """Yield the modules whose names are visible in a file without an import, nearest first."""


class Unasked:
    """What most schemes answer to the questions that few languages raise."""

    def child(self, module: Module, name: str) -> Module | None:  # noqa: ARG002
        return None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:  # noqa: ARG002
        return iter(())

    def bare(self, importer: str, name: str) -> Module | None:  # noqa: ARG002
        return None

    def surroundings(self, path: str) -> Iterator[Module]:  # noqa: ARG002
        return iter(())


class Files:
    """The files of one family as a scheme finds them; every look-up is noted as a dependency."""

    def __init__(self, reading: Reading, family: str) -> None:
        self.reading = reading
        self._family = family

    def offering(self, *key: str) -> Sequence[str]:
        """Return the files that offer a key, sorted."""
        return self.reading.providers((self._family, *key))

    def facts(self, path: str) -> BlobFacts:
        """Return what a file says that the answer depends on already: one of those offering."""
        facts = self.reading.tree.facts(path)
        if facts is None:
            raise KeyError(path)
        return facts


class Modules:
    """All schemes behind one face: each file is answered by its language's scheme."""

    def __init__(self, reading: Reading, manifests: Manifests) -> None:
        self._reading = reading
        self._manifests = manifests
        self._schemes: dict[tuple[ImportScheme, str], Scheme] = {}
        self._scheme_of: dict[str, Scheme] = {}
        self._scheme_of_module: dict[Module, Scheme] = {}

    def of(self, path: str) -> Module:
        scheme = self._scheme(path)
        return self._known(scheme, scheme.module_of(path))

    def qualifier(self, path: str) -> str:
        return self._scheme(path).qualifier(path)

    def locate(self, importer: str, text: str) -> Module | None:
        scheme = self._scheme(importer)
        found = scheme.locate(importer, text)
        return self._known(scheme, found) if found else None

    def child(self, module: Module, name: str) -> Module | None:
        scheme = self._scheme_of_module[module]
        found = scheme.child(module, name)
        return self._known(scheme, found) if found else None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        scheme = self._scheme(importer)
        for name, module in scheme.bound_names(importer, text):
            yield name, self._known(scheme, module) if module else None

    def bare(self, importer: str, name: str) -> Module | None:
        scheme = self._scheme(importer)
        found = scheme.bare(importer, name)
        return self._known(scheme, found) if found else None

    def surroundings(self, path: str) -> Iterator[Module]:
        scheme = self._scheme(path)
        for module in scheme.surroundings(path):
            yield self._known(scheme, module)

    def _known(self, scheme: Scheme, module: Module) -> Module:
        self._scheme_of_module[module] = scheme
        return module

    def _scheme(self, path: str) -> Scheme:
        known = self._scheme_of.get(path)
        if known is None:
            facts = self._reading.tree.facts(path)
            if facts is None:
                raise KeyError(path)
            language = language_named(facts.language)
            kind = (language.imports, language.family)
            known = self._schemes.get(kind)
            if known is None:
                files = Files(self._reading, language.family)
                known = self._schemes[kind] = _SCHEMES[language.imports](files, self._manifests)
            self._scheme_of[path] = known
        return known


def offers(path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:
    """Yield the keys by which schemes find a file, and the module that it is part of."""
    language = language_named(facts.language)
    scheme = _SCHEMES[language.imports]
    for key in scheme.offers(path, facts, manifests):
        yield (language.family, *key)
    module = scheme.name_of(path, facts)
    if module != path:
        yield ("module", module)


def name_of(path: str, facts: BlobFacts) -> str:
    """Return the key of the module that a file is, or is part of; its content says so."""
    return _SCHEMES[language_named(facts.language).imports].name_of(path, facts)


class DottedModules(Unasked):
    """Python: `package.module` below a source root; a file is a module."""

    _SOURCE_FOLDERS = ("src", "lib", "python")
    _SUFFIXES = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyw")

    def __init__(self, files: Files, manifests: Manifests) -> None:
        self._files = files
        self._projects = {"", *manifests.python_roots}

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        for suffix in cls._SUFFIXES:
            if path.endswith(suffix):
                yield ("base", path.removesuffix(suffix))
        if path.startswith("__init__."):
            yield ("base", "")
        name = _dotted(path)
        while name:
            yield ("name", name)
            name = name.partition(".")[2]

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return path

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        """Return the module's name below the source root that is nearest to it."""
        folder = posixpath.dirname(path)
        while folder and not self._is_root(folder):
            folder = posixpath.dirname(folder)
        return _dotted(path[len(folder) :].strip("/"))

    def locate(self, importer: str, text: str) -> Module | None:
        if text.startswith("."):
            return self._relative(importer, text)
        found = [path for path in self._files.offering("name", text) if self._is_called(path, text)]
        # Of several `tests.conftest` in one repository, the importer means the nearest.
        found.sort(key=lambda path: (path.endswith("i"), path))
        nearest = max(found, key=lambda path: _shared_folders(path, importer), default=None)
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
        paths = self._files.offering("base", base)
        for suffix in self._SUFFIXES:
            path = (base + suffix).removeprefix("/")
            if path in paths:
                return Module(path)
        return None

    def _is_root(self, folder: str) -> bool:
        if folder in self._projects:
            return True
        parent, name = posixpath.split(folder)
        is_source = name in self._SOURCE_FOLDERS and parent in self._projects
        return is_source and not self._is_package(folder)

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._files.offering("base", folder)

    def _is_called(self, path: str, text: str) -> bool:
        """Tell whether imports may call a file so: from its root, or from above its packages."""
        unknown: tuple[str, ...] = ()
        return text in self._files.reading.answer(("called", path), "", unknown, self._names, path)

    def _names(self, path: str) -> tuple[str, ...]:
        folder = posixpath.dirname(path)
        while folder and self._is_package(folder):
            folder = posixpath.dirname(folder)
        return self.qualifier(path), _dotted(path[len(folder) :].strip("/"))


class PathModules(Unasked):
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

    def __init__(self, files: Files, manifests: Manifests) -> None:
        self._files = files
        self._manifests = manifests

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        for suffix in cls._SUFFIXES:
            if path.endswith(suffix):
                yield ("base", path.removesuffix(suffix))

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return path

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        return posixpath.splitext(path)[0].removesuffix(".d")

    def locate(self, importer: str, text: str) -> Module | None:
        if text.startswith("."):
            return self._file(joined(posixpath.dirname(importer), text))
        return self._aliased(importer, text) or self._packaged(text)

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
        paths = self._files.offering("base", base)
        for suffix in self._SUFFIXES if paths else ():
            if base + suffix in paths:
                return Module(base + suffix)
        for output, sources in self._SOURCE_OF_OUTPUT:
            stem = base.removesuffix(output)
            if stem != base:
                paths = self._files.offering("base", stem)
                for source in sources:
                    if stem + source in paths:
                        return Module(stem + source)
        return None


class PackageModules(Unasked):
    """Go: a package is a directory; its import path is go.mod's module path and the directory."""

    _TEST_PACKAGE = "_test"

    def __init__(self, files: Files, manifests: Manifests) -> None:
        self._files = files
        self._module_paths = sorted(
            manifests.go_modules.items(), key=lambda item: len(item[1]), reverse=True
        )

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        if not facts.package.endswith(cls._TEST_PACKAGE):
            # With the package's name, because it names the module that is found in the directory.
            yield ("directory", posixpath.dirname(path))

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:
        return f"{posixpath.dirname(path)}#{facts.package}"

    def module_of(self, path: str) -> Module:
        return Module(self.name_of(path, self._files.facts(path)))

    def qualifier(self, path: str) -> str:
        directory = posixpath.dirname(path)
        for module_path, root in self._module_paths:
            if not root or directory == root or directory.startswith(root + "/"):
                return posixpath.join(module_path, directory[len(root) :].strip("/")).rstrip("/")
        return directory or self._files.facts(path).package

    def locate(self, importer: str, text: str) -> Module | None:  # noqa: ARG002
        for module_path, root in self._module_paths:
            if text == module_path or text.startswith(module_path + "/"):
                directory = joined(root, text[len(module_path) :].strip("/"))
                paths = self._files.offering("directory", directory)
                if paths:
                    return self.module_of(paths[0])
        return None

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        module = self.locate(importer, text)
        yield (module.key.rpartition("#")[2] if module else _go_package_name(text)), module


class CrateModules(Unasked):
    """Rust: a tree of files below each crate's root file; `mod` makes the branches."""

    _ROOTS = ("lib.rs", "main.rs")
    _OWN_CRATES = ("tests", "benches", "examples", "bin")

    def __init__(self, files: Files, manifests: Manifests) -> None:
        self._files = files
        self._crates = manifests.crates

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        yield ("base", path.removesuffix(".rs"))

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return path

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        root = self._root_folder(path)
        crate = posixpath.dirname(root) if posixpath.basename(root) == "src" else root
        names = {folder: name for name, folder in self._crates.items()}
        inner = self._folder(path)[len(root) :].strip("/").replace("/", ".")
        name = names.get(crate) or posixpath.basename(crate)
        return ".".join(filter(None, [name, inner])) or path.removesuffix(".rs")

    def locate(self, importer: str, text: str) -> Module | None:
        names = [name for name in text.split(".") if name]
        if not names:
            return None
        found = self.bare(importer, names[0])
        for name in names[1:]:
            if found is None:
                return None
            found = self._parent(found.key) if name == "super" else self.child(found, name)
        return found

    def child(self, module: Module, name: str) -> Module | None:
        folder = self._folder(module.key)
        return self._file(joined(folder, name)) or self._file(joined(folder, f"{name}/mod"))

    def bound_names(self, importer: str, text: str) -> Iterator[tuple[str, Module | None]]:
        yield text, self.child(Module(importer), text)

    def bare(self, importer: str, name: str) -> Module | None:
        if name == "crate":
            return self._root(importer)
        if name == "self":
            return Module(importer)
        if name == "super":
            return self._parent(importer)
        return self.child(Module(importer), name) or self._crate(name)

    def _crate(self, name: str) -> Module | None:
        folder = self._crates.get(name)
        if folder is None:
            return None
        return self._file(joined(folder, "src/lib")) or self._file(joined(folder, "lib"))

    def _root(self, path: str) -> Module | None:
        folder = self._root_folder(path)
        for root in self._ROOTS:
            found = self._file(joined(folder, root.removesuffix(".rs")))
            if found:
                return found
        return Module(path)

    def _parent(self, path: str) -> Module | None:
        folder = posixpath.dirname(self._folder(path))
        if self._folder(path) == self._root_folder(path):
            return None
        if folder == self._root_folder(path):
            return self._root(path)
        return self._file(folder) or self._file(joined(folder, "mod"))

    def _root_folder(self, path: str) -> str:
        """Return the folder of the crate's root file: `src`, or that of a test of its own."""
        parts = path.split("/")[:-1]
        for end in range(len(parts), 0, -1):
            if parts[end - 1] in self._OWN_CRATES or parts[end - 1] == "src":
                return "/".join(parts[:end])
        return "/".join(parts)

    def _folder(self, path: str) -> str:
        """Return the folder where a module's children stand."""
        folder, base = posixpath.split(path)
        if base in (*self._ROOTS, "mod.rs") or posixpath.basename(folder) in self._OWN_CRATES:
            return folder
        return path.removesuffix(".rs")

    def _file(self, base: str) -> Module | None:
        paths = self._files.offering("base", base)
        return Module(paths[0]) if paths else None


class DeclaredModules(Unasked):
    """Java, Kotlin, Scala, C#, PHP: files that declare the same package or namespace."""

    def __init__(self, files: Files, manifests: Manifests) -> None:  # noqa: ARG002
        self._files = files

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        yield ("package", facts.package)

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return f"{facts.package}#{language_named(facts.language).family}"

    def module_of(self, path: str) -> Module:
        return Module(self.name_of(path, self._files.facts(path)))

    def qualifier(self, path: str) -> str:
        return self._files.facts(path).package or posixpath.splitext(path)[0].replace("/", ".")

    def locate(self, importer: str, text: str) -> Module | None:  # noqa: ARG002
        paths = self._files.offering("package", text)
        return self.module_of(paths[0]) if paths else None

    def child(self, module: Module, name: str) -> Module | None:
        return self.locate("", f"{module.key.partition('#')[0]}.{name}")

    def surroundings(self, path: str) -> Iterator[Module]:
        facts = self._files.facts(path)
        package = facts.package
        while package and language_named(facts.language).sees_outer_packages:
            package = package.rpartition(".")[0]
            found = self.locate(path, package)
            if found:
                yield found


class ConstantModules(Unasked):
    """Ruby: what is loaded is visible everywhere; requiring a file only says that it is used."""

    _LOAD_FOLDERS = frozenset({"lib", "app", "test", "spec"})

    def __init__(self, files: Files, manifests: Manifests) -> None:  # noqa: ARG002
        self._files = files

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        base = posixpath.splitext(path)[0]
        yield ("base", base)
        parts = base.split("/")
        for end in range(len(parts) - 1, 0, -1):
            if parts[end - 1] in cls._LOAD_FOLDERS:
                yield ("load", "/".join(parts[end:]))
                return

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return f"#{language_named(facts.language).family}"

    def module_of(self, path: str) -> Module:
        return Module(self.name_of(path, self._files.facts(path)))

    def qualifier(self, path: str) -> str:
        return posixpath.splitext(path)[0]

    def locate(self, importer: str, text: str) -> Module | None:
        text = text.removesuffix(".rb")
        beside = self._files.offering("base", joined(posixpath.dirname(importer), text))
        found = beside or self._files.offering("load", text)
        nearest = max(found, key=lambda path: _shared_folders(path, importer), default=None)
        return Module(nearest) if nearest else None


class IncludeModules(Unasked):
    """C and C++: names are linked across the whole program; an include names a file."""

    def __init__(self, files: Files, manifests: Manifests) -> None:  # noqa: ARG002
        self._files = files

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        yield ("file", posixpath.basename(path))

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return f"#{language_named(facts.language).family}"

    def module_of(self, path: str) -> Module:
        return Module(self.name_of(path, self._files.facts(path)))

    def qualifier(self, path: str) -> str:
        return posixpath.splitext(path)[0]

    def locate(self, importer: str, text: str) -> Module | None:
        beside = joined(posixpath.dirname(importer), text)
        wanted = "/" + text.lstrip("./")
        found = [
            path
            for path in self._files.offering("file", posixpath.basename(text))
            if path == beside or ("/" + path).endswith(wanted)
        ]
        if beside in found:
            return Module(beside)
        nearest = max(found, key=lambda path: _shared_folders(path, importer), default=None)
        return Module(nearest) if nearest else None


class TargetModules(Unasked):
    """Swift: the files of a build target share one scope; a package's targets are its folders."""

    _TARGET_FOLDERS = frozenset({"Sources", "Tests"})

    def __init__(self, files: Files, manifests: Manifests) -> None:  # noqa: ARG002
        self._files = files

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        yield ("target", posixpath.basename(cls._folder(path)))

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:
        return f"{cls._folder(path)}#{language_named(facts.language).family}"

    def module_of(self, path: str) -> Module:
        return Module(self.name_of(path, self._files.facts(path)))

    def qualifier(self, path: str) -> str:
        folder = self._folder(path)
        name = posixpath.basename(folder)
        inner = posixpath.splitext(path[len(folder) :].strip("/"))[0].replace("/", ".")
        return ".".join(filter(None, [name, inner]))

    def locate(self, importer: str, text: str) -> Module | None:  # noqa: ARG002
        paths = self._files.offering("target", text)
        return self.module_of(paths[0]) if paths else None

    @classmethod
    def _folder(cls, path: str) -> str:
        parts = path.split("/")
        for place, name in enumerate(parts[:-2]):
            if name in cls._TARGET_FOLDERS:
                return "/".join(parts[: place + 2])
        return ""


class FileModules(Unasked):
    """Terraform, Markdown, YAML: every file for itself."""

    def __init__(self, files: Files, manifests: Manifests) -> None: ...

    @classmethod
    def offers(cls, path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:  # noqa: ARG003
        return iter(())

    @classmethod
    def name_of(cls, path: str, facts: BlobFacts) -> str:  # noqa: ARG003
        return path

    def module_of(self, path: str) -> Module:
        return Module(path)

    def qualifier(self, path: str) -> str:
        return path

    def locate(self, importer: str, text: str) -> Module | None:  # noqa: ARG002
        return None


_SCHEMES: dict[ImportScheme, type[Scheme]] = {
    ImportScheme.DOTTED: DottedModules,
    ImportScheme.RELATIVE_PATH: PathModules,
    ImportScheme.PACKAGE_PATH: PackageModules,
    ImportScheme.CRATE: CrateModules,
    ImportScheme.DECLARED: DeclaredModules,
    ImportScheme.CONSTANTS: ConstantModules,
    ImportScheme.INCLUDE: IncludeModules,
    ImportScheme.TARGET: TargetModules,
    ImportScheme.NONE: FileModules,
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
