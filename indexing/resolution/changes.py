"""A tree that differs in a few files from one whose resolution is known: what must be resolved.

A file's result follows from its content and from the keys it consulted. So the files to resolve
are those that changed and those that consulted a key that does not say the same any more.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from indexing.answers import Answers
from indexing.facts import BlobFacts
from indexing.resolution.interface import Facets, changed_keys, facets
from indexing.resolution.manifests import Manifests
from indexing.resolution.offers import offered
from indexing.resolution.reading import Key, Tree
from indexing.resolution.resolver import Derived, FileResolution, Resolver


class ResolvedTree(Tree, Protocol):
    """A tree whose resolution is kept, with what each file consulted and offered."""

    def number(self, key: Key) -> int:
        """Return the number that stands for a key where it is kept."""

    def derived(self, paths: Collection[str]) -> Mapping[str, Mapping[int, int]]:
        """Return by which keys files are found as deriving from types, and which of their own do.

        Both as numbers, the latter that of the ids together.
        """

    def consulting(self, numbers: Collection[int]) -> set[str]:
        """Return the files whose results depend on one of the keys."""

    def expect(self, paths: Collection[str]) -> None:
        """Prepare for reading what these files consulted when they were resolved."""


def number_of(key: Key, *, salt: bytes) -> int:
    """Return a 64-bit signed number for a key; two keys share one in 10^10 pairs of a billion."""
    text = "\x1f".join(key).encode(errors="surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8, salt=salt).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a new tree has in other words than the resolved one; None for files without facts.

    `answers` is what compilers say of the new contents. `also` are files to resolve although
    neither they nor anything they consulted changed.
    """

    files: Mapping[str, BlobFacts | None]
    answers: Mapping[str, Answers] = field(default_factory=dict)
    also: frozenset[str] = frozenset()


def resolve_changes(
    base: ResolvedTree, changes: Changes, manifests: Manifests
) -> dict[str, FileResolution]:
    """Return the new resolution of every file whose symbols or edges may differ from the base's.

    With the base's for all other files that is what resolving the whole new tree would give.
    """
    tree = _ChangedTree(base, changes, manifests)
    pending = {path for path, facts in changes.files.items() if facts is not None} | changes.also
    pending |= tree.consulting(_changed_numbers(base, changes.files, manifests))
    resolver = Resolver(tree, manifests)
    wanted: set[str] = set()
    gone = {path for path, facts in changes.files.items() if facts is None}
    while pending or gone:
        base.expect(pending)
        for path in sorted(pending):
            tree.derive(path, resolver.derived(path))
        moved = tree.moved(pending | gone)
        wanted |= pending
        gone = set()
        pending = tree.consulting(moved) - wanted
    return {path: resolver.resolve(path) for path in sorted(wanted)}


def _changed_numbers(
    base: ResolvedTree, files: Mapping[str, BlobFacts | None], manifests: Manifests
) -> set[int]:
    base.expect(files.keys())
    changed: set[Key] = set()
    for path, facts in files.items():
        before, after = base.facts(path), facts
        changed |= changed_keys(_facets(path, before, manifests), _facets(path, after, manifests))
    return {base.number(key) for key in changed}


def _facets(path: str, facts: BlobFacts | None, manifests: Manifests) -> Facets:
    return facets(path, facts, manifests) if facts is not None else {}


class _ChangedTree:
    """A resolved tree under its changes."""

    def __init__(self, base: ResolvedTree, changes: Changes, manifests: Manifests) -> None:
        self._base = base
        self._changed = changes.files
        self._answers = changes.answers
        self._derived: dict[str, Derived] = {}
        self._providers: dict[Key, list[str]] = {}
        self._known: dict[Key, Sequence[str]] = {}
        for path, facts in sorted(self._changed.items()):
            if facts is None:
                self._derived[path] = {}
                continue
            for key in offered(path, facts, manifests):
                self._providers.setdefault(key, []).append(path)

    def facts(self, path: str) -> BlobFacts | None:
        if path in self._changed:
            return self._changed[path]
        return self._base.facts(path)

    def answers(self, path: str) -> Answers | None:
        if path in self._changed:
            return self._answers.get(path)
        return self._base.answers(path)

    def providers(self, key: Key) -> Sequence[str]:
        if key[0] == "derived":
            stays = (p for p in self._base.providers(key) if p not in self._derived)
            return sorted({*stays, *(p for p, keys in self._derived.items() if key in keys)})
        known = self._known.get(key)
        if known is None:
            known = [path for path in self._base.providers(key) if path not in self._changed]
            mine = self._providers.get(key)
            known = self._known[key] = sorted([*known, *mine]) if mine else known
        return known

    def derive(self, path: str, derived: Derived) -> None:
        self._derived[path] = derived

    def moved(self, paths: Collection[str]) -> set[int]:
        """Return the numbers of the keys by which files are found newly, or no more."""
        before = self._base.derived(paths)
        moved: set[int] = set()
        for path in paths:
            was, now = before.get(path, {}), self._numbers(self._derived[path])
            moved |= {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        return moved

    def _numbers(self, derived: Derived) -> dict[int, int]:
        return {self._base.number(key): self._base.number(ids) for key, ids in derived.items()}

    def consulting(self, numbers: Collection[int]) -> set[str]:
        """Return the files of the new tree that consulted one of the keys in the old one."""
        return {path for path in self._base.consulting(numbers) if path not in self._changed}
