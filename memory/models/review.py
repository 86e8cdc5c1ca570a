"""The review queue: changes that a machine proposes and a person decides."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from codemem.accounts.models import Namespace, User, new_id
from graph.models import Repository


class ReviewItem(models.Model):
    """One proposal. `proposal` is the operation with its arguments, run as it stands on approval.

    `fingerprint` names what is proposed about which memories: an open or a rejected proposal is
    not made again (a rejection is remembered for 180 days).
    """

    class Kind(models.TextChoices):
        NEW = "new"  # a proposed memory wants to become active
        MERGE = "merge"
        SUPERSEDE = "supersede"
        CONFLICT = "conflict"
        RESOLVE = "resolve"
        FORGET = "forget"
        PROMOTE = "promote"  # a branch's memory wants to hold everywhere
        RAISE = "raise"  # a private or repository memory wants to be seen by more

    class State(models.TextChoices):
        OPEN = "open"
        APPROVED = "approved"
        REJECTED = "rejected"
        OVERTAKEN = "overtaken"  # what it was about has changed since

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="review_items")
    repository = models.ForeignKey(
        Repository, models.CASCADE, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # Of a private memory's proposal: its author, who alone sees and decides it.
    private_to = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    memory_ids = models.JSONField(default=list)
    proposal = models.JSONField(default=dict)
    reason = models.TextField()
    confidence = models.FloatField(default=0.5)
    fingerprint = models.BinaryField(max_length=32)
    proposed_by = models.CharField(max_length=150)  # a user's name, or a cycle's
    created_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_note = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "namespace", "fingerprint", condition=Q(state="open"), name="review_item_open_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "state", "-created_at"], name="review_queue"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason[:60]}"
