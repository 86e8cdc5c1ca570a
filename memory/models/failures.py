"""What failed, how often, and what was tried: beside the memory that says it in words."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from codemem.accounts.models import Namespace, new_id
from memory.models.memory import Memory
from memory.models.sessions import Session


class Failure(models.Model):
    """How a failure is recognized: one row for each memory of type failure that came of an error.

    Paths are relative to the repository's root. Whether it still warns is the memory's state; time
    alone changes nothing while the cited code is as it was.
    """

    memory = models.OneToOneField(Memory, models.CASCADE, primary_key=True, related_name="failure")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    signature = models.CharField(max_length=400)  # memory.entities.signature
    error_class = models.CharField(max_length=60, blank=True)
    tool = models.CharField(max_length=100, blank=True)
    command_prefix = models.CharField(max_length=200, blank=True)  # its two leading words
    paths = ArrayField(models.CharField(max_length=1000), default=list, blank=True)
    symbols = ArrayField(models.CharField(max_length=400), default=list, blank=True)
    occurrences = models.PositiveIntegerField(default=1)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    reopened = models.PositiveIntegerField(default=0)
    # What failed and what it said, as they are shown: no values, no folders of a machine.
    command = models.CharField(max_length=500, blank=True)
    message = models.CharField(max_length=400, blank=True)
    # Where it was seen last, and in which run (an observation's id): failures of one run stand and
    # fall together.
    last_session = models.ForeignKey(
        Session, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    last_run = models.BigIntegerField(null=True, blank=True)
    # Since when it may be over: a validation passed that is nobody's in particular.
    fades_from = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            GinIndex(fields=["paths"], name="failure_by_path"),
            GinIndex(fields=["symbols"], name="failure_by_symbol"),
            models.Index(fields=["namespace", "signature"], name="failure_by_signature"),
            models.Index(fields=["namespace", "command_prefix"], name="failure_by_command"),
        ]

    def __str__(self) -> str:
        return self.signature[:60]


class FixAttempt(models.Model):
    """What was changed after a failure, and what the validation after it said."""

    class Outcome(models.TextChoices):
        UNKNOWN = "unknown"  # nothing was validated yet
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        PARTIAL = "partial"  # something else failed then

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    failure = models.ForeignKey(Failure, models.CASCADE, related_name="attempts")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="+")
    summary = models.TextField(blank=True)
    paths = ArrayField(models.CharField(max_length=1000), default=list, blank=True)
    validation = models.CharField(max_length=2000, blank=True)  # the command
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.UNKNOWN)
    score = models.FloatField(null=True, blank=True)
    started_at = models.DateTimeField()
    validated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.outcome}: {self.summary[:60]}"
