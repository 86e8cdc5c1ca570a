"""Tools about the state of the code: what should be looked at, and what was measured."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from graph import queries as graph
from indexing.findings import queries as findings
from indexing.findings.rules import METRICS, RULES, described
from indexing.findings.services import FindingResolved
from indexing.findings.values import Filter, FindingView, Severity

register({FindingResolved: ("finding_resolved", 409)})

SeverityName = Literal["info", "low", "medium", "high", "critical"]
State = Literal["open", "resolved", "dismissed"]
_FAMILIES = sorted({rule.partition(".")[0] for rule in RULES})


class AnalysisView(Result):
    """Which commit was analyzed; `behind` when the graph shows another one by now."""

    commit: str
    analyzed_at: datetime
    behind: bool
    files_to_blame: int | None = Field(None, description="Files whose owners are not known yet.")


# --- list_findings --------------------------------------------------------------------------------
class FindingsArguments(Arguments):
    rules: list[str] | None = Field(
        None, max_length=30, description=f"Rule ids, or families: {', '.join(_FAMILIES)}."
    )
    minimum_severity: SeverityName = "low"
    state: State = "open"
    path: str | None = Field(None, max_length=1000, description="Path, or how it begins.")
    symbol: str | None = Field(None, max_length=2000, description="Id of a symbol: sym:…")
    limit: int = Field(20, ge=1, le=200)
    offset: int = Field(0, ge=0, le=100_000)


class FoundView(Result):
    id: UUID
    rule: str
    severity: str
    confidence: float
    path: str
    line: int
    symbol: str | None = None
    message: str
    first_seen_commit: str
    resolved_commit: str | None = None
    dismissed_by: str | None = None
    dismissed_reason: str | None = None


class FindingsResult(Result):
    scope: scopes.ScopeEcho
    analysis: AnalysisView | None = Field(None, description="Absent before the first analysis.")
    findings: list[FoundView]
    total: int
    by_rule: dict[str, int]
    by_severity: dict[str, int]
    rules: dict[str, str] = Field(description="What the rules of these findings mean.")


@tool(Toolset.REVIEW, reads_only=True)
def list_findings(call: Call, arguments: FindingsArguments) -> FindingsResult:
    """List what analyses of the default branch found, the worst first: security, complexity, code
    smells, untested, undocumented and dead code, hot spots, single owners; with line and rule.
    Findings resolve by themselves when the code is mended. Use it to choose what to mend.
    """
    for rule in arguments.rules or ():
        if rule not in RULES and rule not in _FAMILIES:
            raise ArgumentsInvalid(f"There is no rule {rule[:60]!r}.", hint=_known(RULES))
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    page = findings.list_findings(
        repository_id=place.repository.id,
        wanted=Filter(
            rules=None if arguments.rules is None else tuple(arguments.rules),
            severity_at_least=Severity[arguments.minimum_severity.upper()],
            states=(arguments.state,),
            path_prefix=arguments.path,
            symbol=arguments.symbol,
        ),
        limit=arguments.limit,
        offset=arguments.offset,
    )
    return FindingsResult(
        scope=scopes.echo(place),
        analysis=_analysis(place),
        findings=[_found(one) for one in page.findings],
        total=page.total,
        by_rule=page.by_rule,
        by_severity=page.by_severity,
        rules={rule: described(rule) for rule in sorted({one.rule for one in page.findings})},
    )


# --- get_metrics ----------------------------------------------------------------------------------
class MetricsArguments(Arguments):
    node: str | None = Field(
        None,
        max_length=2000,
        description="A file (file:…) with all it has; default: the repository, or with `metrics`"
        " the files with the highest values.",
    )
    metrics: list[str] | None = Field(None, max_length=30, description=f"{', '.join(METRICS)}.")
    path: str | None = Field(None, max_length=1000, description="How the files' paths begin.")
    history: bool = Field(False, description="Of one node and one metric: what it was before.")
    limit: int = Field(20, ge=1, le=200)


class MetricValueView(Result):
    node: str | None = Field(None, description="Absent for the repository as a whole.")
    metric: str
    value: float
    since_commit: str
    until_commit: str | None = None


class CoChangedView(Result):
    """A file that changes with this one: how sure, in how many commits, against chance."""

    path: str
    confidence: float
    support: int
    lift: float


class MetricsResult(Result):
    scope: scopes.ScopeEcho
    analysis: AnalysisView | None = None
    metrics: list[MetricValueView]
    co_changed: list[CoChangedView] | None = None


@tool(Toolset.ARCHITECTURE, reads_only=True)
def get_metrics(call: Call, arguments: MetricsArguments) -> MetricsResult:
    """Return numbers about the repository, a file or the files with the highest values: churn,
    authors, bus factor, complexity, documentation, tests, dependents; for a file also the files
    that change with it. Use it to judge how risky or well kept code is.
    """
    for name in arguments.metrics or ():
        if name not in METRICS:
            raise ArgumentsInvalid(f"There is no metric {name[:60]!r}.", hint=_known(METRICS))
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    if arguments.node is not None:
        graph.get_node(repository_id=place.repository.id, id=arguments.node)
    return MetricsResult(
        scope=scopes.echo(place),
        analysis=_analysis(place),
        metrics=[_metric(one) for one in _metrics(place, arguments)],
        co_changed=_co_changed(place, arguments.node),
    )


# --- Parts ----------------------------------------------------------------------------------------
def _metrics(
    place: scopes.RepositoryScope, arguments: MetricsArguments
) -> list[findings.MetricView]:
    if not arguments.history:
        return findings.list_metrics(
            repository_id=place.repository.id,
            names=arguments.metrics,
            node=arguments.node,
            path_prefix=arguments.path,
            limit=arguments.limit,
        )
    if arguments.metrics is None or len(arguments.metrics) != 1:
        raise ArgumentsInvalid("History is told of one metric: name it in `metrics`.")
    return findings.metric_history(
        repository_id=place.repository.id,
        name=arguments.metrics[0],
        node=arguments.node or "",
        limit=arguments.limit,
    )


def _co_changed(place: scopes.RepositoryScope, node: str | None) -> list[CoChangedView] | None:
    if node is None or not node.startswith("file:"):
        return None
    found = graph.co_changed_with(
        namespace_id=place.namespace.id,
        repository_id=place.repository.id,
        path=node.removeprefix("file:"),
    )
    return [CoChangedView(**asdict(one)) for one in found] or None


def _analysis(place: scopes.RepositoryScope) -> AnalysisView | None:
    analyzed = findings.find_analysis(repository_id=place.repository.id)
    if analyzed is None or not analyzed.commit:
        return None
    state = graph.get_ref_state(repository_id=place.repository.id, ref=None)
    return AnalysisView(
        commit=analyzed.commit,
        analyzed_at=analyzed.analyzed_at,
        behind=analyzed.commit != state.indexed_commit,
        files_to_blame=analyzed.files_to_blame or None,
    )


def _found(one: FindingView) -> FoundView:
    return FoundView(
        id=one.id,
        rule=one.rule,
        severity=one.severity,
        confidence=one.confidence,
        path=one.path,
        line=one.line,
        symbol=one.symbol or None,
        message=one.message,
        first_seen_commit=one.first_seen_commit,
        resolved_commit=one.resolved_commit or None,
        dismissed_by=one.dismissed_by or None,
        dismissed_reason=one.dismissed_reason or None,
    )


def _metric(one: findings.MetricView) -> MetricValueView:
    return MetricValueView(
        node=one.node or None,
        metric=one.name,
        value=one.value,
        since_commit=one.since_commit,
        until_commit=one.until_commit or None,
    )


def _known(names: Iterable[str]) -> str:
    return f"There are: {', '.join(names)}."
