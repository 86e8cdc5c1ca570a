"""Insights: how busy the code is, how healthy, how safe, and where everything passes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpResponse

from codemem.console import charts, refusals
from codemem.console.access import Visit
from codemem.console.pages.history import week_chart
from graph import queries as graph
from graph.values import NodeKind, ScoredNode
from indexing.crossing import queries as crossing
from indexing.crossing.queries import CrossingFilter
from indexing.findings import queries as findings
from indexing.findings.rules import described
from indexing.findings.values import Filter, FindingPage, Severity

refusals.register(refused=(graph.NotRanked,))

_HEALTH: Final = ("complexity", "smell", "dead-code", "risk", "tests", "docs")
_LISTED: Final = 60
_TOP: Final = 15
_MOST_OWNERS: Final = 6
_CYCLES: Final = 8
_ENDPOINTS: Final = 60
_MOST_DOTS: Final = 600
_HOT: Final = 0.95
_LONE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule with findings: what it means and how many there are."""

    id: str
    description: str
    found: int
    share: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A file or symbol in a list by some number; `share` is of the largest."""

    key: str
    value: float
    share: float


def activity(visit: Visit) -> HttpResponse:
    """Show what landed by week, by whom, and which files change most."""
    busy = graph.activity(repository_id=visit.repository_id, until=visit.now)
    most = busy.contributors[0].commits if busy.contributors else 1
    context = {
        "activity": busy,
        "chart": week_chart(busy),
        "contributors": [(one, one.commits / most) for one in busy.contributors[:_TOP]],
        "churn": _top(_by_path(visit, "recent_churn")),
        "commits_by_file": _top(_by_path(visit, "recent_commits")),
    }
    return _shown(visit, "activity", context)


def health(visit: Visit) -> HttpResponse:
    """Show hot spots, complexity, cycles, dead and untested code, and who owns what."""
    churn, complexity = _by_path(visit, "recent_churn"), _by_path(visit, "cognitive")
    hot = _by_path(visit, "hot_and_complex")
    points = [
        charts.Point(
            key=path,
            across=churn.get(path, 0.0),
            up=value,
            is_hot=hot.get(path, 0.0) >= _HOT,
        )
        for path, value in complexity.items()
        if value and churn.get(path)
    ]
    points.sort(key=lambda point: -point.across * point.up)
    page = _findings(visit, _HEALTH)
    factor = _by_path(visit, "bus_factor")
    context = {
        "page": page,
        "rules": _rules(page),
        "scatter": charts.scatter(points[:_MOST_DOTS]),
        "hottest": points[:_TOP],
        "complex": _top(complexity),
        "cycles": _cycles(visit),
        "tested_share": _repository_metric(visit, "tested_share"),
        "owners": _top(_by_path(visit, "owner_share")),
        "factors": _spread(factor),
        "lone": sum(1 for value in factor.values() if value <= _LONE),
        "files_with_owners": len(factor),
    }
    return _shown(visit, "health", context)


def security(visit: Visit) -> HttpResponse:
    """Show what security rules found, the worst first, and where requests come in."""
    page = _findings(visit, ("security",))
    context = {
        "page": page,
        "rules": _rules(page),
        "endpoints": crossing.endpoints_of(
            repository_id=visit.repository_id, wanted=CrossingFilter(limit=_ENDPOINTS)
        ),
    }
    return _shown(visit, "security", context)


def performance(visit: Visit) -> HttpResponse:
    """Show where the code's ways meet: what much depends on, and what is hard to run through."""
    best = graph.important_nodes(
        repository_ids=[visit.repository_id],
        limit=200,
        kinds=(NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS),
    )
    page = _findings(visit, ("complexity", "smell"))
    context = {
        "page": page,
        "rules": _rules(page),
        "used": _by_number(best, lambda one: float(one.score.in_degree) if one.score else 0.0),
        "complex": _by_number([one for one in best if one.node.cyclomatic > 1], _paths),
        "impact": _top(_by_path(visit, "change_impact")),
    }
    return _shown(visit, "performance", context)


def _shown(visit: Visit, name: str, context: dict[str, Any]) -> HttpResponse:
    state = visit.ref_state()
    analysis = findings.find_analysis(repository_id=visit.repository_id)
    tabs = [
        (
            label,
            visit.url(f"insights-{key}" if key != "activity" else "insights"),
            key == name,
            None,
        )
        for key, label in _TABS
    ]
    shown = {"state": state, "analysis": analysis, "tabs": tabs, **context}
    return visit.render(f"insights/{name}.html", shown, title="Insights")


_TABS: Final = (
    ("activity", "Activity"),
    ("health", "Code health"),
    ("security", "Security"),
    ("performance", "Performance"),
)


def _findings(visit: Visit, families: Sequence[str]) -> FindingPage:
    return findings.list_findings(
        repository_id=visit.repository_id,
        wanted=Filter(rules=tuple(families), severity_at_least=Severity.INFO),
        limit=_LISTED,
    )


def _rules(page: FindingPage) -> list[Rule]:
    most = max(page.by_rule.values(), default=1)
    return [
        Rule(rule, described(rule), number, number / most)
        for rule, number in sorted(page.by_rule.items(), key=lambda item: -item[1])
    ]


def _by_path(visit: Visit, name: str) -> dict[str, float]:
    return findings.values_by_path(repository_id=visit.repository_id, name=name)


def _top(values: dict[str, float]) -> list[Ranked]:
    best = sorted(values.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
    most = best[0][1] if best else 1.0
    return [Ranked(path, value, value / most if most else 0.0) for path, value in best if value]


def _by_number(nodes: Sequence[ScoredNode], number: Any) -> list[tuple[ScoredNode, float, float]]:
    best = sorted(nodes, key=lambda one: -number(one))[:_TOP]
    most = number(best[0]) if best else 1.0
    return [(one, number(one), number(one) / (most or 1.0)) for one in best if number(one)]


def _paths(one: ScoredNode) -> float:
    return float(one.node.cyclomatic)


def _spread(values: dict[str, float]) -> list[tuple[str, int, float]]:
    """Return (how many people wrote half of a file, in words; such files; their share)."""
    if not values:
        return []
    counts = [0] * _MOST_OWNERS
    for value in values.values():
        counts[min(max(int(value), 1), _MOST_OWNERS) - 1] += 1
    names = ["one person", *(f"{number} people" for number in range(2, _MOST_OWNERS))]
    names.append(f"{_MOST_OWNERS} or more")
    return [
        (name, number, number / len(values)) for name, number in zip(names, counts, strict=True)
    ]


def _cycles(visit: Visit) -> Any:
    try:
        return graph.cycles(
            repository_id=visit.repository_id,
            namespace_id=visit.namespace_id,
            level=graph.Level.FILE,
            limit=_CYCLES,
        )
    except graph.NotRanked:
        return None


def _repository_metric(visit: Visit, name: str) -> float | None:
    found = findings.list_metrics(
        repository_id=visit.repository_id, names=[name], node="", path_prefix=None, limit=1
    )
    return found[0].value if found else None
