"""How far each repository's history is known, and which content stood where. Derived."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from graph.models import Repository


class History(models.Model):
    """How much of a repository's history is indexed: progress while it is, a report after.

    `head` is the commit of the default branch up to which commits are known; `spans_until` the
    first position of the main line whose tree is not known yet.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="history"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    head = models.CharField(max_length=64, blank=True)
    length = models.IntegerField(default=0)  # commits on the main line
    spans_until = models.IntegerField(default=0)
    commits_total = models.IntegerField(default=0)  # those whose events are wanted
    commits_done = models.IntegerField(default=0)
    # Commits whose parents the remote does not have: what they changed cannot be known.
    shallow = models.IntegerField(default=0)
    seconds = models.FloatField(default=0)  # CPU time spent, extraction included
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "histories"

    def __str__(self) -> str:
        return f"{self.commits_done} of {self.commits_total} commits ({self.state})"


class TreeSpan(models.Model):
    """The content that stood at a path, from one position of the main line to before another."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    blob = models.CharField(max_length=64)
    from_position = models.IntegerField()
    to_position = models.IntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "path"],
                condition=Q(to_position=None),
                name="indexing_span_one_open",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "from_position", "to_position"], name="indexing_span_position"
            )
        ]


class ManifestText(models.Model):
    """The text of a manifest of some commit, so that a past tree is resolved without a mirror.

    Like facts, read only through a tree that the caller's repository has.
    """

    blob = models.CharField(max_length=64, primary_key=True)
    text = models.BinaryField()  # zlib
