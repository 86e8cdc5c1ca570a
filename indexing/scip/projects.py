"""The project files an indexer is given instead of the repository's own: no scripts, no plug-ins.

Each function returns path -> text of files to write into the exported tree. Pure.
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexing.resolution.manifests import joined, read_manifests

_PYTHON_SOURCE_FOLDERS = ("src", "lib", "python")
_RUST_EDITIONS = frozenset({"2015", "2018", "2021", "2024"})
_GO_LINES = re.compile(r"^\s*(?:module|go)\s+.+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What one start of an indexer is about: the folder it starts in, and what is in the tree.

    `excluded` are files that it died of before; `tools` is the folder of the indexers.
    """

    directory: str
    paths: Sequence[str]
    manifests: Mapping[str, bytes]
    excluded: Sequence[str]
    tools: Path


def pyright_project(tree: Exported) -> dict[str, str]:
    """Name the source folders, so that symbols are called as importers call them."""
    known = set(tree.paths)
    projects = {"", *read_manifests(tree.manifests).python_roots}
    folders = projects | {
        joined(project, name) for project in projects for name in _PYTHON_SOURCE_FOLDERS
    }
    holding = {folder for path in known for folder in _folders(path)}
    roots = sorted(
        folder
        for folder in folders
        if folder and folder in holding and f"{folder}/__init__.py" not in known
    )
    configuration = {"extraPaths": roots, "exclude": sorted(tree.excluded)}
    # scip-python never looks at the first package of its environment (a truthiness fault).
    environment = [{"name": "none", "version": "0", "files": []}]
    return {
        "pyrightconfig.json": json.dumps(configuration),
        ".codemem-environment.json": json.dumps(environment),
    }


def typescript_project(tree: Exported) -> dict[str, str]:
    """One project over all files, with the aliases of the repository's and its packages' sources.

    An alias that two folders define differently is left out, unless the root does, too: one project
    can only follow one.
    """
    known = set(tree.paths)
    found = read_manifests(tree.manifests)
    aliases: dict[str, tuple[str, ...]] = {}
    for alias in found.aliases:
        for pattern, targets in alias.patterns.items():
            is_clear = not alias.directory or aliases.get(pattern, targets) == targets
            aliases[pattern] = targets if is_clear else ()
    for name, package in found.packages.items():
        entry = _package_entry(known, package.directory, package.entries)
        if entry:
            aliases.setdefault(name, (entry,))
    options = {
        "allowJs": True,
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "target": "esnext",
        "module": "esnext",
        "moduleResolution": "bundler",
        "allowImportingTsExtensions": True,
        "resolveJsonModule": True,
        "experimentalDecorators": True,
        "jsx": "preserve",
        "lib": ["esnext", "dom", "dom.iterable"],
        "types": [],
        "baseUrl": ".",
        "paths": {
            pattern: [f"./{target}" for target in targets]
            for pattern, targets in sorted(aliases.items())
            if targets and pattern != "*"
        },
    }
    configuration = {
        "compilerOptions": options,
        "include": ["**/*"],
        "exclude": sorted(tree.excluded),
    }
    return {"tsconfig.json": json.dumps(configuration), "package.json": "{}"}


def go_project(tree: Exported) -> dict[str, str]:
    """Keep the module's name and language version: what is required cannot be had here."""
    path = posixpath.join(tree.directory, "go.mod")
    text = tree.manifests[path].decode("utf-8", "replace")
    return {path: "\n".join(_GO_LINES.findall(text)) + "\n"}


def rust_project(tree: Exported) -> dict[str, str]:
    """Describe the workspace's crates for rust-analyzer, so that cargo need not run."""
    known = set(tree.paths)
    packages = [
        found
        for path, text in sorted(tree.manifests.items())
        if posixpath.basename(path) == "Cargo.toml"
        and (found := _rust_package(posixpath.dirname(path), text))
    ]
    workspace = _rust_workspace(tree.manifests)
    crates: list[dict[str, Any]] = []
    libraries: dict[str, int] = {}
    for directory, table in packages:
        root = _rust_library(known, directory, table)
        if root:
            libraries[directory] = len(crates)
            crates.append(_rust_crate(root, _rust_name(table), table, workspace))
    for directory, table in packages:
        own = _rust_dependencies(directory, table, workspace, libraries)
        if directory in libraries:
            crates[libraries[directory]]["deps"] = own
            own = [*own, {"crate": libraries[directory], "name": _rust_name(table)}]
        for root in _rust_programs(known, directory, table):
            name = _identifier(posixpath.splitext(posixpath.basename(root))[0])
            crate = _rust_crate(root, name, table, workspace)
            crate["deps"] = own
            crates.append(crate)
    project: dict[str, Any] = {"crates": crates}
    standard_library = tree.tools.parent / "rust-src" / "library"
    if standard_library.is_dir():
        project["sysroot_src"] = str(standard_library)
    return {"rust-project.json": json.dumps(project)} if crates else {}


