"""Frozen facts about what crosses repositories. Knows no rows and no files."""

import posixpath
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_TESTING: Final = re.compile(r"test", re.IGNORECASE)
_DEVELOPING: Final = re.compile(r"dev|lint|typing|mypy|docs?\b|build|ci\b|style", re.IGNORECASE)


class Manager(StrEnum):
    """Whose registry a package's name belongs to."""

    CARGO = "cargo"
    NPM = "npm"
    GO = "go"
    PYPI = "pypi"
    MAVEN = "maven"
    GEM = "gem"
    COMPOSER = "composer"
    NUGET = "nuget"


class DependencyScope(StrEnum):
    """When a dependency is needed, the most binding first."""

    RUNTIME = "runtime"
    PEER = "peer"
    OPTIONAL = "optional"
    BUILD = "build"
    TEST = "test"
    DEV = "dev"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One declared need. `alias` is what the code calls it where that is another name."""

    manager: Manager
    name: str
    range: str = ""
    scope: DependencyScope = DependencyScope.RUNTIME
    alias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One project file. `name` is "" where it declares no package of its own.

    `members` are the patterns of a workspace's directories, relative to the manifest; a leading
    "!" leaves one out. `namespaces` are prefixes of names in the code that belong to the package.
    """

    path: str
    manager: Manager
    name: str = ""
    version: str = ""
    dependencies: tuple[Dependency, ...] = ()
    members: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        return posixpath.dirname(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Packages that are developed together: the manifests of its members, by path."""

    path: str
    manager: Manager
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """All that a repository's manifests declare, in the order of their paths."""

    manifests: tuple[Manifest, ...] = ()
    workspaces: tuple[Workspace, ...] = ()


def package_key(manager: Manager | str, name: str) -> str:
    """Return the text id of a package: `pkg:<manager>:<name>`."""
    return f"pkg:{manager}:{name}"


def normalized(manager: Manager, name: str) -> str:
    """Return a package's name as its registry compares it."""
    name = name.strip()
    if manager is Manager.PYPI:
        return re.sub(r"[-_.]+", "-", name).lower()
    if manager in (Manager.COMPOSER, Manager.NUGET):
        return name.lower()
    return name


def scope_named(group: str, *, otherwise: DependencyScope) -> DependencyScope:
    """Return what a group, an extra or a file of dependencies is for, judged by its name."""
    if _TESTING.search(group):
        return DependencyScope.TEST
    return DependencyScope.DEV if _DEVELOPING.search(group) else otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A place in another repository that has to do with the change.

    `target` is what it is tied to: a node of ours, or the endpoint or topic between us.
    """

    repository: str
    id: str
    target: str = ""
    verb: str
    path: str
    line: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedService:
    """An endpoint or a topic that the change reaches: by which node of ours, and who is there.

    `id` is `endpoint:…` or `topic:…`; `others` are of other repositories that the caller may read.
    """

    id: str
    verb: str
    by: str
    path: str
    line: int
    others: tuple[Elsewhere, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedRepository:
    """Another repository of the namespace that uses what changes, and where it does."""

    name: str
    uses: tuple[Elsewhere, ...]
    total: int
