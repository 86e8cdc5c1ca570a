"""What the code is: identities of files and symbols, and what they said from when to when."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from graph.models.repositories import DEFAULT_LAYER, Repository


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
