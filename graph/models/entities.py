"""What code refers to and no file defines: packages, external symbols, endpoints, topics."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import Namespace


class Entity(models.Model):
    """The identity of a thing that repositories of a namespace share; its label is its vertex's.

    The key is its text id (`pkg:pypi:requests`, `ext:npm:react:useState`). Derived; one that no
    edge touches any more is pruned.
    """

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    label = models.SmallIntegerField()  # graph.values.VertexLabel
    key = models.TextField()
    name = models.TextField()
    data = models.JSONField(default=dict)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["namespace", "label", "key"], name="graph_entity_key")
        ]

    def __str__(self) -> str:
        return self.key
