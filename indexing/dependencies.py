"""Which files' resolution depends on what, kept for the default branch revision by revision.

A push, a branch and a work tree are all resolved as changes to a tree that is kept here
(`indexing.resolution.changes`). Reads what they need of it and nothing else.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from graph.models import SourceFile
from graph.staging import DIGEST_VERSION
from graph.statements import statements
from graph.values import FileFact, RevisionValue
from indexing.answers import Answers
from indexing.facts import EXTRACTOR_VERSION, BlobFacts
from indexing.models import FileDependencies, KeptResolution, ManifestText
from indexing.resolution import RULES_VERSION, FileResolution, is_manifest
from indexing.resolution.changes import number_of
from indexing.resolution.reading import Key

_STATEMENTS: Final = Path(__file__).parent / "sql"
_MANIFEST: Final[Key] = ("manifest",)


class FactsMissing(Exception):
    """Facts of a content that the graph shows are not kept any more: all must be read again."""


FindAnswers = Callable[[str, str], Answers | None]
"""What compilers say of a path's content, by path and blob id."""


def no_answers(_path: str, _blob: str) -> Answers | None:
    """Return None: no compiler was asked."""
    return None


def find_kept_tree(
    *, revision: RevisionValue, find_answers: FindAnswers = no_answers
) -> "KeptTree | None":
    """Return the default branch at a revision as it was resolved; None when that is not kept.

    It is not when another version of the program resolved it.
    """
    is_kept = KeptResolution.objects.filter(
        repository_id=revision.repository_id, version=_version(), whole_since__lte=revision.id
    ).exists()
    return KeptTree(revision=revision, find_answers=find_answers) if is_kept else None


class KeptTree:
    """The default branch at one revision, read from the database as it is asked for."""

    def __init__(self, *, revision: RevisionValue, find_answers: FindAnswers) -> None:
        self.revision = revision
        self._find_answers = find_answers
        self._blobs: dict[str, str] = {}
        self._salt = revision.repository_id.bytes
        self._numbers: dict[Key, int] = {}
        self._facts: dict[str, BlobFacts | None] = {}
        self._providers: dict[int, Sequence[str]] = {}

    def number(self, key: Key) -> int:
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = number_of(key, salt=self._salt)
        return known

    def facts(self, path: str) -> BlobFacts | None:
        """Return a file's facts; None when it has none. One query for each path. FactsMissing."""
        if path not in self._facts:
            self._load_facts([path])
        return self._facts[path]

    def answers(self, path: str) -> Answers | None:
        """Return what compilers say of a file, None where nobody was asked."""
        if path not in self._facts:
            self._load_facts([path])
        blob = self._blobs.get(path)
        return self._find_answers(path, blob) if blob is not None else None

    def providers(self, key: Key) -> Sequence[str]:
        """Return the files that offer a key, sorted. One query for each key not expected."""
        number = self.number(key)
        known = self._providers.get(number)
        if known is None:
            rows = self._fetch("offering", number=[number])
            known = self._providers[number] = sorted(path for (path,) in rows)
        return known

    def derived(self, paths: Collection[str]) -> Mapping[str, Mapping[int, int]]:
        rows = self._fetch("derived", paths=list(paths))
        return {path: dict(zip(pairs[::2], pairs[1::2], strict=True)) for path, pairs in rows}

    def consulting(self, numbers: Collection[int]) -> set[str]:
        if not numbers:
            return set()
        return {path for (path,) in self._fetch("consulting", numbers=list(numbers))}

    def expect(self, paths: Collection[str]) -> None:
        """Read at once who offers what the files consulted, and the facts of these files."""
        self._load_facts([path for path in paths if path not in self._facts])
        found: dict[int, list[str]] = {}
        for path, numbers in self._fetch("offered_to", paths=list(paths)):
            for number in numbers:
                found.setdefault(number, [])
                if path is not None:
                    found[number].append(path)
        for number, providers in found.items():
            self._providers.setdefault(number, sorted(providers))

    def manifests(self) -> dict[str, str]:
        """Return the project files by path with their blob ids. Two queries."""
        return {fact.path: fact.blob for fact in self.files(self.providers(_MANIFEST))}

    def files(self, paths: Collection[str]) -> list[FileFact]:
        """Return what the graph says of some files, of those that are there. One query."""
        return [
            FileFact(
                path=path,
                blob=blob,
                size=size,
                lines=lines,
                language=language or None,
                skipped=skipped or None,
            )
            for path, blob, size, lines, language, skipped in self._fetch(
                "files", paths=list(paths)
            )
        ]

    def _load_facts(self, paths: Sequence[str]) -> None:
        self._facts.update(dict.fromkeys(paths))
        for path, blob, packed in self._fetch("facts", paths=list(paths)):
            if packed is None:
                raise FactsMissing(f"The facts of {path!r} are not kept any more.")
            self._blobs[path] = blob
            self._facts[path] = BlobFacts.from_bytes(bytes(packed))

    def _fetch(self, name: str, **parameters: Any) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(
                statements("dependencies", _STATEMENTS)[name],
                {
                    "repository": self.revision.repository_id,
                    "revision": self.revision.id,
                    "extractor": EXTRACTOR_VERSION,
                    **parameters,
                },
            )
            return list(cursor.fetchall())


