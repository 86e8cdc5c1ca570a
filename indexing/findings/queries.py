"""Reads of findings and metrics. Takes repositories that the caller was given as visible."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, QuerySet

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.models import DEFAULT_LAYER, Ref
from graph.queries.history import names_of_authors
from indexing.findings.rules import RULES, RULES_VERSION
from indexing.findings.values import Filter, FindingPage, FindingView
from indexing.models import Analysis, AnalyzedFile, Finding, Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisState:
    """How far the analyses have come."""

    commit: str
    analyzed_at: datetime
    files_to_blame: int
    rules_version: int

    @property
    def is_current(self) -> bool:
        """Tell whether it was made by the rules as they are."""
        return self.rules_version == RULES_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricView:
    node: str
    name: str
    value: float
    since_commit: str
    since_at: datetime
    until_commit: str = ""


def visible_findings(*, caller: Caller) -> QuerySet[Finding]:
    """Return the findings of repositories that the caller may read, the worst first."""
    repositories = graph.visible_repositories(caller=caller, action=Action.READ_GRAPH)
    return (
        Finding.objects.filter(repository__in=repositories)
        .select_related("repository__namespace")
        .order_by("-weight", "rule", "path", "line", "id")
    )


def list_findings(
    *, repository_id: UUID, wanted: Filter, limit: int, offset: int = 0
) -> FindingPage:
    """Return findings of one repository, the worst first, and the counts of all. Three queries."""
    rows = _filtered(repository_id, wanted)
    counted = rows.order_by().values("rule", "severity").annotate(number=Count("pk"))
    by_rule: dict[str, int] = {}
    by_severity: dict[str, int] = {}
    for row in counted:
        by_rule[row["rule"]] = by_rule.get(row["rule"], 0) + row["number"]
        by_severity[row["severity"]] = by_severity.get(row["severity"], 0) + row["number"]
    order = ("-weight", "rule", "path", "line", "id")
    shown = rows.order_by(*order)[offset : offset + limit]
    return FindingPage(
        findings=tuple(_view(row) for row in shown),
        total=sum(by_rule.values()),
        by_rule=dict(sorted(by_rule.items())),
        by_severity=by_severity,
    )


def list_metrics(
    *,
    repository_id: UUID,
    names: Collection[str] | None,
    node: str | None,
    path_prefix: str | None,
    limit: int,
) -> list[MetricView]:
    """Return live metrics, the highest values of each name first."""
    rows = Metric.objects.filter(repository_id=repository_id, until_at=None)
    rows = _of(rows, names=names, node=node, path_prefix=path_prefix)
    if node is None and path_prefix is None and names is None:
        rows = rows.filter(node="")  # the repository's own
    return [_metric(row) for row in rows.order_by("name", "-value", "node")[:limit]]


def metric_history(*, repository_id: UUID, name: str, node: str, limit: int) -> list[MetricView]:
    """Return what a metric was, the newest value first."""
    rows = Metric.objects.filter(repository_id=repository_id, name=name, node=node)
    return [_metric(row) for row in rows.order_by("-since_at", "-pk")[:limit]]


def values_by_path(*, repository_id: UUID, name: str) -> dict[str, float]:
    """Return a live metric of all files."""
    rows = Metric.objects.filter(
        repository_id=repository_id, name=name, until_at=None, node__startswith="file:"
    )
    return {node.removeprefix("file:"): value for node, value in rows.values_list("node", "value")}


def find_analysis(*, repository_id: UUID) -> AnalysisState | None:
    row = Analysis.objects.filter(repository_id=repository_id).first()
    if row is None:
        return None
    return AnalysisState(
        commit=row.commit,
        analyzed_at=row.analyzed_at,
        files_to_blame=row.files_to_blame,
        rules_version=row.rules_version,
    )


def analyzed_blobs(*, repository_id: UUID) -> dict[str, tuple[str, int]]:
    """Return path -> (blob, version of the rules) that the local analyses saw last."""
    rows = AnalyzedFile.objects.filter(repository_id=repository_id)
    return {
        path: (blob, version)
        for path, blob, version in rows.values_list("path", "blob", "rules_version")
    }


def blamed_lines(*, repository_id: UUID) -> dict[str, tuple[str, dict[str, int]]]:
    """Return path -> (blamed blob, lines by author) of all files that were blamed."""
    rows = AnalyzedFile.objects.filter(repository_id=repository_id).exclude(blamed_blob="")
    return {
        path: (blob, lines)
        for path, blob, lines in rows.values_list("path", "blamed_blob", "lines_by_author")
    }


def authors_of(*, repository_id: UUID, paths: Collection[str]) -> dict[str, dict[str, int]]:
    """Return path -> lines by author, of those of some files that were blamed. Two queries.

    Authors by the name of their newest commit, as far as history knows one: nobody's address is
    shown to whoever reads a review.
    """
    rows = AnalyzedFile.objects.filter(repository_id=repository_id, path__in=set(paths))
    lines = dict(rows.exclude(blamed_blob="").values_list("path", "lines_by_author"))
    addresses = {address for written in lines.values() for address in written}
    names = names_of_authors(repository_id=repository_id, addresses=addresses)
    found: dict[str, dict[str, int]] = {}
    for path, written in lines.items():
        of_path = found.setdefault(path, {})
        for address, count in written.items():
            name = names.get(address) or address.partition("@")[0]
            of_path[name] = of_path.get(name, 0) + count
    return found


def repositories_to_analyze() -> list[UUID]:
    """Return the repositories that were indexed since their analysis, or have files to blame."""
    indexed = Ref.objects.filter(layer=DEFAULT_LAYER, indexed_at__isnull=False).exclude(
        indexed_commit=""
    )
    current = Analysis.objects.filter(
        repository=OuterRef("repository"), commit=OuterRef("indexed_commit"), files_to_blame=0
    )
    return list(
        indexed.filter(~Exists(current), name=F("repository__default_branch")).values_list(
            "repository_id", flat=True
        )
    )


def _filtered(repository_id: UUID, wanted: Filter) -> QuerySet[Finding]:
    rows = Finding.objects.filter(repository_id=repository_id, state__in=wanted.states)
    if wanted.rules is not None:
        # A rule's family stands for all of its rules: `security`.
        families = [f"{rule}." for rule in wanted.rules]
        names = [row for row in RULES if row.startswith(tuple(families))]
        rows = rows.filter(rule__in=[*wanted.rules, *names])
    if wanted.severity_at_least is not None:
        rows = rows.filter(weight__gte=int(wanted.severity_at_least))
    if wanted.path_prefix:
        rows = rows.filter(path__startswith=wanted.path_prefix)
    if wanted.symbol:
        rows = rows.filter(symbol=wanted.symbol)
    return rows


def _of(
    rows: QuerySet[Metric],
    *,
    names: Collection[str] | None,
    node: str | None,
    path_prefix: str | None,
) -> QuerySet[Metric]:
    if names is not None:
        rows = rows.filter(name__in=list(names))
    if node is not None:
        rows = rows.filter(node=node)
    if path_prefix is not None:
        rows = rows.filter(node__startswith=f"file:{path_prefix}")
    return rows


def _view(row: Finding) -> FindingView:
    return FindingView(
        id=row.pk,
        rule=row.rule,
        severity=row.severity,
        confidence=row.confidence,
        path=row.path,
        line=row.line,
        end_line=row.end_line,
        symbol=row.symbol,
        message=row.message,
        state=row.state,
        first_seen_commit=row.first_seen_commit,
        first_seen_at=row.first_seen_at,
        last_seen_commit=row.last_seen_commit,
        resolved_commit=row.resolved_commit,
        resolved_at=row.resolved_at,
        dismissed_by=row.dismissed_by,
        dismissed_reason=row.dismissed_reason,
    )


def _metric(row: Metric) -> MetricView:
    return MetricView(
        node=row.node,
        name=row.name,
        value=row.value,
        since_commit=row.since_commit,
        since_at=row.since_at,
        until_commit=row.until_commit,
    )
