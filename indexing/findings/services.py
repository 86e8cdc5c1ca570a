"""Keeps what analyses found: findings begin, go on and resolve; metrics begin and end.

Every write says what it covers (some rules, in some files or in all), so that what is covered and
was not found again is over. A person's dismissal outlives everything but the code it is about.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from codemem.accounts.services import record
from indexing.findings.values import Found, Measured, fingerprint
from indexing.models import Analysis, AnalyzedFile, Finding, Metric

_BATCH = 2_000


class FindingResolved(Exception):
    """The finding is over; there is nothing left to dismiss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """At which commit of which repository something is so, and when that was learned."""

    repository_id: UUID
    commit: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Reconciled:
    """How many findings began and how many resolved."""

    opened: int
    resolved: int


def reconcile(
    *,
    moment: Moment,
    rules: Collection[str],
    paths: Collection[str] | None,
    found: Iterable[Found],
) -> Reconciled:
    """Make the findings of some rules, in some files or in all, those that were found now."""
    current = _by_fingerprint(found)
    with transaction.atomic():
        covered = Finding.objects.filter(
            repository_id=moment.repository_id, rule__in=list(rules)
        ).exclude(state=Finding.State.RESOLVED)
        if paths is not None:
            covered = covered.filter(path__in=list(paths))
        known = {bytes(row.fingerprint): row for row in covered.select_for_update()}
        gone = [row for key, row in known.items() if key not in current]
        _resolve(moment, gone)
        new = {key: one for key, one in current.items() if key not in known}
        still = [(known[key], one) for key, one in current.items() if key in known]
        _update(moment, still, is_local=paths is not None)
        _open(moment, new)
    return Reconciled(opened=len(new), resolved=len(gone))


def dismiss(*, finding_id: UUID, reason: str, actor: str, now: datetime) -> None:
    """Close a finding because a person says so; raise FindingResolved, Finding.DoesNotExist."""
    with transaction.atomic():
        finding = (
            Finding.objects.select_for_update(of=("self",))
            .select_related("repository__namespace")
            .get(pk=finding_id)
        )
        if finding.state == Finding.State.RESOLVED:
            raise FindingResolved("The finding is resolved already.")
        finding.state = Finding.State.DISMISSED
        finding.dismissed_by, finding.dismissed_reason, finding.dismissed_at = actor, reason, now
        finding.save()
        _record(finding, "finding.dismiss", actor)


def reopen(*, finding_id: UUID, actor: str) -> None:
    """Take a dismissal back; nothing happens to a finding that is not dismissed."""
    with transaction.atomic():
        finding = (
            Finding.objects.select_for_update(of=("self",))
            .select_related("repository__namespace")
            .get(pk=finding_id)
        )
        if finding.state != Finding.State.DISMISSED:
            return
        finding.state = Finding.State.OPEN
        finding.dismissed_by, finding.dismissed_reason, finding.dismissed_at = "", "", None
        finding.save()
        _record(finding, "finding.reopen", actor)


def record_metrics(
    *,
    moment: Moment,
    names: Collection[str],
    nodes: Collection[str] | None,
    measured: Iterable[Measured],
) -> int:
    """Make the metrics of some names, of some nodes or of all, those measured now.

    Zeros are not kept. Returns how many rows began.
    """
    current = {(one.name, one.node): one.value for one in measured if one.value}
    with transaction.atomic():
        live = Metric.objects.filter(
            repository_id=moment.repository_id, name__in=list(names), until_at=None
        )
        if nodes is not None:
            live = live.filter(node__in=list(nodes))
        known = {
            (name, node): (key, value)
            for key, name, node, value in live.values_list("pk", "name", "node", "value")
        }
        ended = [key for at, (key, value) in known.items() if current.get(at) != value]
        for start in range(0, len(ended), _BATCH):
            Metric.objects.filter(pk__in=ended[start : start + _BATCH]).update(
                until_commit=moment.commit, until_at=moment.at
            )
        begun = [
            (moment.repository_id, node, name, value, moment.commit, moment.at, "")
            for (name, node), value in current.items()
            if (name, node) not in known or known[name, node][1] != value
        ]
        with (
            connection.cursor() as cursor,
            cursor.copy(
                "COPY indexing_metric (repository_id, node, name, value, since_commit, since_at,"
                " until_commit) FROM STDIN"
            ) as copy,
        ):
            for row in begun:
                copy.write_row(row)
    return len(begun)


