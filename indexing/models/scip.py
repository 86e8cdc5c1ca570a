"""What compilers said, by content, and a record of every run of an indexer.

Answers are derived: made again by running the indexer. Runs are a log of which the newest of each
repository and indexer decides whether anything is left to do.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from graph.models import Repository


class CompilerAnswers(models.Model):
    """What a compiler says of one content at one path, valid on every branch that has it there.

    `is_applied` is false until the default branch was resolved with it.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    blob = models.CharField(max_length=64)
    indexer = models.CharField(max_length=30)
    answers = models.BinaryField()  # indexing.answers.Answers, compact JSON under zlib
    digest = models.BinaryField(max_length=16)
    is_applied = models.BooleanField(default=False)
    seen_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "path", "blob"], name="indexing_answers_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository"],
                condition=Q(is_applied=False),
                name="indexing_answers_to_apply",
            )
        ]


class ScipRun(models.Model):
    """One run of one indexer on one repository, or why there was none.

    `reason` says what is missing of the index: nothing where it is blank. `digest` is of all that
    the index follows from, so that the same tree is not indexed twice by the same tool.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        PARTIAL = "partial"
        FAILED = "failed"
        ABSENT = "absent"

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    indexer = models.CharField(max_length=30)
    version = models.CharField(max_length=250, blank=True)
    commit = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.TextField(blank=True)
    is_walled = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0)
    peak_bytes = models.BigIntegerField(default=0)
    # files shown, documents, references, answers, truncated, malformed, and so on
    counts = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["-started_at"]
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "indexer", "-started_at"], name="indexing_scip_recent"
            )
        ]

    def __str__(self) -> str:
        return f"{self.indexer} ({self.state})"
