"""By which keys a file is found: its modules, the methods and fixtures that it defines."""

from collections.abc import Iterator, Mapping

from graph.values import NodeKind
from indexing.facts import BlobFacts, ReferenceKind
from indexing.languages import language_named
from indexing.resolution import modules
from indexing.resolution.manifests import Manifests
from indexing.resolution.reading import Key


def offered(path: str, facts: BlobFacts, manifests: Manifests) -> Iterator[Key]:
    """Yield each key once, from the file's own content and the project files."""
    yield ("file", path)
    yield from modules.offers(path, facts, manifests)
    language = language_named(facts.language)
    for name in dict.fromkeys(d.name for d in facts.definitions if d.kind is NodeKind.METHOD):
        yield ("method", language.family, name)
    for name in _fixtures(facts, language.fixtures.decorator) if language.fixtures else ():
        yield ("fixture", language.family, name)


def _fixtures(facts: BlobFacts, maker: str) -> Mapping[str, None]:
    return dict.fromkeys(
        facts.definitions[reference.scope].name
        for reference in facts.references
        if reference.kind is ReferenceKind.DECORATOR
        and reference.name == maker
        and reference.scope >= 0
    )
