"""Memories: durable statements of a team. Canonical, except words and vector, which are derived."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q, Value
from pgvector.django import HalfVectorField

from codemem.accounts.models import Namespace, User, new_id
from graph.models import Repository


class Memory(models.Model):
    """One statement, who made it, and where it holds.

    `number` is the row's vertex in the namespace's AGE graph (label Memory), where its links to
    code and to other memories are kept.
    """

    class State(models.TextChoices):
        ACTIVE = "active"
        RETIRED = "retired"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    number = models.BigIntegerField(unique=True, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="memories")
    repository = models.ForeignKey(
        Repository, models.PROTECT, null=True, blank=True, related_name="memories"
    )
    branch = models.CharField(max_length=255, blank=True)  # blank: holds on every branch
    memory_type = models.CharField(max_length=20)
    content = models.TextField()
    content_hash = models.BinaryField(max_length=32)  # SHA-256 of the normalized content
    tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    importance = models.FloatField(default=0.5)
    confidence = models.FloatField(default=1.0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="memories")
    author_name = models.CharField(max_length=150)
    token_id = models.UUIDField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.CharField(max_length=150, blank=True)
    # The links of a retired memory, taken out of the graph until it is restored.
    retired_links = models.JSONField(default=list, blank=True, editable=False)
    tokens = models.TextField(blank=True)
    # Exactly our tokens: Postgres' own parser would cut `a/b_c.py` again, in its own way.
    lexemes = models.GeneratedField(
        expression=Func(
            Func(
                F("tokens"),
                Value(" "),
                function="string_to_array",
                output_field=ArrayField(models.TextField()),
            ),
            function="array_to_tsvector",
            output_field=SearchVectorField(),
        ),
        output_field=SearchVectorField(),
        db_persist=True,
    )
    embedding = HalfVectorField(dimensions=384, null=True)
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
                condition=Q(state="active"),
                nulls_distinct=False,
                name="memory_content_once_in_scope",
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
        ]

    def __str__(self) -> str:
        return self.content[:60]
