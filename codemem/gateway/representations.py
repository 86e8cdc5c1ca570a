"""How resources look over the wire: DRF serializers, which read rows and check what comes in."""

from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from codemem.accounts.values import NAME_PATTERN, NAME_RULE, Role, TokenKind, TokenScope
from graph.remotes import redact_credentials
from memory.consolidation.changes import MAXIMUM_CHANGES
from memory.consolidation.runs import CYCLES
from memory.values import MemoryType

_NAME = RegexValidator(NAME_PATTERN, NAME_RULE)


class Representation(serializers.Serializer[Any]):
    """A serializer that refuses what it would not use: a misspelt field must never be ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            settable = {name for name, field in self.fields.items() if not field.read_only}
            unknown = {str(name): ["This cannot be set."] for name in data if name not in settable}
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


class RoleField(serializers.ChoiceField):
    """A role by its name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=[role.title for role in Role], **options)

    def to_representation(self, value: Any) -> str:
        return Role(value).title

    def to_internal_value(self, data: Any) -> Any:
        return Role[super().to_internal_value(data).upper()]


class NamesField(serializers.ListField):
    """Related rows, by their names."""

    child = serializers.CharField()

    def to_representation(self, value: Any) -> list[str]:
        return sorted(row.name for row in value.all())


class AddressField(serializers.CharField):
    """The address of a repository; a password in it is for the server only."""

    def to_representation(self, value: Any) -> str:
        return redact_credentials(str(value))


class NamespaceRepresentation(Representation):
    id = serializers.UUIDField(read_only=True)
    name = serializers.CharField(max_length=63, validators=[_NAME])
    description = serializers.CharField(max_length=500, required=False, allow_blank=True)
    created_at = serializers.DateTimeField(read_only=True)


class MemberRepresentation(Representation):
    id = serializers.IntegerField(read_only=True)
    namespace = serializers.CharField(source="namespace.name")
    user = serializers.CharField(source="user.username")
    role = RoleField()
    created_at = serializers.DateTimeField(read_only=True)


class TokenRepresentation(Representation):
    id = serializers.UUIDField(read_only=True)
    name = serializers.CharField(max_length=100)
    prefix = serializers.CharField(read_only=True)
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in TokenKind], default=TokenKind.USER.value
    )
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[scope.value for scope in TokenScope]),
        required=False,
        allow_empty=False,
        help_text="What it may be used for; default: the usual of its kind.",
    )
    namespaces = NamesField(
        required=False, help_text="Where it may be used; empty: wherever its maker may."
    )
    is_limited = serializers.BooleanField(
        read_only=True, help_text="Made for the named namespaces, even if those are gone since."
    )
    days = serializers.IntegerField(
        write_only=True, required=False, min_value=1, max_value=3650, help_text="Days until expiry."
    )
    created_at = serializers.DateTimeField(read_only=True)
    expires_at = serializers.DateTimeField(read_only=True, allow_null=True)
    last_used_at = serializers.DateTimeField(read_only=True, allow_null=True)
    revoked_at = serializers.DateTimeField(read_only=True, allow_null=True)


class IssuedTokenRepresentation(TokenRepresentation):
    secret = serializers.CharField(read_only=True, help_text="Shown once, here.")


class RepositoryRepresentation(Representation):
    id = serializers.UUIDField(read_only=True)
    namespace = serializers.CharField(source="namespace.name")
    name = serializers.CharField(max_length=63, validators=[_NAME])
    url = AddressField(max_length=500)
    default_branch = serializers.CharField(max_length=255, required=False, allow_blank=True)
    created_at = serializers.DateTimeField(read_only=True)


class RegisteredRepositoryRepresentation(RepositoryRepresentation):
    note = serializers.CharField(
        read_only=True, required=False, help_text="Present when its first indexing is delayed."
    )


class RunRepresentation(Representation):
    id = serializers.UUIDField()
    ref = serializers.CharField()
    commit = serializers.CharField()
    state = serializers.CharField()
    step = serializers.CharField()
    files_done = serializers.IntegerField()
    files_total = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField())
    seconds = serializers.DictField(child=serializers.FloatField())
    skipped = serializers.DictField()
    whole_because = serializers.CharField(
        help_text="Why all files were resolved; blank when only what a change concerns was."
    )
    error = serializers.CharField()
    queued_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class FindingRepresentation(Representation):
    id = serializers.UUIDField()
    namespace = serializers.CharField(source="repository.namespace.name")
    repository = serializers.CharField(source="repository.name")
    rule = serializers.CharField()
    severity = serializers.CharField()
    confidence = serializers.FloatField()
    path = serializers.CharField()
    line = serializers.IntegerField()
    end_line = serializers.IntegerField()
    symbol = serializers.CharField()
    message = serializers.CharField()
    state = serializers.CharField()
    first_seen_commit = serializers.CharField()
    first_seen_at = serializers.DateTimeField()
    last_seen_commit = serializers.CharField()
    resolved_commit = serializers.CharField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    dismissed_by = serializers.CharField()
    dismissed_reason = serializers.CharField()
    dismissed_at = serializers.DateTimeField(allow_null=True)


