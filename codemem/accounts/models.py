"""Users, namespaces, membership, tokens and the audit trail: rows and their constraints.

All of it is canonical: nothing here can be rebuilt from elsewhere.
"""

from typing import ClassVar
from uuid import UUID

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from codemem.accounts.values import NAME_PATTERN, NAME_RULE, Role, TokenKind, TokenScope

validate_name = RegexValidator(NAME_PATTERN, NAME_RULE)


def new_id() -> UUID:
    """Return a UUIDv7: unique, and ordered by the time it was made."""
    return uuid7()


class User(AbstractUser):
    """A person, or the account of a service."""

    class Meta(AbstractUser.Meta):
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("username"), name="accounts_user_username_any_case")
        ]


class Namespace(models.Model):
    """Who may see what: the unit of membership, of isolation and of sharding.

    Its AGE graph is named after the id, so that a rename touches one row.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=63, unique=True, validators=[validate_name])
    description = models.CharField(max_length=500, blank=True)
    members = models.ManyToManyField(User, through="Membership", related_name="namespaces")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    # Only what differs from the defaults, by dotted key; read through `codemem.policies`.
    settings = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One user's role in one namespace."""

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.PositiveSmallIntegerField(choices=[(role.value, role.title) for role in Role])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["namespace", "user"], name="accounts_membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]),
                name="accounts_membership_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {Role(self.role).title} of {self.namespace}"


class Token(models.Model):
    """A bearer token: only its SHA-256 is kept, the secret is shown once.

    A fast hash is enough because the secret is 256 random bits, not a password.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in TokenKind])
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(
            max_length=20, choices=[(scope.value, scope.value) for scope in TokenScope]
        )
    )
    namespaces = models.ManyToManyField(
        Namespace, blank=True, help_text="Leave empty for every namespace of the user."
    )
    is_limited = models.BooleanField(
        default=False,
        editable=False,
        help_text="True when made for named namespaces, even if those are gone since.",
    )
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_ip = models.GenericIPAddressField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class AuditEvent(models.Model):
    """Who did what, when, to what, with which result. Rows are only ever added (by trigger)."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    # Plain values, not foreign keys: the trail outlives what it speaks of.
    actor = models.CharField(max_length=150)
    token_id = models.UUIDField(null=True)
    action = models.CharField(max_length=60)
    namespace_id = models.UUIDField(null=True)
    namespace_name = models.CharField(max_length=63, blank=True)
    target = models.CharField(max_length=200, blank=True)
    result = models.CharField(max_length=20, default="done")
    detail = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering: ClassVar = ["-at"]
        indexes: ClassVar = [
            models.Index(fields=["namespace_id", "-at"], name="accounts_audit_namespace_at"),
            models.Index(fields=["-at"], name="accounts_audit_at"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target}"
