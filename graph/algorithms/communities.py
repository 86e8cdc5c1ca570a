"""Groups of nodes that belong together by their edges, and what to call each."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from graph.algorithms.network import Edges, Positions

_SEED: Final = 20
_SMALLEST: Final = 3
_NEIGHBORS: Final = 5
_SHARE_OF_PATH: Final = 0.5
_WORDS: Final = 3
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]{2,}")
_DULL: Final = frozenset("get set is has init new test tests self the of to from for with".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """Nodes that are tied to each other more than to others.

    `cohesion` is the share (0..1) of the weight at its nodes that stays inside; `neighbors` are
    other communities by number with the weight between, the strongest first.
    """

    number: int
    nodes: Positions
    cohesion: float
    neighbors: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """All communities, the largest first, and the modularity (-.5..1) of the division."""

    found: tuple[Community, ...]
    modularity: float


def communities(edges: Edges, *, resolution: float = 1.0) -> Communities:
    """Divide the nodes by Leiden; groups of fewer than three nodes are left out.

    A higher resolution gives more and smaller groups. The direction of edges does not matter here.
    Traag, Waltman and van Eck, "From Louvain to Leiden", 2019.
    """
    if not len(edges.sources):
        return Communities(found=(), modularity=0.0)
    # Three quarters of a second, for the processes that divide graphs.
    from scipy.sparse import csr_matrix
    from sknetwork.clustering import get_modularity  # type: ignore[import-untyped]

    from graph.algorithms.leiden import EndingLeiden

    directed = edges.matrix()
    ties = csr_matrix(directed + directed.T)
    leiden = EndingLeiden(resolution=resolution, modularity="newman", random_state=_SEED)
    labels = np.asarray(leiden.fit_predict(ties), dtype=np.int64)
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    # Numbered by size, so that the small ones that are left out come last.
    number_of = np.empty(len(sizes), np.int64)
    number_of[order] = np.arange(len(sizes))
    labels = number_of[labels]
    count = int((sizes >= _SMALLEST).sum())
    return Communities(
        found=tuple(_described(labels, edges, count)),
        modularity=float(get_modularity(ties, labels)),
    )


def _described(labels: Positions, edges: Edges, count: int) -> list[Community]:
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    begins, ends = labels[edges.sources], labels[edges.targets]
    within = np.bincount(begins[begins == ends], edges.weights[begins == ends], len(members))
    between = edges.between(labels, count=len(members))
    ties: dict[int, Counter[int]] = {number: Counter() for number in range(len(members))}
    columns = (between.sources, between.targets, between.weights)
    for source, target, weight in zip(*(column.tolist() for column in columns), strict=True):
        ties[source][target] += weight
        ties[target][source] += weight
    found = []
    for number in range(count):
        outside = ties[number].total()
        whole = float(within[number]) + outside
        near = [(other, weight) for other, weight in ties[number].most_common() if other < count]
        found.append(
            Community(
                number=number,
                nodes=members[number],
                cohesion=float(within[number]) / whole if whole else 0.0,
                neighbors=tuple(near[:_NEIGHBORS]),
            )
        )
    return found


def names_of(groups: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    """Return a name for each group of (path, name) members: `django/db/models: query, lookup`.

    The directory is the deepest that holds more than half of the members; the words are those that
    the members' names use more than those of other groups do.
    """
    words = [Counter(word for _, name in group for word in _words_of(name)) for group in groups]
    spread = Counter(word for counted in words for word in counted)
    return [
        _name(_directory([path for path, _ in group]), counted, spread, len(groups))
        for group, counted in zip(groups, words, strict=True)
    ]


def _name(directory: str, counted: Counter[str], spread: Counter[str], groups: int) -> str:
    said = set(_words_of(directory))
    weight = {
        word: number * log((groups + 1) / spread[word])
        for word, number in counted.items()
        if word not in said and number > 1
    }
    best = sorted(weight, key=lambda word: (-weight[word], word))[:_WORDS]
    return f"{directory or '/'}: {', '.join(best)}" if best else directory or "/"


def _directory(paths: Sequence[str]) -> str:
    """Return the deepest directory (or file) that holds most of the paths."""
    held = Counter(
        "/".join(parts[:depth])
        for path in paths
        for parts in [path.split("/")]
        for depth in range(1, len(parts) + 1)
    )
    enough = [place for place, number in held.items() if number > _SHARE_OF_PATH * len(paths)]
    return max(enough, key=lambda place: (place.count("/"), held[place], place), default="")


def _words_of(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)} - _DULL
