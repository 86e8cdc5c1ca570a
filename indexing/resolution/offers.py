"""By which keys a file is found: its modules, the methods and fixtures that it defines."""

from collections.abc import Iterator, Mapping

from graph.values import NodeKind
from indexing.facts import BlobFacts, ReferenceKind
from indexing.languages import Language, language_named
from indexing.resolution import modules
from indexing.resolution.manifests import Manifests
from indexing.resolution.reading import Key
from indexing.resolution.tables import TYPE_KINDS, WIDE_SCHEMES, FileTables


def offered(path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:
    """Yield each key once, from the file's own content and the project files."""
    yield ("file", path)
    yield from modules.offers(path, facts, manifests)
    language = language_named(facts.language)
    for name in dict.fromkeys(d.name for d in facts.definitions if d.kind is NodeKind.METHOD):
        yield ("method", language.family, name)
    if _needs_tables(language, facts):
        yield from _looked_up(path, facts, language)
    for name in _fixtures(facts, language.fixtures.decorator) if language.fixtures else ():
        yield ("fixture", language.family, name)


def _needs_tables(language: Language, facts: BlobFacts) -> bool:
    is_plain = not (language.has_open_types or language.has_implicit_interfaces)
    if is_plain and language.imports not in WIDE_SCHEMES:
        return any(definition.receiver for definition in facts.definitions)
    return True


def _looked_up(path: str, facts: BlobFacts, language: Language) -> Iterator[Key]:
    """Yield the keys of what is found in large modules, or outside of its type."""
    tables = FileTables(path, facts)
    module = modules.name_of(path, facts)
    if tables.receives_by_name:
        receivers = dict.fromkeys([*tables.received, *tables.extensions])
        yield from (("received", language.family, name) for name in receivers)
    for local_name in tables.by_local:
        yield ("local", module, local_name)
    if tables.is_wide:
        yield from (("top", module, name) for name in tables.top)
        yield from (("globals", module, name) for name in tables.globals)
    if language.has_open_types:
        for name in dict.fromkeys(d.name for d in facts.definitions if d.kind in TYPE_KINDS):
            yield ("type", language.family, name)
    if language.has_implicit_interfaces:
        for name in tables.interfaces:
            yield ("interface", language.family, name)


def _fixtures(facts: BlobFacts, maker: str) -> Mapping[str, None]:
    return dict.fromkeys(
        facts.definitions[reference.scope].name
        for reference in facts.references
        if reference.kind is ReferenceKind.DECORATOR
        and reference.name == maker
        and reference.scope >= 0
    )
