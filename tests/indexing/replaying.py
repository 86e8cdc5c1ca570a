"""A resolved tree in memory, brought from one state to the next, and compared with another."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from graph.values import EdgeFact, SymbolFact
from indexing.answers import Answers
from indexing.facts import BlobFacts
from indexing.resolution import FileResolution, resolve_files
from indexing.resolution.changes import Changes, number_of, resolve_changes
from indexing.resolution.manifests import Manifests, read_manifests
from indexing.resolution.reading import Key


@dataclass
class ResolvedTree:
    """What is kept of a resolution; what was consulted and offered is known by number only."""

    files: dict[str, BlobFacts] = field(default_factory=dict)
    manifests: Mapping[str, bytes] = field(default_factory=dict)
    symbols: dict[str, list[SymbolFact]] = field(default_factory=dict)
    edges: dict[str, list[EdgeFact]] = field(default_factory=dict)
    consulted: dict[str, frozenset[int]] = field(default_factory=dict)
    offered_by: dict[int, set[str]] = field(default_factory=dict)
    derived_by: dict[str, dict[int, int]] = field(default_factory=dict)
    offered: dict[str, frozenset[int]] = field(default_factory=dict)
    resolved: list[str] = field(default_factory=list)
    said: Mapping[str, Answers] = field(default_factory=dict)

    def number(self, key: Key) -> int:
        return number_of(key, salt=b"replay")

    def facts(self, path: str) -> BlobFacts | None:
        return self.files.get(path)

    def answers(self, path: str) -> Answers | None:
        return self.said.get(path)

    def providers(self, key: Key) -> Sequence[str]:
        return sorted(self.offered_by.get(self.number(key), ()))

    def derived(self, paths: Collection[str]) -> Mapping[str, Mapping[int, int]]:
        return {path: self.derived_by[path] for path in paths if path in self.derived_by}

    def consulting(self, numbers: Collection[int]) -> set[str]:
        wanted = set(numbers)
        return {path for path, keys in self.consulted.items() if not wanted.isdisjoint(keys)}

    def expect(self, paths: Collection[str]) -> None:
        pass

    @classmethod
    def of(
        cls,
        files: Mapping[str, BlobFacts],
        manifests: Mapping[str, bytes],
        said: Mapping[str, Answers] | None = None,
    ) -> "ResolvedTree":
        tree = cls(files=dict(files), manifests=manifests, said=said or {})
        for resolution in resolve_files(files, manifests, said):
            tree._keep(resolution)
        return tree

    def advance(
        self, files: Mapping[str, BlobFacts], said: Mapping[str, Answers] | None = None
    ) -> None:
        """Become the tree of these files, resolving only what may differ."""
        said = said or {}
        changed: dict[str, BlobFacts | None] = {
            path: facts for path, facts in files.items() if self.files.get(path) is not facts
        }
        changed |= dict.fromkeys(self.files.keys() - files.keys())
        changes = Changes(files=changed, answers=said)
        found = resolve_changes(self, changes, self._known_manifests)
        self.said = said
        for path in changed:
            self._forget(path)
        self.files = dict(files)
        for resolution in found.values():
            self._forget(resolution.path)
            self._keep(resolution)
        self.resolved = sorted(found)

    def differences(self, other: "ResolvedTree") -> list[str]:
        """Return what one of two trees has and the other has not, of everything kept."""
        return [
            f"{name} of {path}"
            for name in ("symbols", "edges", "consulted", "offered", "derived_by")
            for path in sorted(self.files.keys() | other.files.keys())
            if getattr(self, name).get(path) != getattr(other, name).get(path)
        ]

    @property
    def _known_manifests(self) -> Manifests:
        return read_manifests(self.manifests)

    def _keep(self, resolution: FileResolution) -> None:
        path = resolution.path
        self.symbols[path] = resolution.symbols
        self.edges[path] = resolution.edges
        self.consulted[path] = frozenset(map(self.number, resolution.consulted))
        self.derived_by[path] = {
            self.number(key): self.number(ids) for key, ids in resolution.derived.items()
        }
        self.offered[path] = frozenset(map(self.number, resolution.offered))
        for number in self.offered[path]:
            self.offered_by.setdefault(number, set()).add(path)

    def _forget(self, path: str) -> None:
        for number in self.offered.pop(path, ()):
            self.offered_by[number].discard(path)
        for kept in (self.symbols, self.edges, self.consulted, self.derived_by):
            kept.pop(path, None)
