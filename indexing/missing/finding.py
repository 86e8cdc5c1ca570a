"""A diff in, the files that it probably forgot out.

Reads what stood and had landed at the diff's base, and nothing later.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import numpy as np

from indexing.changes import FileChange, SymbolStatus
from indexing.git import GitError, Mirror
from indexing.languages import is_program, is_test_path
from indexing.missing import knowledge, ranking, reasons
from indexing.missing.documents import Scores
from indexing.missing.knowledge import History, Place
from indexing.missing.names import words_of
from indexing.missing.together import Company, Likely
from indexing.missing.values import (
    LEAST_PROBABILITY,
    MOST_SUGGESTIONS,
    Missing,
    MissingChange,
    Shown,
    ShownFile,
)
from indexing.missing.words import WordIndex, identifiers, parts, weighted

_COMMON: Final = 0.2
"""A word that a larger share of all files holds is no reason to name one."""
# A word that few files hold, or a small share of them, says most about these.
_RARE: Final = 3
_RARE_SHARE: Final = 0.05
# Reciprocal ranks, as in rank fusion: the first counts a third more than the second.
_RANK_OFFSET: Final = 3


def find_missing(
    *,
    repository_id: UUID,
    mirror: Mirror | None,
    base_commit: str,
    indexed_commit: str,
    shown: Shown,
    limit: int = MOST_SUGGESTIONS,
    least: float = LEAST_PROBABILITY,
) -> Missing:
    """Return the likeliest files that a diff leaves as they are, at most `limit`.

    None that is less likely than `least`. Two to four queries, and of the mirror what this process
    has not read yet.
    """
    if not shown.files:
        return Missing(changes=())
    try:
        with _searching(repository_id, mirror, base_commit, indexed_commit, shown) as search:
            return Missing(
                changes=tuple(search.likeliest(limit, least)),
                notes=() if mirror is not None else (_NO_CONTENT,),
            )
    except knowledge.TooManyFiles:
        return Missing(changes=(), notes=(_TOO_MANY,))
    except GitError:
        return Missing(changes=(), notes=(_UNREAD,))


def rank_files(
    *,
    repository_id: UUID,
    mirror: Mirror | None,
    base_commit: str,
    indexed_commit: str,
    shown: Shown,
) -> list[tuple[str, float]]:
    """Return all files that a diff leaves as they are with their probabilities, likeliest first.

    What `find_missing` shows the first of. Raises knowledge.TooManyFiles and GitError.
    """
    with _searching(repository_id, mirror, base_commit, indexed_commit, shown) as search:
        return search.ranked()


def shown_by(
    changes: Sequence[FileChange], *, dependents: Mapping[str, int], title: str = ""
) -> Shown:
    """Return what a diff shows; `dependents` counts those of each path that is not in it."""
    added, removed, context = Counter[str](), Counter[str](), Counter[str]()
    redefined: set[str] = set()
    files = []
    for change in changes:
        if change.diff.is_submodule:
            continue
        new, old = Counter[str](), Counter[str]()
        for hunk in change.diff.hunks:
            new += _identifiers(hunk.added)
            old += _identifiers(hunk.removed)
            context += _identifiers(hunk.context)
        added += new
        removed += old
        files.append(
            ShownFile(
                old_path=change.diff.old_path if change.diff.has_old_side else None,
                path=change.diff.path,
                words=new + old,
            )
        )
        for symbol in change.symbols:
            definition = symbol.new or symbol.old
            is_other = symbol.status is not SymbolStatus.MODIFIED or symbol.signature_changed
            if definition is not None and is_other:
                redefined.add(definition.name)
    return Shown(
        files=files,
        added=added,
        removed=removed,
        context=context,
        redefined=frozenset(redefined),
        dependents=dependents,
        title=title,
    )


_NO_CONTENT: Final = (
    "This server has no copy of the content at hand, so missing changes were looked for in history"
    " and names alone."
)
_TOO_MANY: Final = "The repository has too many files to say which changes may be missing."
_UNREAD: Final = "The files of the base could not be read, so no missing changes were looked for."


@contextmanager
def _searching(
    repository_id: UUID,
    mirror: Mirror | None,
    base_commit: str,
    indexed_commit: str,
    shown: Shown,
) -> "Iterator[_Search]":
    """Give the search for what is missing, in what was known at the base; other threads wait."""
    history = knowledge.history_of(
        repository_id, mirror=mirror, commit=base_commit, indexed_commit=indexed_commit
    )
    if mirror is None:
        place = knowledge.place_without_words(repository_id)
        yield _Search(WordIndex(), place, history, shown)
        return
    known = knowledge.repository_of(repository_id)
    with known.lock:
        place = known.place(mirror, base_commit)
        yield _Search(known.index, place, history, shown)


def _identifiers(lines: Iterable[tuple[int, str]]) -> Counter[str]:
    return identifiers("\n".join(text for _, text in lines))


class _Search:
    """One question: the files of a commit, what is known of them, and what a diff shows.

    Files that the diff leaves as they are compete; arrays are over these, as `_places` has them.
    """

    def __init__(self, index: WordIndex, place: Place, history: History, shown: Shown) -> None:
        self._index = index
        self._tree = place.tree
        self._names = place.names
        self._is_test = place.is_test
        self._history = history
        self._shown = shown
        self._here = [file.path for file in shown.files]
        told = parts(identifiers(shown.title))
        self._told = weighted(told, told)
        self._keys = {
            path: history.keys[path]
            for path in dict.fromkeys(file.old_path for file in shown.files)
            if path is not None and path in history.keys
        }
        taken = {*self._here, *(file.old_path for file in shown.files)}
        free = [place for place, path in enumerate(self._tree.paths) if path not in taken]
        self._places = np.array(free, dtype=np.int64)

    def likeliest(self, limit: int, least: float) -> list[MissingChange]:
        """Return the files that are at least so likely, the likeliest first, each with a reason."""
        parts, likely = self._judged()
        ordered = np.argsort(-likely, kind="stable")[:limit]
        return [
            MissingChange(
                path=self._tree.paths[int(self._places[number])],
                probability=float(likely[number]),
                reason=self._reason(
                    int(self._places[number]),
                    {name: float(values[number]) for name, values in parts.items()},
                ),
            )
            for number in ordered
            if likely[number] >= least
        ]

    def ranked(self) -> list[tuple[str, float]]:
        """Return every file with its probability, the likeliest first."""
        _, likely = self._judged()
        return [
            (self._tree.paths[int(self._places[number])], float(likely[number]))
            for number in np.argsort(-likely, kind="stable")
        ]

    def _judged(self) -> tuple[dict[str, Scores], Scores]:
        """Return what each kind of evidence adds to each file, and how likely each is."""
        if not len(self._places):
            return {}, np.zeros(0)
        parts = ranking.parts(self._evidence())
        return parts, ranking.probabilities(np.sum(list(parts.values()), axis=0))

    # --- Evidence ------------------------------------------------------------------------------

    def _evidence(self) -> ranking.Evidence:
        shown = self._shown
        changed = shown.changed
        context = [word for word in shown.context if word not in changed]
        gone = [word for word in shown.removed if word not in shown.added]
        likely = self._likely()
        return ranking.Evidence(
            shared_words=self._words({word: share**2 for word, share in shown.shared.items()}),
            rare_words=self._words(weighted(changed, self._rare(changed))),
            gone_words=self._words(weighted(shown.removed, gone)),
            context_words=self._words(dict.fromkeys(context, 1.0)),
            redefined_words=self._words(dict.fromkeys(shown.redefined, 1.0)),
            word_parts=self._word_parts(),
            named=self._named(),
            together=self._of_keys(likely.by_files),
            messages=self._of_keys(likely.by_message),
            told_words=self._index.scores_of_parts([self._told], self._tree)[0][self._places],
            told_paths=self._ranks_of_paths(self._told)[self._places],
            dependents=self._of_paths(shown.dependents),
            names=self._likeness(self._names.alike),
            folders=self._likeness(self._names.near),
            is_test=self._tests_wanted(),
        )

    def _words(self, words: Mapping[str, float]) -> Scores:
        return self._index.scores(words, self._tree)[self._places]

    def _rare(self, words: Iterable[str]) -> list[str]:
        most = max(_RARE, _RARE_SHARE * len(self._tree.paths))
        holders = self._index.holders(words, self._tree)
        return [word for word, number in holders.items() if number <= most]

    def _word_parts(self) -> Scores:
        """Return the mean, over the shown files, of how much of their changed lines each holds."""
        found = self._index.scores_of_parts(self._parts_of_files(), self._tree)
        shares = [one / highest for one in found if (highest := one.max(initial=0.0)) > 0]
        return np.sum(shares, axis=0)[self._places] / len(found) if shares else self._nothing()

    def _named(self) -> Scores:
        """Return how high each path ranks among those that the changed lines name, by file."""
        ranks = [self._ranks_of_paths(words) for words in self._parts_of_files()]
        mean: Scores = np.mean(ranks, axis=0)
        return mean[self._places]

    def _ranks_of_paths(self, words: Mapping[str, float]) -> Scores:
        """Return the reciprocal rank of each path by how much some words name it."""
        scores = self._names.named(words)
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
        reciprocal: Scores = np.where(scores > 0, 1 / (ranks + _RANK_OFFSET), 0)
        return reciprocal

    def _parts_of_files(self) -> list[dict[str, float]]:
        counted = [parts(file.words) for file in self._shown.files]
        return [weighted(counts, counts) for counts in counted]

    def _likely(self) -> Likely:
        about = parts(self._shown.changed)
        commits, until = self._history.commits, self._history.until
        return commits.likely_with(self._keys.values(), about=weighted(about, about), until=until)

    def _of_keys(self, values: Mapping[int, float]) -> Scores:
        paths = self._history.paths
        return self._of_paths({paths[key]: value for key, value in values.items() if key in paths})

    def _nothing(self) -> Scores:
        return np.zeros(len(self._places))

    def _of_paths(self, values: Mapping[str, float]) -> Scores:
        scores = np.zeros(len(self._tree.paths))
        for path, value in values.items():
            if path in self._tree.places:
                scores[self._tree.places[path]] = value
        return scores[self._places]

    def _likeness(self, of: Callable[[str], Scores]) -> Scores:
        likeness: Scores = np.max([of(path) for path in dict.fromkeys(self._here)], axis=0)
        return likeness[self._places]

    def _tests_wanted(self) -> Scores:
        """Return what is a test, where the diff has none."""
        if any(is_test_path(path) for path in self._here if is_program(path)):
            return self._nothing()
        return self._is_test[self._places].astype(np.float64)

    # --- Reasons -------------------------------------------------------------------------------

    def _reason(self, place: int, points: dict[str, float]) -> str:
        path = self._tree.paths[place]
        held = self._index.words_of(place, self._shown.changed, self._tree)
        rare = [word for word, holders in held if holders <= _COMMON * len(self._tree.paths)]
        grounds = reasons.Grounds(
            partner=self._partner(path),
            words=[word for word in rare if word not in self._shown.redefined],
            redefined=[word for word in rare if word in self._shown.redefined],
            dependents=self._shown.dependents.get(path, 0),
            namesake=self._namesake(path),
            named=sorted(words_of(path) & set(parts(self._shown.changed))),
            told=sorted(words_of(path) & set(self._told)),
            is_test=points["is_test"] > 0,
        )
        return reasons.sentence(grounds, points)

    def _partner(self, path: str) -> tuple[str, Company] | None:
        """Return the shown file of whose commits the largest share changed this one, too."""
        key = self._history.keys.get(path)
        if key is None:
            return None
        commits, until = self._history.commits, self._history.until
        found = [
            (shown, commits.company(other, key, until=until)) for shown, other in self._keys.items()
        ]
        return max(found, key=lambda one: (_share(one[1]), one[1].together), default=None)

    def _namesake(self, path: str) -> str | None:
        own = words_of(path)
        alike = (shown for shown in self._here if own and words_of(shown) == own)
        return next(alike, None)


def _share(company: Company) -> float:
    return company.together / (company.commits + 1)
