"""Reviews that were kept: what was asked, what was answered, what people made of it. Canonical.

The words of memories are not kept here: a record holds their ids, and whoever reads it is shown
what they may read of them now.
"""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import new_id
from graph.models import Repository


class ReviewRecord(models.Model):
    """The review of a pull request, or of a commit that belongs to none; a rerun edits it.

    `subject` says which: `github:12`, or `commit:<sha>`. `dismissals` are by the key of a remark,
    and outlive every push: the key says what is remarked and where, never at which line.
    """

    class Posting(models.TextChoices):
        NONE = "none"  # nobody said what became of it
        WAITING = "waiting"  # the server is to post it
        WORKING = "working"  # a worker is at it
        POSTED = "posted"
        SILENT = "silent"  # there was nothing to say, so nothing was said
        SUMMARY = "summary"  # the job may not comment (a fork): its summary says it
        DELETED = "deleted"  # a person deleted the comment; it stays deleted
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="reviews")
    subject = models.CharField(max_length=120)
    forge = models.CharField(max_length=10, blank=True)
    number = models.IntegerField(null=True, blank=True)
    url = models.CharField(max_length=500, blank=True)
    title = models.CharField(max_length=300, blank=True)
    base_commit = models.CharField(max_length=64, blank=True)
    head_commit = models.CharField(max_length=64, blank=True)
    # What was asked: base, depth, budget, the ref that answered, files left out.
    request = models.JSONField(default=dict)
    answer = models.JSONField(default=dict)
    remarks = models.JSONField(default=list)
    comment = models.TextField(blank=True)
    indexed_commit = models.CharField(max_length=64, blank=True)
    risk_level = models.CharField(max_length=10, blank=True)
    risk_score = models.FloatField(null=True)
    dismissals = models.JSONField(default=dict)
    # The pushes that were reviewed, newest last: {"commit", "at", "level", "score"}.
    pushes = models.JSONField(default=list)
    runs = models.IntegerField(default=0)
    requested_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField()
    reviewed_at = models.DateTimeField(null=True)
    is_closed = models.BooleanField(default=False)
    posting = models.CharField(max_length=8, choices=Posting.choices, default=Posting.NONE)
    posted_commit = models.CharField(max_length=64, blank=True)
    posted_at = models.DateTimeField(null=True)
    posting_error = models.CharField(max_length=500, blank=True)
    comment_id = models.CharField(max_length=40, blank=True)
    comment_url = models.CharField(max_length=500, blank=True)
    # Of what the server posts itself: when to try (again), how often it was tried, and the host's
    # own time of the newest event, so that an old delivery never takes a pull request back.
    due_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    event_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "subject"], name="indexing_review_once")
        ]
        indexes: ClassVar = [
            models.Index(fields=["repository", "-created_at"], name="indexing_review_recent"),
            models.Index(
                fields=["due_at"],
                condition=models.Q(posting__in=["waiting", "working"]),
                name="indexing_review_due",
            ),
        ]

    def __str__(self) -> str:
        return self.subject


class ForgeConnection(models.Model):
    """How the server posts to a repository's pull requests by itself.

    The token is never stored: `token_source` names where the operator put it, `env:NAME` or
    `file:NAME`. Only who runs the server sets this, for a maintainer who could would have any of
    the operator's tokens sent to an address of their own.
    """

    class Forge(models.TextChoices):
        GITHUB = "github"
        GITLAB = "gitlab"
        GITEA = "gitea"
        FORGEJO = "forgejo"

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="forge"
    )
    forge = models.CharField(max_length=10, choices=Forge.choices)
    api_url = models.CharField(max_length=300)
    project = models.CharField(max_length=300, help_text="owner/name, as the host spells it.")
    token_source = models.CharField(max_length=120)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["repository"]

    def __str__(self) -> str:
        return f"{self.forge} {self.project}"
