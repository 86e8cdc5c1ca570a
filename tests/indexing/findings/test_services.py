"""Findings begin, go on, resolve and come back; metrics begin and end; people dismiss."""

from datetime import timedelta
from uuid import uuid4

import pytest

from codemem.accounts.models import AuditEvent, User
from graph.models import Repository
from indexing.findings import queries, services
from indexing.findings.services import Moment
from indexing.findings.values import Filter, Found, Measured, Severity
from indexing.models import AnalyzedFile, Finding, Metric
from tests import factories
from tests.factories import NOW

RULES = ["security.eval", "smell.long-function"]


def test_a_finding_begins_moves_and_resolves_at_commits(repository: Repository) -> None:
    _reconcile(repository, "1", [_found(line=3)])
    _reconcile(repository, "2", [_found(line=9)])
    (moved,) = Finding.objects.all()
    _reconcile(repository, "3", [])
    (gone,) = Finding.objects.all()

    assert (moved.line, moved.state, moved.first_seen_commit, moved.last_seen_commit) == (
        *(9, "open"),
        *("1", "2"),
    )
    assert (gone.pk, gone.state, gone.resolved_commit) == (moved.pk, "resolved", "3")
    assert gone.resolved_at == NOW


def test_what_comes_back_is_the_same_finding(repository: Repository) -> None:
    _reconcile(repository, "1", [_found()])
    _reconcile(repository, "2", [])
    outcome = _reconcile(repository, "3", [_found()])

    (back,) = Finding.objects.all()
    assert (outcome.opened, back.state, back.first_seen_commit) == (1, "open", "1")
    assert (back.resolved_commit, back.resolved_at) == ("", None)


def test_equal_findings_of_one_symbol_are_told_apart_by_their_order(repository: Repository) -> None:
    _reconcile(repository, "1", [_found(line=3), _found(line=7)])
    _reconcile(repository, "2", [_found(line=4)])

    assert list(Finding.objects.order_by("line").values_list("line", "state")) == [
        (4, "open"),
        (7, "resolved"),
    ]


def test_only_what_is_covered_resolves(repository: Repository) -> None:
    _reconcile(repository, "1", [_found(), _found(path="b.py"), _found(rule="smell.long-function")])

    services.reconcile(
        moment=_moment(repository, "2"), rules=["security.eval"], paths=["a.py"], found=[]
    )

    left = Finding.objects.filter(state="open").order_by("path")
    assert list(left.values_list("rule", "path")) == [
        ("smell.long-function", "a.py"),
        ("security.eval", "b.py"),
    ]


def test_a_dismissed_finding_stays_dismissed_while_the_code_stays(
    repository: Repository, maintainer: User
) -> None:
    _reconcile(repository, "1", [_found()])
    finding = Finding.objects.get()
    services.dismiss(finding_id=finding.pk, reason="Input is ours.", actor="mary", now=NOW)
    _reconcile(repository, "2", [_found(line=99)])

    finding.refresh_from_db()
    assert (finding.state, finding.dismissed_reason, finding.line) == (
        *("dismissed", "Input is ours."),
        99,
    )
    assert AuditEvent.objects.filter(action="finding.dismiss", actor="mary").count() == 1
    services.reopen(finding_id=finding.pk, actor="mary")
    finding.refresh_from_db()
    assert (finding.state, finding.dismissed_by) == ("open", "")


def test_a_resolved_finding_cannot_be_dismissed(repository: Repository) -> None:
    _reconcile(repository, "1", [_found()])
    _reconcile(repository, "2", [])

    with pytest.raises(services.FindingResolved):
        services.dismiss(finding_id=Finding.objects.get().pk, reason="", actor="mary", now=NOW)
    with pytest.raises(Finding.DoesNotExist):
        services.dismiss(finding_id=uuid4(), reason="", actor="mary", now=NOW)


def test_a_metric_keeps_its_row_while_its_value_stays(repository: Repository) -> None:
    _measure(
        repository, "1", [Measured("file:a.py", "lines", 10), Measured("file:b.py", "lines", 5)]
    )
    begun = _measure(
        repository, "2", [Measured("file:a.py", "lines", 10), Measured("file:b.py", "lines", 6)]
    )
    _measure(repository, "3", [Measured("file:b.py", "lines", 6)])

    assert begun == 1
    rows = Metric.objects.order_by("node", "since_commit")
    assert [(row.node, row.value, row.since_commit, row.until_commit) for row in rows] == [
        ("file:a.py", 10, "1", "3"),
        ("file:b.py", 5, "1", "2"),
        ("file:b.py", 6, "2", ""),
    ]


