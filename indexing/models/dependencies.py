"""What the resolution of each file depends on, so that a push need not resolve all files again."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from graph.models import Repository, SourceFile


class FileDependencies(models.Model):
    """What one file of the default branch consulted and offers, from which revision to which.

    All keys are numbers (`indexing.resolution.changes.number_of`) that have the repository in them.
    `derived` has pairs: a key, and the number of what the file says about it. Derived.
    """

    # The database checks neither key row by row: see graph.models.code.
    file = models.ForeignKey(SourceFile, models.CASCADE, related_name="+", db_constraint=False)
    repository = models.ForeignKey(
        Repository, models.CASCADE, related_name="+", db_constraint=False
    )
    consulted = ArrayField(models.BigIntegerField())
    offered = ArrayField(models.BigIntegerField())
    derived = ArrayField(models.BigIntegerField())
    valid_from = models.BigIntegerField()
    valid_to = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["file"], condition=Q(valid_to=None), name="indexing_dependencies_one_live"
            )
        ]
        indexes: ClassVar = [
            GinIndex(fields=["consulted"], name="indexing_dependencies_used"),
            GinIndex(fields=["offered"], name="indexing_dependencies_offer"),
            models.Index(
                fields=["repository", "valid_to"],
                condition=Q(valid_to__isnull=False),
                name="indexing_dependencies_ended",
            ),
        ]


class KeptResolution(models.Model):
    """From which revision on a repository's dependencies are whole, and by which program. Derived.

    The version says what they were made with: facts and rules of another kind consult other keys.
    """

    repository = models.OneToOneField(Repository, models.CASCADE, related_name="+")
    version = models.CharField(max_length=100)
    whole_since = models.BigIntegerField()
