"""Where nodes stand in the explorer's picture. Derived; made by services.layouts."""

from django.db import models
from django.db.models.functions import Now

from graph.models.repositories import Repository


class Layout(models.Model):
    """The picture of a repository's default branch as it was last ranked.

    Kept because the next one begins where this one left everything: who knows the picture finds
    their way in it again.
    """

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="layout"
    )
    commit = models.CharField(max_length=64, blank=True)
    # The analysis whose nodes and groups it shows; another is current until this is made anew.
    analysis_id = models.BigIntegerField()
    computed_at = models.DateTimeField(db_default=Now())
    seconds = models.FloatField(default=0)
    nodes = models.IntegerField()
    # graph.pictures.Columns.packed: vertices with place, group, kind and percentile.
    columns = models.BinaryField()
    # By number: name, size, x, y, radius, rank.
    groups = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.repository} at {self.commit[:12]}"
