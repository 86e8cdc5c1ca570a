"""What the shape of the graph says about its nodes."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from graph.models.repositories import Repository


class NodeScore(models.Model):
    """How central a vertex is in its repository; rewritten as a whole by each ranking."""

    node = models.BigIntegerField(primary_key=True)  # the AGE graph id of a Symbol or File
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    rank = models.FloatField()  # PageRank; sums to 1 over the repository
    percentile = models.FloatField()  # 0..1 among the nodes of the same repository
    in_degree = models.IntegerField()
    computed_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["repository", "-rank"], name="graph_node_score_rank")
        ]
