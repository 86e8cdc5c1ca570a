"""What the shape of the graph says about its nodes. Derived: the next ranking replaces it."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from codemem.accounts.models import Namespace
from graph.models.repositories import Repository


class NodeScore(models.Model):
    """How central a vertex is in its repository; rewritten as a whole by each ranking."""

    node = models.BigIntegerField(primary_key=True)  # the AGE graph id of a Symbol or File
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    rank = models.FloatField()  # PageRank; sums to 1 over the repository
    percentile = models.FloatField()  # 0..1 among the nodes of the same repository
    in_degree = models.IntegerField()
    # The share (0..1) of shortest ways between others that lead through it.
    betweenness = models.FloatField(db_default=0.0)
    # How high its file stands: 0 depends on no other file of the repository.
    layer = models.IntegerField(db_default=0)
    computed_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["repository", "-rank"], name="graph_node_score_rank")
        ]


class NamespaceScore(models.Model):
    """How central a vertex is among all repositories of its namespace."""

    node = models.BigIntegerField(primary_key=True)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    rank = models.FloatField()  # PageRank; sums to 1 over the namespace
    percentile = models.FloatField()
    in_degree = models.IntegerField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["namespace", "-rank"], name="graph_namespace_score_rank")
        ]


class Analysis(models.Model):
    """One look at the shape of a graph: of a repository at a commit, or of a whole namespace.

    The newest one of each is current; older ones are kept for a while, for what has changed, and
    without the columns.
    """

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    repository = models.ForeignKey(Repository, models.CASCADE, null=True, related_name="+")
    commit = models.CharField(max_length=64, blank=True)
    # The newest revision of the graph when it was read (of any repository, for a namespace).
    revision = models.BigIntegerField(default=0)
    computed_at = models.DateTimeField(db_default=Now())
    nodes = models.IntegerField()
    edges = models.IntegerField()
    layers = models.IntegerField()
    cyclic_files = models.IntegerField()
    modularity = models.FloatField()
    seconds = models.JSONField(default=dict)
    # algorithms.network.Network.packed: what questions about one's own nodes are computed from.
    network = models.BinaryField(null=True)

    class Meta:
        verbose_name_plural = "analyses"
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "-id"],
                condition=Q(repository__isnull=False),
                name="graph_analysis_repository",
            ),
            models.Index(
                fields=["namespace", "-id"],
                condition=Q(repository=None),
                name="graph_analysis_namespace",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.repository or self.namespace} at {self.commit[:12]}"


class Community(models.Model):
    """Nodes that are tied to each other more than to others, at one resolution."""

    analysis = models.ForeignKey(Analysis, models.CASCADE, related_name="communities")
    resolution = models.FloatField()
    number = models.IntegerField()
    name = models.CharField(max_length=500)
    cohesion = models.FloatField()
    rank = models.FloatField()  # the sum of its members' ranks
    members = ArrayField(models.BigIntegerField())  # vertices, the most important first
    # Numbers of other communities of the same resolution, the most tied first.
    neighbors = ArrayField(models.IntegerField(), default=list)

    class Meta:
        verbose_name_plural = "communities"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["analysis", "resolution", "number"], name="graph_community_once"
            )
        ]

    def __str__(self) -> str:
        return self.name
