"""Cargo.toml."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from indexing.crossing.documents import read_toml, strings, table, text_of
from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest

_CARGO_TABLES = (
    ("dependencies", DependencyScope.RUNTIME),
    ("dev-dependencies", DependencyScope.DEV),
    ("build-dependencies", DependencyScope.BUILD),
)
FROM_WORKSPACE: Final = "workspace"
"""The version or range of what the workspace's own manifest says for its members."""


def read_cargo(path: str, text: bytes) -> Manifest | None:
    document = read_toml(text)
    package, workspace = table(document, "package"), table(document, "workspace")
    places = [document, *(one for one in table(document, "target").values())]
    excluded = [f"!{one}" for one in strings(workspace.get("exclude"))]
    return Manifest(
        path=path,
        manager=Manager.CARGO,
        name=text_of(package.get("name")),
        version=FROM_WORKSPACE
        if isinstance(package.get("version"), dict)
        else text_of(package.get("version")),
        dependencies=tuple(
            found
            for place in places
            for key, scope in _CARGO_TABLES
            for alias, value in table(place, key).items()
            for found in _crate(alias, value, scope)
        ),
        members=(*strings(workspace.get("members")), *excluded) if workspace else (),
    )


def _crate(alias: str, value: object, scope: DependencyScope) -> Iterator[Dependency]:
    options = value if isinstance(value, dict) else {"version": value}
    name = text_of(options.get("package")) or alias
    constraint = text_of(options.get("version"))
    if options.get("workspace") is True:
        constraint = FROM_WORKSPACE
    if options.get("optional") is True:
        scope = DependencyScope.OPTIONAL
    yield Dependency(
        manager=Manager.CARGO,
        name=name,
        range=constraint or _place_of_crate(options),
        scope=scope,
        alias=alias if alias != name else "",
    )


def _place_of_crate(options: Mapping[str, Any]) -> str:
    if options.get("path"):
        return "path:" + text_of(options.get("path"))
    return "git" if options.get("git") else ""
