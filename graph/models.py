"""Repositories and what their code is: rows and constraints; the edges live in AGE (see cypher.py).

Repository, alias, ref and commit are canonical. Files, symbols, versions and scores are derived:
they may lag behind Git and can be rebuilt from the mirror at any time.

A vertex of the AGE graph is the identity of a row here: its graph id is the label's number in the
upper 16 bits and the row's primary key below (`values.graph_id`), so no look-up table is needed.
Times of validity are commit times in whole seconds since the epoch.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

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


class Commit(models.Model):
    """One commit that a ref pointed at when it was indexed, or that history brought."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="commits")
    sha = models.CharField(max_length=64)
    parents = ArrayField(models.CharField(max_length=64), default=list)
    author_name = models.CharField(max_length=200)
    author_email = models.CharField(max_length=320)
    authored_at = models.DateTimeField()
    committed_at = models.DateTimeField()
    subject = models.CharField(max_length=500)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "sha"], name="graph_commit_once")
        ]

    def __str__(self) -> str:
        return f"{self.sha[:12]} {self.subject}"


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


class SourceFile(models.Model):
    """The identity of a path in a repository; vertex label File."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="files")
    path = models.TextField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "path"], name="graph_file_path")
        ]

    def __str__(self) -> str:
        return self.path


class FileVersion(models.Model):
    """What stood at a path, from when to when; the digests say whether a write is needed at all."""

    file = models.ForeignKey(SourceFile, models.CASCADE, related_name="versions")
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    layer = models.IntegerField(default=DEFAULT_LAYER)
    blob = models.CharField(max_length=64)
    size = models.BigIntegerField()
    lines = models.IntegerField()
    language = models.CharField(max_length=30, blank=True)
    skipped = models.CharField(max_length=30, blank=True)
    symbols_digest = models.BinaryField(max_length=32)
    edges_digest = models.BinaryField(max_length=32)
    valid_from = models.BigIntegerField()
    valid_to = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["file", "layer"],
                condition=Q(valid_to=None),
                name="graph_file_version_one_live",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["repository", "layer"],
                condition=Q(valid_to=None),
                name="graph_file_version_live",
            )
        ]


class Symbol(models.Model):
    """The identity of a definition; vertex label Symbol. Never a line number.

    `local_name` is the name inside its file (`User.save`), `qualified_name` has the module path
    in front; `ordinal` counts definitions of one local name in one file.
    """

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="symbols")
    path = models.TextField()
    local_name = models.TextField()
    ordinal = models.IntegerField(default=0)
    qualified_name = models.TextField()
    name = models.TextField()
    kind = models.CharField(max_length=20)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["repository", "path", "local_name", "kind", "ordinal"],
                name="graph_symbol_identity",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["repository", "qualified_name"], name="graph_symbol_qualified"),
            models.Index(fields=["repository", "name"], name="graph_symbol_name"),
        ]

    def __str__(self) -> str:
        return self.qualified_name


class SymbolVersion(models.Model):
    """What a symbol said, from when to when, with the words and the vector it is found by."""

    symbol = models.ForeignKey(Symbol, models.CASCADE, related_name="versions")
    # Repeated from the symbol: search filters by it inside the index scans.
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="+")
    file = models.ForeignKey(SourceFile, models.CASCADE, related_name="+")
    layer = models.IntegerField(default=DEFAULT_LAYER)
    start_line = models.IntegerField()
    end_line = models.IntegerField()
    language = models.CharField(max_length=30)
    visibility = models.CharField(max_length=10)
    is_test = models.BooleanField(default=False)
    signature = models.TextField(blank=True)
    doc = models.TextField(blank=True)
    source_text = models.TextField(blank=True)
    body_hash = models.CharField(max_length=64)
    tokens = models.TextField(blank=True)
    # Content address of what was embedded: a moved or copied symbol embeds nothing again.
    embedding_digest = models.BinaryField(max_length=32)
    embedding = HalfVectorField(dimensions=384, null=True)
    embedding_fingerprint = models.CharField(max_length=100, blank=True)
    valid_from = models.BigIntegerField()
    valid_to = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["symbol", "layer"],
                condition=Q(valid_to=None),
                name="graph_symbol_version_one_live",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["file", "layer"],
                condition=Q(valid_to=None),
                name="graph_symbol_version_file",
            ),
            models.Index(
                fields=["repository", "layer"],
                condition=Q(valid_to=None),
                name="graph_symbol_version_live",
            ),
            models.Index(fields=["embedding_digest"], name="graph_symbol_version_digest"),
        ]


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
