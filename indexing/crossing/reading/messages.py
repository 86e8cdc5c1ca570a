"""Topics that one file publishes to or subscribes to."""

from collections.abc import Iterable, Iterator

from indexing.crossing.reading.source import Source, argument, shown, text_at
from indexing.crossing.traffic import MessageFact, Text
from indexing.expressions import steps_of
from indexing.facts import Binding, BindingSource, ReferenceKind, Site
from indexing.libraries.rules import BusRules, Place

_KNOWN, _LIKELY = 0.9, 0.4
TASK_DEFINED = "task:"
"""Begins the topic of a task that is called what its function is called."""


def messages_in(source: Source, rules: Iterable[BusRules]) -> Iterator[MessageFact]:
    """Yield each place once for each topic: by the bus that its receiver is known to be of.

    Without a known receiver the imports decide, if they name one bus only.
    """
    buses = [_Bus(source, rule) for rule in rules if source.imports_any(rule.imports)]
    for site in source.sites:
        found = [one for bus in buses for one in bus.messages(site)]
        best = max((one.certainty for one in found), default=0.0)
        surest = [one for one in found if one.certainty == best]
        # Several libraries have a `publish`: a guess between them is none.
        if best > _LIKELY or len({one.bus for one in surest}) == 1:
            yield from surest
    for bus in buses:
        yield from bus.tasks()


class _Bus:
    """One bus's rules on one file."""

    def __init__(self, source: Source, rules: BusRules) -> None:
        self.source = source
        self.rules = rules

    def messages(self, site: Site) -> Iterator[MessageFact]:
        if site.kind is ReferenceKind.DECORATOR:
            places = self.rules.listeners.get(site.name) or (
                self.rules.subscribe.get(site.name) if site.receiver else None
            )
            if places and site.name not in self.rules.task_definers:
                yield from self._messages(site, places, _KNOWN, is_publishing=False)
            return
        for is_publishing, names in ((True, self.rules.publish), (False, self.rules.subscribe)):
            if site.name in names:
                certainty = self._certainty(site)
                if certainty:
                    yield from self._messages(
                        site, names[site.name], certainty, is_publishing=is_publishing
                    )

    def tasks(self) -> Iterator[MessageFact]:
        """Yield tasks that are defined (subscribe) and those that are sent by their function."""
        for reference in self.source.facts.references:
            is_definition = reference.kind is ReferenceKind.DECORATOR
            symbol = self.source.symbol(reference.scope)
            if is_definition and reference.name in self.rules.task_definers:
                name = self._task_name(reference.scope) or TASK_DEFINED + symbol
                topic = Text(name, is_literal=True)
                text = f"@{reference.receiver}." if reference.receiver else "@"
                yield MessageFact(
                    self.rules.bus, False, topic, symbol, _KNOWN, reference.line,
                    text + reference.name,
                )  # fmt: skip
            elif reference.name in self.rules.task_senders and reference.receiver:
                topic = Text(TASK_DEFINED + reference.receiver, is_literal=False)
                text = f"{reference.receiver}.{reference.name}(...)"
                yield MessageFact(
                    self.rules.bus, True, topic, symbol, _KNOWN, reference.line, text[:300]
                )

    def _task_name(self, scope: int) -> str:
        for site in self.source.decorators_of(scope):
            if site.name in self.rules.task_definers:
                found = argument(site, ("name",))
                return found.text if found and found.is_literal else ""
        return ""

    def _messages(
        self, site: Site, places: tuple[Place, ...], certainty: float, *, is_publishing: bool
    ) -> Iterator[MessageFact]:
        topics = _topics(site, places)
        for topic in topics:
            yield MessageFact(
                bus=self.rules.bus,
                is_publishing=is_publishing,
                topic=topic,
                symbol=self.source.symbol(site.scope),
                certainty=certainty,
                line=site.line,
                text=shown(site, topic),
            )

    def _certainty(self, site: Site) -> float:
        if site.receiver is None or site.name in self.rules.bare:
            imported = self.source.imported(site.name) or ""
            is_bare = site.name in self.rules.bare
            return _KNOWN if is_bare or self._is_ours(imported) else 0.0
        head = (steps_of(site.receiver) or ("",))[0]
        if self._is_ours(self.source.imported(head) or ""):
            return _KNOWN
        binding = self.source.binding_of(site.receiver, site.scope)
        if binding is not None:
            return self._bound(binding)
        return _LIKELY

    def _bound(self, binding: Binding) -> float:
        if binding.source is BindingSource.TYPE:
            name = binding.text.strip("*&? ").partition("<")[0]
            names = {name, name.rpartition(".")[2]}
            is_ours = not self.rules.types.isdisjoint(names)
            return _KNOWN if is_ours or self._is_ours(self.source.imported(name) or "") else 0.0
        made = [step for step in steps_of(binding.text) if step not in ("()", "[]")]
        if not made:
            return _LIKELY
        if made[-1] in ("client", "resource") and self.rules.services:
            site = self.source.made_at(binding)
            service = text_at(site, (0,)) if site else None
            return _KNOWN if service and service.text in self.rules.services else 0.0
        names = {made[-1], ".".join(made), ".".join(made[-2:])}
        if not self.rules.makers.isdisjoint(names) or not self.rules.types.isdisjoint(names):
            return _KNOWN
        if self._is_ours(self.source.imported(made[0]) or ""):
            return _KNOWN
        return _LIKELY if len(made) > 1 else 0.0

    def _is_ours(self, imported: str) -> bool:
        return any(imported.startswith(prefix) for prefix in self.rules.imports if imported)


def _topics(site: Site, places: Iterable[Place]) -> list[Text]:
    """Return the topics at the first place that has any: a keyword may hold a list of them."""
    for place in places:
        if isinstance(place, str):
            found = [one for one in site.arguments if one.keyword == place and one.text]
            if found:
                return [Text(one.text, one.is_literal) for one in found]
        else:
            text = text_at(site, (place,))
            if text:
                return [text]
    return []
