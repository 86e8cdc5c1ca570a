"""What a memory is found by beside its own words and vector: its session, and its single words."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from codemem.accounts.models import Namespace
from memory.models.lexemes import lexemes_of_tokens
from memory.models.memory import Memory


class MemoryContext(models.Model):
    """A memory among its neighbors. Derived: deleting a row has it made again.

    `around` are the three memories before it and the three after it in its session, in order, as
    far as whoever sees this one sees them; `before` says how many of them come before. A long
    memory, or one without a session, has none. `tokens` are its own words twice and those of the
    two before and the one after, empty without any. `words` is one bit for each dimension of each
    word piece, read among the same.
    """

    memory = models.OneToOneField(Memory, models.CASCADE, primary_key=True, related_name="context")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    around = ArrayField(models.UUIDField(), default=list)
    before = models.PositiveSmallIntegerField(default=0)
    tokens = models.TextField(blank=True)
    lexemes = lexemes_of_tokens()
    words = models.BinaryField(default=bytes)
    fingerprint = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["namespace", "fingerprint"], name="memory_context_of_namespace"),
            # Those that recall searches by their neighbors' words: often far from all.
            models.Index(
                fields=["namespace"], name="memory_context_in_session", condition=Q(tokens__gt="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} among {len(self.around)}"


class RecallVisit(models.Model):
    """When somebody last had what is new in a scope told (`digest`), so that the next starts there.

    `repository` is null for a namespace as a whole.
    """

    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    repository = models.ForeignKey("graph.Repository", models.CASCADE, null=True, related_name="+")
    visited_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                "user",
                "namespace",
                "repository",
                nulls_distinct=False,
                name="recall_visit_once_per_scope",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.visited_at}"
