"""pyproject.toml (PEP 621, PEP 735, Poetry, uv), setup.cfg, requirements files."""

import configparser
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from indexing.crossing.documents import read_toml, strings, table, text_of
from indexing.crossing.values import (
    Dependency,
    DependencyScope,
    Manager,
    Manifest,
    normalized,
    scope_named,
)

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*"
    r"(\([^)]*\)|(?:===?|[<>!~]=|[<>])[^;#]*|@[^;#]*)?\s*(?:[;#].*|--.*)?$"
)


def read_pyproject(path: str, text: bytes) -> Manifest | None:
    document = read_toml(text)
    project, poetry = table(document, "project"), table(document, "tool", "poetry")
    name = text_of(project.get("name")) or text_of(poetry.get("name"))
    return Manifest(
        path=path,
        manager=Manager.PYPI,
        name=normalized(Manager.PYPI, name),
        version=text_of(project.get("version")) or text_of(poetry.get("version")),
        dependencies=(*_project_needs(document), *_poetry_needs(poetry)),
        members=tuple(_uv_members(document)),
    )


def _project_needs(document: Mapping[str, Any]) -> Iterator[Dependency]:
    project = table(document, "project")
    yield from _required(strings(project.get("dependencies")), DependencyScope.RUNTIME)
    for extra, needs in table(project, "optional-dependencies").items():
        yield from _required(strings(needs), scope_named(extra, otherwise=DependencyScope.OPTIONAL))
    for group, needs in table(document, "dependency-groups").items():
        yield from _required(strings(needs), scope_named(group, otherwise=DependencyScope.DEV))
    yield from _required(
        strings(table(document, "build-system").get("requires")), DependencyScope.BUILD
    )


def _poetry_needs(poetry: Mapping[str, Any]) -> Iterator[Dependency]:
    yield from _poetry_table(table(poetry, "dependencies"), DependencyScope.RUNTIME)
    yield from _poetry_table(table(poetry, "dev-dependencies"), DependencyScope.DEV)
    for group, value in table(poetry, "group").items():
        scope = scope_named(group, otherwise=DependencyScope.DEV)
        yield from _poetry_table(table(value, "dependencies"), scope)


def _poetry_table(needs: Mapping[str, Any], scope: DependencyScope) -> Iterator[Dependency]:
    for name, value in needs.items():
        if name.lower() == "python":
            continue
        options = value if isinstance(value, dict) else {"version": value}
        yield Dependency(
            manager=Manager.PYPI,
            name=normalized(Manager.PYPI, name),
            range=text_of(options.get("version")),
            scope=DependencyScope.OPTIONAL if options.get("optional") is True else scope,
        )


def _uv_members(document: Mapping[str, Any]) -> Iterator[str]:
    workspace = table(document, "tool", "uv", "workspace")
    yield from strings(workspace.get("members"))
    yield from (f"!{one}" for one in strings(workspace.get("exclude")))


def read_setup_cfg(path: str, text: bytes) -> Manifest | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text.decode("utf-8", "replace"))
    except configparser.Error:
        return None
    name = parser.get("metadata", "name", fallback="")
    needs = parser.get("options", "install_requires", fallback="").splitlines()
    found = list(_required(needs, DependencyScope.RUNTIME))
    if parser.has_section("options.extras_require"):
        for extra, lines in parser.items("options.extras_require"):
            scope = scope_named(extra, otherwise=DependencyScope.OPTIONAL)
            found.extend(_required(lines.splitlines(), scope))
    if not name and not found:
        return None
    version = parser.get("metadata", "version", fallback="")
    return Manifest(
        path=path,
        manager=Manager.PYPI,
        name=normalized(Manager.PYPI, name),
        version="" if version.startswith(("attr:", "file:")) else version,
        dependencies=tuple(found),
    )


def read_requirements(path: str, text: bytes) -> Manifest | None:
    lines = text.decode("utf-8", "replace").replace("\\\n", " ").splitlines()
    needs = [line for line in lines if not line.lstrip().startswith(("-", "#"))]
    scope = scope_named(posixpath.basename(path), otherwise=DependencyScope.RUNTIME)
    return Manifest(path=path, manager=Manager.PYPI, dependencies=tuple(_required(needs, scope)))


def _required(needs: Iterable[str], scope: DependencyScope) -> Iterator[Dependency]:
    for need in needs:
        found = _REQUIREMENT.match(need)
        if not found:
            continue
        constraint = (found[2] or "").partition(" --")[0].strip("()")
        yield Dependency(
            manager=Manager.PYPI,
            name=normalized(Manager.PYPI, found[1]),
            range=re.sub(r"\s+", "", constraint),
            scope=scope,
        )
