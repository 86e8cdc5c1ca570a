"""What a memory said before, and every change of its state: the history that nothing overwrites."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import User, new_id
from memory.models.lexemes import lexemes_of_tokens
from memory.models.memory import Memory


class MemoryVersion(models.Model):
    """A memory as it was from `valid_from` until `valid_to`, and the change that ended that.

    `snapshot` holds what the change touched and everything a reader was shown then (content, type,
    tags, importance, confidence, rationale, alternatives, acceptance criteria, state, visibility,
    branch, expiry). The present is in the memory's own row.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()  # 1 is what was first stored
    snapshot = models.JSONField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField()
    # One of memory.services.versioning.Change.
    change = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    changed_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    changed_by_name = models.CharField(max_length=150)
    agent = models.CharField(max_length=100, blank=True)
    token_id = models.UUIDField(null=True, editable=False)
    # Derived: the words by which a question about then finds it, as the memory's own row has them.
    tokens = models.TextField(blank=True, editable=False)
    lexemes = lexemes_of_tokens()

    class Meta:
        ordering: ClassVar = ["memory", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint("memory", "number", name="memory_version_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} v{self.number}"
