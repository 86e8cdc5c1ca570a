"""What analyses say of a repository's code: findings, metrics, and what they were computed from.

Derived from the graph and from Git, and rebuilt by analyzing again, except for one thing: that a
person dismissed a finding, and why.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from codemem.accounts.models import new_id
from graph.models import Repository


class Finding(models.Model):
    """One thing about one place in the code that somebody should look at.

    Its identity is the fingerprint: rule, path, symbol and what the code says there, never a line
    number. It resolves by itself when the rule finds it no longer; dismissed, it stays dismissed.
    """

    class Severity(models.TextChoices):
        INFO = "info"
        LOW = "low"
        MEDIUM = "medium"
        HIGH = "high"
        CRITICAL = "critical"

    class State(models.TextChoices):
        OPEN = "open"
        RESOLVED = "resolved"
        DISMISSED = "dismissed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="findings")
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    # Severity as a number, so that the worst come first by an index.
    weight = models.SmallIntegerField()
    confidence = models.FloatField()
    path = models.TextField()
    line = models.IntegerField()
    end_line = models.IntegerField()
    symbol = models.TextField(blank=True)
    message = models.TextField()
    fingerprint = models.BinaryField(max_length=32)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    first_seen_commit = models.CharField(max_length=64)
    first_seen_at = models.DateTimeField()
    # Of an open finding: the commit at which its file was last analyzed.
    last_seen_commit = models.CharField(max_length=64)
    last_seen_at = models.DateTimeField()
    resolved_commit = models.CharField(max_length=64, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    dismissed_by = models.CharField(max_length=150, blank=True)
    dismissed_reason = models.CharField(max_length=1000, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "fingerprint"], name="indexing_finding_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "-weight", "rule", "path", "line", "id"],
                condition=Q(state="open"),
                name="indexing_finding_open",
            ),
            models.Index(fields=["repository", "path"], name="indexing_finding_path"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.path}:{self.line}"


class Metric(models.Model):
    """One number about a file, a symbol or the repository, from which commit to which.

    `node` is a text id (`file:…`, `sym:…`), blank for the repository as a whole. A value that did
    not change at a push keeps its row.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="metrics")
    node = models.TextField(blank=True)
    name = models.CharField(max_length=40)
    value = models.FloatField()
    since_commit = models.CharField(max_length=64)
    since_at = models.DateTimeField()
    until_commit = models.CharField(max_length=64, blank=True)
    until_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "name", "node"],
                condition=Q(until_at=None),
                name="indexing_metric_one_live",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "name", "-value"],
                condition=Q(until_at=None),
                name="indexing_metric_highest",
            ),
            models.Index(
                fields=["repository", "node"],
                condition=Q(until_at=None),
                name="indexing_metric_node",
            ),
            models.Index(
                fields=["until_at"], condition=~Q(until_at=None), name="indexing_metric_ended"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.node or 'the repository'}: {self.value}"


class Analysis(models.Model):
    """How far the analyses of a repository have come."""

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="analysis"
    )
    commit = models.CharField(max_length=64)
    analyzed_at = models.DateTimeField()
    # The head up to which file changes were read from Git; blank before the first time.
    history_commit = models.CharField(max_length=64, blank=True)
    rules_version = models.IntegerField(default=0)
    files_to_blame = models.IntegerField(default=0)


class AnalyzedFile(models.Model):
    """Which content of a file the local analyses saw last, and whose lines it consists of."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    blob = models.CharField(max_length=64)
    rules_version = models.IntegerField()
    blamed_blob = models.CharField(max_length=64, blank=True)
    # Author's e-mail address -> lines at the head that they wrote last.
    lines_by_author = models.JSONField(default=dict)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "path"], name="indexing_analyzed_once")
        ]


class FileChange(models.Model):
    """That a commit changed a file, under the path that it has today: recent history, by file."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    commit = models.CharField(max_length=64)
    author = models.CharField(max_length=320)
    committed_at = models.DateTimeField()
    path = models.TextField()
    lines_added = models.IntegerField()
    lines_removed = models.IntegerField()
    # How many files the commit changed: what touches everything says nothing about any pair.
    files_in_commit = models.IntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "commit", "path"], name="indexing_change_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["repository", "path"], name="indexing_change_path"),
            models.Index(fields=["repository", "committed_at"], name="indexing_change_time"),
        ]
