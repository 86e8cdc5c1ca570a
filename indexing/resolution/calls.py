"""The rule ladder: from one reference to the definitions it may mean, most certain rule first."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from graph.values import NodeKind
from indexing.expressions import steps_of
from indexing.facts import BindingSource, Reference
from indexing.resolution.names import Names, Rule
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
from indexing.resolution.types import Types

_INVOCABLE = CALLABLE_KINDS | TYPE_KINDS
_ONLY_TYPES = frozenset({NodeKind.INTERFACE, NodeKind.TYPE})
_MAX_CANDIDATES = 3

_COMMON_WORDS = """
add all any append apply at bind call catch clear clone close collect concat contains copy count
debug decode delete each emit encode endswith entries error every exec execute exists extend
filter find finally findall first flatten flush for_each forEach format from get getattr group
group_by has hasOwnProperty includes index indexOf info insert into is_empty isEmpty items iter
iterator join keys last len length list load lock log lower lstrip map match max merge min name
next now of on once open parse peek pop print push put read readlines recv reduce release remove
render replace reset resolve reverse rstrip run save search seek select send set setdefault
setattr shift size slice some sort splice split start startswith stop strip sub test then throw
title to_string toArray toJSON toString trim truncate unlock unshift update upper use validate
value valueOf values wait warn warning wrap write
"""
_COMMON_NAMES = frozenset(_COMMON_WORDS.split())
"""Method names of standard libraries: being unique in a repository says nothing about them."""


_OWN_TYPE = frozenset({"cls", "Self", "static"})
"""Names of the type around, which make an instance when they are called."""


class Target(NamedTuple):
    """One definition a reference may mean, and the rule that found it."""

    rule: Rule
    symbol: Symbol


class Calls:
    """Resolves calls, decorators and uses of functions as values."""

    def __init__(self, names: Names, types: Types) -> None:
        self.names = names
        self.types = types
        self.program = names.program

    def called(self, path: str, reference: Reference) -> list[Target]:
        """Return the targets of a call; weak rules apply only when no certain one does."""
        if reference.receiver is None:
            return self._called_by_name(path, reference)
        found = self._through_receiver(path, reference)
        if found is None:
            return list(self._guessed(path, reference.name))
        return self._invocable(found, reference.arity)

    def referred(self, path: str, reference: Reference) -> list[Target]:
        """Return what a name used as a value means; certain rules only, fields never."""
        if reference.receiver is None:
            if self.types.local(path, reference.scope, reference.name):
                return []
            meaning = self.names.lookup(path, reference.scope, reference.name)
            return self._certain(meaning.rule, meaning.values) if meaning else []
        if not reference.receiver:
            return []
        found = [
            target
            for rule, values in self._through_receiver(path, reference) or ()
            for target in self._certain(rule, values)
        ]
        return [
            t for t in found if t.rule is Rule.MODULE or self.program.kind(t.symbol) in _INVOCABLE
        ]

    def _called_by_name(self, path: str, reference: Reference) -> list[Target]:
        if reference.name in _OWN_TYPE & self.program.language(path).self_names:
            return self._called_as_own_type(path, reference)
        if reference.is_shadowed:
            return []
        binding = self.types.local(path, reference.scope, reference.name)
        if binding and binding.source is not BindingSource.VALUE:
            return []
        if binding:
            return self._invocable([(Rule.TYPED, self.types.bound(path, binding))])
        if self.program.language(path).has_implicit_self:
            members = self.types.implicit(path, reference.scope, reference.name)
            if members and not self._construct(members):
                return self._invocable([(Rule.SELF, members)], reference.arity)
        meaning = self.names.lookup(path, reference.scope, reference.name)
        found = [(meaning.rule, meaning.values)] if meaning else []
        return self._invocable(found, reference.arity)

    def _called_as_own_type(self, path: str, reference: Reference) -> list[Target]:
        owner = self.program.owner(path, reference.scope)
        return [Target(Rule.SELF, owner)] if owner else []

    def _construct(self, members: Iterable[Value]) -> bool:
        """Tell constructors, which are called by the name of their class: the class is meant."""
        for member in members:
            owner = self.program.parent(member) if isinstance(member, Symbol) else None
            if owner and isinstance(member, Symbol):
                names = self.program.definition(member).name, self.program.definition(owner).name
                return names[0] == names[1]
        return False

    def _through_receiver(
        self, path: str, reference: Reference
    ) -> list[tuple[Rule, tuple[Value, ...]]] | None:
        """Return what `receiver.name` means, rule by rule; None when nothing is known about it."""
        receiver, name = reference.receiver or "", reference.name
        if not receiver:
            return None
        steps = steps_of(receiver)
        if reference.is_shadowed and not self.program.fixture(path, steps[0]):
            return None
        language = self.program.language(path)
        values = self.types.evaluate(path, reference.scope, receiver)
        if steps[0] in language.self_names and len(steps) == 1:
            return self._on_self(values, name)
        is_super = steps[0] == language.super_name and steps[1:] in ((), ("()",))
        objects = self.types.objects(values)
        found = [
            (self._rule(thing, is_super=is_super), members)
            for thing in objects
            if (members := self._members(thing, name))
        ]
        return found or None

    def _members(self, thing: Value, name: str) -> tuple[Value, ...]:
        """Return what `thing.name` means; of a written type only what has a definition."""
        members = self.types.member(thing, name)
        if isinstance(thing, Written) and members:
            return tuple(m for m in members if self._is_declared(m, name)) or (EXTERNAL,)
        if isinstance(thing, Symbol) and self.program.language(thing.path).has_structural_types:
            is_all = all(not self._is_type_of_member(member, name) for member in members)
            return members if is_all else (EXTERNAL,)
        return members

    def _is_declared(self, member: Value, name: str) -> bool:
        if not isinstance(member, Symbol) or self.program.definition(member).name != name:
            return False
        around = self.program.parent(member)
        return around is not None and self.program.kind(around) in TYPE_KINDS

    def _is_type_of_member(self, member: Value, name: str) -> bool:
        """Tell the type that a member is said to have from the member."""
        if not isinstance(member, Symbol) or self.program.kind(member) not in TYPE_KINDS:
            return False
        return self.program.definition(member).name != name

    def _on_self(
        self, values: tuple[Value, ...], name: str
    ) -> list[tuple[Rule, tuple[Value, ...]]] | None:
        for owner in values:
            members = self.types.member(owner, name)
            if members and members != (EXTERNAL,):
                return [(Rule.SELF, members)]
            if isinstance(owner, Symbol) and (overrides := self._overrides(owner, name)):
                return [(Rule.SUBCLASS, overrides)]
            if members:
                return [(Rule.SELF, members)]
        return None

    def _rule(self, thing: Value, *, is_super: bool) -> Rule:
        if isinstance(thing, Module):
            return Rule.MODULE
        return Rule.SUPER if is_super else Rule.TYPED

    def _overrides(self, owner: Symbol, name: str) -> tuple[Symbol, ...]:
        question = ("subclasses", owner)
        found = [
            method
            for subclass in self.program.reading.once(question, self._subclasses, owner)
            for method in self.program.inside_of(subclass, name)
            if self.program.kind(method) in CALLABLE_KINDS
        ]
        return tuple(found[:_MAX_CANDIDATES])

    def _invocable(
        self, found: Iterable[tuple[Rule, tuple[Value, ...]]], arity: int = -1
    ) -> list[Target]:
        targets = []
        for rule, values in found:
            symbols = [s for value in values for s in self._invoked(value)]
            if len(symbols) > 1 and arity >= 0:
                symbols = self._accepting(symbols, arity)
            best = self.program.best(symbols, _INVOCABLE)
            if rule is Rule.SUBCLASS:
                targets += [Target(rule, symbol) for symbol in symbols]
            elif best:
                targets.append(Target(rule, best))
        return targets

    def _accepting(self, symbols: list[Symbol], arity: int) -> list[Symbol]:
        """Choose among overloads those that take so many arguments; all, if none seems to."""
        if not self.program.language(symbols[0].path).has_overloads:
            return symbols
        counted = [s for s in symbols if self._takes(self.program.definition(s).parameters, arity)]
        return counted or symbols

    def _takes(self, parameters: Sequence[str], arity: int) -> bool:
        if any("..." in p or p.startswith(("vararg ", "params ")) for p in parameters):
            return arity >= len(parameters) - 1
        required = sum("=" not in parameter for parameter in parameters)
        return required <= arity <= len(parameters)

    def _invoked(self, value: Value) -> tuple[Symbol, ...]:
        if isinstance(value, External | Written):
            return ()
        if isinstance(value, Module):
            default = self.names.exported(value, "default")
            return tuple(found for found in default if isinstance(found, Symbol))
        if self._is_type_only(value):
            return ()
        if self.program.kind(value) in _INVOCABLE:
            return (value,)
        if self.program.kind(value) is NodeKind.MODULE:
            return ()
        aliased = self.types.aliased(value)
        return tuple(found for found in aliased if isinstance(found, Symbol)) or (value,)

    def _is_type_only(self, symbol: Symbol) -> bool:
        """Tell a type that no call can be of: it has values, and is none."""
        is_structural = self.program.language(symbol.path).has_structural_types
        return is_structural and self.program.kind(symbol) in _ONLY_TYPES

    def _certain(self, rule: Rule, values: tuple[Value, ...]) -> list[Target]:
        symbols = [value for value in values if isinstance(value, Symbol)]
        best = self.program.best(symbols, _INVOCABLE)
        return [Target(rule, best)] if best and rule.confidence >= Rule.TYPED.confidence else []

    def _guessed(self, path: str, name: str) -> Iterator[Target]:
        """Fall back on the method's name alone, for receivers of unknown type."""
        if name in _COMMON_NAMES or name.startswith("__"):
            return
        family = self.program.language(path).family
        paths = self.program.methods_called(family, name)
        if not self.program.is_test(path):
            paths = [other for other in paths if not self.program.is_test(other)]
        here = self.program.methods_in(path, name) if path in paths else []
        if len(paths) > _MAX_CANDIDATES:
            methods = here  # too many for candidates, so nobody need know them
        else:
            methods = [m for other in paths for m in self.program.methods_in(other, name)]
        if len(methods) == 1 and len(paths) == 1:
            yield Target(Rule.UNIQUE, methods[0])
        elif len(here) == 1:
            yield Target(Rule.HOMONYM, here[0])
        elif len(methods) <= _MAX_CANDIDATES and len(paths) <= _MAX_CANDIDATES:
            yield from (Target(Rule.CANDIDATE, method) for method in methods)

    def _subclasses(self, owner: Symbol) -> Sequence[Symbol]:
        """Return the types one of whose bases is this one, by path."""
        program = self.program
        return [
            program.shaped(symbol)
            for path in program.reading.providers(("derived", program.id(owner)))
            for symbol in (Symbol(path, number) for number in program.tables[path].bases)
            # Why they derive from it is their file's concern: the key says that they do.
            if owner in program.reading.aside(self.types.bases, symbol)
        ]
