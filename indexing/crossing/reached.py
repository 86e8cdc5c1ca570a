"""What a change reaches beyond its repository: endpoints, topics, and who uses its code there."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import F

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.values import EdgeKind
from indexing.crossing.values import AffectedRepository, AffectedService, Elsewhere
from indexing.models import CrossingEdge

_SERVED: Final = {
    EdgeKind.HANDLES: "handles",
    EdgeKind.HTTP_CALLS: "calls",
    EdgeKind.PUBLISHES_TO: "publishes to",
    EdgeKind.SUBSCRIBES_TO: "subscribes to",
}
# Who is concerned when the other side of such an edge changes.
_OTHER_SIDE: Final = {
    EdgeKind.HANDLES: (EdgeKind.HTTP_CALLS,),
    EdgeKind.HTTP_CALLS: (EdgeKind.HANDLES,),
    EdgeKind.PUBLISHES_TO: (EdgeKind.SUBSCRIBES_TO,),
    EdgeKind.SUBSCRIBES_TO: (EdgeKind.PUBLISHES_TO,),
}
_CODE: Final = (
    EdgeKind.CALLS,
    EdgeKind.REFERENCES,
    EdgeKind.IMPORTS,
    EdgeKind.INHERITS,
    EdgeKind.IMPLEMENTS,
)
_MOST_EDGES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """What a change reaches beyond its repository, the services with most others first.

    Not `is_whole` where more edges speak of it than are read: the most certain are.
    """

    services: tuple[AffectedService, ...] = ()
    repositories: tuple[AffectedRepository, ...] = ()
    is_allowed: bool = True
    is_whole: bool = True


def beyond(
    *, caller: Caller, repository_id: UUID, namespace_id: UUID, vertices: Collection[int]
) -> Beyond:
    """Return what some nodes of a repository reach beyond it. Three queries.

    Of other repositories only what the caller may read.
    """
    if not caller.can(Action.READ_GRAPH, namespace_id):
        return Beyond(is_allowed=False)
    mine = _edges(repository_id=repository_id, source__in=list(vertices), kind__in=list(_SERVED))
    readable = graph.visible_repositories(caller=caller).filter(namespace_id=namespace_id)
    abroad = {"repository__in": readable.exclude(pk=repository_id)}
    partners = _edges(
        **abroad, target_id__in={edge["target_id"] for edge in mine}, kind__in=list(_SERVED)
    )
    users = _edges(**abroad, target__in=list(vertices), kind__in=list(_CODE))
    concerned = _concerned(mine)
    return Beyond(
        services=tuple(_services(mine, partners)),
        repositories=tuple(
            _repositories(
                [
                    *users,
                    *(one for one in partners if (one["target_id"], one["kind"]) in concerned),
                ]
            )
        ),
        is_whole=max(len(mine), len(partners), len(users)) < _MOST_EDGES,
    )


_Row = dict[str, object]


def _edges(**conditions: object) -> list[dict[str, object]]:
    if any(value in ([], set()) for value in conditions.values()):
        return []
    rows = CrossingEdge.objects.filter(**conditions).annotate(name=F("repository__name"))
    return list(
        rows.order_by("-confidence", "source_id", "target_id").values(
            *("name", "kind", "source_id", "target_id", "path", "line", "confidence")
        )[:_MOST_EDGES]
    )


def _services(mine: Sequence[_Row], partners: Sequence[_Row]) -> list[AffectedService]:
    by_target: defaultdict[object, list[_Row]] = defaultdict(list)
    for row in partners:
        by_target[row["target_id"]].append(row)
    found: dict[tuple[object, object], AffectedService] = {}
    for row in mine:
        kind = EdgeKind(str(row["kind"]))
        others = [one for one in by_target[row["target_id"]] if one["kind"] in _OTHER_SIDE[kind]]
        key = (row["target_id"], kind)
        found.setdefault(
            key,
            AffectedService(
                id=str(row["target_id"]),
                verb=_SERVED[kind],
                by=str(row["source_id"]),
                path=str(row["path"]),
                line=_number(row["line"]),
                others=tuple(_elsewhere(one) for one in others),
            ),
        )
    return sorted(found.values(), key=lambda one: (-len(one.others), one.id))


def _concerned(mine: Iterable[_Row]) -> set[tuple[object, object]]:
    """Return the endpoints and topics that are reached, each with the kind of its other side."""
    return {
        (row["target_id"], str(kind))
        for row in mine
        for kind in _OTHER_SIDE[EdgeKind(str(row["kind"]))]
    }


def _repositories(rows: Iterable[_Row]) -> list[AffectedRepository]:
    by_name: defaultdict[str, dict[tuple[str, str], Elsewhere]] = defaultdict(dict)
    for row in rows:
        one = _elsewhere(row)
        by_name[one.repository].setdefault((one.id, one.verb), one)
    found = [
        AffectedRepository(name=name, uses=tuple(uses.values()), total=len(uses))
        for name, uses in by_name.items()
    ]
    return sorted(found, key=lambda one: (-one.total, one.name))


def _elsewhere(row: _Row) -> Elsewhere:
    kind = str(row["kind"])
    verb = _SERVED.get(EdgeKind(kind), kind.lower().replace("_", " "))
    return Elsewhere(
        repository=str(row["name"]),
        id=str(row["source_id"]),
        target=str(row["target_id"]),
        verb=verb,
        path=str(row["path"]),
        line=_number(row["line"]),
        confidence=float(str(row["confidence"])),
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
