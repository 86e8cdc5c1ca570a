"""composer.json."""

from indexing.crossing.documents import read_json, table, text_of
from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest, normalized

_COMPOSER_TABLES = (("require", DependencyScope.RUNTIME), ("require-dev", DependencyScope.DEV))


def read_composer(path: str, text: bytes) -> Manifest | None:
    document = read_json(text)
    if not isinstance(document, dict):
        return None
    return Manifest(
        path=path,
        manager=Manager.COMPOSER,
        name=normalized(Manager.COMPOSER, text_of(document.get("name"))),
        version=text_of(document.get("version")),
        dependencies=tuple(
            Dependency(
                manager=Manager.COMPOSER,
                name=normalized(Manager.COMPOSER, name),
                range=text_of(constraint),
                scope=scope,
            )
            for key, scope in _COMPOSER_TABLES
            for name, constraint in table(document, key).items()
            if "/" in name  # what has no vendor is PHP itself or one of its extensions
        ),
        namespaces=tuple(
            prefix.strip("\\") for prefix in table(document, "autoload", "psr-4") if prefix
        ),
    )
