"""What agents did: sessions, what was captured of them, and what was shown to them.

Nothing here is a memory. What a session taught becomes one through distillation, and captured rows
go when their time is over (`capture.retention_days`); what was distilled from them stays.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from codemem.accounts.models import Namespace, User, new_id
from graph.models import Repository
from memory.models.lexemes import lexemes_of_tokens
from memory.models.memory import Memory


class Session(models.Model):
    """One session of one user's agent, from its first event to its end or to the sweep.

    The scope is settled once, by the first event: what the client says of its checkout is looked
    up among the repositories that the user sees. `client_session_id` is the agent's own id, the
    one in `Memory.session_id`. What is captured is read by its user alone, or by the namespace's
    members where the policy said so when the session began (`is_shared`).
    """

    class Capture(models.TextChoices):
        FULL = "full"
        METADATA = "metadata"  # which tools on which files, no contents and no prompts
        OFF = "off"  # a private session: nothing but that it was there

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="sessions")
    repository = models.ForeignKey(
        Repository, models.SET_NULL, null=True, blank=True, related_name="sessions"
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="sessions")
    token_id = models.UUIDField(null=True, editable=False)
    agent = models.CharField(max_length=40)  # the adapter's name, such as claude-code
    agent_version = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=100, blank=True)
    client_session_id = models.CharField(max_length=200)
    branch = models.CharField(max_length=255, blank=True)
    head_commit = models.CharField(max_length=64, blank=True)
    # The checkout's folder as the client names it; two agents in one work tree share it.
    directory = models.CharField(max_length=1000, blank=True)
    title = models.CharField(max_length=200, blank=True)  # from the first prompt
    capture = models.CharField(max_length=10, choices=Capture.choices, default=Capture.FULL)
    is_shared = models.BooleanField(default=False)
    work_item = models.ForeignKey(
        "WorkItem", models.SET_NULL, null=True, blank=True, related_name="sessions"
    )
    # What it went on from (resume, fork, clear), when the client says so.
    continues = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="continued_by"
    )
    started_at = models.DateTimeField()
    last_event_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=40, blank=True)  # the client's word, or "silence"
    distilled_at = models.DateTimeField(null=True, blank=True)
    prompts = models.PositiveIntegerField(default=0)
    reads = models.PositiveIntegerField(default=0)
    changes = models.PositiveIntegerField(default=0)  # edits, writes and commands
    failures = models.PositiveIntegerField(default=0)
    # The last observation that failures were learned from.
    learned_up_to = models.BigIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-last_event_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "user", "agent", "client_session_id", name="session_once_per_client"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "-last_event_at"], name="session_newest"),
            models.Index(fields=["user", "repository", "-last_event_at"], name="session_of_user"),
            models.Index(fields=["last_event_at"], condition=Q(ended_at=None), name="session_open"),
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.client_session_id}"


class CaptureRule(models.Model):
    """What a repository lets be captured, where that is less than its namespace does.

    Of the two and of what the developer's client asks for, the strictest holds.
    """

    repository = models.OneToOneField(
        Repository, models.CASCADE, primary_key=True, related_name="capture_rule"
    )
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    mode = models.CharField(
        max_length=10, choices=Session.Capture.choices, default=Session.Capture.FULL
    )
    # Beside the namespace's: globs of files of which nothing is kept.
    ignored_paths = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    changed_by = models.CharField(max_length=150, blank=True)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.mode} of {self.repository_id}"


class Observation(models.Model):
    """One captured event, redacted and capped, in the order in which it came (`id`).

    `key` is what makes the same event the same: two clients that read one hook configuration, or
    a spool that is drained twice, add nothing.
    """

    class Tier(models.TextChoices):
        SUBSTANCE = "S"  # kept in full: prompts, errors, structured answers
        MUTATION = "M"  # edits and commands, capped
        LOOK = "L"  # explorations: only that they were, and of what

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, models.CASCADE, related_name="observations")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    kind = models.CharField(max_length=24)  # one of memory.events.EventKind
    tier = models.CharField(max_length=1, choices=Tier.choices)
    tool = models.CharField(max_length=100, blank=True)
    tool_use_id = models.CharField(max_length=200, blank=True)
    subagent_id = models.CharField(max_length=200, blank=True)
    subagent_type = models.CharField(max_length=100, blank=True)
    # Relative to the repository's root, with forward slashes; outside it: not kept.
    paths = ArrayField(models.CharField(max_length=1000), default=list, blank=True)
    command = models.CharField(max_length=2000, blank=True)
    content = models.TextField(blank=True)
    is_failure = models.BooleanField(default=False)
    exit_code = models.IntegerField(null=True, blank=True)
    original_bytes = models.PositiveIntegerField(default=0)  # before it was capped
    redactions = models.PositiveIntegerField(default=0)
    happened_at = models.DateTimeField()  # by the server's clock, or the client's when it spooled
    received_at = models.DateTimeField()
    tokens = models.TextField(blank=True)
    lexemes = lexemes_of_tokens()

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint("session", "key", name="observation_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["received_at"], name="observation_by_age"),
            GinIndex(fields=["lexemes"], name="observation_words"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.tool}".strip()


class Checkpoint(models.Model):
    """Where a session stood: made before and after a compaction, or by the agent on request.

    After a compaction the newest one comes back with the opening context. Its texts are data.
    """

    class Origin(models.TextChoices):
        BEFORE_COMPACTION = "before_compaction"
        COMPACTION = "compaction"  # the client's own summary
        AGENT = "agent"  # session_checkpoint

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, models.CASCADE, related_name="checkpoints")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    origin = models.CharField(max_length=20, choices=Origin.choices)
    summary = models.TextField()
    done = models.JSONField(default=list, blank=True)
    open_questions = models.JSONField(default=list, blank=True)
    next_steps = models.JSONField(default=list, blank=True)
    files = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [
            models.Index(fields=["session", "-created_at"], name="checkpoint_newest"),
        ]

    def __str__(self) -> str:
        return self.summary[:60]


class Injection(models.Model):
    """One thing that was put before an agent without being asked for, and why.

    A memory that is warned of is not warned of again right away in the same session.
    """

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, models.CASCADE, related_name="injections")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    event = models.CharField(max_length=24)  # one of memory.events.EventKind
    # rule, preference, failure, offers, checkpoint, memory, scope
    kind = models.CharField(max_length=20)
    memory = models.ForeignKey(
        Memory, models.CASCADE, null=True, blank=True, related_name="injections"
    )
    reason = models.CharField(max_length=300)
    score = models.FloatField(null=True, blank=True)
    size_tokens = models.PositiveIntegerField(default=0)
    shown_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [
            models.Index(fields=["session", "memory", "-shown_at"], name="injection_of_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason[:60]}"
