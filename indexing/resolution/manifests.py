"""What project files say about how imports find files, in the manifests of six ecosystems.

A manifest that cannot be read counts as absent: it is the repository's, and may be broken.
"""

import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NAMES = frozenset(
    {"package.json", "tsconfig.json", "jsconfig.json", "go.mod", "pyproject.toml", "setup.cfg"}
    | {"Cargo.toml"}
)

_GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_JSON_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One workspace package: its directory and the files its entry points name, without `./`."""

    directory: str
    entries: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAliases:
    """`paths` of one tsconfig: patterns with at most one `*` to patterns from the root."""

    directory: str
    patterns: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """All that is known from project files; directories are "" for the repository's root."""

    packages: Mapping[str, Package] = field(default_factory=dict)
    aliases: tuple[PathAliases, ...] = ()
    go_modules: Mapping[str, str] = field(default_factory=dict)
    python_roots: frozenset[str] = frozenset()
    crates: Mapping[str, str] = field(default_factory=dict)


def is_manifest(path: str) -> bool:
    """Tell whether resolution wants the text of the file at `path`."""
    return posixpath.basename(path) in _NAMES


def read_manifests(texts: Mapping[str, bytes]) -> Manifests:
    """Read the manifests among `texts`, path by path, ignoring what is not one or is broken."""
    packages: dict[str, Package] = {}
    aliases: list[PathAliases] = []
    go_modules: dict[str, str] = {}
    python_roots: set[str] = set()
    crates: dict[str, str] = {}
    for path in sorted(texts):
        directory, name = posixpath.split(path)
        text = texts[path].decode("utf-8", "replace")
        if name == "package.json":
            packages.update(_packages(directory, _json(text)))
        elif name in ("tsconfig.json", "jsconfig.json"):
            aliases.extend(_aliases(directory, _json(text)))
        elif name == "go.mod" and (module := _GO_MODULE.search(text)):
            go_modules[module[1]] = directory
        elif name == "pyproject.toml":
            python_roots.update(_pyproject_roots(directory, text))
        elif name == "setup.cfg":
            python_roots.update(_setup_cfg_roots(directory, text))
        elif name == "Cargo.toml" and (crate := _crate_name(text)):
            crates.setdefault(crate, directory)
    # The deepest tsconfig that covers a file decides for it.
    aliases.sort(key=lambda found: -found.directory.count("/") - bool(found.directory))
    return Manifests(
        packages=packages,
        aliases=tuple(aliases),
        go_modules=go_modules,
        python_roots=frozenset(python_roots),
        crates=crates,
    )


def joined(directory: str, path: str) -> str:
    """Join and normalize a path inside the repository; "" is its root."""
    normal = posixpath.normpath(posixpath.join(directory, path))
    return "" if normal == "." else normal


def _json(text: str) -> dict[str, Any]:
    for candidate in (text, _without_comments(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _without_comments(text: str) -> str:
    return _JSON_TRAILING_COMMA.sub(r"\1", _JSON_COMMENT.sub(lambda found: found[1] or " ", text))


def _packages(directory: str, manifest: dict[str, Any]) -> Iterator[tuple[str, Package]]:
    name = manifest.get("name")
    if not isinstance(name, str) or not name:
        return
    entries: dict[str, list[str]] = {"": []}
    for key in ("source", "types", "module", "main"):
        entries[""].extend(_leaves(manifest.get(key)))
    exports = manifest.get("exports")
    if isinstance(exports, dict) and any(key.startswith(".") for key in exports):
        for key, value in exports.items():
            entries.setdefault(key.removeprefix(".").strip("/"), []).extend(_leaves(value))
    else:
        entries[""].extend(_leaves(exports))
    yield (
        name,
        Package(
            directory=directory,
            entries={key: tuple(dict.fromkeys(values)) for key, values in entries.items()},
        ),
    )


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the file names in a conditional export, which nests to any depth."""
    if isinstance(value, str):
        yield value.removeprefix("./")
    elif isinstance(value, dict) and depth < 5:  # noqa: PLR2004
        for nested in value.values():
            yield from _leaves(nested, depth + 1)


def _aliases(directory: str, manifest: dict[str, Any]) -> Iterator[PathAliases]:
    options = manifest.get("compilerOptions")
    if not isinstance(options, dict):
        return
    base = options.get("baseUrl")
    root = joined(directory, base) if isinstance(base, str) else directory
    patterns: dict[str, tuple[str, ...]] = {}
    paths = options.get("paths")
    for pattern, targets in (paths if isinstance(paths, dict) else {}).items():
        if isinstance(targets, list):
            patterns[pattern] = tuple(joined(root, t) for t in targets if isinstance(t, str))
    if isinstance(base, str):
        patterns.setdefault("*", (joined(root, "*"),))
    if patterns:
        yield PathAliases(directory=directory, patterns=patterns)


def _pyproject_roots(directory: str, text: str) -> Iterator[str]:
    yield directory
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    setuptools = _table(tool, "setuptools")
    yield from _strings(directory, _table(_table(setuptools, "packages"), "find").get("where"))
    yield from _strings(directory, list(_table(setuptools, "package-dir").values()))
    packages = _table(tool, "poetry").get("packages")
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict):
            yield from _strings(directory, [package.get("from")])


def _setup_cfg_roots(directory: str, text: str) -> Iterator[str]:
    yield directory
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    where = parser.get("options.packages.find", "where", fallback="")
    package_dir = parser.get("options", "package_dir", fallback="")
    yield from _strings(directory, [where.strip(), package_dir.rpartition("=")[2].strip()])


def _crate_name(text: str) -> str | None:
    """Return the name by which Rust code calls the package's library."""
    try:
        manifest = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    name = _table(manifest, "lib").get("name") or _table(manifest, "package").get("name")
    return name.replace("-", "_") if isinstance(name, str) else None


def _table(value: object, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _strings(directory: str, values: object) -> Iterator[str]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, str) and value and not value.startswith(("/", "..")):
            yield joined(directory, value)
