"""Gemfile and gemspec."""

import re

from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest, scope_named

_GEM = re.compile(r"^\s*gem[\s(]+['\"]([^'\"]+)['\"]\s*((?:,\s*['\"][^'\"]+['\"]\s*)*)(.*)$")
_GEM_GROUP = re.compile(r"^\s*group\s*\(?\s*((?::\w+\s*,?\s*)+)\)?\s*do\b")
_GEM_OPENING = re.compile(r"\bdo\b\s*(\|[^|]*\|)?\s*(#.*)?$|^\s*(if|unless|case)\b")
_GEM_OWN_GROUP = re.compile(r"groups?:\s*\[?\s*((?::\w+\s*,?\s*)+)")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_GEMSPEC = re.compile(r"\.(name|version)\s*=\s*['\"]([^'\"]+)['\"]")
_GEMSPEC_NEED = re.compile(
    r"\.add_(runtime_|development_)?dependency[\s(]+['\"]([^'\"]+)['\"]\s*((?:,\s*['\"][^'\"]+['\"]\s*)*)"
)


def read_gemfile(path: str, text: bytes) -> Manifest | None:
    found: list[Dependency] = []
    groups: list[str] = []
    for line in text.decode("utf-8", "replace").splitlines():
        group = _GEM_GROUP.match(line)
        if group or _GEM_OPENING.search(line):
            groups.append(group[1] if group else "")
        elif re.match(r"^\s*end\b", line) and groups:
            groups.pop()
        gem = _GEM.match(line)
        if gem:
            own = _GEM_OWN_GROUP.search(gem[3])
            scope = scope_named(
                " ".join((*groups, own[1] if own else "")), otherwise=DependencyScope.RUNTIME
            )
            found.append(_gem(gem[1], gem[2], scope))
    return Manifest(path=path, manager=Manager.GEM, dependencies=tuple(found))


def read_gemspec(path: str, text: bytes) -> Manifest | None:
    source = text.decode("utf-8", "replace")
    said = {found[1]: found[2] for found in _GEMSPEC.finditer(source)}
    return Manifest(
        path=path,
        manager=Manager.GEM,
        name=said.get("name", ""),
        version=said.get("version", ""),
        dependencies=tuple(
            _gem(
                found[2],
                found[3],
                DependencyScope.DEV if found[1] == "development_" else DependencyScope.RUNTIME,
            )
            for found in _GEMSPEC_NEED.finditer(source)
        ),
    )


def _gem(name: str, constraints: str, scope: DependencyScope) -> Dependency:
    return Dependency(
        manager=Manager.GEM, name=name, range=", ".join(_QUOTED.findall(constraints)), scope=scope
    )