class DismissalRepresentation(Representation):
    reason = serializers.CharField(max_length=1000, help_text="Why it is no problem.")


class ReviewRepresentation(Representation):
    """A kept review in a list; `dismissals` are by the key of a remark."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="repository.namespace.name")
    repository = serializers.CharField(source="repository.name")
    subject = serializers.CharField()
    forge = serializers.CharField()
    number = serializers.IntegerField(allow_null=True)
    url = serializers.CharField()
    title = serializers.CharField()
    head_commit = serializers.CharField()
    base_commit = serializers.CharField()
    indexed_commit = serializers.CharField()
    risk_level = serializers.CharField()
    risk_score = serializers.FloatField(allow_null=True)
    remarks = serializers.JSONField()
    dismissals = serializers.JSONField()
    posting = serializers.CharField()
    comment_url = serializers.CharField()
    posting_error = serializers.CharField()
    runs = serializers.IntegerField()
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    reviewed_at = serializers.DateTimeField(allow_null=True)
    is_closed = serializers.BooleanField()


class WholeReviewRepresentation(ReviewRepresentation):
    """One review with what was asked, answered and commented, without a word of any memory."""

    request = serializers.JSONField()
    answer = serializers.JSONField()
    comment = serializers.CharField()
    pushes = serializers.JSONField()


class RemarkDismissalRepresentation(Representation):
    key = serializers.CharField(max_length=40, help_text="Of the remark.")
    reason = serializers.CharField(
        max_length=1000, default="", allow_blank=True, help_text="Why it does not matter."
    )


class RemarkKeyRepresentation(Representation):
    key = serializers.CharField(max_length=40, help_text="Of the remark.")


class MemoryRepresentation(Representation):
    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    repository = serializers.CharField(source="repository.name", default=None, allow_null=True)
    branch = serializers.CharField()
    type = serializers.ChoiceField(
        source="memory_type", choices=[memory_type.value for memory_type in MemoryType]
    )
    content = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    importance = serializers.FloatField()
    confidence = serializers.FloatField()
    author = serializers.CharField(source="author_name")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class ProposalRepresentation(Representation):
    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    repository = serializers.CharField(source="repository.name", default=None, allow_null=True)
    kind = serializers.CharField()
    operation = serializers.CharField(source="proposal.operation")
    memory_ids = serializers.ListField(child=serializers.UUIDField())
    reason = serializers.CharField()
    confidence = serializers.FloatField()
    proposed_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    state = serializers.CharField()
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)
    decision_note = serializers.CharField()


class DecisionRepresentation(Representation):
    note = serializers.CharField(max_length=1000, required=False, default="", allow_blank=True)


class ConsolidationRunRepresentation(Representation):
    """A run; its report has, of private memories, only what was done to your own."""

    id = serializers.UUIDField(read_only=True)
    namespace = serializers.CharField()
    cycle = serializers.CharField(read_only=True)
    state = serializers.CharField(read_only=True)
    dry_run = serializers.BooleanField(source="is_dry", read_only=True)
    asked_by = serializers.CharField(read_only=True)
    started_at = serializers.DateTimeField(read_only=True)
    finished_at = serializers.DateTimeField(read_only=True, allow_null=True)
    report = serializers.DictField(read_only=True)
    error = serializers.CharField(read_only=True)


class ConsolidationRunsRepresentation(Representation):
    runs = ConsolidationRunRepresentation(many=True)


class ConsolidationChangeRepresentation(Representation):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    what = serializers.CharField()
    memory_ids = serializers.ListField(child=serializers.UUIDField())
    before = serializers.DictField()
    after = serializers.DictField()
    proposal_id = serializers.UUIDField(allow_null=True)


class ConsolidationChangesRepresentation(Representation):
    changes = ConsolidationChangeRepresentation(many=True)
    next_after = serializers.IntegerField(allow_null=True)


class WantedConsolidationRepresentation(Representation):
    namespace = serializers.CharField()
    cycles = serializers.ListField(
        child=serializers.ChoiceField(choices=[cycle.value for cycle in CYCLES]),
        required=False,
        allow_empty=False,
        help_text="Default: all, forgetting last.",
    )
    dry_run = serializers.BooleanField(required=False, default=False)


class WantedChangesRepresentation(Representation):
    after = serializers.IntegerField(required=False, default=0, min_value=0)
    limit = serializers.IntegerField(
        required=False, default=100, min_value=1, max_value=MAXIMUM_CHANGES
    )


class AuditRepresentation(Representation):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    token_id = serializers.UUIDField(allow_null=True)
    action = serializers.CharField()
    namespace = serializers.CharField(source="namespace_name")
    target = serializers.CharField()
    result = serializers.CharField()
    detail = serializers.DictField()
    request_id = serializers.CharField()
