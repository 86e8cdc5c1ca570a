"""What each file says of services and packages, kept by its content: read when that is new."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from graph import queries as graph
from graph.models import DEFAULT_LAYER, FileVersion, Repository
from indexing import queries
from indexing.crossing.documents import MAXIMUM_BYTES
from indexing.crossing.imports import OuterImport, outer_imports
from indexing.crossing.rails import is_routes_file, read_rails_routes
from indexing.crossing.reading import read_traffic
from indexing.crossing.specifications import may_be_specification, specification_traffic
from indexing.crossing.traffic import FileTraffic
from indexing.facts import EXTRACTOR_VERSION
from indexing.libraries.rules import RULES_VERSION
from indexing.mirrors import find_mirror
from indexing.models import CrossingFile

VERSION: Final = f"{EXTRACTOR_VERSION}.{RULES_VERSION}"
_BATCH: Final = 500


class LiveFile(NamedTuple):
    """A file of the default branch."""

    key: int
    path: str
    blob: str
    language: str


def live_files(repository: Repository) -> Iterator[LiveFile]:
    """Yield the files that the graph shows of a repository. One query."""
    rows = FileVersion.objects.filter(
        repository=repository, layer=DEFAULT_LAYER, valid_to=None
    ).values_list("file_id", "file__path", "blob", "language")
    yield from (LiveFile(*row) for row in rows.iterator())


def refresh_files(repository: Repository) -> int:
    """Read the files whose content is new, forget those that are gone; count both."""
    known = {
        path: (blob, version)
        for path, blob, version in CrossingFile.objects.filter(repository=repository)
        .values_list("path", "blob", "version")
        .iterator()
    }
    changed: list[LiveFile] = []
    for file in live_files(repository):
        stored = known.pop(file.path, None)
        if stored != (file.blob, VERSION) and (file.language or _is_document(file.path)):
            changed.append(file)
    gone = sorted(known)
    for start in range(0, len(gone), _BATCH):
        CrossingFile.objects.filter(
            repository=repository, path__in=gone[start : start + _BATCH]
        ).delete()
    for start in range(0, len(changed), _BATCH):
        _store(_read(repository, changed[start : start + _BATCH]))
    return len(gone) + len(changed)


def documents_of(repository: Repository, blobs: Mapping[str, str]) -> dict[str, bytes] | None:
    """Return path -> content of some files; None when this host has no mirror."""
    mirror = find_mirror(repository.pk)
    if mirror is None:
        return None
    contents = dict(mirror.blobs(set(blobs.values()), max_bytes=MAXIMUM_BYTES))
    return {
        path: content
        for path, blob in blobs.items()
        if isinstance(content := contents.get(blob), bytes)
    }


def _read(repository: Repository, files: Sequence[LiveFile]) -> Iterator[CrossingFile]:
    cached = queries.cached_facts(
        keys={(file.blob, file.language) for file in files if file.language}
    )
    facts = {key: one.unpack() for key, one in cached.items() if not one.skipped}
    own_lines: dict[int, set[int]] = {}
    keys = [file.key for file in files if (file.blob, file.language) in facts]
    for place in graph.imports_of(namespace_id=repository.namespace_id, files=keys):
        own_lines.setdefault(place.file, set()).add(place.line)
    documents = documents_of(
        repository, {file.path: file.blob for file in files if _is_document(file.path)}
    )
    for file in files:
        traffic = FileTraffic()
        imports: tuple[OuterImport, ...] = ()
        read = facts.get((file.blob, file.language))
        if _is_document(file.path):
            if documents is None:
                continue  # not marked as read: a host with the mirror will
            traffic = _document_traffic(file.path, documents.get(file.path, b""))
        elif read is not None:
            traffic = read_traffic(read)
            imports = outer_imports(read, own_lines=own_lines.get(file.key, ()))
        yield CrossingFile(
            repository=repository,
            path=file.path,
            blob=file.blob,
            version=VERSION,
            has_traffic=bool(traffic),
            traffic=traffic.to_json(),
            has_imports=bool(imports),
            imports=imports,
        )


def _document_traffic(path: str, text: bytes) -> FileTraffic:
    if is_routes_file(path):
        return read_rails_routes(path, text)
    return specification_traffic(path, text)


def _is_document(path: str) -> bool:
    return is_routes_file(path) or may_be_specification(path)


def _store(rows: Iterator[CrossingFile]) -> None:
    CrossingFile.objects.bulk_create(
        list(rows),
        update_conflicts=True,
        unique_fields=["repository", "path"],
        update_fields=["blob", "version", "has_traffic", "traffic", "has_imports", "imports"],
    )