def note_analyzed(
    *, moment: Moment, blobs: Mapping[str, str], removed: Collection[str], rules_version: int
) -> None:
    """Note which content of which files the local analyses have seen."""
    rows = [
        AnalyzedFile(
            repository_id=moment.repository_id, path=path, blob=blob, rules_version=rules_version
        )
        for path, blob in blobs.items()
    ]
    AnalyzedFile.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["repository", "path"],
        update_fields=["blob", "rules_version"],
        batch_size=_BATCH,
    )
    AnalyzedFile.objects.filter(repository_id=moment.repository_id, path__in=list(removed)).delete()


def note_blamed(*, repository_id: UUID, path: str, blob: str, lines: Mapping[str, int]) -> None:
    AnalyzedFile.objects.filter(repository_id=repository_id, path=path).update(
        blamed_blob=blob, lines_by_author=dict(lines)
    )


def ensure_analysis(*, repository_id: UUID, now: datetime) -> None:
    """Make the row that says how far the analyses have come, if there is none."""
    Analysis.objects.get_or_create(
        repository_id=repository_id, defaults={"commit": "", "analyzed_at": now}
    )


def finish(*, moment: Moment, **progress: str | int) -> None:
    """Note how far the analyses of the repository have come."""
    Analysis.objects.update_or_create(
        repository_id=moment.repository_id,
        defaults={"commit": moment.commit, "analyzed_at": moment.at, **progress},
    )


def prune_metrics(*, before: datetime) -> int:
    """Delete metrics that ended before a time; what lives is never deleted."""
    deleted, _ = Metric.objects.filter(until_at__lt=before).delete()
    return deleted


def _by_fingerprint(found: Iterable[Found]) -> dict[bytes, Found]:
    """Number what is equal in one symbol by its order in the file, and key it."""
    seen: Counter[tuple[str, ...]] = Counter()
    keyed: dict[bytes, Found] = {}
    for one in sorted(found, key=lambda one: (one.path, one.line)):
        like = (one.rule, one.path, one.symbol, one.evidence)
        keyed[fingerprint(one, occurrence=seen[like])] = one
        seen[like] += 1
    return keyed


def _resolve(moment: Moment, gone: Sequence[Finding]) -> None:
    Finding.objects.filter(pk__in=[row.pk for row in gone]).update(
        state=Finding.State.RESOLVED, resolved_commit=moment.commit, resolved_at=moment.at
    )


def _update(moment: Moment, pairs: Sequence[tuple[Finding, Found]], *, is_local: bool) -> None:
    """Correct where a finding stands and what it says; it is the same finding.

    Of rules that look at the whole after each push, what is as it was is not written again.
    """
    changed = []
    for row, one in pairs:
        told = (row.line, row.end_line, row.message, row.weight, row.confidence)
        if told != (one.line, one.end_line, one.message, one.severity, one.confidence):
            _tell(row, one)
        elif not is_local:
            continue
        row.last_seen_commit, row.last_seen_at = moment.commit, moment.at
        changed.append(row)
    Finding.objects.bulk_update(
        changed,
        [
            *("line", "end_line", "message", "severity", "weight", "confidence"),
            *("last_seen_commit", "last_seen_at"),
        ],
        batch_size=500,
    )


def _open(moment: Moment, new: Mapping[bytes, Found]) -> None:
    """Begin findings; one that was resolved and is back goes on under its old id."""
    rows = []
    for key, one in new.items():
        row = Finding(
            repository_id=moment.repository_id,
            rule=one.rule,
            path=one.path,
            symbol=one.symbol,
            fingerprint=key,
            first_seen_commit=moment.commit,
            first_seen_at=moment.at,
            last_seen_commit=moment.commit,
            last_seen_at=moment.at,
        )
        _tell(row, one)
        rows.append(row)
    Finding.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["repository", "fingerprint"],
        update_fields=[
            *("state", "severity", "weight", "confidence", "line", "end_line", "message"),
            *("last_seen_commit", "last_seen_at", "resolved_commit", "resolved_at"),
        ],
        batch_size=_BATCH,
    )


def _tell(row: Finding, one: Found) -> None:
    row.line, row.end_line, row.message = one.line, one.end_line, one.message
    row.severity, row.weight = one.severity.title, int(one.severity)
    row.confidence = one.confidence


def _record(finding: Finding, action: str, actor: str) -> None:
    record(
        actor=actor,
        action=action,
        namespace=finding.repository.namespace,
        target=f"{finding.repository.name}: {finding.rule} {finding.path}"[:200],
    )
