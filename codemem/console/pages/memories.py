"""What the team remembers: the list, a search whose scores are explained, and the time line."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Final

from django.http import HttpResponse

from codemem.console.access import Visit
from codemem.console.paging import Listing
from codemem.console.refusals import InputRefused, register
from graph import queries as graph
from memory import history
from memory.catalog import ANCHORED, STATES, Entry, Narrowing, catalog, entries_of
from memory.recall import QueryInvalid, recall
from memory.scoring import WEIGHTS
from memory.statistics import MemoryStatistics, statistics
from memory.values import MemoryType, RecallHit, RecallQuery, Visibility

register(refused=(QueryInvalid,))

_HITS: Final = 20
_EVENTS: Final = 100
_ENDED: Final = frozenset({"resolved", "superseded", "retired", "expired"})
_WEIGHTS: Final = asdict(WEIGHTS)
_HEAVIEST: Final = sum(_WEIGHTS.values())
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One of the nine parts of a score, as a stretch of its picture.

    `value` is what the memory has of it, `points` what that gives to the score out of 100; the
    stretch begins at `start`, in the same units.
    """

    name: str
    value: float
    weight: float
    points: float
    start: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A hit with the picture of its score."""

    entry: Entry
    hit: RecallHit
    components: tuple[Component, ...]

    @property
    def found_by(self) -> str:
        return ", ".join(self.hit.found_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What was learned and changed on one day, the latest first."""

    date: date
    events: tuple[history.Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a list can be narrowed by: names that are there, nothing of what is private."""

    types: tuple[str, ...]
    states: tuple[str, ...]
    visibilities: tuple[str, ...]
    anchored: tuple[str, ...]
    repositories: tuple[str, ...]
    authors: tuple[str, ...]
    tags: tuple[str, ...]


def index(visit: Visit) -> HttpResponse:
    """List the memories of a namespace, or answer a question about them."""
    narrowing = _narrowing(visit)
    figures = statistics(caller=visit.caller, namespace_id=visit.namespace_id, now=visit.now)
    context = {
        "narrowing": narrowing,
        "repository_name": visit.parameter("repository"),
        "choices": _choices(visit, figures),
        "figures": figures,
        "question": visit.parameter("q"),
    }
    if visit.parameter("q"):
        return _answered(visit, narrowing, context)
    page = catalog(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        now=visit.now,
        narrowing=narrowing,
        page=visit.number("page", 1, minimum=1),
    )
    context |= {
        "page": page,
        "listing": Listing(rows=page.entries, number=page.number, has_next=page.number < page.last),
        "is_narrowed": narrowing != Narrowing(),
    }
    return visit.render("memories/index.html", context, title="Memories")


def timeline(visit: Visit) -> HttpResponse:
    """Show what was learned and changed, day by day, the latest first."""
    repository = visit.repository_called(visit.parameter("repository"))
    until = _day(visit, "until")
    since = _day(visit, "since")
    events = history.timeline(
        caller=visit.caller,
        now=visit.now,
        namespace_ids=[visit.namespace_id],
        repository_id=repository,
        since=since,
        until=until + timedelta(days=1) if until else None,
        limit=_EVENTS,
    )
    context = {
        "days": _days(events),
        "since": visit.parameter("since"),
        "until": visit.parameter("until"),
        "repository_name": visit.parameter("repository"),
        "is_cut": len(events) == _EVENTS,
        "oldest": events[0].at.date() if events else None,
    }
    crumbs = (("Memories", visit.url("memories")),)
    return visit.render("memories/timeline.html", context, title="Time line", crumbs=crumbs)


def _answered(visit: Visit, narrowing: Narrowing, context: dict[str, object]) -> HttpResponse:
    # A person who looks around does not use a memory: nothing is counted as recalled.
    answer = recall(
        caller=visit.caller,
        query=RecallQuery(
            text=visit.parameter("q"),
            namespace_ids=(visit.namespace_id,),
            repository_id=narrowing.repository_id,
            k=_HITS,
            memory_types=frozenset({MemoryType(narrowing.memory_type)})
            if narrowing.memory_type
            else frozenset(),
            tags=frozenset({narrowing.tag}) if narrowing.tag else frozenset(),
            include=_included(narrowing.state),
            author=narrowing.author,
        ),
        now=visit.now,
    )
    hits = [hit for hit in answer.hits if _is_wanted(hit, narrowing)]
    entries = {entry.memory.id: entry for entry in entries_of([hit.memory for hit in hits])}
    shown = [explained(hit, entries[hit.memory.id]) for hit in hits]
    context |= {
        "hits": [one for one in shown if not narrowing.anchored or _has_anchors(one, narrowing)],
        "answer": answer,
        "weights": _WEIGHTS,
    }
    return visit.render("memories/search.html", context, title="Memories")


def explained(hit: RecallHit, entry: Entry) -> Explained:
    """Return a hit with what each of the nine components gives to its score."""
    parts = asdict(hit.parts)
    at, components = 0.0, []
    for name, weight in _WEIGHTS.items():
        points = parts[name] * weight / _HEAVIEST * _PERCENT
        components.append(
            Component(name=name, value=parts[name], weight=weight, points=points, start=at)
        )
        at += points
    return Explained(entry=entry, hit=hit, components=tuple(components))


def _included(state: str) -> frozenset[str]:
    if state == "any":
        return _ENDED
    return frozenset({state}) & _ENDED


def _is_wanted(hit: RecallHit, narrowing: Narrowing) -> bool:
    """Say whether a hit is what the filters that recall does not know leave."""
    memory = hit.memory
    return (
        narrowing.state in {"any", memory.state}
        and (not narrowing.visibility or memory.visibility.value == narrowing.visibility)
        and (not narrowing.is_pinned or memory.is_pinned)
    )


def _has_anchors(one: Explained, narrowing: Narrowing) -> bool:
    return (one.entry.anchored.value if one.entry.anchored else "none") == narrowing.anchored


def _narrowing(visit: Visit) -> Narrowing:
    return Narrowing(
        memory_type=_one_of(visit, "type", [kind.value for kind in MemoryType]),
        state=_one_of(visit, "state", STATES) or Narrowing().state,
        visibility=_one_of(visit, "visibility", [one.value for one in Visibility]),
        repository_id=visit.repository_called(visit.parameter("repository")),
        author=visit.parameter("author"),
        tag=visit.parameter("tag"),
        anchored=_one_of(visit, "anchored", ANCHORED),
        is_pinned=visit.parameter("pinned") == "yes",
    )


def _one_of(visit: Visit, name: str, known: Sequence[str]) -> str:
    wanted = visit.parameter(name)
    if wanted and wanted not in known:
        raise InputRefused(f"There is no {name} {wanted[:50]!r}; there are: {', '.join(known)}.")
    return wanted


def _choices(visit: Visit, figures: MemoryStatistics) -> Choices:
    repositories = graph.list_repositories(namespace_ids=(visit.namespace_id,))
    return Choices(
        types=tuple(kind.value for kind in MemoryType),
        states=STATES,
        visibilities=tuple(one.value for one in Visibility),
        anchored=ANCHORED,
        repositories=tuple(sorted(one.name for one in repositories)),
        authors=tuple(figures.by_author),
        tags=tuple(figures.tags),
    )


def _day(visit: Visit, name: str) -> datetime | None:
    text = visit.parameter(name)
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), datetime.min.time(), visit.now.tzinfo)
    except ValueError:
        raise InputRefused(f"{text[:40]!r} is no date; write it as 2030-01-31.") from None


def _days(events: Sequence[history.Event]) -> list[Day]:
    by_day: dict[date, list[history.Event]] = {}
    for event in reversed(events):
        by_day.setdefault(event.at.date(), []).append(event)
    return [Day(date=day, events=tuple(mine)) for day, mine in by_day.items()]
