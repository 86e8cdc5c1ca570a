"""Requests that one file sends."""

from collections.abc import Iterable, Iterator

from indexing.crossing.reading.source import (
    NOTHING,
    Source,
    callee,
    shown,
    text_at,
)
from indexing.crossing.traffic import RequestFact, Text
from indexing.expressions import steps_of
from indexing.facts import Binding, BindingSource, ReferenceKind, Site
from indexing.libraries.rules import ClientRules, Place

_KNOWN, _LIKELY = 0.9, 0.5
_ANY = "ANY"
_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS".split())


def requests_in(source: Source, rules: Iterable[ClientRules]) -> Iterator[RequestFact]:
    """Yield each request once, read by the first library that knows its call."""
    seen: set[int] = set()
    for rule in rules:
        library = _Library(source, rule)
        for position, site in enumerate(source.sites):
            if site.kind is ReferenceKind.CALL and position not in seen:
                found = library.request(site)
                if found is not None:
                    seen.add(position)
                    yield found


class _Library:
    """One client library's rules on one file."""

    def __init__(self, source: Source, rules: ClientRules) -> None:
        self.source = source
        self.rules = rules
        self.is_imported = (
            rules.is_implicit or not rules.imports or source.imports_any(rules.imports)
        )

    def request(self, site: Site) -> RequestFact | None:
        generic = self.rules.generic.get(site.name)
        if not self.is_imported or (generic is None and site.name not in self._names()):
            return None
        client = self._client(site)
        if client is None:
            return None
        certainty, base = client
        url = text_at(site, generic.url if generic else self.rules.url)
        if url is None or not _may_be_url(url, base, site):
            return None
        return RequestFact(
            methods=self._methods(site, generic.method if generic else self.rules.method),
            url=url,
            base=base,
            library=self.rules.library,
            symbol=self.source.symbol(site.scope),
            certainty=certainty,
            line=site.line,
            text=shown(site, url),
        )

    def _names(self) -> frozenset[str]:
        return self.rules.bare | self.rules.names.keys()

    def _client(self, site: Site) -> tuple[float, Text] | None:
        """Return how sure it is that a site's receiver sends requests, and its base URL."""
        if site.receiver is None:
            is_ours = site.name in self.rules.bare and self._is_of_library(site.name)
            return (_KNOWN, NOTHING) if is_ours else None
        made = self._made_inline(site)
        if made is not None:
            return made
        head = (steps_of(site.receiver) or ("",))[0]
        if site.receiver in self.rules.modules and self._is_of_library(head):
            return _KNOWN, NOTHING
        binding = self.source.binding_of(site.receiver, site.scope) or self._behind_chain(site)
        if binding is not None:
            return self._bound(binding)
        if self.rules.receivers.fullmatch(steps_of(site.receiver)[-1] if site.receiver else ""):
            return _LIKELY, NOTHING
        return None

    def _behind_chain(self, site: Site) -> Binding | None:
        """Return what a fluent chain begins with: `builder.build().get().uri(...)`."""
        steps = steps_of(site.receiver or "")
        if "()" not in steps:
            return None
        names = [step for step in steps[: steps.index("()") - 1] if step != "this"]
        return self.source.binding_of(names[0], site.scope) if len(names) == 1 else None

    def _is_of_library(self, name: str) -> bool:
        """Tell whether a name is the library's: imported from it, or global in its language."""
        imported = self.source.imported(name)
        if imported is None:
            return not self.rules.imports or self.rules.is_implicit or name[:1] == "$"
        return any(imported.startswith(prefix) for prefix in (*self.rules.imports, "./", "@/")) or (
            not self.rules.imports
        )

    def _made_inline(self, site: Site) -> tuple[float, Text] | None:
        """Read what makes its client on the spot: `requests.Session().get(...)`."""
        for maker, places in self.rules.makers.items():
            if (site.receiver or "").startswith(f"{maker}()"):
                opening = (one for one in self.source.sites_at(site.line) if callee(one) == maker)
                return _KNOWN, _base(next(opening, None), places)
        return None

    def _bound(self, binding: Binding) -> tuple[float, Text] | None:
        if binding.source is BindingSource.TYPE:
            name = binding.text.strip("*&? ").partition("<")[0]
            names = {name, name.rpartition(".")[2], name.partition(".")[0]}
            is_client = not self.rules.types.isdisjoint(names) or any(
                maker in names for maker in self.rules.makers
            )
            return (_KNOWN, NOTHING) if is_client else None
        made = binding.text.removesuffix("()")
        for name in (made, made.rpartition(".")[2]):
            if name in self.rules.makers and self._is_of_library(steps_of(made)[0]):
                site = self.source.made_at(binding)
                return _KNOWN, _base(site, self.rules.makers[name])
        return None

    def _methods(self, site: Site, places: tuple[Place, ...]) -> tuple[str, ...]:
        said = text_at(site, places) if places else None
        if said is not None:
            method = said.text if said.is_literal else said.text.rpartition(".")[2]
            method = method.removeprefix("Method").upper()
            return (method if method.isalpha() else _ANY,)
        method = self.rules.names.get(site.name, _ANY if places else "GET")
        if method == _ANY:  # client.get().uri("/x")
            chain = [step.upper() for step in steps_of(site.receiver or "")]
            method = next((step for step in reversed(chain) if step in _METHODS), _ANY)
        return (method,)


def _base(site: Site | None, places: tuple[Place, ...]) -> Text:
    return (text_at(site, places) if site and places else None) or NOTHING


def _may_be_url(url: Text, base: Text, site: Site) -> bool:
    if url.is_literal:
        return "/" in url.text or bool(base.text)
    # A name that may stand for one; of the names of maps' and sessions' keys there is no end.
    return "()" not in url.text and site.receiver != ""
