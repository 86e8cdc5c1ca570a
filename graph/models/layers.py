"""When the graph was written and for which branch: revisions, and overlays over them."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from codemem.accounts.models import User
from graph.models.repositories import DEFAULT_LAYER, Repository


class Revision(models.Model):
    """One write of the graph. Its number says from when to when rows and edges hold.

    Numbers come from one sequence for all repositories, so that one of them also says what stood in
    the other repositories of the namespace then. Derived.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="revisions")
    layer = models.IntegerField(default=DEFAULT_LAYER)
    commit = models.CharField(max_length=64)
    committed_at = models.BigIntegerField()  # seconds since the epoch
    made_at = models.DateTimeField(db_default=Now())
    # False from the day that rows which it showed were pruned: no overlay may rest on it any more.
    is_whole = models.BooleanField(default=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["repository", "layer", "-id"], name="graph_revision_newest")
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.commit[:12]}"


class Layer(models.Model):
    """An overlay over the default branch at one revision: of a branch, or of a user's work tree.

    Its number stands in `layer` of the rows that it holds and in `l` of its edges. Derived.
    """

    id = models.AutoField(primary_key=True)  # 32 bits, above 0: layer 0 is the default branch
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="layers")
    ref_name = models.CharField(max_length=255)
    base_revision = models.ForeignKey(Revision, models.RESTRICT, related_name="+")
    # Only this user may read it; null for a branch.
    owner = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    commit = models.CharField(max_length=64)
    made_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "ref_name"],
                condition=Q(owner=None),
                name="graph_layer_of_branch",
            ),
            models.UniqueConstraint(
                fields=["repository", "ref_name", "owner"],
                condition=Q(owner__isnull=False),
                name="graph_layer_of_work_tree",
            ),
        ]

    def __str__(self) -> str:
        return self.ref_name
