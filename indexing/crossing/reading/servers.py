"""Routers, mounts and routes of one file."""

import re
from collections.abc import Iterable, Iterator

from graph.values import NodeKind
from indexing.crossing.paths import joined_path
from indexing.crossing.reading.source import (
    NOTHING,
    Source,
    argument,
    callee,
    callee_of,
    positional,
    shown,
    text_at,
    texts_at,
)
from indexing.crossing.traffic import MountFact, RouteFact, RouterFact, Text
from indexing.expressions import steps_of
from indexing.facts import MODULE_SCOPE, Binding, BindingSource, BindingTarget, ReferenceKind, Site
from indexing.libraries.rules import MountRule, Place, RouteRule, ServerRules

ANY_METHOD = "ANY"
FILE_ROUTER = f"{MODULE_SCOPE}:*"
"""The router of a file that declares routes without naming one (Django's urlpatterns)."""

_KNOWN, _IMPORTED, _LIKELY = 0.9, 0.7, 0.5
_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT ANY ALL".split())
_CHAINED_LINES = 25
_CALLABLE = (NodeKind.FUNCTION, NodeKind.METHOD)
_METHOD_AND_PATH = re.compile(r"([A-Z]+) (?:[\w.-]*)(/.*)")
_INCLUDE = "include()"

ServerFacts = tuple[tuple[RouterFact, ...], tuple[MountFact, ...], tuple[RouteFact, ...]]


def server_facts(source: Source, rules: Iterable[ServerRules]) -> ServerFacts:
    """Return what a file declares; of several frameworks that know a site the surest reads it."""
    routers: dict[str, RouterFact] = {}
    mounts: dict[tuple[int, str, Text], MountFact] = {}
    routes: dict[tuple[int, str, Text], RouteFact] = {}
    for rule in rules:
        framework = _Framework(source, rule)
        found = {one.key: one for one in framework.routers()}
        routers = found | routers
        for mount in framework.mounts():
            mounts.setdefault((mount.line, mount.text, mount.child), mount)
        for route in framework.routes(frozenset(found)):
            key = (route.line, route.text, route.path)
            if key not in routes or routes[key].certainty < route.certainty:
                routes[key] = route
    return tuple(routers.values()), tuple(mounts.values()), tuple(routes.values())


