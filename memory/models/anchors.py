"""Where in the code a memory stands: what was cited, at which commit, and whether it is as then."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import new_id
from graph.models import Repository
from memory.models.memory import Memory


class Anchor(models.Model):
    """One citation. `state` is of the default branch at `checked_commit`; a read checks its own."""

    class Kind(models.TextChoices):
        FILE = "file"  # this file exists
        LINES = "lines"  # these lines say this
        SYMBOL = "symbol"  # this symbol's source is this
        PATTERN = "pattern"  # this regular expression matches in the file, or anywhere
        DEPENDENCY = "dependency"  # this package is depended on

    class State(models.TextChoices):
        OK = "ok"
        DRIFTED = "drifted"
        MISSING = "missing"
        UNVERIFIED = "unverified"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="anchors")
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="anchors")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    path = models.TextField(blank=True)
    symbol = models.TextField(blank=True)  # text id, such as sym:src/a.py#Class.method
    start_line = models.PositiveIntegerField(null=True, blank=True)  # 1-based, inclusive
    end_line = models.PositiveIntegerField(null=True, blank=True)
    pattern = models.TextField(blank=True)
    package = models.TextField(blank=True)  # as in the graph: pkg:pypi:django
    commit = models.CharField(max_length=64, blank=True)  # where it was cited
    content_hash = models.BinaryField(max_length=32, null=True)  # SHA-256 of what was cited
    # Of the file, when `state` was found: as long as a view shows this content, the state holds.
    blob = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.UNVERIFIED)
    detail = models.TextField(blank=True)  # a sentence: what is different
    checked_commit = models.CharField(max_length=64, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["memory", "id"]
        indexes: ClassVar = [
            models.Index(fields=["repository", "path"], name="anchor_of_path"),
        ]

    def __str__(self) -> str:
        return self.symbol or self.path or self.package or self.pattern


class AnchorsChecked(models.Model):
    """Up to which commit of the default branch a repository's anchors were checked."""

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="anchors_checked"
    )
    commit = models.CharField(max_length=64)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.repository_id} at {self.commit[:12]}"


class MemoryBranch(models.Model):
    """A branch that memories were stored for: where it led last, and since when it is gone."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="memory_branches")
    name = models.CharField(max_length=255)
    head = models.CharField(max_length=64, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint("repository", "name", name="memory_branch_once"),
        ]

    def __str__(self) -> str:
        return self.name
