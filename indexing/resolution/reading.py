"""Reading a tree lazily, and remembering what was asked: the keys that an answer depends on.

A `Tree` gives one file's facts, and the files that offer a key (a module's name, a method's name).
Whatever else resolution consults is a facet of one file: the shape of a definition, the imports
that bind a name (`indexing.resolution.interface` lists them). Both are named by keys, so that a
change can be asked which files it may concern.

Answers are shared between files only when they are the same whoever asks: an answer that met
itself while it was sought is kept for the file being resolved and no longer. So the result for a
file is a function of what it consulted, whatever was resolved before it.
"""

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

from indexing.answers import Answers
from indexing.facts import BlobFacts

Key = tuple[str, ...]
"""What an answer depends on: the kind of thing, then where and under which name it was sought."""

Answer = TypeVar("Answer")

_DEEPEST = 150
_FRAMES = 5_000


class Tree(Protocol):
    """The files of one commit that have facts."""

    def facts(self, path: str) -> BlobFacts | None:
        """Return what the file at a path says; None when there is none, or none with facts."""

    def providers(self, key: Key) -> Sequence[str]:
        """Return the paths of the files that offer a key, sorted."""

    def answers(self, path: str) -> Answers | None:
        """Return what a compiler says of the content at a path; None where none was asked."""


class Reading:
    """One tree as resolution reads it, file by file: `begin`, look up, take the `keys`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.keys: set[Key] = set()
        self.path: str | None = None
        self._shared: dict[Hashable, tuple[Any, set[Key], int]] = {}
        self._own: dict[Hashable, tuple[Any, bool, int]] = {}
        self._circular: dict[Hashable, tuple[Any]] = {}
        self._repeated: dict[Hashable, Any] = {}
        self._sought: set[Hashable] = set()
        self._met_itself = False
        self._depth = 0
        self._deepest = 0
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))

    def begin(self, path: str | None) -> None:
        """Forget what the last file asked; what is read of `path` itself is no dependency."""
        self.keys = set()
        self.path = path
        self._own.clear()
        self._circular.clear()
        self._repeated.clear()
        self._met_itself = False

    def forget(self) -> None:
        """Forget all answers."""
        self.begin(None)
        self._shared.clear()

    def providers(self, key: Key) -> Sequence[str]:
        """Return the paths of the files that offer a key, sorted."""
        self.keys.add(key)
        return self.tree.providers(key)

    def aside(self, seek: Callable[..., Answer], *arguments: object) -> Answer:
        """Return what `seek(*arguments)` does, where another key says all that matters of it."""
        keys, self.keys = self.keys, set()
        repeated, self._repeated = self._repeated, {}
        try:
            return seek(*arguments)
        finally:
            self.keys = keys
            self._repeated = repeated

    def once(self, question: Hashable, seek: Callable[..., Answer], *arguments: object) -> Answer:
        """Return what `seek(*arguments)` does; when a file asks again, what it did the first time.

        A file's first question has noted all keys. Inside of another answer that does not hold:
        there the same question may be cut short, and the keys belong to that answer.
        """
        if self._depth:
            return seek(*arguments)
        if question in self._repeated:
            known: Answer = self._repeated[question]
            return known
        answer = self._repeated[question] = seek(*arguments)
        return answer

    def answer(
        self,
        question: Hashable,
        path: str,
        unknown: Answer,
        seek: Callable[..., Answer],
        *arguments: object,
    ) -> Answer:
        """Return what `seek(*arguments)` does, sought once; `unknown` where it needs itself.

        `path` is the file whose content the answer starts from.
        """
        if path == self.path:
            return self._answer_here(question, unknown, seek, arguments)
        known = self._shared.get(question)
        if known is not None:
            shared: Answer = known[0]
            keys, height = known[1], known[2]
            if self._depth + height > _DEEPEST:
                self._met_itself = True
                return unknown
            self._deepest = max(self._deepest, self._depth + height)
            self.keys |= keys
            return shared
        return self._answer_elsewhere(question, unknown, seek, arguments)

    def _answer_here(
        self,
        question: Hashable,
        unknown: Answer,
        seek: Callable[..., Answer],
        arguments: tuple[object, ...],
    ) -> Answer:
        known = self._own.get(question)
        if known is not None:
            own: Answer = known[0]
            self._met_itself |= known[1]
            self._deepest = max(self._deepest, self._depth + known[2])
            return own
        if question in self._sought or self._depth >= _DEEPEST:
            self._met_itself = True
            return unknown
        met_itself, deepest = self._met_itself, self._deepest
        answer = self._seek(question, seek, arguments)
        self._own[question] = (answer, self._met_itself, self._deepest - self._depth)
        self._met_itself |= met_itself
        self._deepest = max(deepest, self._deepest)
        return answer

    def _answer_elsewhere(
        self,
        question: Hashable,
        unknown: Answer,
        seek: Callable[..., Answer],
        arguments: tuple[object, ...],
    ) -> Answer:
        known = self._circular.get(question)
        if known is not None:
            circular: Answer = known[0]
            self._met_itself = True
            return circular
        if question in self._sought or self._depth >= _DEEPEST:
            self._met_itself = True
            return unknown
        path, keys = self.path, self.keys
        met_itself, deepest = self._met_itself, self._deepest
        self.path, self.keys = None, set()
        answer = self._seek(question, seek, arguments)
        if self._met_itself:
            self._circular[question] = (answer,)
        else:
            self._shared[question] = (answer, self.keys, self._deepest - self._depth)
        keys |= self.keys
        self.path, self.keys = path, keys
        self._met_itself |= met_itself
        self._deepest = max(deepest, self._deepest)
        return answer

    def _seek(
        self, question: Hashable, seek: Callable[..., Answer], arguments: tuple[object, ...]
    ) -> Answer:
        self._sought.add(question)
        self._met_itself = False
        self._depth += 1
        self._deepest = self._depth
        try:
            return seek(*arguments)
        finally:
            self._depth -= 1
            self._sought.discard(question)
