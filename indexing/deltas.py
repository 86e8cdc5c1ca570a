"""What a commit or a work tree changes of a tree that is kept: entries -> facts -> delta.

Costs what differs. Whatever could concern files beyond those that consulted something that changed
is refused with `TooDifferent`, and the whole tree is resolved instead.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from graph.values import Delta, EdgeFact, EntityFact, FileFact, SymbolFact
from indexing.answers import Answers
from indexing.contents import Unread
from indexing.dependencies import (
    FileNumbers,
    FindAnswers,
    KeptTree,
    Numbering,
    keep_texts,
    kept_texts,
    no_answers,
)
from indexing.facts import BlobFacts
from indexing.git import TreeEntry
from indexing.languages import language_of
from indexing.resolution import FileResolution, is_manifest
from indexing.resolution.changes import Changes, resolve_changes
from indexing.resolution.manifests import Manifests, read_manifests

# Identities hold an index row of 2.7 KB each: of a symbol's path and local name, and of its
# qualified name, which is not much longer.
_LONGEST_ID_BYTES = 1_600
# Beyond this many changed files, reading the whole tree costs less than asking for parts of it.
_MOST_CHANGED_FILES = 3_000

ReadFacts = Callable[[Iterable[TreeEntry]], Mapping[str, BlobFacts | Unread]]
ReadTexts = Callable[[Iterable[str]], Mapping[str, bytes]]


class TooDifferent(Exception):
    """The change is better, or only, answered by resolving everything; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """What a new tree has at the paths where it differs from a kept one; None where it is gone."""

    commit: str
    committed_at: int
    entries: Mapping[str, TreeEntry | None]
    also: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedChange:
    """A delta to the kept tree, and what is kept of its resolution.

    `too_long` are files that have symbols with longer names than the graph can index.
    """

    delta: Delta
    numbers: list[FileNumbers]
    gone: frozenset[str]
    too_long: list[str]
    parsed: int
    facts: Mapping[str, BlobFacts | Unread] = field(repr=False)


def resolve_change(
    tree: KeptTree,
    change: TreeChange,
    *,
    read_facts: ReadFacts,
    read_texts: ReadTexts,
    find_answers: FindAnswers = no_answers,
) -> ResolvedChange:
    """Resolve what a change concerns; raise TooDifferent or FactsMissing."""
    if len(change.entries) > _MOST_CHANGED_FILES:
        raise TooDifferent(f"{len(change.entries):,} files differ.")
    manifests = _manifests(tree, change.entries, read_texts)
    present = {path: entry for path, entry in change.entries.items() if entry is not None}
    read = read_facts(present.values())
    known = {path: facts for path, facts in read.items() if isinstance(facts, BlobFacts)}
    changes = Changes(
        files={path: known.get(path) for path in change.entries},
        answers=_answers(present, known, find_answers),
        also=frozenset(path for path in change.also - change.entries.keys() if tree.facts(path)),
    )
    resolved = resolve_changes(tree, changes, manifests)
    touched = [path for path in resolved if path not in present]
    gone = [path for path, entry in change.entries.items() if entry is None]
    symbols = [symbol for file in resolved.values() for symbol in file.symbols]
    edges = [edge for file in resolved.values() for edge in file.edges]
    return ResolvedChange(
        delta=Delta(
            commit=change.commit,
            committed_at=change.committed_at,
            files=(
                *(file_fact(entry, read.get(path)) for path, entry in present.items()),
                *tree.files(touched),
            ),
            symbols=tuple(indexable_symbols(symbols)),
            edges=tuple(indexable_edges(edges)),
            entities=distinct(entity for file in resolved.values() for entity in file.entities),
            removed=tuple(fact.path for fact in tree.files(gone)),
        ),
        numbers=_numbers(tree, resolved.values(), present),
        gone=frozenset(change.entries.keys()),
        too_long=too_long(symbols),
        parsed=len(known),
        facts=read,
    )


def _answers(
    entries: Mapping[str, TreeEntry], paths: Iterable[str], find_answers: FindAnswers
) -> dict[str, Answers]:
    found = {path: find_answers(path, entries[path].blob) for path in paths}
    return {path: answers for path, answers in found.items() if answers is not None}


def file_fact(entry: TreeEntry, facts: BlobFacts | Unread | None) -> FileFact:
    language = language_of(entry.path)
    return FileFact(
        path=entry.path,
        blob=entry.blob,
        size=entry.size or 0,
        lines=facts.lines if isinstance(facts, BlobFacts) else 0,
        language=language.name if language else None,
        skipped=facts.reason if isinstance(facts, Unread) else None,
    )


def indexable_symbols(symbols: Iterable[SymbolFact]) -> Iterable[SymbolFact]:
    return (symbol for symbol in symbols if is_indexable(symbol.id))


def indexable_edges(edges: Iterable[EdgeFact]) -> Iterable[EdgeFact]:
    return (edge for edge in edges if is_indexable(edge.source) and is_indexable(edge.target))


def distinct(entities: Iterable[EntityFact]) -> tuple[EntityFact, ...]:
    """Return each entity once, by id: several files may lead to it."""
    known = {entity.id: entity for entity in entities}
    return tuple(known[key] for key in sorted(known))


def too_long(symbols: Iterable[SymbolFact]) -> list[str]:
    """Return the files that have symbols with longer names than the graph can index."""
    return sorted({symbol.path for symbol in symbols if not is_indexable(symbol.id)})


def is_indexable(text_id: str) -> bool:
    """Tell whether a node's identity fits an index; the id alone decides, wherever it stands."""
    return len(text_id) * 4 <= _LONGEST_ID_BYTES or len(text_id.encode()) <= _LONGEST_ID_BYTES


def _manifests(
    tree: KeptTree, entries: Mapping[str, TreeEntry | None], read_texts: ReadTexts
) -> Manifests:
    before = tree.manifests()
    after = {path: blob for path, blob in before.items() if path not in entries}
    after |= {
        path: entry.blob
        for path, entry in entries.items()
        if entry is not None and is_manifest(path)
    }
    texts = _texts({*before.values(), *after.values()}, read_texts)
    known = read_manifests(_by_path(before, texts))
    if before != after and read_manifests(_by_path(after, texts)) != known:
        raise TooDifferent("Project files say another thing about how imports find files.")
    return known


def _texts(blobs: set[str], read_texts: ReadTexts) -> dict[str, bytes]:
    """Return texts of project files: those that are kept, and the others once they are read."""
    known = kept_texts(blobs=blobs)
    unknown = blobs - known.keys()
    if unknown:
        read = read_texts(unknown)
        keep_texts(read)
        known |= read
    return known


def _by_path(blobs: Mapping[str, str], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: texts[blob] for path, blob in blobs.items() if blob in texts}


def _numbers(
    tree: KeptTree, resolved: Iterable[FileResolution], present: Iterable[str]
) -> list[FileNumbers]:
    numbering = Numbering(tree.revision.repository_id)
    numbers = {file.path: numbering.of(file) for file in resolved}
    for path in present:
        if is_manifest(path) and path not in numbers:
            numbers[path] = numbering.of_manifest(path)
    return list(numbers.values())
