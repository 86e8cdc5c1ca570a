"""Captured references, bindings, sites -> facts: the scope they stand in, and what hides them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter

from graph.values import NodeKind
from indexing.capturing import Capture, Found
from indexing.describing import CALLABLE
from indexing.expressions import steps_of
from indexing.facts import (
    MODULE_SCOPE,
    Binding,
    BindingTarget,
    Import,
    Reference,
    ReferenceKind,
    Site,
)
from indexing.scopes import scopes_at

_by_position = itemgetter(0)


def bindings_of(capture: Capture, found: Sequence[Found]) -> tuple[Binding, ...]:
    """Return the bindings, each with its scope, in the order of the file."""
    rows = sorted(capture.bindings, key=_by_position)
    scopes = scopes_at([row[0] for row in rows], found)
    bindings = (
        Binding(target, name, source, text, scope, capture.text.line_of(position))
        for (position, target, name, source, text), scope in zip(rows, scopes, strict=True)
    )
    return tuple(dict.fromkeys(bindings))


def imports_of(capture: Capture, found: Sequence[Found]) -> tuple[Import, ...]:
    """Return the imports. `super` inside of a module written inline means the file's own module."""
    trees = sorted(capture.trees, key=_by_position)
    scopes = scopes_at([row[0] for row in trees], found)
    imports = [
        one._replace(module=_seen_from_file(one.module, _inline_depth(found, scope)))
        for (_, ones), scope in zip(trees, scopes, strict=True)
        for one in ones
    ]
    return (*capture.imports, *imports)


def _inline_depth(found: Sequence[Found], scope: int) -> int:
    depth = 0
    while scope != MODULE_SCOPE:
        depth += found[scope].kind is NodeKind.MODULE
        scope = found[scope].parent
    return depth


def _seen_from_file(module: str, depth: int) -> str:
    names = module.split(".")
    while depth and names[0] == "super":
        depth -= 1
        names.pop(0)
        if not names or names[0] != "super":
            names.insert(0, "self")
            break
    return ".".join(names)


def sites_of(capture: Capture, found: Sequence[Found]) -> Iterator[Site]:
    """Yield calls and decorators with arguments, each with its scope, in the order of the file.

    The call that a decorator makes is the decorator's site only.
    """
    decorators = {row[0] for row in capture.sites if row[1] is ReferenceKind.DECORATOR}
    rows = sorted(
        (
            row
            for row in capture.sites
            if row[1] is not ReferenceKind.CALL or row[0] not in decorators
        ),
        key=_by_position,
    )
    positions = [row[0] for row in rows]
    scopes = list(scopes_at(positions, found))
    if decorators:
        decorated = scopes_at(positions, found, with_leaves=True)
        scopes = [
            inner if row[1] is ReferenceKind.DECORATOR else scope
            for row, scope, inner in zip(rows, scopes, decorated, strict=True)
        ]
    for (position, kind, name, receiver, arguments), scope in zip(rows, scopes, strict=True):
        yield Site(kind, name, receiver, scope, capture.text.line_of(position), arguments)


def references_of(
    capture: Capture, found: Sequence[Found], bindings: Iterable[Binding]
) -> tuple[Reference, ...]:
    """Return the references in the order of the file, without values that are plain locals."""
    return tuple(map(_reference, _reference_rows(capture, found, bindings)))


_reference = partial(tuple.__new__, Reference)  # Reference(...) takes twice as long


def _reference_rows(
    capture: Capture, found: Sequence[Found], bindings: Iterable[Binding]
) -> Iterator[tuple[ReferenceKind, str, str | None, int, int, int, bool, int]]:
    shadows = _Shadows(capture, found, bindings)
    rows = sorted(capture.references, key=_by_position)
    newlines = capture.text.newlines
    scopes = scopes_at([row[0] for row in rows], found)
    for (position, kind, name, receiver, arity), scope in zip(rows, scopes, strict=True):
        is_shadowed = shadows.hide(name if receiver is None else receiver, scope)
        if is_shadowed and kind is ReferenceKind.VALUE:
            continue
        line = bisect_right(newlines, position - 1)
        column = position - newlines[line - 1] - 1 if line else position
        yield kind, name, receiver, scope, line + 1, column, is_shadowed, arity


class _Shadows:
    """Which names are locals that nothing is known about, scope by scope."""

    def __init__(
        self, capture: Capture, found: Sequence[Found], bindings: Iterable[Binding]
    ) -> None:
        self.found = found
        self.heads: dict[str, str] = {}
        self.known: defaultdict[int, set[str]] = defaultdict(set)
        for definition in found:
            self.known[definition.parent].add(definition.name)
        for binding in bindings:
            if binding.target is BindingTarget.NAME:
                self.known[binding.scope].add(binding.name)
        # The name of `const f = () => f()` stands inside the definition that it names.
        own_names = {definition.name_start for definition in found}
        rows = sorted(row for row in capture.locals if row[0] not in own_names)
        self.unknown: dict[int, set[str]] = {}
        for (_, name), scope in zip(rows, scopes_at([r[0] for r in rows], found), strict=True):
            self.unknown.setdefault(scope, set()).add(name)
        self.names = {name for names in self.unknown.values() for name in names}
        self.names -= capture.language.self_names

    def hide(self, expression: str, scope: int) -> bool:
        """Tell whether the innermost function that knows the expression's first name is untyped."""
        if scope == MODULE_SCOPE:
            return False
        head = self.heads.get(expression)
        if head is None:
            head = self.heads[expression] = next(iter(steps_of(expression)), "")
        if head not in self.names:
            return False
        while scope != MODULE_SCOPE:
            definition = self.found[scope]
            if definition.kind is None or definition.kind in CALLABLE:
                if head in self.known[scope]:
                    return False
                if head in self.unknown.get(scope, ()):
                    return True
            scope = definition.parent
        return False
