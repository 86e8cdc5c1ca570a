"""All manifests of a repository together: shared versions, workspaces, which package is where.

A manifest that cannot be read counts as absent: it is the repository's, and may be broken.
"""

import fnmatch
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from indexing.crossing.documents import read_toml, read_xml, table, tag_of, text_of
from indexing.crossing.manifests import reader_of
from indexing.crossing.manifests.jvm import CATALOG_ALIAS, PROJECT
from indexing.crossing.manifests.rust import FROM_WORKSPACE
from indexing.crossing.values import (
    Dependency,
    Manager,
    Manifest,
    Packages,
    Workspace,
    normalized,
)

_MAXIMUM_DEPENDENCIES: Final = 5_000
_LONGEST_NAME: Final = 214
_LONGEST_RANGE: Final = 200
# What other manifests take their versions from, and declares nothing by itself.
_VERSION_FILES: Final = frozenset({"libs.versions.toml", "Directory.Packages.props"})


def is_package_manifest(path: str) -> bool:
    """Tell whether the file at `path` says something about packages or their versions."""
    return reader_of(path) is not None or posixpath.basename(path) in _VERSION_FILES


def read_packages(texts: Mapping[str, bytes]) -> Packages:
    """Read all manifests among `texts` (path -> content), and tie workspaces to their members."""
    manifests: list[Manifest] = []
    for path in sorted(texts):
        reader = reader_of(path)
        found = reader(path, texts[path]) if reader else None
        if found is not None:
            manifests.append(found)
    shared = _Shared(texts, manifests)
    completed = tuple(_bounded(shared.completed(one)) for one in manifests)
    return Packages(manifests=completed, workspaces=tuple(_workspaces(completed)))


class _Shared:
    """What manifests leave to others: workspace versions, catalogs, projects, central versions."""

    def __init__(self, texts: Mapping[str, bytes], manifests: list[Manifest]) -> None:
        self._crates = {
            posixpath.dirname(path): table(read_toml(text), "workspace")
            for path, text in texts.items()
            if posixpath.basename(path) == "Cargo.toml" and b"workspace" in text
        }
        self._catalog = dict(_catalog(texts))
        self._central = dict(_central_versions(texts))
        self._projects = {
            one.directory: one.name
            for one in manifests
            if one.manager is Manager.MAVEN and one.name
        }

    def completed(self, manifest: Manifest) -> Manifest:
        """Return the manifest with the names and versions that stand elsewhere."""
        version = manifest.version
        if manifest.manager is Manager.CARGO and version == FROM_WORKSPACE:
            version = text_of(table(self._workspace_above(manifest), "package").get("version"))
        dependencies = tuple(self._dependency(manifest, one) for one in manifest.dependencies)
        return replace(
            manifest,
            version=version,
            dependencies=tuple(one for one in dependencies if one is not None),
        )

    def _dependency(self, manifest: Manifest, one: Dependency) -> Dependency | None:
        match one.manager:
            case Manager.CARGO if one.range == FROM_WORKSPACE:
                return self._crate(manifest, one)
            case Manager.MAVEN if one.name.startswith(CATALOG_ALIAS):
                name, version = self._catalog.get(one.name.removeprefix(CATALOG_ALIAS), ("", ""))
                return replace(one, name=name, range=version) if name else None
            case Manager.MAVEN if one.name.startswith(PROJECT):
                return self._project(one)
            case Manager.NUGET if not one.range:
                return replace(one, range=self._central.get(one.name, ""))
            case _:
                return one

    def _crate(self, manifest: Manifest, one: Dependency) -> Dependency:
        declared = table(self._workspace_above(manifest), "dependencies")
        value = declared.get(one.alias or one.name)
        options = value if isinstance(value, dict) else {"version": value}
        name = text_of(options.get("package")) or one.name
        return replace(
            one,
            name=name,
            range=text_of(options.get("version")),
            alias=one.name if name != one.name else one.alias,
        )

    def _project(self, one: Dependency) -> Dependency | None:
        place = one.name.removeprefix(PROJECT)
        for directory, name in self._projects.items():
            if directory == place or directory.endswith("/" + place):
                return replace(one, name=name)
        return None

    def _workspace_above(self, manifest: Manifest) -> dict[str, Any]:
        directory = manifest.directory
        while True:
            if self._crates.get(directory):
                return self._crates[directory]
            if not directory:
                return {}
            directory = posixpath.dirname(directory)


def _catalog(texts: Mapping[str, bytes]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield alias -> (group:artifact, version) of Gradle's version catalogs."""
    for path, text in texts.items():
        if posixpath.basename(path) != "libs.versions.toml":
            continue
        document = read_toml(text)
        versions = table(document, "versions")
        for alias, value in table(document, "libraries").items():
            if isinstance(value, str):
                name, _, version = value.rpartition(":")
            else:
                group = f"{text_of(table(value).get('group'))}:{text_of(table(value).get('name'))}"
                name = text_of(table(value).get("module")) or group
                known = table(value).get("version")
                reference = table(known).get("ref") if isinstance(known, dict) else None
                version = text_of(versions.get(reference)) if reference else text_of(known)
            yield alias.replace("_", "-").replace(".", "-"), (name, version)


def _central_versions(texts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, text in texts.items():
        if posixpath.basename(path) == "Directory.Packages.props":
            root = read_xml(text)
            for one in root.iter() if root is not None else ():
                if tag_of(one) == "PackageVersion":
                    name = one.get("Include", "")
                    yield normalized(Manager.NUGET, name), one.get("Version", "")


def _workspaces(manifests: tuple[Manifest, ...]) -> Iterator[Workspace]:
    """Yield each workspace with its members that are there."""
    of_manager: defaultdict[Manager, list[Manifest]] = defaultdict(list)
    for one in manifests:
        of_manager[one.manager].append(one)
    for one in manifests:
        if one.members:
            candidates = of_manager[one.manager]
            members = tuple(c.path for c in candidates if c.path != one.path and _holds(one, c))
            yield Workspace(path=one.path, manager=one.manager, members=members)


def _holds(workspace: Manifest, candidate: Manifest) -> bool:
    inside = posixpath.relpath(candidate.directory or ".", workspace.directory or ".")
    holds = False
    for member in workspace.members:
        pattern = posixpath.normpath(member.removeprefix("!"))
        # "packages/**" holds "packages" as well, and Maven names a module by its pom.
        names = {pattern, pattern.removesuffix("/**"), posixpath.dirname(pattern)}
        fits = any(_fits(inside, name) for name in names if name != posixpath.dirname(pattern))
        fits |= pattern.endswith(".xml") and inside == posixpath.dirname(pattern)
        if fits:
            holds = not member.startswith("!")
    return holds


def _fits(path: str, pattern: str) -> bool:
    # `*` stands for one directory, `**` for any number.
    if "**" not in pattern and path.count("/") != pattern.count("/"):
        return False
    return fnmatch.fnmatchcase(path, pattern)


def _bounded(manifest: Manifest) -> Manifest:
    kept = [
        replace(one, range=one.range[:_LONGEST_RANGE])
        for one in manifest.dependencies
        if 0 < len(one.name) <= _LONGEST_NAME
    ]
    return replace(
        manifest,
        name=manifest.name if len(manifest.name) <= _LONGEST_NAME else "",
        version=manifest.version[:_LONGEST_RANGE],
        dependencies=tuple(dict.fromkeys(kept[:_MAXIMUM_DEPENDENCIES])),
    )
