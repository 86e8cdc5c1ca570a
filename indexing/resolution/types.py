"""Light types: which definitions an expression may evaluate to, from names, annotations and calls.

No inference beyond what one binding or one return statement says. A class and its instances are
one value here; calling a class gives that class. Answers are kept by `reading`.
"""

from collections.abc import Sequence

from graph.values import NodeKind
from indexing.expressions import OR, OWN_OBJECT, RESULT, names_of_value, steps_of
from indexing.facts import MODULE_SCOPE, Binding, BindingSource
from indexing.resolution.names import Names
from indexing.resolution.program import (
    CALLABLE_KINDS,
    EXTERNAL,
    TYPE_KINDS,
    External,
    Module,
    Symbol,
    Value,
    Written,
)
from indexing.resolution.structures import Structures

_MAX_VALUES = 3
_MAX_ANCESTORS = 40
_MAX_OVERLOADS = 20
_CALL, _INDEX = "()", "[]"
_OF_RESULT = (f"{RESULT}{{", f"{RESULT}()")
_UNKNOWN_METHODS = "?"
"""Stands for the methods of an embedded type that is not of the repository."""

BASE_KINDS = TYPE_KINDS | {NodeKind.MODULE}
"""What may stand among a type's bases: a mixin is a module."""

_DATA_KINDS = frozenset({NodeKind.VARIABLE, NodeKind.FIELD})

Values = tuple[Value, ...]