def java_sources(tree: Exported) -> dict[str, str]:
    """List the sources for javac; a module descriptor would hide what it does not name."""
    left_out = set(tree.excluded)
    sources = [
        path
        for path in tree.paths
        if path.endswith(".java") and path not in left_out and not path.endswith("module-info.java")
    ]
    return {".codemem-sources": "".join(f'"{path}"\n' for path in sources)}


def nothing(tree: Exported) -> dict[str, str]:  # noqa: ARG001
    return {}


def _folders(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def _package_entry(
    known: set[str], directory: str, entries: Mapping[str, tuple[str, ...]]
) -> str | None:
    named = [joined(directory, entry) for entry in entries.get("", ())]
    usual = [joined(directory, stem) for stem in ("src/index", "index", "lib/index")]
    # What packages name as their entry is built from the sources, and mostly is not in the tree.
    for candidate in (*(stem + end for stem in usual for end in (".ts", ".tsx")), *named):
        if candidate in known:
            return candidate
    return None


def _toml(text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(text.decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _rust_package(directory: str, text: bytes) -> tuple[str, dict[str, Any]] | None:
    table = _toml(text)
    return (directory, table) if isinstance(table.get("package"), dict) else None


def _rust_workspace(manifests: Mapping[str, bytes]) -> dict[str, Any]:
    workspace = _toml(manifests.get("Cargo.toml", b"")).get("workspace")
    return workspace if isinstance(workspace, dict) else {}


def _rust_name(table: Mapping[str, Any]) -> str:
    library = table.get("lib")
    named = library.get("name") if isinstance(library, dict) else None
    return _identifier(str(named or table["package"].get("name") or "crate"))


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _rust_library(known: set[str], directory: str, table: Mapping[str, Any]) -> str | None:
    library = table.get("lib")
    named = library.get("path") if isinstance(library, dict) else None
    root = joined(directory, named if isinstance(named, str) else "src/lib.rs")
    return root if root in known else None


def _rust_programs(known: set[str], directory: str, table: Mapping[str, Any]) -> list[str]:
    """Return the roots of programs, tests, examples and benches: declared ones, then found ones."""
    roots: dict[str, None] = {}
    for kind in ("bin", "test", "example", "bench"):
        targets = table.get(kind)
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, dict) and isinstance(target.get("path"), str):
                roots[joined(directory, target["path"])] = None
    prefix = f"{directory}/" if directory else ""
    for path in sorted(known):
        if path.startswith(prefix) and re.fullmatch(
            r"(?:src/main|build|(?:src/bin|tests|examples|benches)/(?:[^/]+|[^/]+/main))\.rs",
            path[len(prefix) :],
        ):
            roots[path] = None
    return [root for root in roots if root in known]


def _rust_crate(
    root: str, name: str, table: Mapping[str, Any], workspace: Mapping[str, Any]
) -> dict[str, Any]:
    package = table["package"]
    edition = package.get("edition")
    if isinstance(edition, dict):
        shared = workspace.get("package")
        edition = shared.get("edition") if isinstance(shared, dict) else None
    features = table.get("features")
    return {
        "display_name": name,
        "root_module": root,
        "edition": edition if edition in _RUST_EDITIONS else "2021",
        "deps": [],
        "cfg": ["test", "debug_assertions", "unix", 'target_os="linux"', 'target_family="unix"']
        + [f'feature="{feature}"' for feature in (features if isinstance(features, dict) else ())],
        "is_workspace_member": True,
        "source": {"include_dirs": [posixpath.dirname(root) or "."], "exclude_dirs": []},
    }


def _rust_dependencies(
    directory: str,
    table: Mapping[str, Any],
    workspace: Mapping[str, Any],
    libraries: Mapping[str, int],
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    shared = workspace.get("dependencies")
    shared = shared if isinstance(shared, dict) else {}
    for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
        dependencies = table.get(kind)
        for name, wanted in (dependencies if isinstance(dependencies, dict) else {}).items():
            base = directory
            if isinstance(wanted, dict) and wanted.get("workspace") is True:
                wanted, base = shared.get(name), ""  # noqa: PLW2901
            path = wanted.get("path") if isinstance(wanted, dict) else None
            if isinstance(path, str) and joined(base, path) in libraries:
                alias = _identifier(name)
                found[alias] = {"crate": libraries[joined(base, path)], "name": alias}
    return list(found.values())
