"""Repositories and what Git says of them: aliases, refs. Canonical rows."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from codemem.accounts.models import Namespace, User, new_id, validate_name

DEFAULT_LAYER = 0  # the default branch; a branch overlay has a layer of its own


class Repository(models.Model):
    """A repository: a UUID with aliases, never a directory name."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="repositories")
    name = models.CharField(max_length=63, validators=[validate_name])
    url = models.CharField(
        max_length=500, help_text="Where the server fetches it: https, ssh, or a path it may read."
    )
    default_branch = models.CharField(max_length=255, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        verbose_name_plural = "repositories"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "name"], name="graph_repository_name_in_namespace"
            )
        ]

    def __str__(self) -> str:
        return self.name


class RepositoryAlias(models.Model):
    """Another way to recognize a repository: a normalized remote or its root commit.

    Forks share their root commit, so that kind only proposes; a remote decides.
    """

    class Kind(models.TextChoices):
        REMOTE = "remote"
        ROOT_COMMIT = "root_commit"

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="aliases")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    value = models.CharField(max_length=500)

    class Meta:
        verbose_name_plural = "repository aliases"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "kind", "value"], name="graph_alias_once"
            ),
            models.UniqueConstraint(
                fields=["namespace", "value"],
                condition=Q(kind="remote"),
                name="graph_alias_remote_in_namespace",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["kind", "value"], name="graph_alias_value")]

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


class Ref(models.Model):
    """A Git ref: where it points, and which commit of it the graph shows."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="refs")
    name = models.CharField(max_length=255)
    layer = models.IntegerField(default=DEFAULT_LAYER)
    head_commit = models.CharField(max_length=64)
    head_seen_at = models.DateTimeField()
    indexed_commit = models.CharField(max_length=64, blank=True)
    indexed_at = models.DateTimeField(null=True)
    # Counted when the head was seen: web processes have no mirror to count in.
    commits_behind = models.IntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "name"], name="graph_ref_name")
        ]

    def __str__(self) -> str:
        return self.name
