"""One file as rules look at it: what names are made by, what encloses a site, what it is given."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from graph.values import NodeKind
from indexing.crossing.traffic import ConstantFact, NameFact, Text
from indexing.expressions import steps_of
from indexing.facts import (
    MODULE_SCOPE,
    Argument,
    Binding,
    BindingSource,
    BindingTarget,
    BlobFacts,
    Definition,
    Reference,
    ReferenceKind,
    Site,
)
from indexing.libraries.rules import Place

NOTHING = Text("", is_literal=True)
_CONSTANT = re.compile(
    r"(?s)[^=]*?(?::=|=)>?\s*[A-Za-z]{0,2}([\"'`])(?P<text>[^\"'`\n]{1,300})\1\s*[;,]?\s*\Z"
)
_PAIR = re.compile(r"([\w$]+)[\"']?\s*(?::|=>|=)\s*([\"'`])([^\"'`\n]{1,300})\2")
_MAXIMUM_CONSTANTS = 500
_VARIABLES = (NodeKind.VARIABLE, NodeKind.FIELD)
_SELF = ("self", "this", "cls")


class Source:
    """The facts of one blob, indexed the way the rules ask."""

    def __init__(self, facts: BlobFacts) -> None:
        self.facts = facts
        self.sites = facts.sites
        self.modules = frozenset(one.module for one in facts.imports)

    @cached_property
    def bindings(self) -> list[Binding]:
        """Return the bindings; what a variable's value binds is of the scope around it."""
        return [
            one._replace(scope=self._around_variables(one.scope)) for one in self.facts.bindings
        ]

    def _around_variables(self, scope: int) -> int:
        while scope != MODULE_SCOPE and self.facts.definitions[scope].kind in _VARIABLES:
            scope = self.facts.definitions[scope].parent
        return scope

    def imports_any(self, prefixes: Iterable[str]) -> bool:
        """Tell whether the file imports one of some modules, or something below one."""
        return any(_is_below(module, prefix) for prefix in prefixes for module in self.modules)

    def symbol(self, scope: int) -> str:
        """Return the innermost named definition of a scope: `local_name~ordinal`, "" for none."""
        while scope != MODULE_SCOPE and self.facts.definitions[scope].kind is None:
            scope = self.facts.definitions[scope].parent
        if scope == MODULE_SCOPE:
            return ""
        return f"{self.facts.definitions[scope].local_name}~{self._ordinals[scope]}"

    def enclosing(self, scope: int) -> Iterator[tuple[int, Definition]]:
        """Yield a scope and those around it, the innermost first, without the module."""
        while scope != MODULE_SCOPE:
            definition = self.facts.definitions[scope]
            yield scope, definition
            scope = definition.parent

    def decorators_of(self, scope: int) -> list[Site]:
        return self._decorators.get(scope, [])

    def sites_at(self, line: int) -> list[Site]:
        return self._by_line.get(line, [])

    def called_around(self, site: Site) -> str:
        """Return the function whose call holds a site among its arguments on the same line."""
        calls = self._calls_by_line.get(site.line, [])
        position = next((i for i, one in enumerate(calls) if callee_of(one) == callee(site)), 0)
        for outer in reversed(calls[:position]):
            name = callee_of(outer)
            if "()" not in name and not (site.receiver or "").startswith(name):
                return name
        return ""

    def binding(self, name: str, scope: int) -> Binding | None:
        """Return what the nearest name in reach of a scope is bound to; also fields."""
        scopes = [*(index for index, _ in self.enclosing(scope)), MODULE_SCOPE]
        for index in scopes:
            found = self._bindings.get((index, name))
            if found:
                return found
        return None

    def binding_of(self, receiver: str, scope: int) -> Binding | None:
        """Return the binding behind a receiver that is a name or a field of the object."""
        steps = steps_of(receiver)
        if len(steps) == 2 and steps[0] in _SELF:  # noqa: PLR2004
            return self._fields.get(steps[1])
        if len(steps) == 1:
            name = steps[0]
            return self.binding(name, scope) or self._fields.get(name.lstrip("@"))
        return None

    def key_of(self, chain: str, scope: int) -> str:
        """Return the key of the router that a chain means where it stands."""
        steps = steps_of(chain)
        if len(steps) == 2 and steps[0] in _SELF:  # noqa: PLR2004
            return f"self:{steps[1]}"
        head = steps[0] if steps else ""
        rest = [step for step in steps[1:] if step not in ("()", "[]")]
        binding = self.binding(head, scope)
        if binding and (not rest or "()" in steps):
            return f"{binding.scope}:{head}"
        return f"?:{'.'.join((head, *rest)) if '()' not in steps else head}"

    def made_at(self, binding: Binding) -> Site | None:
        """Return the call whose result a binding names, with its arguments, if it was kept."""
        for site in self.sites_at(binding.line):
            if binding.text in (callee(site), callee(site) + "()"):
                return site
        return None

    def imported(self, name: str) -> str | None:
        """Return `module` or `module.name` for a name that an import binds, else None."""
        return self._imported.get(name)

    def names(self) -> Iterator[NameFact]:
        """Yield every name that an import binds."""
        for one in self.facts.imports:
            local = one.alias or one.name or last_segment(one.module)
            yield NameFact(local, one.name, one.module, one.line)

    def constants(self) -> Iterator[ConstantFact]:
        """Yield the names and the members of maps that stand for a text."""
        yield from list(_constants(self.facts))[:_MAXIMUM_CONSTANTS]

    @cached_property
    def _ordinals(self) -> Mapping[int, int]:
        seen: Counter[str] = Counter()
        found = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.kind is not None:
                found[index] = seen[definition.local_name]
                seen[definition.local_name] += 1
        return found

    @cached_property
    def _decorators(self) -> Mapping[int, list[Site]]:
        found: dict[int, list[Site]] = {}
        for site in self.sites:
            if site.kind is ReferenceKind.DECORATOR:
                found.setdefault(site.scope, []).append(site)
        return found

    @cached_property
    def _by_line(self) -> Mapping[int, list[Site]]:
        found: dict[int, list[Site]] = {}
        for site in self.sites:
            found.setdefault(site.line, []).append(site)
        return found

    @cached_property
    def _calls_by_line(self) -> Mapping[int, list[Reference]]:
        found: dict[int, list[Reference]] = {}
        for one in self.facts.references:
            if one.kind is ReferenceKind.CALL:
                found.setdefault(one.line, []).append(one)
        for calls in found.values():
            calls.sort(key=lambda one: one.column)
        return found

    @cached_property
    def _bindings(self) -> Mapping[tuple[int, str], Binding]:
        found: dict[tuple[int, str], Binding] = {}
        for one in self.bindings:
            # What is required is an import, and known as one.
            if one.target is BindingTarget.NAME and one.text != "require":
                found.setdefault((one.scope, one.name), one)
        return found

    @cached_property
    def _fields(self) -> Mapping[str, Binding]:
        found: dict[str, Binding] = {}
        for one in self.bindings:
            # What a constructor makes says more than what an annotation promises.
            is_field = one.target is BindingTarget.FIELD
            if is_field and (one.name not in found or one.source is BindingSource.CALL):
                found[one.name] = one
            elif one.source is BindingSource.TYPE and one.target is BindingTarget.NAME:
                found.setdefault(one.name, one)
        return found

    @cached_property
    def _imported(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for one in self.facts.imports:
            local = one.alias or one.name or one.module.rpartition("/")[2]
            found[local] = f"{one.module}.{one.name}" if one.name else one.module
            if not one.alias and not one.name:
                found[one.module.partition(".")[0]] = one.module
        return found


def last_segment(module: str) -> str:
    """Return what a package is called by its path: its last part that is no major version."""
    parts = [part for part in module.split("/") if not re.fullmatch(r"v\d+", part)]
    return parts[-1] if parts else module


def callee(site: Site) -> str:
    """Return what a site calls, as a chain: `requests.get`."""
    return f"{site.receiver}.{site.name}" if site.receiver else site.name


def callee_of(reference: Reference) -> str:
    """Return what a reference names, as a chain."""
    return f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name


def positional(site: Site) -> list[Argument]:
    return [one for one in site.arguments if not one.keyword]


def argument(site: Site, places: Iterable[Place]) -> Argument | None:
    """Return the argument at the first of some places that has one."""
    for place in places:
        if isinstance(place, str):
            found = next((one for one in site.arguments if one.keyword == place), None)
        else:
            given = positional(site)
            found = given[place] if -len(given) <= place < len(given) else None
        if found is not None and (found.text or found.is_literal):
            return found
    return None


def text_at(site: Site, places: Iterable[Place]) -> Text | None:
    found = argument(site, places)
    return Text(found.text, found.is_literal) if found else None


def texts_at(site: Site, place: Place) -> list[str]:
    """Return every literal or last name at a keyword (a list has several), or at a position."""
    if isinstance(place, int):
        found = argument(site, (place,))
        return [_last(found)] if found else []
    return [_last(one) for one in site.arguments if one.keyword == place and one.text]


def shown(site: Site, *texts: Text) -> str:
    """Return the pattern of a site as evidence: `app.get("/users/{}")`."""
    given = ", ".join(f'"{one.text}"' if one.is_literal else one.text for one in texts if one.text)
    sign = "@" if site.kind is ReferenceKind.DECORATOR else ""
    return f"{sign}{callee(site)}({given})"[:300]


def _last(found: Argument) -> str:
    return found.text if found.is_literal else found.text.rpartition(".")[2]


def _is_below(module: str, prefix: str) -> bool:
    return module == prefix or (
        module.startswith(prefix) and (prefix[-1:] in "/." or module[len(prefix)] in "./:\\-_")
    )


def _constants(facts: BlobFacts) -> Iterator[ConstantFact]:
    for definition in facts.definitions:
        if definition.kind in _VARIABLES:
            yield from constants_of(definition.local_name, definition.source_text)


def constants_of(local_name: str, source_text: str) -> Iterator[ConstantFact]:
    """Yield the texts that a variable's own source says: `A = "x"`, `A = {b: "x"}`."""
    plain = _CONSTANT.match(source_text)
    if plain:
        yield ConstantFact(local_name, plain["text"])
    elif "{" in source_text:
        for key, _, text in _PAIR.findall(source_text):
            yield ConstantFact(f"{local_name}.{key}", text)
