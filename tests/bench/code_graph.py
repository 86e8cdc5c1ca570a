"""A synthetic code base: files, symbols, and edges whose in-degrees follow a power law.

Pure and repeatable: the same sizes give the same graph. Nodes are positions: symbols count from 0,
files follow behind the last symbol. Every repository holds the first files of one imagined code
base, so that facts about symbols are made once; the edges differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.values import EdgeKind, FileFact, NodeKind, SymbolFact, Visibility, symbol_id
from indexing.resolution.names import Rule
from tests.bench.vocabulary import NOUNS, VERBS, sentence

Positions = NDArray[np.int64]

REPOSITORY_SHARES: Final = (0.35, 0.20, 0.15, 0.10, 0.08, 0.06, 0.04, 0.02)
SYMBOLS_PER_FILE: Final = 10
# A class, its five methods, four functions.
_METHODS: Final = range(1, 6)
_LINES_PER_SYMBOL: Final = 12
# Of the edges that are not containment; the rest are calls.
_SHARES: Final = {EdgeKind.IMPORTS: 0.10, EdgeKind.INHERITS: 0.025, EdgeKind.REFERENCES: 0.25}
_RULES: Final = {
    EdgeKind.CONTAINS: Rule.SYNTAX,
    EdgeKind.CALLS: Rule.TYPED,
    EdgeKind.IMPORTS: Rule.IMPORT,
    EdgeKind.INHERITS: Rule.MODULE,
    EdgeKind.REFERENCES: Rule.FILE,
}
# How often a target is near its source, and how often it is in any repository of the namespace.
_NEAR: Final = {EdgeKind.IMPORTS: 0.3, EdgeKind.INHERITS: 0.2}
_USUALLY_NEAR: Final = 0.45
_ANYWHERE: Final = 0.04
_NEIGHBORHOOD: Final = 60
_POPULARITY_EXPONENT: Final = -0.9
_ENDED_SHARE: Final = 0.15  # edges of the past beside those that live
_SEED: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Edges of one kind; the ended ones are history and stand behind the live ones."""

    kind: EdgeKind
    sources: Positions
    targets: Positions
    line_offsets: Positions
    live: int

    @property
    def rule(self) -> Rule:
        return _RULES[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGraph:
    """The whole code base; arrays are by position."""

    symbol_count: int
    file_count: int
    repository_of_file: NDArray[np.int64]
    first_file: NDArray[np.int64]
    edges: tuple[Edges, ...]

    @property
    def live_edge_count(self) -> int:
        return sum(edges.live for edges in self.edges)

    @property
    def in_degrees(self) -> NDArray[np.int64]:
        """Return how many live edges other than containment lead to each symbol."""
        counts = np.zeros(self.symbol_count + self.file_count, np.int64)
        for edges in self.edges:
            if edges.kind is not EdgeKind.CONTAINS:
                targets = edges.targets[: edges.live]
                counts += np.bincount(targets, minlength=len(counts))
        return counts[: self.symbol_count]

    def repository_of(self, symbol: int) -> int:
        return int(self.repository_of_file[symbol // SYMBOLS_PER_FILE])

    def files_of(self, nodes: Positions) -> Positions:
        """Return the file (0-based) of each node."""
        return np.where(
            nodes < self.symbol_count, nodes // SYMBOLS_PER_FILE, nodes - self.symbol_count
        )

    def file_fact(self, file: int) -> FileFact:
        return file_fact(file - int(self.first_file[self.repository_of_file[file]]))

    def symbol_fact(self, symbol: int) -> SymbolFact:
        return symbol_fact(self.number_in_repository(symbol))

    def number_in_repository(self, symbol: int) -> int:
        """Return which symbol of the imagined code base this is."""
        return symbol - int(self.first_file[self.repository_of(symbol)]) * SYMBOLS_PER_FILE

    def file_facts(self) -> Iterator[FileFact]:
        return (self.file_fact(file) for file in range(self.file_count))

    def symbol_facts(self) -> Iterator[SymbolFact]:
        return (self.symbol_fact(symbol) for symbol in range(self.symbol_count))


def make_code_graph(
    *, symbols: int, edges: int, shares: Sequence[float] = REPOSITORY_SHARES
) -> CodeGraph:
    """Return a graph with so many live edges (less where they run out), and history beside.

    `shares` says how the files are spread over repositories.
    """
    base = _Base.of(symbols, shares)
    rng = np.random.default_rng(_SEED)
    contained = _containment(base)
    wanted = max(edges - contained.live, 0)
    counts = {kind: int(wanted * share) for kind, share in _SHARES.items()}
    counts[EdgeKind.CALLS] = wanted - sum(counts.values())
    drawn = [_draw(base, kind, count, rng) for kind, count in counts.items()]
    return CodeGraph(
        symbol_count=base.symbols,
        file_count=base.files,
        repository_of_file=base.repository_of_file,
        first_file=base.first_file,
        edges=(contained, *drawn),
    )


@cache
def file_fact(number: int) -> FileFact:
    """Return the nth file of the imagined code base."""
    topic, detail = NOUNS[number % len(NOUNS)], NOUNS[number // len(NOUNS) % len(NOUNS)]
    return FileFact(
        path=f"src/{topic}/{detail}_{number}.py",
        blob=f"{number:040x}",
        size=SYMBOLS_PER_FILE * _LINES_PER_SYMBOL * 34,
        lines=SYMBOLS_PER_FILE * _LINES_PER_SYMBOL,
        language="python",
        skipped=None,
    )


@cache
def symbol_fact(number: int) -> SymbolFact:
    """Return the nth symbol of the imagined code base: a class, a method of it, or a function."""
    file, place = divmod(number, SYMBOLS_PER_FILE)
    path = file_fact(file).path
    noun = NOUNS[(number * 7 + file) % len(NOUNS)]
    class_name = f"{NOUNS[file * 7 % len(NOUNS)].title()}{NOUNS[file % len(NOUNS)].title()}"
    is_class, is_method = place == 0, place in _METHODS
    # A verb for each place: names repeat in a repository, never in a file.
    name = class_name if is_class else f"{VERBS[(file + place) % len(VERBS)]}_{noun}"
    local_name = f"{class_name}.{name}" if is_method else name
    doc = sentence(number)
    signature = (
        f"class {name}({noun.title()}Base):"
        if is_class
        else f"def {name}({'self, ' if is_method else ''}{noun}: {noun.title()}) -> bool:"
    )
    start_line = place * _LINES_PER_SYMBOL + 1
    return SymbolFact(
        path=path,
        name=name,
        local_name=local_name,
        qualified_name=f"{path.removesuffix('.py').replace('/', '.')}.{local_name}",
        kind=NodeKind.CLASS if is_class else NodeKind.METHOD if is_method else NodeKind.FUNCTION,
        ordinal=0,
        language="python",
        parent=symbol_id(path=path, local_name=class_name, ordinal=0) if is_method else None,
        start_line=start_line,
        end_line=start_line + _LINES_PER_SYMBOL - 2,
        signature=signature,
        doc=doc,
        visibility=Visibility.PUBLIC,
        is_test=False,
        body_hash=f"{number:064x}",
        source_text=f'{signature}\n    """{doc}"""\n    return {noun}.is_valid()\n',
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """Where files and symbols are, and how popular each symbol is in its repository."""

    symbols: int
    files: int
    repository_of_file: NDArray[np.int64]
    first_file: NDArray[np.int64]
    files_in: NDArray[np.int64]
    popularity: NDArray[np.float64]  # cumulated over all symbols, in their order

    @classmethod
    def of(cls, symbols: int, shares: Sequence[float]) -> "_Base":
        files = symbols // SYMBOLS_PER_FILE
        files_in = np.maximum((np.array(shares) * files).astype(np.int64), 1)
        files_in[0] += files - files_in.sum()
        first_file = np.concatenate([[0], np.cumsum(files_in)[:-1]])
        rng = np.random.default_rng(_SEED)
        popularity = [
            rng.permutation((np.arange(count) + 3.0) ** _POPULARITY_EXPONENT)
            for count in files_in * SYMBOLS_PER_FILE
        ]
        return cls(
            symbols=files * SYMBOLS_PER_FILE,
            files=files,
            repository_of_file=np.repeat(np.arange(len(files_in)), files_in),
            first_file=first_file,
            files_in=files_in,
            popularity=np.concatenate([[0.0], np.cumsum(np.concatenate(popularity))]),
        )


def _containment(base: _Base) -> Edges:
    symbols = np.arange(base.symbols, dtype=np.int64)
    files, places = np.divmod(symbols, SYMBOLS_PER_FILE)
    is_method = np.isin(places, list(_METHODS))
    parents = np.where(is_method, files * SYMBOLS_PER_FILE, base.symbols + files)
    # Containment begins where the definition does, counted from the parent's first line.
    offsets = places * _LINES_PER_SYMBOL
    return Edges(
        kind=EdgeKind.CONTAINS,
        sources=parents,
        targets=symbols,
        line_offsets=offsets,
        live=len(symbols),
    )


def _draw(base: _Base, kind: EdgeKind, count: int, rng: np.random.Generator) -> Edges:
    """Draw live edges, each once, and ended ones behind them."""
    surplus = count + count // 4 + 100
    pairs = np.column_stack(_pairs(base, kind, surplus, rng))
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    pairs = rng.permutation(pairs)
    live = min(count, len(pairs))
    ended = rng.choice(pairs[:live], int(live * _ENDED_SHARE)) if live else pairs[:0]
    rows = np.concatenate([pairs[:live], ended])
    return Edges(
        kind=kind,
        sources=rows[:, 0],
        targets=rows[:, 1],
        line_offsets=rng.integers(0, _LINES_PER_SYMBOL - 1, len(rows)),
        live=live,
    )


def _pairs(
    base: _Base, kind: EdgeKind, count: int, rng: np.random.Generator
) -> tuple[Positions, Positions]:
    sources = rng.integers(0, base.symbols, count)
    targets = _targets(base, sources, near=_NEAR.get(kind, _USUALLY_NEAR), rng=rng)
    match kind:
        case EdgeKind.INHERITS:  # between classes
            return sources - sources % SYMBOLS_PER_FILE, targets - targets % SYMBOLS_PER_FILE
        case EdgeKind.IMPORTS:  # by files: every second of a whole file
            is_file = rng.random(count) < 0.5
            modules = base.symbols + targets // SYMBOLS_PER_FILE
            return (
                base.symbols + sources // SYMBOLS_PER_FILE,
                np.where(is_file, modules, targets),
            )
    return sources, targets


def _targets(
    base: _Base, sources: Positions, *, near: float, rng: np.random.Generator
) -> Positions:
    chance = rng.random(len(sources))
    repositories = base.repository_of_file[sources // SYMBOLS_PER_FILE]
    is_anywhere = chance > 1 - _ANYWHERE
    repositories[is_anywhere] = rng.integers(0, len(base.files_in), int(is_anywhere.sum()))
    first = base.first_file[repositories] * SYMBOLS_PER_FILE
    last = first + base.files_in[repositories] * SYMBOLS_PER_FILE - 1
    low, high = base.popularity[first], base.popularity[last + 1]
    popular = np.searchsorted(base.popularity, low + rng.random(len(sources)) * (high - low)) - 1
    around = sources + rng.integers(-_NEIGHBORHOOD, _NEIGHBORHOOD + 1, len(sources))
    return np.clip(np.where(chance < near, around, popular), first, last)
