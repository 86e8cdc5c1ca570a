"""Facts by content, derived: rebuilt by parsing the blob again."""

from typing import ClassVar

from django.db import models


class BlobFacts(models.Model):
    """What one file's content says, parsed once for all branches, commits and repositories.

    The content address is not an authorization: facts are read only through a tree that the
    caller's repository has.
    """

    blob = models.CharField(max_length=64)
    language = models.CharField(max_length=30)
    extractor_version = models.IntegerField()
    facts = models.BinaryField()  # indexing.facts.BlobFacts, compact JSON under zlib
    skipped = models.CharField(max_length=30, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["blob", "language", "extractor_version"], name="indexing_facts_once"
            )
        ]
