"""pom.xml, build.gradle and settings.gradle."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from xml.etree.ElementTree import Element

from indexing.crossing.documents import child_of, read_xml, said_by, tag_of
from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest

_PROPERTY = re.compile(r"\$\{([^}]+)\}")
_MAVEN_SCOPES = {
    "test": DependencyScope.TEST,
    "provided": DependencyScope.BUILD,
    "system": DependencyScope.BUILD,
}


def read_pom(path: str, text: bytes) -> Manifest | None:
    root = read_xml(text)
    if root is None:
        return None
    properties = {tag_of(one): (one.text or "").strip() for one in child_of(root, "properties")}
    group = said_by(root, "groupId") or said_by(child_of(root, "parent"), "groupId")
    version = said_by(root, "version") or said_by(child_of(root, "parent"), "version")
    properties |= {"project.groupId": group, "project.version": version, "pom.version": version}
    managed = dict(
        _maven_versions(child_of(child_of(root, "dependencyManagement"), "dependencies"))
    )
    artifact = said_by(root, "artifactId")
    return Manifest(
        path=path,
        manager=Manager.MAVEN,
        name=_filled(f"{group}:{artifact}", properties) if artifact else "",
        version=_filled(version, properties),
        dependencies=tuple(
            _maven_dependency(one, properties, managed)
            for one in child_of(root, "dependencies")
            if tag_of(one) == "dependency"
        ),
        members=tuple(
            (one.text or "").strip() for one in child_of(root, "modules") if tag_of(one) == "module"
        ),
        namespaces=(_filled(group, properties),) if group else (),
    )


def _maven_dependency(
    one: Element, properties: Mapping[str, str], managed: Mapping[str, str]
) -> Dependency:
    name = f"{said_by(one, 'groupId')}:{said_by(one, 'artifactId')}"
    scope = _MAVEN_SCOPES.get(said_by(one, "scope"), DependencyScope.RUNTIME)
    if said_by(one, "optional") == "true":
        scope = DependencyScope.OPTIONAL
    return Dependency(
        manager=Manager.MAVEN,
        name=_filled(name, properties),
        range=_filled(said_by(one, "version") or managed.get(name, ""), properties),
        scope=scope,
    )


def _maven_versions(dependencies: Iterable[Element]) -> Iterator[tuple[str, str]]:
    for one in dependencies:
        yield f"{said_by(one, 'groupId')}:{said_by(one, 'artifactId')}", said_by(one, "version")


def _filled(text: str, properties: Mapping[str, str]) -> str:
    for _ in range(3):  # a property may be made of others
        text = _PROPERTY.sub(lambda found: properties.get(found[1], found[0]), text)
    return text


_GRADLE_DEPENDENCY = re.compile(
    r"^\s*(\w*?(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|annotationProcessor|kapt|ksp"
    r"|[cC]ompile))\s*\(?\s*(?:platform\()?\s*"
    r"(?:['\"]([\w.-]+):([\w.-]+)(?::([^'\"@]+))?|project\(\s*(?:path\s*[:=]\s*)?['\"]:([^'\"]+)"
    r"|libs\.([\w.]+))",
    re.MULTILINE,
)
_GRADLE_GROUP = re.compile(r"^\s*group\s*=?\s*['\"]([^'\"]+)", re.MULTILINE)
_GRADLE_VERSION = re.compile(r"^\s*version\s*=?\s*['\"]([^'\"]+)", re.MULTILINE)
_GRADLE_ROOT = re.compile(r"rootProject\.name\s*=\s*['\"]([^'\"]+)")
_GRADLE_INCLUDE = re.compile(r"^\s*include\b\s*\(?(.*?)\)?\s*$", re.MULTILINE)
_QUOTED = re.compile(r"['\"]:?([^'\"]+)['\"]")
CATALOG_ALIAS: Final = "libs:"
"""Begins a name that stands in the version catalog, not in the build file."""

PROJECT: Final = "project:"
"""Begins the path of another project of the same build."""


def read_gradle(path: str, text: bytes) -> Manifest | None:
    source = text.decode("utf-8", "replace")
    group, version = _GRADLE_GROUP.search(source), _GRADLE_VERSION.search(source)
    directory = posixpath.basename(posixpath.dirname(path))
    return Manifest(
        path=path,
        manager=Manager.MAVEN,
        name=f"{group[1]}:{directory}" if group and directory else "",
        version=version[1] if version else "",
        dependencies=tuple(
            _gradle_dependency(found) for found in _GRADLE_DEPENDENCY.finditer(source)
        ),
        namespaces=(group[1],) if group else (),
    )


def _gradle_dependency(found: re.Match[str]) -> Dependency:
    configuration, group, artifact, version, project, alias = found.groups()
    if group:
        name = f"{group}:{artifact}"
    elif project:
        name = PROJECT + project.replace(":", "/")
    else:
        name = CATALOG_ALIAS + alias.removesuffix(".get").replace(".", "-").replace("_", "-")
    scope = DependencyScope.RUNTIME
    if configuration.startswith(("test", "androidTest")):
        scope = DependencyScope.TEST
    elif configuration.endswith(("ompileOnly", "annotationProcessor", "kapt", "ksp")):
        scope = DependencyScope.BUILD
    return Dependency(manager=Manager.MAVEN, name=name, range=version or "", scope=scope)


def read_gradle_settings(path: str, text: bytes) -> Manifest | None:
    source = text.decode("utf-8", "replace")
    included = [
        name.replace(":", "/")
        for line in _GRADLE_INCLUDE.finditer(source)
        for name in _QUOTED.findall(line[1])
    ]
    return Manifest(path=path, manager=Manager.MAVEN, members=tuple(included)) if included else None
