"""Types that are written out, and what they give: members, elements, results, and parameters.

`types` evaluates names and chains; this reads what annotations say beyond a name
(`indexing.written_types`), for languages whose types are structural.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from graph.values import NodeKind
from indexing.expressions import DOTTED_NAME, TRANSPARENT_TYPES, chain_of
from indexing.facts import MODULE_SCOPE, Binding, BindingSource
from indexing.resolution.program import (
    CALLABLE_KINDS,
    External,
    Module,
    Program,
    Symbol,
    Value,
    Written,
)
from indexing.resolution.things import EXTERNAL
from indexing.written_types import (
    Signature,
    alternatives,
    declared,
    generic_of,
    indexed,
    ingredients,
    is_written_out,
    member_of,
    signature_of,
)

_MAX_VALUES = 6
_LIKE_THEIR_ARGUMENT = TRANSPARENT_TYPES | {"Awaited", "Exclude", "Extract", "InstanceType"}
_CONSTRUCTOR = "constructor"

Values = tuple[Value, ...]


class Evaluating(Protocol):
    """What names and chains mean (`indexing.resolution.types`)."""

    program: Program

    def evaluate(self, path: str, scope: int, chain: str) -> Values: ...

    def type_named(self, path: str, scope: int, name: str) -> Values: ...

    def objects(self, values: Values) -> Values: ...

    def results(self, symbol: Symbol) -> Values: ...

    def bound(self, path: str, binding: Binding) -> Values: ...

    def binding_of(self, symbol: Symbol) -> tuple[str, Binding] | None: ...


class Structures:
    """Reads written types at a scope of a file."""

    def __init__(self, types: Evaluating) -> None:
        self.types = types
        self.program = types.program
        self.reading = types.program.reading

    def typed(self, path: str, scope: int, annotation: str) -> Values:
        """Return what a value annotated so may be; EXTERNAL for what is not ours."""
        question = ("typed", path, scope, annotation)
        return self.reading.answer(question, path, (), self._typed, path, scope, annotation)

    def meant(self, value: Value) -> Values:
        """Return the types that an alias stands for, or that an intersection is made of."""
        if isinstance(value, Written):
            parts = ingredients(value.text)
            found = parts if len(parts) > 1 else ()
            return _distinct(v for p in found for v in self.typed(value.path, value.scope, p))
        if not isinstance(value, Symbol) or self.program.kind(value) is not NodeKind.TYPE:
            return ()
        return _distinct(
            found
            for binding in self.program.results_of(value)
            for found in self.typed(value.path, value.number, binding.text)
        )

    def member(self, written: Written, name: str) -> Values:
        """Return what a member of a written type is, by its own text."""
        text = member_of(written.text, name)
        return self.typed(written.path, written.scope, text) if text else ()

    def called(self, value: Value) -> Values:
        """Return what calling a value of a written type gives."""
        if isinstance(value, External):
            return (value,)
        if isinstance(value, Symbol) and self._is_data(value):
            return self._each(self._declared(value), self.called)
        question = ("called", value)
        if isinstance(value, Module):
            return ()
        return self.reading.answer(question, value.path, (), self._called, value)

    def parameter(self, value: Value, place: int) -> Values:
        """Return what the parameter of a callable at a place may be."""
        if isinstance(value, External):
            return (value,)
        if isinstance(value, Module):
            return ()
        question = ("parameter", value, place)
        return self.reading.answer(question, value.path, (), self._parameter, value, place)

    def elements(self, value: Value) -> Values:
        """Return what a list or a record holds."""
        if isinstance(value, External):
            return (value,)
        if isinstance(value, Module):
            return ()
        question = ("elements", value)
        return self.reading.answer(question, value.path, (), self._elements, value)

    def _typed(self, path: str, scope: int, annotation: str) -> Values:
        found = [
            value
            for part in alternatives(annotation)
            for value in self._one_typed(path, scope, part)
        ]
        ours = [value for value in found if not isinstance(value, External)]
        return _distinct(ours)[:_MAX_VALUES] or (EXTERNAL,)

    def _one_typed(self, path: str, scope: int, text: str) -> Values:
        if text.startswith("typeof "):
            chain = chain_of(text.removeprefix("typeof "))
            found = self.types.evaluate(path, scope, chain) if chain else ()
            return self._each(found, self._held)
        if is_written_out(text):
            return (Written(path, scope, text),)
        head, arguments = generic_of(text)
        if arguments and head in _LIKE_THEIR_ARGUMENT:
            return self.typed(path, scope, arguments[0])
        if arguments and head == "ReturnType":
            return self._each(self.typed(path, scope, arguments[0]), self.called)
        return self.types.type_named(path, scope, head) if DOTTED_NAME.fullmatch(head) else ()

    def _held(self, value: Value) -> Values:
        is_data = isinstance(value, Symbol) and self._is_data(value)
        return self.types.objects((value,)) if is_data else (value,)

    def _called(self, value: Symbol | Written) -> Values:
        if isinstance(value, Symbol) and self.program.kind(value) in CALLABLE_KINDS:
            return self.types.results(value)
        found = [
            result
            for path, scope, signature in self._signatures(value)
            if signature.result
            for result in self.typed(path, scope, signature.result)
        ]
        return _distinct(found) or self._each(self.meant(value), self.called)

    def _parameter(self, value: Symbol | Written, place: int) -> Values:
        found = [
            expected
            for path, scope, signature in self._signatures(value)
            if (text := signature.parameter(place))
            for expected in self.typed(path, scope, text)
        ]
        ours = [expected for expected in found if not isinstance(expected, External)]
        if ours:
            return _distinct(ours)[:_MAX_VALUES]
        around = self.meant(value) if isinstance(value, Written) else self._declared(value)
        return self._each(around, lambda one: self.parameter(one, place))

    def _elements(self, value: Symbol | Written) -> Values:
        if isinstance(value, Written) and (text := indexed(value.text)):
            return self.typed(value.path, value.scope, text)
        around = self.meant(value) if isinstance(value, Written) else self._declared(value)
        return self._each(around, self.elements)

    def _signatures(self, value: Symbol | Written) -> Iterator[tuple[str, int, Signature]]:
        """Yield how a value can be called, with the scope at which its types are written."""
        if isinstance(value, Written):
            signature = signature_of(value.text)
            if signature:
                yield value.path, value.scope, signature
            return
        kind = self.program.kind(value)
        if kind is NodeKind.CLASS:
            for maker in self.program.inside_of(value, _CONSTRUCTOR):
                yield from self._signatures(maker)
        elif kind in CALLABLE_KINDS:
            for one in self.program.overloads(value):
                parameters = self.program.definition(one).parameters
                yield one.path, one.number, declared(parameters)
        elif kind is NodeKind.INTERFACE:
            for binding in self.program.results_of(value):
                signature = signature_of(binding.text)
                if signature:
                    yield value.path, value.number, signature

    def _declared(self, symbol: Symbol) -> Values:
        """Return the declared type of a variable, a field, a function that is given to one."""
        kind = self.program.kind(symbol)
        if kind is NodeKind.TYPE:
            return self.meant(symbol)
        if kind in CALLABLE_KINDS:
            name = self.program.definition(symbol).name
            own = self.program.local(symbol.path, symbol.number, name)
            held = (symbol.path, own) if own else self._field(symbol)
        else:
            held = self.types.binding_of(symbol) if self._is_data(symbol) else None
        return self.types.bound(*held) if held else ()

    def declared_result(self, symbol: Symbol) -> Values:
        """Return what a function gives whose type is said by what it is given to."""
        return self._each(self._declared(symbol), self.called)

    def _field(self, symbol: Symbol) -> tuple[str, Binding] | None:
        definition = self.program.definition(symbol)
        if definition.parent == MODULE_SCOPE or definition.receiver is not None:
            return None
        owner = self.program.parent(symbol)
        held = self.program.field_of(owner, definition.name) if owner else None
        return held if held and held[1].source is BindingSource.TYPE else None

    def _is_data(self, symbol: Symbol) -> bool:
        return self.program.kind(symbol) in (NodeKind.VARIABLE, NodeKind.FIELD)

    def _each(self, values: Values, ask: Callable[[Value], Values]) -> Values:
        return _distinct(found for value in values for found in ask(value))[:_MAX_VALUES]


def _distinct(values: Iterable[Value]) -> Values:
    return tuple(dict.fromkeys(values))
