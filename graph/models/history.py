"""What Git says happened: commits, and the pull requests that brought them. Canonical rows.

What a commit did to files and symbols is edges in AGE (MODIFIED_BY, from them to the commit) and
nowhere else; a commit is PART_OF the pull request that brought it.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from graph.models.repositories import Repository


class PullRequest(models.Model):
    """A pull or merge request, as the commit says that merged it; vertex label PullRequest."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="pull_requests")
    number = models.IntegerField()
    title = models.CharField(max_length=500, blank=True)
    branch = models.CharField(max_length=255, blank=True)
    merged_commit = models.CharField(max_length=64)
    merged_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "number"], name="graph_pull_request_once")
        ]

    def __str__(self) -> str:
        return f"#{self.number} {self.title}"


class Commit(models.Model):
    """One commit that a ref pointed at when it was indexed, or that history brought.

    The main line is what the default branch shows when only first parents are followed; `position`
    counts it from 0, the first commit. `landed` is the position at which a commit came to the
    default branch: its own on the line, that of the merge for a branch's commit. A commit without
    it is not on the default branch, or no longer.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="commits")
    sha = models.CharField(max_length=64)
    parents = ArrayField(models.CharField(max_length=64), default=list)
    author_name = models.CharField(max_length=200)
    author_email = models.CharField(max_length=320)
    authored_at = models.DateTimeField()
    committed_at = models.DateTimeField()
    subject = models.CharField(max_length=500)
    body = models.TextField(blank=True, default="")
    is_bot = models.BooleanField(default=False)
    position = models.IntegerField(null=True)
    landed = models.IntegerField(null=True)
    pull_request = models.ForeignKey(
        PullRequest, models.SET_NULL, null=True, related_name="commits"
    )
    # When its events were written: what it did to files and symbols.
    mapped_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "sha"], name="graph_commit_once"),
            models.UniqueConstraint(
                fields=["repository", "position"], name="graph_commit_one_at_position"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["repository", "-committed_at"], name="graph_commit_recent"),
            models.Index(fields=["repository", "landed"], name="graph_commit_landed"),
            models.Index(
                fields=["repository", "-committed_at"],
                condition=Q(mapped_at=None, landed__isnull=False),
                name="graph_commit_unmapped",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sha[:12]} {self.subject}"
