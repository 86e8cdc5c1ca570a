"""Which models made vectors here, which one answers, what they made, and how a change goes on."""

from typing import ClassVar
from uuid import uuid4

from django.db import models
from django.db.models import Q
from django.utils import timezone
from pgvector.django import HalfVectorField

from codemem.embedding.specification import MOST_DIMENSIONS


class EmbeddingModel(models.Model):
    """A model that made vectors here. At most one serves: questions are embedded by it."""

    fingerprint = models.CharField(max_length=100, unique=True)
    dimensions = models.PositiveIntegerField()
    specification = models.JSONField(default=dict)  # how to open it again; never a key
    is_serving = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["is_serving"],
                condition=Q(is_serving=True),
                name="embedding_model_one_serves",
            ),
            models.CheckConstraint(
                condition=Q(dimensions__range=(1, MOST_DIMENSIONS)),
                name="embedding_model_dimensions_indexable",
            ),
        ]

    def __str__(self) -> str:
        return self.fingerprint


class CachedVector(models.Model):
    """What a model made of a text, by the text's SHA-256; derived, and gone when it is too much.

    Memories and code share it. While re-embedding is under way it is where the new vectors wait.
    """

    pk = models.CompositePrimaryKey("digest", "model_id")
    digest = models.BinaryField(max_length=32)
    model = models.ForeignKey(
        EmbeddingModel, models.CASCADE, related_name="vectors", db_constraint=False
    )
    vector = HalfVectorField()
    used_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["used_at"], name="embedding_cache_used")]


class Reembedding(models.Model):
    """One change from a model to another: everything embedded anew, beside, then switched."""

    class State(models.TextChoices):
        RUNNING = "running"
        SWITCHING = "switching"
        DONE = "done"
        CANCELED = "canceled"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="reembeddings")
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    total = models.BigIntegerField(default=0)  # texts
    done = models.BigIntegerField(default=0)
    busy_seconds = models.FloatField(default=0)  # of work, not of waiting
    trouble = models.TextField(blank=True)  # why it does not go on at present
    requested_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "re-embedding"
        verbose_name_plural = "re-embeddings"
        ordering: ClassVar = ["-created_at"]
        constraints: ClassVar = [
            # One at a time: of those that have not ended there is one.
            models.UniqueConstraint(
                fields=["finished_at"],
                condition=Q(finished_at=None),
                nulls_distinct=False,
                name="embedding_one_reembedding",
            )
        ]

    def __str__(self) -> str:
        return f"to {self.model} since {self.created_at:%Y-%m-%d %H:%M}"
