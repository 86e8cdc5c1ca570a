"""Work that outlives a session: items that span several, and handoffs from one to the next."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from codemem.accounts.models import Namespace, User, new_id
from graph.models import Repository
from memory.models.sessions import Session


class WorkItem(models.Model):
    """A task that spans sessions: its goal, what is done, what remains."""

    class State(models.TextChoices):
        OPEN = "open"
        PAUSED = "paused"
        DONE = "done"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="work_items")
    repository = models.ForeignKey(
        Repository, models.SET_NULL, null=True, blank=True, related_name="work_items"
    )
    branch = models.CharField(max_length=255, blank=True)
    title = models.CharField(max_length=200)
    goal = models.TextField(blank=True)
    done = models.JSONField(default=list, blank=True)  # texts
    remaining = models.JSONField(default=list, blank=True)
    open_questions = models.JSONField(default=list, blank=True)
    files = models.JSONField(default=list, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    is_shared = models.BooleanField(default=False)  # else its owner's alone
    owner = models.ForeignKey(User, models.CASCADE, related_name="work_items")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-updated_at"]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "state", "-updated_at"], name="work_item_newest"),
        ]

    def __str__(self) -> str:
        return self.title


class Handoff(models.Model):
    """What one session leaves to the next: claimed once, by id; its text only then leaves here.

    An automatic one is for its author's next session. One that was asked for may name a colleague,
    or be anybody's of the namespace (`is_shared`). Until it is claimed only its existence is told.
    """

    class State(models.TextChoices):
        OFFERED = "offered"
        CLAIMED = "claimed"
        CANCELLED = "cancelled"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="handoffs")
    repository = models.ForeignKey(
        Repository, models.SET_NULL, null=True, blank=True, related_name="handoffs"
    )
    branch = models.CharField(max_length=255, blank=True)
    session = models.ForeignKey(
        Session, models.SET_NULL, null=True, blank=True, related_name="handoffs"
    )
    work_item = models.ForeignKey(
        WorkItem, models.SET_NULL, null=True, blank=True, related_name="handoffs"
    )
    author = models.ForeignKey(User, models.CASCADE, related_name="handoffs")
    agent = models.CharField(max_length=100, blank=True)
    is_automatic = models.BooleanField(default=False)
    to_user = models.ForeignKey(
        User, models.CASCADE, null=True, blank=True, related_name="handoffs_to"
    )
    is_shared = models.BooleanField(default=False)
    summary = models.TextField()
    done = models.JSONField(default=list, blank=True)
    open_questions = models.JSONField(default=list, blank=True)
    next_steps = models.JSONField(default=list, blank=True)
    files = models.JSONField(default=list, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OFFERED)
    claimed_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    claimed_in = models.ForeignKey(
        Session, models.SET_NULL, null=True, blank=True, related_name="handoffs_claimed"
    )
    claimed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "session",
                condition=Q(is_automatic=True, state="offered"),
                name="handoff_automatic_once_per_session",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["namespace", "repository", "-created_at"],
                condition=Q(state="offered"),
                name="handoff_offered",
            ),
        ]

    def __str__(self) -> str:
        return self.summary[:60]
