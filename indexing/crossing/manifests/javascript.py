"""package.json and pnpm-workspace.yaml."""

from indexing.crossing.documents import read_json, read_yaml, strings, table, text_of
from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest

_NPM_TABLES = (
    ("dependencies", DependencyScope.RUNTIME),
    ("peerDependencies", DependencyScope.PEER),
    ("optionalDependencies", DependencyScope.OPTIONAL),
    ("devDependencies", DependencyScope.DEV),
)


def read_npm(path: str, text: bytes) -> Manifest | None:
    document = read_json(text)
    if not isinstance(document, dict):
        return None
    workspaces = document.get("workspaces")
    patterns = workspaces.get("packages") if isinstance(workspaces, dict) else workspaces
    return Manifest(
        path=path,
        manager=Manager.NPM,
        name=text_of(document.get("name")),
        version=text_of(document.get("version")),
        dependencies=tuple(
            _npm_dependency(name, text_of(constraint), scope)
            for key, scope in _NPM_TABLES
            for name, constraint in table(document, key).items()
        ),
        members=tuple(strings(patterns)),
    )


def _npm_dependency(name: str, constraint: str, scope: DependencyScope) -> Dependency:
    # npm:real@1.2 installs another package under this name.
    real, at, version = constraint.removeprefix("npm:").rpartition("@")
    if constraint.startswith("npm:") and at and real:
        return Dependency(manager=Manager.NPM, name=real, range=version, scope=scope, alias=name)
    return Dependency(manager=Manager.NPM, name=name, range=constraint, scope=scope)


def read_pnpm_workspace(path: str, text: bytes) -> Manifest | None:
    patterns = strings(table(read_yaml(text)).get("packages"))
    return Manifest(path=path, manager=Manager.NPM, members=tuple(patterns)) if patterns else None
