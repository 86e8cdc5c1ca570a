"""Precision and recall of calls as (caller, callee) pairs; a compiler's index is the truth."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from graph.values import LEAST_CONFIDENCE_OF_A_CALL, EdgeFact, EdgeKind, file_id
from indexing.answers import Answers, Place
from indexing.facts import BlobFacts, Reference, ReferenceKind
from indexing.resolution.manifests import read_manifests
from indexing.resolution.resolver import Resolver
from indexing.resolution.tables import FileTables
from indexing.resolution.whole import WholeTree

Pair = tuple[str, str]
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How predicted pairs compare to the true ones.

    `known` are the predicted pairs with a site of which the compiler says something: precision is
    over those, strict precision over all predicted pairs.
    """

    truth: frozenset[Pair]
    predicted: frozenset[Pair]
    known: frozenset[Pair]

    @property
    def precision(self) -> float:
        return _share(len(self.known & self.truth), len(self.known))

    @property
    def strict_precision(self) -> float:
        return _share(len(self.predicted & self.truth), len(self.predicted))

    @property
    def recall(self) -> float:
        return _share(len(self.predicted & self.truth), len(self.truth))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same files without and with the compiler's answers; by rule, how often it was right."""

    without: Accuracy
    with_answers: Accuracy
    rules: Mapping[str, tuple[int, int]]
    examples: tuple[tuple[str, str, int, str, str], ...]


def compare(
    files: Mapping[str, BlobFacts], manifests: Mapping[str, bytes], answers: Mapping[str, Answers]
) -> Comparison:
    """Resolve the files with and without answers; only files that have answers are compared."""
    names = _Names(files)
    sites = list(_sites(files, manifests, names))
    covered = set(answers)
    truth: set[Pair] = set()
    answered: set[tuple[str, Place]] = set()
    for path, reference, caller, _targets in sites:
        place = Place(reference.line, reference.column)
        target = answers[path].targets.get(place) if path in covered else None
        if target is not None:
            answered.add((path, place))
            if target.startswith("sym:"):
                truth.add((caller, names.canonical(target)))
    predicted, known = set(), set()
    rules: dict[str, list[int]] = {}
    examples = []
    for path, reference, caller, targets in sites:
        place = Place(reference.line, reference.column)
        if path not in covered:
            continue
        found = {names.canonical(target) for _, target, sure in targets if sure}
        predicted |= {(caller, target) for target in found}
        if (path, place) in answered:
            known |= {(caller, target) for target in found}
            true = names.canonical(answers[path].targets[place] or "")
            for rule, target, _sure in targets:
                counts = rules.setdefault(rule, [0, 0])
                counts[names.canonical(target) != true] += 1
                if names.canonical(target) != true:
                    examples.append(("wrong", path, reference.line, target, true))
            if true.startswith("sym:") and true not in found:
                examples.append(("missed", path, reference.line, reference.name, true))
    fused = _fused(files, manifests, answers, names)
    return Comparison(
        without=_accuracy(truth, predicted, known),
        with_answers=_accuracy(truth, fused, fused & (truth | known)),
        rules={rule: (right, wrong) for rule, (right, wrong) in sorted(rules.items())},
        examples=tuple(examples),
    )


class _Names:
    """One name for what is one thing to a caller: overloads, a class and its constructor."""

    def __init__(self, files: Mapping[str, BlobFacts]) -> None:
        self.tables = {path: FileTables(path, facts) for path, facts in files.items()}

    def canonical(self, text_id: str) -> str:
        text_id = text_id.partition("~")[0]
        path, _, name = text_id.removeprefix("sym:").partition("#")
        owner, _, last = name.rpartition(".")
        if owner and (last in _CONSTRUCTORS or last == owner.rpartition(".")[2]):
            return f"sym:{path}#{owner}"
        return text_id


def _sites(
    files: Mapping[str, BlobFacts], manifests: Mapping[str, bytes], names: _Names
) -> Iterator[tuple[str, Reference, str, list[tuple[str, str, bool]]]]:
    """Yield every call with its caller and what the rules make of it."""
    known = read_manifests(manifests)
    tree = WholeTree(files, known)
    resolver = Resolver(tree, known)
    for path in tree.files:
        tree.add(path, resolver.derived(path))
    for path in tree.files:
        resolver.reading.begin(path)
        tables = names.tables[path]
        for reference in tables.facts.references:
            if reference.kind is not ReferenceKind.CALL:
                continue
            number = tables.named(reference.scope)
            caller = names.canonical(tables.ids.get(number, file_id(path)))
            targets = [
                (
                    rule.value,
                    resolver.program.id(symbol),
                    rule.confidence >= LEAST_CONFIDENCE_OF_A_CALL,
                )
                for rule, symbol in resolver.edges.calls.called(path, reference)
            ]
            yield path, reference, caller, targets


def _fused(
    files: Mapping[str, BlobFacts],
    manifests: Mapping[str, bytes],
    answers: Mapping[str, Answers],
    names: _Names,
) -> set[Pair]:
    known = read_manifests(manifests)
    tree = WholeTree(files, known, answers)
    resolver = Resolver(tree, known)
    for path in tree.files:
        tree.add(path, resolver.derived(path))
    return {
        (names.canonical(edge.source), names.canonical(edge.target))
        for path in answers
        if path in tree.files
        for edge in _calls(resolver.resolve(path).edges)
        if edge.target.startswith("sym:")
    }


def _calls(edges: Iterable[EdgeFact]) -> Iterator[EdgeFact]:
    for edge in edges:
        if edge.kind is EdgeKind.CALLS and edge.confidence >= LEAST_CONFIDENCE_OF_A_CALL:
            yield edge


def _accuracy(truth: Iterable[Pair], predicted: Iterable[Pair], known: Iterable[Pair]) -> Accuracy:
    return Accuracy(truth=frozenset(truth), predicted=frozenset(predicted), known=frozenset(known))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
