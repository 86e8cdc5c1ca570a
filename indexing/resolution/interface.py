"""What one file lets others know, facet by facet, so that two contents of it can be compared.

Every key that resolution notes (`reading.keys`) stands here with its value, except for what files
derive from each other's types. Lines and positions are no part of any value, so that an edit
inside a function concerns its own file alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from indexing.facts import MODULE_SCOPE, Binding, BindingTarget, BlobFacts, ReferenceKind
from indexing.facts import Import as ImportFact
from indexing.resolution import modules
from indexing.resolution.manifests import Manifests
from indexing.resolution.offers import offered
from indexing.resolution.reading import Key
from indexing.resolution.tables import TYPE_KINDS, FileTables

Facets = Mapping[Key, object]


def facets(path: str, facts: BlobFacts, manifests: Manifests) -> Facets:
    """Return all that other files may consult of this one, by key."""
    tables = FileTables(path, facts)
    module = modules.name_of(path, facts)
    found: defaultdict[Key, list[object]] = defaultdict(list)
    for key, value in _facets(tables, module):
        found[key].append(value)
    for key in offered(path, facts, manifests):
        found[key].append(_found_as(tables, module, key))
    return found


def changed_keys(before: Facets, after: Facets) -> set[Key]:
    """Return the keys that do not say the same any more."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _facets(tables: FileTables, module: str) -> Iterator[tuple[Key, object]]:
    scopes = _Scopes(tables)
    for number, text_id in tables.ids.items():
        definition = tables.definitions[number]
        group = tables.groups[number]
        yield ("length", module, group), (text_id, tables.lines(number))
        # All but where it stands and what its body says.
        about = (definition.visibility, definition.is_test, definition.receiver)
        text = (definition.parameters, definition.decorators)
        place = (text_id, definition.kind, definition.name, scopes.name(definition.parent))
        yield ("shape", module, group), (*place, *about, *text)
    for number, definition in enumerate(tables.definitions):
        if definition.kind is None and definition.receiver:
            member = (tables.path, definition.receiver, scopes.name(definition.parent))
            yield ("shape", module, tables.groups[number]), member
    for binding in tables.facts.bindings:
        yield from _binding_facets(tables, module, scopes, binding)
    for reference in tables.facts.references:
        if reference.kind is ReferenceKind.BASE and reference.scope != MODULE_SCOPE:
            group = tables.groups[reference.scope]
            yield ("bases", module, group), (scopes.name(reference.scope), reference.name)
    yield from _import_facets(tables)


def _binding_facets(
    tables: FileTables, module: str, scopes: "_Scopes", binding: Binding
) -> Iterator[tuple[Key, object]]:
    scope = binding.scope
    value = (binding.target, binding.name, binding.source, binding.text, scopes.name(scope))
    if scope == MODULE_SCOPE:
        if binding.target is BindingTarget.NAME:
            yield ("global", module, binding.name), (tables.path, *value)
        return
    group = tables.groups[scope]
    if binding.target is BindingTarget.RETURN:
        yield ("results", module, group), value
    elif binding.target is BindingTarget.FIELD:
        yield ("fields", module, group), value
    else:
        yield ("locals", module, group), value
        if tables.definitions[scope].kind in TYPE_KINDS:
            yield ("fields", module, group), value


def _import_facets(tables: FileTables) -> Iterator[tuple[Key, object]]:
    path, imports = tables.path, tables.imports
    for name, statements in imports.named.items():
        yield ("imports", path, name), [_said(imported) for imported in statements]
    for name, imported in imports.reexported.items():
        yield ("imports", path, name), _said(imported)
    for name, local in imports.exports.items():
        yield ("imports", path, name), ("export", local)
    if imports.dotted:
        yield ("dotted", path), sorted(imports.dotted)
    if imports.stars or imports.reexported_stars:
        yield ("stars", path), (imports.stars, imports.reexported_stars)
    if imports.whole:
        yield ("whole", path), [_said(imported) for imported in imports.whole]


def _said(imported: ImportFact) -> tuple[str, ...]:
    return (imported.kind, imported.module, imported.name, imported.alias)


def _found_as(tables: FileTables, module: str, key: Key) -> object:
    """Return what whoever finds a file by a key learns of it besides its path."""
    if key[0] == "method":
        return [tables.ids[number] for number in tables.methods[key[-1]]]
    if key[0] == "received":
        members = [tables.ids[number] for number in tables.received[key[-1]]]
        return [tables.path, module, members, len(tables.extensions[key[-1]])]
    if key[0] == "interface":
        return [
            (tables.ids[number], sorted(tables.methods_of(number)))
            for number in tables.interfaces[key[-1]]
        ]
    if key[0] == "fixture":
        return tables.ids.get(tables.fixtures[key[-1]])
    return (tables.path, module)


class _Scopes:
    """Names of scopes that last while what is around them changes.

    A scope without a name is counted among its siblings, if anything is defined or bound in it.
    """

    def __init__(self, tables: FileTables) -> None:
        self._tables = tables
        self._names: dict[int, str] = {MODULE_SCOPE: ""}
        self._count: defaultdict[str, int] = defaultdict(int)
        used = [d.parent for d in tables.definitions if d.kind is not None]
        used += [binding.scope for binding in tables.facts.bindings]
        used += [r.scope for r in tables.facts.references if r.kind is ReferenceKind.BASE]
        for scope in sorted(set(used)):
            self.name(scope)

    def name(self, scope: int) -> str:
        known = self._names.get(scope)
        if known is None:
            known = self._tables.ids.get(scope)
            if known is None:
                around = self.name(self._tables.definitions[scope].parent)
                self._count[around] += 1
                known = f"{around}?{self._count[around]}"
            self._names[scope] = known
        return known