@dataclass(frozen=True, slots=True)
class FileNumbers:
    """What one file consulted and offers, as it is kept."""

    path: str
    consulted: list[int]
    offered: list[int]
    derived: list[int]


class Numbering:
    """Turns keys into numbers, each once."""

    def __init__(self, repository_id: UUID) -> None:
        self._salt = repository_id.bytes
        self._known: dict[tuple[str, ...], int] = {}

    def of(self, file: FileResolution) -> FileNumbers:
        manifest = [self._number(_MANIFEST)] if is_manifest(file.path) else []
        derived = [self._number(key) for pair in file.derived.items() for key in pair]
        return FileNumbers(
            path=file.path,
            consulted=[self._number(key) for key in file.consulted],
            offered=[*manifest, *(self._number(key) for key in file.offered)],
            derived=derived,
        )

    def of_manifest(self, path: str) -> FileNumbers:
        return FileNumbers(path, [], [self._number(_MANIFEST)], [])

    def _number(self, key: Key) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = number_of(key, salt=self._salt)
        return found


def keep_all(*, repository_id: UUID, revision: int, files: Sequence[FileNumbers]) -> None:
    """Keep what the resolution of a whole tree depends on.

    Part of the transaction that writes the graph.
    """
    with transaction.atomic():
        _close(repository_id, revision, paths=None)
        _open(repository_id, revision, files)
        _analyze()
        KeptResolution.objects.update_or_create(
            repository_id=repository_id, defaults={"version": _version(), "whole_since": revision}
        )


def keep_changes(
    *, repository_id: UUID, revision: int, files: Sequence[FileNumbers], gone: Collection[str]
) -> None:
    """Keep what files depend on that were resolved anew, and forget those that are gone.

    Part of the transaction that writes the graph.
    """
    with transaction.atomic():
        _close(repository_id, revision, paths={*gone, *(file.path for file in files)})
        _open(repository_id, revision, files)


def keep_texts(texts: Mapping[str, bytes]) -> None:
    """Keep the texts of project files by blob id: not every process has a mirror."""
    ManifestText.objects.bulk_create(
        (ManifestText(blob=blob, text=zlib.compress(text)) for blob, text in sorted(texts.items())),
        ignore_conflicts=True,
    )


def kept_texts(*, blobs: Collection[str]) -> dict[str, bytes]:
    """Return the texts of project files that are kept. One query."""
    rows = ManifestText.objects.filter(blob__in=blobs).values_list("blob", "text")
    return {blob: zlib.decompress(bytes(text)) for blob, text in rows}


def prune() -> int:
    """Drop what files depended on before the oldest revision that anybody may rest on.

    Follows the graph's own pruning. Return how many rows that were.
    """
    with connection.cursor() as cursor:
        cursor.execute(statements("dependencies", _STATEMENTS)["prune"])
        return int(cursor.rowcount)


def _version() -> str:
    """Return what facts, rules and rows are made with: of another kind nothing is comparable."""
    return f"{EXTRACTOR_VERSION}/{DIGEST_VERSION.decode()}/{RULES_VERSION}"


def _close(repository_id: UUID, revision: int, *, paths: Collection[str] | None) -> None:
    live = FileDependencies.objects.filter(repository_id=repository_id, valid_to=None)
    if paths is not None:
        files = SourceFile.objects.filter(repository_id=repository_id, path__in=paths)
        live = live.filter(file__in=files.values("pk"))
    live.filter(valid_from__gte=revision).delete()
    live.update(valid_to=revision)


def _open(repository_id: UUID, revision: int, files: Sequence[FileNumbers]) -> None:
    keys = dict(
        SourceFile.objects.filter(
            repository_id=repository_id, path__in=[file.path for file in files]
        ).values_list("path", "pk")
    )
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for file in files:
            numbers = (file.consulted, file.offered, file.derived)
            copy.write_row((keys[file.path], repository_id, *numbers, revision))


def _analyze() -> None:
    # Taken for a single row until autovacuum comes, a new repository's files would be read one by
    # one. The numbers of keys are as good as random: to count them would only take long.
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE indexing_filedependencies (file_id, repository_id, valid_from, valid_to)"
        )


_COPY: Final = """
    COPY indexing_filedependencies
        (file_id, repository_id, consulted, offered, derived, valid_from) FROM STDIN
"""
