"""What the code is: identities of files and symbols, and what they said from when to when.

The database does not check each row's keys: that was a tenth of writing a repository. Identities go
with their repository only, and a repository cannot go while one is written, because each write
makes a revision, whose key is checked. Nor has a key an index where that of others begins with it.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from graph.models.repositories import DEFAULT_LAYER, Repository


class SourceFile(models.Model):
    """The identity of a path in a repository; vertex label File."""

    repository = models.ForeignKey(
        Repository, models.CASCADE, related_name="files", db_index=False, db_constraint=False
    )
    path = models.TextField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["repository", "path"], name="graph_file_path")
        ]

    def __str__(self) -> str:
        return self.path


class FileVersion(models.Model):
    """What stood at a path, from which revision to which; a row never changes until it ends.

    The digests say whether a write is needed at all. In an overlay a row restates the file, or says
    that it is removed there; either way the base's rows of that file do not hold.
    """

    file = models.ForeignKey(
        SourceFile, models.CASCADE, related_name="versions", db_constraint=False
    )
    repository = models.ForeignKey(
        Repository, models.CASCADE, related_name="+", db_constraint=False
    )
    layer = models.IntegerField(default=DEFAULT_LAYER)
    blob = models.CharField(max_length=64)
    size = models.BigIntegerField()
    lines = models.IntegerField()
    language = models.CharField(max_length=30, blank=True)
    skipped = models.CharField(max_length=30, blank=True)
    is_removed = models.BooleanField(default=False)
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
            ),
            models.Index(
                fields=["layer"], condition=Q(layer__gt=0), name="graph_file_version_overlay"
            ),
            models.Index(
                fields=["repository", "valid_to"],
                condition=Q(valid_to__isnull=False),
                name="graph_file_version_ended",
            ),
        ]


class Symbol(models.Model):
    """The identity of a definition; vertex label Symbol. Never a line number.

    `local_name` is the name inside its file (`User.save`); `ordinal` counts definitions of one
    local name in one file. `qualified_name` has the module path in front, as the default branch
    says it now; what each version and branch says is in SymbolVersion.
    """

    repository = models.ForeignKey(
        Repository, models.CASCADE, related_name="symbols", db_index=False, db_constraint=False
    )
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
            models.Index(fields=["repository", "name"], name="graph_symbol_name"),
        ]

    def __str__(self) -> str:
        return self.qualified_name


class SymbolVersion(models.Model):
    """What a symbol said, from revision to revision, and the words and vector it is found by."""

    symbol = models.ForeignKey(
        Symbol, models.CASCADE, related_name="versions", db_index=False, db_constraint=False
    )
    # Repeated from the symbol: search filters by it inside the index scans.
    repository = models.ForeignKey(
        Repository, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    file = models.ForeignKey(
        SourceFile, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    layer = models.IntegerField(default=DEFAULT_LAYER)
    qualified_name = models.TextField(blank=True)
    start_line = models.IntegerField()
    end_line = models.IntegerField()
    language = models.CharField(max_length=30)
    visibility = models.CharField(max_length=10)
    is_test = models.BooleanField(default=False)
    signature = models.TextField(blank=True)
    doc = models.TextField(blank=True)
    source_text = models.TextField(blank=True)
    parameters = ArrayField(models.TextField(), default=list)
    decorators = ArrayField(models.TextField(), default=list)
    cyclomatic = models.IntegerField(default=0)
    cognitive = models.IntegerField(default=0)
    body_hash = models.CharField(max_length=64)
    tokens = models.TextField(blank=True)
    # Content address of what was embedded: a moved or copied symbol embeds nothing again.
    embedding_digest = models.BinaryField(max_length=32)
    embedding = HalfVectorField(null=True)
    embedding_fingerprint = models.CharField(max_length=100, blank=True)
    valid_from = models.BigIntegerField()
    valid_to = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            # One that lives; of those that ended, one for each revision.
            models.UniqueConstraint(
                fields=["symbol", "layer", "valid_to"],
                nulls_distinct=False,
                name="graph_symbol_version_once",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["file", "layer"], name="graph_symbol_version_of_file"),
            models.Index(
                fields=["repository", "qualified_name"], name="graph_symbol_version_qualified"
            ),
            # What lives; what lacks a vector of today's model, without reading what has one.
            models.Index(
                fields=["repository", "layer", "embedding_fingerprint"],
                condition=Q(valid_to=None),
                name="graph_symbol_version_live",
            ),
            models.Index(
                fields=["layer"], condition=Q(layer__gt=0), name="graph_symbol_version_overlay"
            ),
            # What an overlay over an older revision still shows.
            models.Index(
                fields=["repository", "valid_to"],
                condition=Q(valid_to__isnull=False),
                name="graph_symbol_version_ended",
            ),
            models.Index(fields=["embedding_digest"], name="graph_symbol_version_digest"),
        ]
