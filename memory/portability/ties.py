"""What ties memories, on its way in: links, and who took whose place. Many lines at once.

Its memories come before it in an archive. A tie whose ends are not here is told and taken the next
time; one of a memory that waits for a person waits with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from django.db import connection, transaction

from graph import services as graph
from graph.queries.identities import CodeName, Tie, vertices_named
from graph.values import VertexLabel, graph_id
from memory.models import Memory
from memory.portability.records import Fields, Line, RecordInvalid
from memory.portability.restoring import NAME_LENGTH, Restoration, Target
from memory.values import RelationshipKind

_Read = TypeVar("_Read")
_End: TypeAlias = UUID | CodeName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """A link as a line tells it: its ends are memories by their id here, or names of code."""

    line: int
    ends: tuple[_End, _End]
    kind: str
    weight: float
    kept_by: UUID | None
    by: str
    at: int


class Ties:
    """Puts the ties of one import into the graph; counts in the restoration's report."""

    def __init__(self, restoration: Restoration, target: Target) -> None:
        self._restoration = restoration
        self._target = target

    def take_links(self, lines: Sequence[Line]) -> None:
        """Tie what links name, as many as come at once; tell those whose ends are not here."""
        links = self._read(lines, self._link)
        if self._target.dry_run:
            self._restoration.report.links += len(links)
            return
        ends = [end for link in links for end in link.ends]
        keys = self._restoration.resolved(
            {end for end in ends if isinstance(end, UUID)}
            | {link.kept_by for link in links if link.kept_by}
        )
        memories = self._restoration.present(keys.values())
        codes = vertices_named(
            namespace_id=self._target.namespace.pk,
            names={end for end in ends if isinstance(end, CodeName)},
        )
        places: dict[_End, int] = dict(codes.items())
        places.update((key, _vertex_of(memories[to])) for key, to in keys.items() if to in memories)
        whole = [link for link in links if self._has_ends(link, places)]
        with transaction.atomic():
            self._keep(whole, places, keys, memories)
            self._tie(whole, places, keys, memories)

    def _link(self, line: Line) -> _Link:
        fields = Fields(line.record or {})
        source, target = fields.part("source"), fields.part("target")
        if source is None or target is None:
            raise RecordInvalid("A link needs a source and a target.")
        return _Link(
            line=line.number,
            ends=(self._end(source), self._end(target)),
            kind=fields.one_of("kind", RelationshipKind, ""),
            weight=fields.share("weight", 1.0),
            kept_by=fields.optional_id("kept_by"),
            by=fields.text("by", maximum=NAME_LENGTH),
            at=fields.count("at"),
        )

    def _end(self, fields: Fields) -> _End:
        if key := fields.optional_id("memory"):
            return key
        name, key_of_code, kind = fields.text("repository"), fields.text("id"), fields.text("kind")
        if name and name not in self._restoration.repositories:
            return None
        return CodeName(self._restoration.repositories.get(name), key_of_code, kind)

    def _has_ends(self, link: _Link, places: Mapping[_End, int]) -> bool:
        for name, end in zip(("source", "target"), link.ends, strict=True):
            if end not in places:
                self._restoration.report.left_out += 1
                self._restoration.report.refuse(
                    link.line,
                    f"The {name} of a link is not here; import again when it is"
                    " (code: when its repository is indexed).",
                )
                return False
        return True

    def _keep(
        self,
        links: Sequence[_Link],
        places: Mapping[_End, int],
        keys: Mapping[UUID, UUID],
        memories: Mapping[UUID, Memory],
    ) -> None:
        """Put links beside the retired or waiting memories with which they will come."""
        kept: dict[UUID, list[dict[str, Any]]] = {}
        for link in links:
            source, target = (places[end] for end in link.ends)
            tie = {"source": source, "target": target, "kind": link.kind, "weight": link.weight}
            for keeper in _keepers(link, keys, memories):
                waiting = kept.setdefault(keeper, [])
                waiting += [tie] if tie not in waiting else []
            self._restoration.report.links += 1 if link.kept_by else 0
        rows = Memory.objects.filter(pk__in=[key for key in kept if key in memories])
        for memory in rows.order_by("pk").select_for_update(no_key=True).only("retired_links"):
            new = [tie for tie in kept[memory.pk] if tie not in memory.retired_links]
            if new:
                Memory.objects.filter(pk=memory.pk).update(
                    retired_links=[*memory.retired_links, *new]
                )

    def _tie(
        self,
        links: Sequence[_Link],
        places: Mapping[_End, int],
        keys: Mapping[UUID, UUID],
        memories: Mapping[UUID, Memory],
    ) -> None:
        live = [link for link in links if not link.kept_by]
        tied = [link for link in live if not _keepers(link, keys, memories)]
        ends = {keys[end] for link in tied for end in link.ends if isinstance(end, UUID)}
        self._restoration.make_vertices(memories[key] for key in ends)
        ties = [
            Tie(
                source=places[link.ends[0]],
                target=places[link.ends[1]],
                kind=link.kind,
                weight=link.weight,
                by=link.by,
                at=link.at,
            )
            for link in tied
        ]
        missing = graph.put_ties(namespace_id=self._target.namespace.pk, ties=ties)
        for link, tie in zip(tied, ties, strict=True):
            if tie in missing:
                self._restoration.report.refuse(
                    link.line, "A link leads to code that the graph lacks."
                )
        self._restoration.report.links += len(live) - len(missing)

    def take_successions(self, lines: Sequence[Line]) -> None:
        """Note which memory took which one's place, of those that hold no more."""
        pairs = self._read(lines, _succession)
        if self._target.dry_run:
            return
        keys = self._restoration.resolved({key for _, old, new in pairs for key in (old, new)})
        present = self._restoration.present(keys.values())
        here = []
        for number, old, new in pairs:
            if keys[old] in present and keys[new] in present:
                here.append((keys[old], keys[new]))
            else:
                self._restoration.report.refuse(number, "One of the two memories is not here.")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE memory_memory SET superseded_by_id = pair.new"
                " FROM unnest(%s::uuid[], %s::uuid[]) AS pair (old, new)"
                " WHERE id = pair.old AND superseded_by_id IS NULL"
                " AND state NOT IN ('active', 'resolved', 'proposed')",
                [[old for old, _ in here], [new for _, new in here]],
            )

    def _read(self, lines: Sequence[Line], read: Callable[[Line], _Read]) -> list[_Read]:
        """Return what some lines say; tell of those that say nothing that can be read."""
        found = []
        for line in lines:
            try:
                found.append(read(line))
            except RecordInvalid as error:
                self._restoration.report.refuse(line.number, str(error))
        return found


def _succession(line: Line) -> tuple[int, UUID, UUID]:
    fields = Fields(line.record or {})
    return line.number, fields.id("memory"), fields.id("by")


def _keepers(
    link: _Link, keys: Mapping[UUID, UUID], memories: Mapping[UUID, Memory]
) -> tuple[UUID, ...]:
    """Return the memories beside which a link stands: its keeper, or those that wait yet."""
    if link.kept_by:
        return (keys[link.kept_by],)
    ends = [keys[end] for end in link.ends if isinstance(end, UUID)]
    return tuple(key for key in ends if memories[key].state == Memory.State.PROPOSED)


def _vertex_of(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)
