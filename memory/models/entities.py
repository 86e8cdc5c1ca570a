"""What a memory names, found without searching: paths, symbols, error signatures, packages."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import Namespace
from memory.models.memory import Memory


class MemoryEntity(models.Model):
    """One thing that a memory's text, anchors or links name. Derived; made again with the text."""

    class Kind(models.TextChoices):
        PATH = "path"
        SYMBOL = "symbol"
        ERROR = "error"  # an error's signature: its message without paths, numbers and quotes
        PACKAGE = "package"
        PERSON = "person"

    memory = models.ForeignKey(Memory, models.CASCADE, related_name="entities")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=400)  # normalized: lower case, forward slashes

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint("memory", "kind", "key", name="memory_entity_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "kind", "key"], name="memory_entity_by_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"
