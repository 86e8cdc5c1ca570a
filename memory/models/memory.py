"""The memory itself: one statement, who made it, where it holds, and whether it still does."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast, Right
from django.utils import timezone
from pgvector.django import HalfVectorField

from codemem.accounts.models import Namespace, User, new_id
from graph.models import Repository
from memory.models.lexemes import lexemes_of_tokens

# How texts name a memory (`memory.extracting.citation`): the end of its id, which is random.
CITED = Right(Cast("id", models.TextField()), 8)


class Memory(models.Model):
    """One statement, who made it, and where it holds.

    `number` is the row's vertex in the namespace's AGE graph (label Memory), where its links to
    code and to other memories are kept. A memory is never overwritten: what it said before is a
    `MemoryVersion`, and `ended_at` says since when it does not hold any more (active: not ended).
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"  # waits in the review queue; answers nothing
        ACTIVE = "active"
        RESOLVED = "resolved"  # a failure that was fixed, a question that was answered
        SUPERSEDED = "superseded"
        RETIRED = "retired"
        EXPIRED = "expired"

    class Visibility(models.TextChoices):
        PRIVATE = "private"  # its author alone, whatever anybody's role
        REPOSITORY = "repository"  # answers for its repository
        NAMESPACE = "namespace"  # answers for every repository of the namespace

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    number = models.BigIntegerField(unique=True, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="memories")
    repository = models.ForeignKey(
        Repository, models.PROTECT, null=True, blank=True, related_name="memories"
    )
    branch = models.CharField(max_length=255, blank=True)  # blank: holds on every branch
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.NAMESPACE
    )
    memory_type = models.CharField(max_length=20)
    content = models.TextField()
    content_hash = models.BinaryField(max_length=32)  # SHA-256 of the normalized content
    # What a decision or requirement is made of, beside its content: why, what was turned down
    # (objects with `option` and `reason`), and how one sees that it is met.
    rationale = models.TextField(blank=True)
    alternatives = models.JSONField(default=list, blank=True)
    acceptance_criteria = models.JSONField(default=list, blank=True)
    # Objects with `kind` (commit, file, url, command, tool_use, memory), `ref` and maybe `note`.
    evidence = models.JSONField(default=list, blank=True)
    tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    importance = models.FloatField(default=0.5)
    confidence = models.FloatField(default=1.0)
    is_pinned = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="memories")
    author_name = models.CharField(max_length=150)
    agent = models.CharField(max_length=100, blank=True)  # the client, such as "claude-code 2.1"
    model = models.CharField(max_length=100, blank=True)  # the language model behind the agent
    session_id = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=20, default="tool")  # tool, hook, import, consolidation
    # Of what came in an archive: `by` and `at` are what we know, `source` is what it claims.
    imported = models.JSONField(default=dict, blank=True, editable=False)
    idempotency_key = models.CharField(max_length=200, blank=True)
    token_id = models.UUIDField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.CharField(max_length=150, blank=True)
    version = models.PositiveIntegerField(default=1)  # of what the row says now
    # The links of a retired memory, taken out of the graph until it is restored.
    retired_links = models.JSONField(default=list, blank=True, editable=False)
    tokens = models.TextField(blank=True)
    lexemes = lexemes_of_tokens()
    embedding = HalfVectorField(null=True)
    embedding_fingerprint = models.CharField(max_length=100, blank=True)

    class Meta:
        verbose_name_plural = "memories"
        ordering: ClassVar = ["-created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "namespace",
                "repository",
                "branch",
                "content_hash",
                condition=Q(state="active") & ~Q(visibility="private"),
                nulls_distinct=False,
                name="memory_content_once_in_scope",
            ),
            # Apart, so that nobody learns from a refusal what another keeps to themselves.
            models.UniqueConstraint(
                "author",
                "namespace",
                "repository",
                "branch",
                "content_hash",
                condition=Q(state="active", visibility="private"),
                nulls_distinct=False,
                name="memory_private_content_once",
            ),
            models.UniqueConstraint(
                "namespace",
                "author",
                "idempotency_key",
                condition=~Q(idempotency_key=""),
                name="memory_idempotency_key_once",
            ),
            models.CheckConstraint(
                condition=~Q(visibility="repository") | Q(repository__isnull=False),
                name="memory_visible_in_its_repository",
            ),
            models.CheckConstraint(
                condition=Q(importance__range=(0, 1)), name="memory_importance_from_0_to_1"
            ),
            models.CheckConstraint(
                condition=Q(confidence__range=(0, 1)), name="memory_confidence_from_0_to_1"
            ),
            models.CheckConstraint(
                condition=Q(branch="") | Q(repository__isnull=False),
                name="memory_branch_of_a_repository",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["namespace", "-id"],
                condition=Q(state="active"),
                name="memory_newest_of_namespace",
            ),
            models.Index(
                fields=["namespace", "repository", "-id"],
                condition=Q(state="active"),
                name="memory_newest_of_repository",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(state="active", expires_at__isnull=False),
                name="memory_expiring",
            ),
            models.Index(
                fields=["namespace", "session_id", "created_at"],
                condition=~Q(session_id=""),
                name="memory_of_session",
            ),
            models.Index(CITED, name="memory_cited"),
        ]

    def __str__(self) -> str:
        return self.content[:60]