class _Framework:
    """One framework's rules on one file."""

    def __init__(self, source: Source, rules: ServerRules) -> None:
        self.source = source
        self.rules = rules
        self.is_imported = rules.is_implicit or source.imports_any(rules.imports)

    # --- Routers ----------------------------------------------------------------------------------
    def routers(self) -> Iterator[RouterFact]:
        for binding in self.source.bindings if self.is_imported else ():
            found = self._router(binding)
            if found is not None:
                yield found

    def _router(self, binding: Binding) -> RouterFact | None:
        is_field = binding.target is BindingTarget.FIELD
        key = f"{'self' if is_field else binding.scope}:{binding.name}"
        if binding.source is BindingSource.TYPE:
            is_router = not self.rules.types.isdisjoint(_names_of_type(binding.text))
            function = self.source.symbol(binding.scope)
            framework = self.rules.framework
            return RouterFact(key, framework, NOTHING, "", function) if is_router else None
        name = binding.text.removesuffix("()")
        maker = name.partition("()")[0]
        if maker != name and self._maker(maker) is not None:
            return RouterFact(key, self.rules.framework, NOTHING, "")
        parent, _, last = name.rpartition(".")
        is_group = bool(parent) and last in self.rules.groups
        places = self.rules.groups[last] if is_group else self._maker(name)
        if places is None:
            return None
        site = self.source.made_at(binding)
        prefix = (text_at(site, places) if site else None) or NOTHING
        above = self.source.key_of(parent, binding.scope) if is_group else ""
        return RouterFact(key, self.rules.framework, prefix, above)

    def _maker(self, name: str) -> tuple[Place, ...] | None:
        # `express.Router` is named by its last part, `gin.Default` as a whole.
        makers = self.rules.makers
        return makers[name] if name in makers else makers.get(name.rpartition(".")[2])

    # --- Mounts -----------------------------------------------------------------------------------
    def mounts(self) -> Iterator[MountFact]:
        if self.is_imported and self.rules.groups:
            yield from self._handed_on()
        for rule in self.rules.mounts:
            for position, site in enumerate(self.source.sites):
                if site.name == rule.name and site.kind is ReferenceKind.CALL:
                    yield from self._mount(rule, site, position)

    def _handed_on(self) -> Iterator[MountFact]:
        """Yield groups that are opened for a function: users.Register(v1.Group("/users"))."""
        for site in self.source.sites:
            if site.name not in self.rules.groups or not site.receiver:
                continue
            prefix = text_at(site, self.rules.groups[site.name])
            function = self.source.called_around(site)
            if prefix is not None and function:
                parent = self._key(site)
                child = Text(f"?:{function}", is_literal=False)
                symbol, text = self.source.symbol(site.scope), shown(site, prefix)
                yield MountFact(parent, child, prefix, symbol, site.line, text, is_resource=False)

    def _key(self, site: Site) -> str:
        """Return the key of a site's receiver; of a chain that begins with a maker, who names it.

        `const api = Router().use(a).use(b)` is api's chain, `export default Router()` the file's.
        """
        receiver = site.receiver or ""
        head = receiver.partition("()")[0]
        if "()" not in receiver or self._maker(head) is None:
            return self.source.key_of(receiver, site.scope)
        near = [
            one
            for one in self.source.bindings
            if one.text.startswith(f"{head}()") or one.text == head
            if one.line <= site.line and not self._ends_before(one.line, site.line, head)
        ]
        return f"{near[-1].scope}:{near[-1].name}" if near else FILE_ROUTER

    def _ends_before(self, start: int, line: int, head: str) -> bool:
        """Tell whether another chain begins between two lines, or none reaches so far."""
        calls = self.source.facts.references
        begun = (one.line for one in calls if callee_of(one) == head and start < one.line <= line)
        return next(begun, None) is not None or line - start > _CHAINED_LINES

    def _mount(self, rule: MountRule, site: Site, position: int) -> Iterator[MountFact]:
        given = argument(site, (rule.child,))
        parent = self._parent(rule, site)
        if parent is None or given is None:
            return
        child = self._child(rule, site, position, Text(given.text, given.is_literal))
        if child is None:
            return
        prefix = text_at(site, (rule.prefix,)) or NOTHING
        if prefix.text == given.text and prefix.is_literal == given.is_literal:
            prefix = NOTHING  # app.use(router): the only argument is no prefix
        text = shown(site, prefix, Text(given.text, given.is_literal))
        symbol = self.source.symbol(site.scope)
        yield MountFact(parent, child, prefix, symbol, site.line, text, rule.is_resource)

    def _parent(self, rule: MountRule, site: Site) -> str | None:
        if rule.is_including:
            return FILE_ROUTER if self.is_imported and not site.receiver else None
        if not site.receiver:
            return None
        is_likely = self.rules.receivers.fullmatch(_last(site.receiver))
        if not (is_likely or (self.is_imported and not rule.is_resource)):
            return None
        return self._key(site)

    def _child(self, rule: MountRule, site: Site, position: int, given: Text) -> Text | None:
        if rule.is_including:
            return self._included(site, position, given)
        if given.text.endswith("require()"):
            inner = self._next("require", site, position)
            return text_at(inner, (0,)) if inner else None
        if given.is_literal or "()" in given.text.removesuffix("()"):
            return None
        if rule.is_resource:
            return given
        return Text(self.source.key_of(given.text, site.scope), is_literal=False)

    def _included(self, site: Site, position: int, given: Text) -> Text | None:
        if given.text.rpartition(".")[2] != _INCLUDE:
            return None
        inner = self._next("include", site, position)
        found = text_at(inner, (0,)) if inner else None
        if found is None or found.is_literal:
            return found
        # include(router.urls) of a REST framework's router; include(module)
        chain = found.text.removesuffix(".urls")
        return Text(self.source.key_of(chain, site.scope), is_literal=False)

    def _next(self, name: str, site: Site, position: int) -> Site | None:
        """Return the call that stands in the arguments of a site."""
        for inner in self.source.sites[position + 1 : position + 4]:
            if inner.name == name and inner.line - site.line <= 3:  # noqa: PLR2004
                return inner
        return None

    # --- Routes -----------------------------------------------------------------------------------
    def routes(self, known: frozenset[str]) -> Iterator[RouteFact]:
        for rule in self.rules.routes:
            kind = ReferenceKind.DECORATOR if rule.is_decorator else ReferenceKind.CALL
            names = {rule.path_of} if rule.path_of else rule.names.keys()
            for site in self.source.sites:
                if site.kind is kind and site.name in names:
                    yield from self._route(rule, site, known)

    def _route(self, rule: RouteRule, site: Site, known: frozenset[str]) -> Iterator[RouteFact]:
        path = text_at(site, (0, "value") if rule.path_of else rule.path)
        if path is None and (rule.on_class or (rule.is_decorator and not site.arguments)):
            path = NOTHING  # @Get() of a controller, @router.post(""): the path of what is above
        if path is None or self._is_something_else(rule, site, path):
            return
        certainty = self._certainty(rule, site, path, known)
        methods = self._methods(rule, site)
        if not certainty or not methods:
            return
        found = _METHOD_AND_PATH.fullmatch(path.text) if path.is_literal else None
        if found:  # Go 1.22: mux.HandleFunc("GET /users/{id}", ...)
            methods, path = (found[1],), Text(found[2], is_literal=True)
        yield RouteFact(
            router=self._router_of(site),
            prefix=self._prefix(site),
            path=self._filled(path, site),
            methods=methods,
            handler=self._handler(rule, site),
            symbol=self.source.symbol(site.scope),
            framework=self.rules.framework,
            certainty=certainty,
            line=site.line,
            text=shown(site, path),
        )

    def _is_something_else(self, rule: RouteRule, site: Site, path: Text) -> bool:
        if len(site.arguments) < rule.least_arguments and path.text:
            return True
        if rule.is_bare and site.receiver:
            return True
        given = positional(site)
        if rule.handler == -1 and given and given[-1].is_literal:
            return True  # the last argument of a request is a body or nothing
        if any(one.text.rpartition(".")[2] == _INCLUDE for one in given[1:2]):
            return True
        if rule.on_class:
            kind = self.source.facts.definitions[site.scope].kind if site.scope >= 0 else None
            return kind not in _CALLABLE or not self._classes_fit(site.scope)
        return False

    def _classes_fit(self, scope: int) -> bool:
        decorators = {
            one.name
            for index, _ in self.source.enclosing(scope)
            for one in self.source.decorators_of(index)
        }
        return decorators.isdisjoint(self.rules.excluded)

    def _certainty(self, rule: RouteRule, site: Site, path: Text, known: frozenset[str]) -> float:
        if not site.receiver:
            is_free = rule.is_decorator or rule.is_bare
            return _KNOWN if is_free and self.is_imported else 0.0
        if rule.on_class:
            return 0.0
        key = self._key(site)
        if key in known or (key == FILE_ROUTER and self.is_imported):
            return _KNOWN
        is_path = path.is_literal and (path.text.startswith("/") or path.text[:1].isupper())
        is_likely = bool(self.rules.receivers.fullmatch(_last(site.receiver)))
        if not is_path and not (is_likely and self.is_imported):
            return 0.0
        if is_likely:
            return _IMPORTED if self.is_imported else _LIKELY
        # What is made by something else is no router, but a decorator with a path is one.
        return _LIKELY if rule.is_decorator and key.startswith("?") else 0.0

    def _methods(self, rule: RouteRule, site: Site) -> tuple[str, ...]:
        if rule.path_of:
            names = self.source.facts.definitions[site.scope].decorators if site.scope >= 0 else ()
            return tuple(rule.names[name] for name in names if name in rule.names)
        said = (
            [text.upper() for text in texts_at(site, rule.methods)]
            if rule.methods is not None
            else []
        )
        said = said or [
            text.upper()
            for other in self.source.sites_at(site.line)
            if other.name == "Methods" and other.receiver
            for text in (one.text for one in other.arguments if one.is_literal)
        ]
        if rule.is_chained:
            said = list(self._chained(site))
        if rule.method_of_handler:
            given = argument(site, (rule.handler or 1,))
            said = [step.upper() for step in steps_of(given.text)] if given else []
        known = tuple(dict.fromkeys(method for method in said if method in _METHODS))
        return known or (rule.names[site.name],)

    def _chained(self, site: Site) -> Iterator[str]:
        """Yield the methods called on what a site returns: router.route("/x").get(list)."""
        start = callee(site) + "()"
        lines = [one.line for one in self.source.sites if one.name == site.name]
        end = min((line for line in lines if line > site.line), default=site.line + _CHAINED_LINES)
        for reference in self.source.facts.references:
            is_near = site.line <= reference.line < end
            if is_near and (reference.receiver or "").startswith(start):
                yield reference.name.upper().replace("ALL", ANY_METHOD)

    def _router_of(self, site: Site) -> str:
        if not site.receiver:
            return FILE_ROUTER
        return self._key(site)

    def _prefix(self, site: Site) -> str:
        """Return the prefixes that enclose a site: classes, closures of groups, its own chain."""
        found: list[str] = []
        for scope, definition in self.source.enclosing(site.scope):
            if definition.kind is None:
                found.extend(self._opened_at(definition.start_line, before=site))
            elif scope != site.scope or site.kind is ReferenceKind.CALL:
                found.extend(self._of_class(scope))
        found.reverse()
        if site.receiver and "()" in site.receiver:
            found.extend(self._opened_at(site.line, before=site))
        return joined_path(*found) if found else ""

    def _opened_at(self, line: int, *, before: Site) -> Iterator[str]:
        for opening in self.source.sites_at(line):
            if opening.name in self.rules.groups and opening != before:
                text = text_at(opening, self.rules.groups[opening.name])
                if text and text.is_literal:
                    yield text.text

    def _of_class(self, scope: int) -> Iterator[str]:
        for site in self.source.decorators_of(scope):
            if site.name in self.rules.classes:
                text = text_at(site, self.rules.classes[site.name])
                if text and text.is_literal:
                    yield self._filled(text, site).text

    def _filled(self, path: Text, site: Site) -> Text:
        """Replace ASP.NET's tokens by the names of the class and the method."""
        if "[" not in path.text or not path.is_literal:
            return path
        text = path.text
        for _, definition in self.source.enclosing(site.scope):
            is_class = definition.kind is NodeKind.CLASS
            token = "[controller]" if is_class else "[action]"
            text = text.replace(token, definition.name.removesuffix("Controller").lower())
        return Text(text, is_literal=True)

    def _handler(self, rule: RouteRule, site: Site) -> str:
        if rule.handler is None or rule.method_of_handler:
            return ""
        given = argument(site, (rule.handler,))
        if given is None or given.is_literal:
            return ""
        # View.as_view() is the view; what other calls return is no name, nor is `func() {}`.
        name = given.text.removesuffix(".as_view()").removesuffix(".bind()")
        return "" if "()" in name else name


def _last(chain: str) -> str:
    names = [step for step in steps_of(chain) if step not in ("()", "[]")]
    return names[-1] if names else ""


def _names_of_type(annotation: str) -> set[str]:
    bare = annotation.strip("*& ").partition("<")[0].partition("[")[0]
    return {bare, bare.rpartition(".")[2]}