def test_metrics_of_some_nodes_leave_the_others_alone(repository: Repository) -> None:
    _measure(
        repository, "1", [Measured("file:a.py", "lines", 10), Measured("file:b.py", "lines", 5)]
    )

    services.record_metrics(
        moment=_moment(repository, "2"), names=["lines"], nodes=["file:a.py"], measured=[]
    )

    assert queries.values_by_path(repository_id=repository.pk, name="lines") == {"b.py": 5}


def test_only_ended_metrics_are_pruned(repository: Repository) -> None:
    _measure(repository, "1", [Measured("", "authors", 2)])
    _measure(repository, "2", [Measured("", "authors", 3)])

    assert services.prune_metrics(before=NOW) == 0
    assert services.prune_metrics(before=NOW + timedelta(days=1)) == 1
    assert [row.value for row in Metric.objects.all()] == [3]


def test_the_worst_findings_come_first_and_all_are_counted(repository: Repository) -> None:
    _reconcile(
        repository,
        "1",
        [
            _found(rule="smell.long-function", severity=Severity.LOW),
            _found(severity=Severity.HIGH),
            _found(path="b.py", severity=Severity.HIGH),
        ],
    )

    page = queries.list_findings(repository_id=repository.pk, wanted=Filter(), limit=1)

    assert [(one.rule, one.path) for one in page.findings] == [("security.eval", "a.py")]
    assert (page.total, page.by_rule) == (3, {"security.eval": 2, "smell.long-function": 1})
    assert page.by_severity == {"high": 2, "low": 1}


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        (Filter(rules=("security",)), ["a.py", "b.py"]),
        (Filter(rules=("smell.long-function",)), ["a.py"]),
        (Filter(severity_at_least=Severity.HIGH), ["a.py"]),
        (Filter(path_prefix="b"), ["b.py"]),
        (Filter(symbol="sym:a.py#f"), ["a.py", "a.py"]),
        (Filter(states=("resolved",)), []),
    ],
)
def test_findings_are_filtered(repository: Repository, wanted: Filter, paths: list[str]) -> None:
    _reconcile(
        repository,
        "1",
        [
            _found(severity=Severity.HIGH),
            _found(path="b.py", symbol=""),
            _found(rule="smell.long-function"),
        ],
    )

    page = queries.list_findings(repository_id=repository.pk, wanted=wanted, limit=9)

    assert sorted(one.path for one in page.findings) == paths


def test_findings_are_seen_by_members_only(
    repository: Repository, reader: User, outsider: User
) -> None:
    _reconcile(repository, "1", [_found()])

    assert queries.visible_findings(caller=factories.caller_of(reader)).count() == 1
    assert queries.visible_findings(caller=factories.caller_of(outsider)).count() == 0


def test_analyzed_content_is_noted_and_forgotten(repository: Repository) -> None:
    moment = _moment(repository, "1")
    services.note_analyzed(
        moment=moment, blobs={"a.py": "1", "b.py": "2"}, removed=(), rules_version=1
    )
    services.note_blamed(repository_id=repository.pk, path="a.py", blob="1", lines={"ada": 3})
    services.note_analyzed(moment=moment, blobs={"a.py": "9"}, removed=["b.py"], rules_version=2)

    assert queries.analyzed_blobs(repository_id=repository.pk) == {"a.py": ("9", 2)}
    assert queries.blamed_lines(repository_id=repository.pk) == {"a.py": ("1", {"ada": 3})}
    assert AnalyzedFile.objects.count() == 1


def _found(
    *,
    rule: str = "security.eval",
    path: str = "a.py",
    line: int = 3,
    symbol: str = "sym:a.py#f",
    severity: Severity = Severity.MEDIUM,
) -> Found:
    return Found(
        rule=rule,
        path=path,
        line=line,
        end_line=line,
        message="A text.",
        severity=severity,
        confidence=0.9,
        symbol=symbol,
    )


def _reconcile(repository: Repository, commit: str, found: list[Found]) -> services.Reconciled:
    return services.reconcile(
        moment=_moment(repository, commit), rules=RULES, paths=None, found=found
    )


def _measure(repository: Repository, commit: str, measured: list[Measured]) -> int:
    return services.record_metrics(
        moment=_moment(repository, commit),
        names=["lines", "authors"],
        nodes=None,
        measured=measured,
    )


def _moment(repository: Repository, commit: str) -> Moment:
    return Moment(repository_id=repository.pk, commit=commit, at=NOW)
