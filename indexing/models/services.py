"""What crosses repositories: packages, traffic between services, and the edges that follow.

All derived: from the graph of the default branch, the facts of its blobs and its manifests. Rows of
a file are replaced when the file says something else; edges are kept here as well as in AGE, with
the line and the text that show why, and so that a pass writes the difference only.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

from graph.models import Repository


class CrossingFile(models.Model):
    """What one file of the default branch says of services and of other packages, by its blob."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    blob = models.CharField(max_length=64)
    version = models.CharField(max_length=20)  # of the extractor and the rules
    has_traffic = models.BooleanField(default=False)
    traffic = models.JSONField(default=dict)
    has_imports = models.BooleanField(default=False)
    imports = models.JSONField(default=list)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "path"], name="indexing_crossing_file")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository"],
                condition=models.Q(has_traffic=True),
                name="indexing_crossing_traffic",
            )
        ]


class PackageManifest(models.Model):
    """One project file; the package it declares, if it does, is one of the namespace's own."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    manager = models.CharField(max_length=20)
    name = models.CharField(max_length=214, blank=True)
    version = models.CharField(max_length=200, blank=True)
    namespaces = ArrayField(models.TextField(), default=list)
    # Paths of the manifests of a workspace's members; null where the manifest is no workspace.
    members = ArrayField(models.TextField(), null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["manager", "name"], name="indexing_manifest_package"),
        ]


class PackageDependency(models.Model):
    """One dependency that a manifest declares."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    manager = models.CharField(max_length=20)
    name = models.CharField(max_length=214)
    range = models.CharField(max_length=200, blank=True)
    scope = models.CharField(max_length=10)
    alias = models.CharField(max_length=214, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["manager", "name"], name="indexing_dependency_package"),
        ]


class TrafficRow(models.Model):
    """What every place of traffic has: where it stands, how sure it is, and the text that shows it.

    `symbol` is `local_name~ordinal` of the innermost definition, "" for the file itself.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    path = models.TextField()
    line = models.IntegerField()
    symbol = models.TextField(blank=True)
    certainty = models.FloatField()
    is_test = models.BooleanField(default=False)
    text = models.CharField(max_length=300, blank=True)

    class Meta:
        abstract = True


class Endpoint(TrafficRow):
    """One method of one path that a repository answers, or that its specification describes."""

    method = models.CharField(max_length=10)
    route = models.CharField(max_length=500)
    template = models.CharField(max_length=500)
    framework = models.CharField(max_length=20)
    handler_path = models.TextField(blank=True)
    handler_name = models.TextField(blank=True)


class HttpRequest(TrafficRow):
    """One request that a repository sends."""

    method = models.CharField(max_length=10)
    url = models.CharField(max_length=500)
    host = models.CharField(max_length=255, blank=True)
    template = models.CharField(max_length=500)
    library = models.CharField(max_length=20)


class TopicUse(TrafficRow):
    """One place that publishes or subscribes; an unknown topic is "" and matches nothing."""

    bus = models.CharField(max_length=20)
    topic = models.CharField(max_length=300, blank=True)
    is_publishing = models.BooleanField()


class CrossingEdge(models.Model):
    """One edge that follows from several files or repositories; the same edge stands in AGE."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    other = models.ForeignKey(Repository, models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=20)
    source = models.BigIntegerField()
    target = models.BigIntegerField()
    source_id = models.TextField()
    target_id = models.TextField()
    path = models.TextField(blank=True)
    confidence = models.FloatField()
    rule = models.CharField(max_length=30)
    line = models.IntegerField(default=0)
    text = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "kind", "source", "target"], name="indexing_crossing_edge"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["target"], name="indexing_crossing_target"),
        ]


class OuterPackage(models.Model):
    """How a repository's code uses one package of others: imports and uses, found or not."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    other = models.ForeignKey(Repository, models.CASCADE, null=True, related_name="+")
    manager = models.CharField(max_length=20)
    name = models.CharField(max_length=214)
    imports = models.IntegerField()
    uses = models.IntegerField()
    resolved = models.IntegerField()
    # Some of what a package of ours does not show: [[name, path, line], ...]
    unresolved = models.JSONField(default=list)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "manager", "name"], name="indexing_outer_package"
            )
        ]


class CrossingState(models.Model):
    """What the last pass over a repository saw, so that the next one knows what is new."""

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="+"
    )
    manifests_digest = models.CharField(max_length=64, blank=True)
    refreshed_at = models.DateTimeField(null=True)
