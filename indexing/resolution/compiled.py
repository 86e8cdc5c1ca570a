"""What a compiler says of the file being resolved, as far as it still holds in this tree.

An answer belongs to the content it was given for; the definition it names is looked up in the tree
that is resolved, and counts for nothing when it is gone.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from graph.values import EdgeFact, EntityFact, VertexLabel
from indexing.answers import OUTSIDE, Answers, Hover, Place
from indexing.facts import MODULE_SCOPE, Reference
from indexing.resolution.program import Program, Symbol

_NOTHING = Answers()
_NO_HOVER = Hover("", "")
_SYMBOL, _EXTERNAL = "sym:", "ext:"


class Answer(NamedTuple):
    """What a name means: a definition of the tree, an external symbol, or only "not here"."""

    id: str
    symbol: Symbol | None

    @property
    def is_outside(self) -> bool:
        return self.id == OUTSIDE


class Use(NamedTuple):
    """A use of a definition that the syntax has no reference for, and the scope it stands in."""

    answer: Answer
    scope: int
    line: int


class Compiled:
    """The answers about one file; all empty where no compiler was asked."""

    def __init__(self, program: Program, path: str) -> None:
        self._program = program
        self._path = path
        self._answers = program.reading.tree.answers(path) or _NOTHING
        self._known: dict[str, Answer | None] = {}

    @property
    def knows_references(self) -> bool:
        """Tell whether `at` ever says something."""
        return bool(self._answers.targets)

    def at(self, reference: Reference) -> Answer | None:
        """Return what the name of a reference means; None when the compiler does not say."""
        if not self._answers.targets:
            return None
        target = self._answers.targets.get(_place(reference))
        return None if target is None else self._answer(target)

    def other_uses(self, references: Iterable[Reference]) -> Iterator[Use]:
        """Yield the uses of nodes that stand where the syntax sees no reference."""
        if not self._answers.targets:
            return
        seen = {_place(reference) for reference in references}
        for place, target in self._answers.targets.items():
            answer = self._answer(target) if place not in seen and target != OUTSIDE else None
            if answer:
                yield Use(answer, self._scope(place.line), place.line)

    def relations(self) -> Iterator[tuple[str, str, Answer, int]]:
        """Yield kind, source, target and line of what definitions are to others."""
        for kind, source, target, line in self._answers.relations:
            answer = self._answer(target)
            if answer and self._answer(source):
                yield kind, source, answer, line

    def hover(self, symbol_id: str) -> Hover:
        return self._answers.hovers.get(symbol_id, _NO_HOVER)

    def entities(self, edges: Iterable[EdgeFact]) -> list[EntityFact]:
        """Return the external symbols that edges lead to, and their packages, by id."""
        found: dict[str, EntityFact] = {}
        for key in {edge.target for edge in edges if edge.target.startswith(_EXTERNAL)}:
            external = self._answers.externals[key]
            data = {"package": external.package, "documentation": external.documentation}
            found[key] = EntityFact(
                label=VertexLabel.EXTERNAL, key=key, name=external.name, data=data
            )
            package = external.package
            name = package.split(":", 2)[-1]
            found[package] = EntityFact(label=VertexLabel.PACKAGE, key=package, name=name)
        return [found[key] for key in sorted(found)]

    def _answer(self, target: str) -> Answer | None:
        if target not in self._known:
            self._known[target] = self._find(target)
        return self._known[target]

    def _find(self, target: str) -> Answer | None:
        if target == OUTSIDE:
            return Answer(OUTSIDE, None)
        if target.startswith(_SYMBOL):
            symbol = self._program.symbol(target)
            return Answer(target, symbol) if symbol else None
        return Answer(target, None) if target in self._answers.externals else None

    def _scope(self, line: int) -> int:
        """Return the innermost definition around a line."""
        definitions = self._program.tables[self._path].definitions
        around = [
            number
            for number, definition in enumerate(definitions)
            if definition.kind is not None and definition.start_line <= line <= definition.end_line
        ]
        return max(
            around,
            key=lambda number: (definitions[number].start_line, -definitions[number].end_line),
            default=MODULE_SCOPE,
        )


def _place(reference: Reference) -> Place:
    """Return where the name itself stands: of `a.b.C`, where the C does."""
    name = reference.name
    before = name.rfind(".") + 1
    return Place(reference.line, reference.column + len(name[:before].encode()))
