"""A whole tree in memory, as resolution reads it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from indexing.answers import Answers
from indexing.facts import BlobFacts
from indexing.resolution.manifests import Manifests
from indexing.resolution.offers import offered
from indexing.resolution.reading import Key


class WholeTree:
    """All files that have facts, and who offers what among them."""

    def __init__(
        self,
        files: Mapping[str, BlobFacts],
        manifests: Manifests,
        answers: Mapping[str, Answers] | None = None,
    ) -> None:
        self.files = {path: files[path] for path in sorted(files)}
        self._answers = answers or {}
        self._providers: defaultdict[Key, list[str]] = defaultdict(list)
        for path, facts in self.files.items():
            self.add(path, offered(path, facts, manifests))

    def facts(self, path: str) -> BlobFacts | None:
        return self.files.get(path)

    def answers(self, path: str) -> Answers | None:
        return self._answers.get(path)

    def providers(self, key: Key) -> Sequence[str]:
        return self._providers.get(key, ())

    def add(self, path: str, keys: Iterable[Key]) -> None:
        """Note what a file offers; files come in the order of their paths."""
        for key in keys:
            self._providers[key].append(path)