class Types:
    """Evaluates chains (`indexing.expressions`) at a scope of a file."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.program = names.program
        self.reading = names.program.reading
        self.structures = Structures(self)
        self.program.find_type = self._type_called

    def evaluate(self, path: str, scope: int, chain: str) -> Values:
        """Return what a chain may stand for; () when nothing is known."""
        question = ("value", path, scope, chain)
        return self.reading.answer(question, path, (), self._evaluate, path, scope, chain)

    def objects(self, values: Values) -> Values:
        """Return what the values are once used as objects: a variable's type, a property's."""
        found = [thing for value in values for thing in self._objects(value)]
        return tuple(dict.fromkeys(found))[:_MAX_VALUES]

    def member(self, value: Value, name: str) -> Values:
        """Return what `value.name` stands for, inherited members included."""
        if isinstance(value, External):
            return (EXTERNAL,)
        question = ("member", value, name)
        return self.reading.once(question, self._member, value, name)

    def _member(self, value: Symbol | Module, name: str) -> Values:
        if isinstance(value, Module):
            return self.names.exported(value, name) or self._global(value, name)
        for ancestor in self._lineage(value):
            found = self._found_in(ancestor, name)
            if found:
                return found
        if isinstance(value, Written):
            return ()
        return (value,) if name == self.program.language(value.path).constructor else ()

    def _lineage(self, value: Symbol | Written) -> tuple[Symbol | Written | External, ...]:
        """Return where members of a value are looked for, what an alias stands for included."""
        if isinstance(value, Symbol) and not self._is_structural(value.path):
            return self.ancestors(value)
        found: dict[Symbol | Written, None] = {}
        pending, leaves_program = [value], False
        while pending and len(found) < _MAX_ANCESTORS:
            current = pending.pop(0)
            if current not in found:
                found[current] = None
                bases = self.bases(current) if isinstance(current, Symbol) else ()
                for base in (*bases, *self.structures.meant(current)):
                    if isinstance(base, External):
                        leaves_program = True
                    elif not isinstance(base, Module):
                        pending.append(base)
        return (*found, EXTERNAL) if leaves_program else tuple(found)

    def _found_in(self, owner: Symbol | Written | External, name: str) -> Values:
        if isinstance(owner, External):
            return (EXTERNAL,)
        if isinstance(owner, Written):
            return self.structures.member(owner, name)
        return self._inner(owner, name)

    def _is_structural(self, path: str) -> bool:
        return self.program.language(path).has_structural_types

    def _inner(self, owner: Symbol, name: str) -> Values:
        found = self._own_member(owner, name)
        is_embedding = not found and self.program.language(owner.path).has_implicit_interfaces
        return self._embedded(owner, name) if is_embedding else found

    def _embedded(self, symbol: Symbol, name: str) -> Values:
        """Return the embedded type that is a member by its own name: `file.Base.Open()`."""
        return tuple(
            base
            for base in self.bases(symbol)
            if isinstance(base, Symbol) and self.program.definition(base).name == name
        )

    def ancestors(self, symbol: Symbol) -> tuple[Symbol | External, ...]:
        """Return a type and its bases, breadth first; EXTERNAL last when a base is not ours."""
        return self.reading.once(("ancestors", symbol), self._ancestors, symbol)

    def _ancestors(self, symbol: Symbol) -> tuple[Symbol | External, ...]:
        found: dict[Symbol, None] = {}
        pending, leaves_program = [symbol], False
        while pending and len(found) < _MAX_ANCESTORS:
            current = pending.pop(0)
            if current in found:
                continue
            found[current] = None
            bases = self.bases(current)
            leaves_program |= EXTERNAL in bases
            pending += [base for base in bases if isinstance(base, Symbol)]
        return (*found, EXTERNAL) if leaves_program else tuple(found)

    def bases(self, symbol: Symbol) -> tuple[Value, ...]:
        """Return what a type's bases are, in order; EXTERNAL among them for those not ours."""
        parts: Sequence[Symbol] = (symbol,)
        if not self.program.tables[symbol.path].has_whole_types:
            parts = (*self.program.parts(symbol), *self.program.extensions(symbol))
        texts = [(part, written) for part in parts if (written := self.program.bases_of(part))]
        if not texts:
            return ()
        question = ("bases", symbol)
        return self.reading.answer(question, symbol.path, (), self._bases, symbol, texts)

    def types_named(
        self, path: str, scope: int, annotation: str, kinds: frozenset[NodeKind] = TYPE_KINDS
    ) -> Values:
        """Return the types a value annotated so may have; EXTERNAL for one that is not ours."""
        found = [
            value
            for name in names_of_value(annotation)
            for value in self.type_named(path, scope, name, kinds)
        ]
        return tuple(dict.fromkeys(found)) or (EXTERNAL,)

    def type_named(
        self, path: str, scope: int, name: str, kinds: frozenset[NodeKind] = TYPE_KINDS
    ) -> Values:
        """Return the in-repository types that one dotted name means, or EXTERNAL."""
        if name in self.program.language(path).self_types:
            owner = self.program.owner(path, scope)
            return (owner,) if owner else (EXTERNAL,)
        bound = self._type_parameter(path, scope, name)
        if bound is not None:
            # Not types_named: names may be bound to each other, and `bound` notices.
            return self.bound(path, bound) or (EXTERNAL,)
        values = self._named(path, scope, tuple(name.split(".")))
        symbols = [value for value in values if isinstance(value, Symbol)]
        best = self.program.best(symbols, kinds)
        return (best,) if best and self.program.kind(best) in kinds else (EXTERNAL,)

    def _type_parameter(self, path: str, scope: int, name: str) -> Binding | None:
        """Return the bound of a type parameter, which is bound as a local name is."""
        if self.program.language(path).has_quoted_types or "." in name:
            return None
        definitions = self.program.tables[path].definitions
        while scope != MODULE_SCOPE:
            binding = self.program.local(path, scope, name)
            if binding:
                is_bound = binding.source is BindingSource.TYPE and binding.text != name
                return binding if is_bound else None
            scope = definitions[scope].parent
        return None

    def results(self, symbol: Symbol) -> Values:
        """Return what calling a function gives: its annotation's types, or what it returns."""
        bindings = [b for b in self.program.results_of(symbol) if not b.name]
        annotated = [b for b in bindings if b.source is BindingSource.TYPE]
        if not annotated and self._is_structural(symbol.path):
            said = self.structures.declared_result(symbol)
            if said:
                return said[:_MAX_VALUES]
        found = [
            value
            for binding in (annotated or bindings)[:_MAX_VALUES]
            for value in self.bound(symbol.path, binding)
        ]
        return tuple(dict.fromkeys(found))[:_MAX_VALUES]

    def bound(self, path: str, binding: Binding) -> Values:
        """Return what the holder of a binding may be."""
        question = ("bound", path, binding)
        return self.reading.answer(question, path, (), self._bound_values, path, binding)

    def local(self, path: str, scope: int, name: str) -> Binding | None:
        """Return the binding of a local variable visible at a scope."""
        if scope == MODULE_SCOPE:
            return None
        for function in (scope, *self.program.scopes(path, scope)):
            binding = self.program.local(path, function, name)
            if binding and not self._is_of_function(path, function, binding):
                return binding
        return None

    def _is_of_function(self, path: str, function: int, binding: Binding) -> bool:
        """Tell the type of a function from one of a name in it: `f: F = () => f()`."""
        is_type = binding.source is BindingSource.TYPE and self._is_structural(path)
        return is_type and self.program.tables[path].definitions[function].name == binding.name

    def implicit(self, path: str, scope: int, name: str) -> Values:
        """Return the member that a bare name means, of the types around it, innermost first."""
        definitions = self.program.tables[path].definitions
        seen = None
        while scope != MODULE_SCOPE:
            owner = self.program.owner(path, scope)
            if owner and owner != seen:
                seen = owner
                found = self.member(owner, name)
                if found and EXTERNAL not in found:
                    return found
            scope = definitions[scope].parent
        return ()

    def aliased(self, symbol: Symbol) -> Values:
        """Return the function or class that a variable or a field is another name of."""
        held = self.binding_of(symbol)
        if held is None or held[1].source is not BindingSource.VALUE or OR in held[1].text:
            return ()
        values = self.bound(*held)
        kinds = CALLABLE_KINDS | TYPE_KINDS
        return tuple(v for v in values if isinstance(v, Symbol) and self.program.kind(v) in kinds)

    def _bases(self, symbol: Symbol, texts: Sequence[tuple[Symbol, Sequence[str]]]) -> Values:
        values = [
            value
            for part, written in texts
            for text in written
            for value in self.types_named(
                part.path, self.program.definition(part).parent, text, kinds=BASE_KINDS
            )
            if value != symbol
        ]
        return tuple(dict.fromkeys(values))

    def satisfied_by(self, symbol: Symbol) -> tuple[Symbol, ...]:
        """Return the interfaces of the repository all of whose methods a type has, by name."""
        methods = self._methods(symbol)
        family = self.program.language(symbol.path).family
        found = []
        for name in sorted(methods):
            for path in self.reading.providers(("interface", family, name)):
                for number in self.program.tables[path].interfaces.get(name, ()):
                    interface = Symbol(path, number)
                    if interface != symbol and self._methods(interface) <= methods:
                        found.append(interface)
        return tuple(found)

    def _methods(self, symbol: Symbol) -> frozenset[str]:
        """Return the names of a type's methods, those of its embedded types included."""
        nothing: frozenset[str] = frozenset()
        question = ("methods", symbol)
        return self.reading.answer(question, symbol.path, nothing, self._all_methods, symbol)

    def _all_methods(self, symbol: Symbol) -> frozenset[str]:
        names: set[str] = set()
        for ancestor in self.ancestors(symbol):
            if isinstance(ancestor, External):
                names.add(_UNKNOWN_METHODS)
            else:
                names.update(self.program.method_names(ancestor))
        return frozenset(names)

    def _type_called(self, path: str, scope: int, name: str) -> Symbol | None:
        (found, *_) = self.type_named(path, scope, name)
        return found if isinstance(found, Symbol) else None

    def _evaluate(self, path: str, scope: int, chain: str) -> Values:
        steps = steps_of(chain)
        if not steps:
            return ()
        values, used = self._head(path, scope, steps)
        owners: Values = ()
        for step in steps[used:]:
            if step == _CALL and owners and self._all_return_self(values):
                values = owners
            else:
                owners = () if step in (_CALL, _INDEX) else self.objects(values)
                values = self._step(values, step)
        return values[:_MAX_VALUES]

    def _all_return_self(self, values: Values) -> bool:
        """Tell methods that return what they are called on, whichever subclass that is."""
        return bool(values) and all(
            isinstance(value, Symbol) and self._returns_self(value) for value in values
        )

    def _returns_self(self, symbol: Symbol) -> bool:
        language = self.program.language(symbol.path)
        names = language.self_names | language.self_types
        results = self.program.results_of(symbol)
        return any(binding.text in names and not binding.name for binding in results)

    def _head(self, path: str, scope: int, steps: tuple[str, ...]) -> tuple[Values, int]:
        name = steps[0]
        language = self.program.language(path)
        if name in language.self_names:
            owner = self.program.owner(path, scope)
            return ((owner,) if owner else self._meaning(path, scope, name)), 1
        if name == language.super_name:
            owner = self.program.owner(path, scope)
            return (self.bases(owner) if owner else ()), 2 if steps[1:2] == (_CALL,) else 1
        binding = self.local(path, scope, name)
        if binding:
            return self.bound(path, binding), 1
        return self._unbound(path, scope, steps)

    def _unbound(self, path: str, scope: int, steps: tuple[str, ...]) -> tuple[Values, int]:
        name = steps[0]
        if name in (OWN_OBJECT, RESULT):
            return self._of_function(path, scope, name), 1
        is_implicit = self.program.language(path).has_implicit_self
        if is_implicit and (members := self.implicit(path, scope, name)):
            return members, 1
        fixture = self.program.fixture(path, name) if scope != MODULE_SCOPE else None
        if fixture:
            return self.results(fixture), 1
        return self._dotted_import(path, steps) or (self._meaning(path, scope, name), 1)

    def _of_function(self, path: str, scope: int, wanted: str) -> Values:
        """Return the object that the function around makes, or what it says that it returns."""
        for function in self.program.scopes(path, scope):
            symbol = Symbol(path, function)
            if wanted == OWN_OBJECT:
                return (symbol,) if self.program.kind(symbol) in CALLABLE_KINDS else ()
            said = [b for b in self.program.results_of(symbol) if b.source is BindingSource.TYPE]
            return tuple(value for b in said[:1] for value in self.bound(path, b))
        return ()

    def _dotted_import(self, path: str, steps: tuple[str, ...]) -> tuple[Values, int] | None:
        found = self.names.longest_import(path, steps) if len(steps) > 1 else None
        return (self.names.follow(found[0]), found[1]) if found else None

    def _meaning(self, path: str, scope: int, name: str) -> Values:
        meaning = self.names.lookup(path, scope, name)
        if meaning:
            return meaning.values
        return self._global(self.program.module(path), name)

    def _named(self, path: str, scope: int, names: tuple[str, ...]) -> Values:
        dotted = self._dotted_import(path, names)
        values, used = dotted or (self._meaning(path, scope, names[0]), 1)
        for name in names[used:]:
            values = tuple(found for value in values for found in self.member(value, name))
        return values

    def _step(self, values: Values, step: str) -> Values:
        if step == _INDEX:
            objects = self.objects(values)
            return tuple(found for value in objects for found in self._elements(value))
        if step[0] == "{":
            place = int(step[1:-1] or 0)
            return tuple(
                found for value in values for found in self.structures.parameter(value, place)
            )
        if step == _CALL:
            found = [result for value in values for result in self._call(value)]
        else:
            objects = self.objects(values)
            found = [member for value in objects for member in self.member(value, step)]
            ours = [value for value in objects if isinstance(value, Symbol)]
            is_unknown = not any(isinstance(value, Symbol) for value in found)
            if is_unknown and step in self._transparent(objects):
                found = [*ours]  # and the call that follows gives the same again
        return tuple(dict.fromkeys(found))

    def _elements(self, value: Value) -> Values:
        if isinstance(value, Symbol) and not self._is_structural(value.path):
            return ()
        return self.structures.elements(value)

    def _transparent(self, objects: Values) -> frozenset[str]:
        """Return the methods that answer with what they are called on, in its language."""
        for value in objects:
            if isinstance(value, Symbol):
                return self.program.language(value.path).transparent
        return frozenset()

    def _call(self, value: Value) -> Values:
        if isinstance(value, Module):
            return self.names.exported(value, "default")
        if isinstance(value, External):
            return (value,)
        return self.structures.called(value) if isinstance(value, Written) else self._made(value)

    def _made(self, symbol: Symbol) -> Values:
        """Return what calling a definition gives."""
        kind = self.program.kind(symbol)
        if kind in CALLABLE_KINDS:
            return self.results(symbol)
        if kind in _DATA_KINDS:
            found = tuple(r for target in self.aliased(symbol) for r in self._call(target))
            return found or self._called_as_typed(symbol)
        if kind is NodeKind.CLASS:
            return (symbol,)
        return self._called_as_typed(symbol) or (symbol,)

    def _called_as_typed(self, value: Symbol) -> Values:
        return self.structures.called(value) if self._is_structural(value.path) else ()

    def _objects(self, value: Value) -> Values:
        if not isinstance(value, Symbol):
            return (value,)
        kind = self.program.kind(value)
        if kind in CALLABLE_KINDS:
            own = (value,) if self.program.has_members(value) else ()
            return (*self.results(value), *own)
        if kind in _DATA_KINDS:
            question = ("objects", value)
            return self.reading.answer(question, value.path, (), self._held, value)
        return (value,)

    def _held(self, variable: Symbol) -> Values:
        """Return what a variable or a field holds: an object literal, and what it is bound to."""
        held = self.binding_of(variable)
        own = (variable,) if self.program.has_members(variable) else ()
        around = self.program.parent(variable) if held is None else None
        if around and self.program.kind(around) is NodeKind.ENUM:
            return (around,)  # one of an enumeration's values
        bound = self.objects(self.bound(*held)) if held else ()
        is_declared = held and held[1].source is BindingSource.TYPE
        if is_declared and bound != (EXTERNAL,) and self._is_structural(variable.path):
            return bound  # of a variable with a type, others know what the type says
        return (*own, *bound)

    def binding_of(self, symbol: Symbol) -> tuple[str, Binding] | None:
        """Return the binding that a variable's or a field's definition goes with."""
        definition = self.program.definition(symbol)
        if definition.parent == MODULE_SCOPE:
            return self.program.global_of(self.program.module(symbol.path), definition.name)
        owner = self.program.parent(symbol)
        return self.program.field_of(owner, definition.name) if owner else None

    def _own_member(self, owner: Symbol, name: str) -> Values:
        members = self.program.inside_of(owner, name)
        if self.program.kind(owner) in CALLABLE_KINDS and self._is_structural(owner.path):
            members = self._of_object(members)
        if members:
            if self.program.language(owner.path).has_overloads and len(members) > 1:
                return tuple(members[:_MAX_OVERLOADS])
            best = self.program.best(members, CALLABLE_KINDS | TYPE_KINDS)
            return (best,) if best else ()
        held = self.program.field_of(owner, name)
        if held is None and self.program.kind(owner) in CALLABLE_KINDS:
            held = self._returned(owner, name)
        return self.bound(*held) if held else ()

    def _of_object(self, members: Sequence[Symbol]) -> Sequence[Symbol]:
        """Return the one method of the objects in a function that has a name."""
        methods = [one for one in members if self.program.kind(one) is NodeKind.METHOD]
        return methods if len(methods) == 1 else ()

    def _returned(self, function: Symbol, name: str) -> tuple[str, Binding] | None:
        """Return what a member of the object that a function returns is bound to."""
        for binding in self.program.results_of(function):
            if binding.name == name:
                return function.path, binding
        return None

    def _global(self, module: Module, name: str) -> Values:
        held = self.program.global_of(module, name)
        return self.bound(*held) if held else ()

    def _bound_values(self, path: str, binding: Binding) -> Values:
        if binding.source is BindingSource.TYPE:
            if self._is_structural(path):
                return self.structures.typed(path, binding.scope, binding.text)
            return self.types_named(path, binding.scope, binding.text)
        if binding.source is BindingSource.CONTEXT:
            return self.evaluate(path, self._outside(path, binding), binding.text)
        if binding.source is BindingSource.CALL:
            return self.evaluate(path, binding.scope, binding.text + _CALL)
        chains = binding.text.split(OR)
        found = [v for chain in chains for v in self.evaluate(path, binding.scope, chain)]
        if len(chains) > 1:
            found = [v for v in found if not isinstance(v, External)] or found
        return tuple(dict.fromkeys(found))[:_MAX_VALUES]

    def _outside(self, path: str, binding: Binding) -> int:
        """Return the scope around the function whose parameter a binding is of."""
        definition = self.program.tables[path].definitions[binding.scope]
        # `f = (): Made => (a) => ...`: the function that is returned has f's scope.
        is_merged = definition.kind in CALLABLE_KINDS and binding.text.startswith(_OF_RESULT)
        return binding.scope if is_merged else definition.parent
