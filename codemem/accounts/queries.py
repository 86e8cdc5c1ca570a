"""Reads of accounts. What a caller may see is filtered in SQL, here and nowhere else."""

from uuid import UUID

from django.db.models import QuerySet

from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.values import Action, Caller


def visible_namespaces(
    *, caller: Caller, action: Action = Action.READ_GRAPH
) -> QuerySet[Namespace]:
    """Return the namespaces in which the caller may do `action`."""
    return Namespace.objects.filter(pk__in=caller.namespaces_for(action))


def member_namespaces(*, caller: Caller) -> QuerySet[Namespace]:
    """Return every open namespace the caller belongs to, whatever the token's scopes."""
    return Namespace.objects.filter(pk__in=caller.roles.keys())


def find_namespace(*, caller: Caller, name: str) -> Namespace | None:
    """Return the caller's namespace of that name or id text; None also when it is not theirs."""
    key = caller.find_namespace(name)
    return None if key is None else member_namespaces(caller=caller).filter(pk=key).first()


def members_of(*, caller: Caller, action: Action) -> QuerySet[Membership]:
    """Return memberships of the namespaces in which the caller may do `action`."""
    return Membership.objects.filter(namespace_id__in=caller.namespaces_for(action)).select_related(
        "user", "namespace"
    )


def is_member(*, namespace_id: UUID, username: str) -> bool:
    """Say whether a namespace has a member of this name. One query."""
    rows = Membership.objects.filter(namespace_id=namespace_id, user__is_active=True)
    return rows.filter(user__username=username).exists()


def find_member(*, namespace_id: UUID, username: str) -> Membership | None:
    """Return the membership of an active user, with the user; None where there is none."""
    rows = Membership.objects.filter(namespace_id=namespace_id, user__is_active=True)
    return rows.filter(user__username=username).select_related("user").first()


def tokens_of(*, caller: Caller) -> QuerySet[Token]:
    """Return the caller's own tokens; nobody sees another user's."""
    return Token.objects.filter(user_id=caller.user_id).prefetch_related("namespaces")


def get_token(*, token_id: UUID) -> Token:
    return Token.objects.select_related("user").get(pk=token_id)


def audit_of(*, caller: Caller) -> QuerySet[AuditEvent]:
    """Return the trail of the namespaces whose members the caller manages."""
    return AuditEvent.objects.filter(namespace_id__in=caller.namespaces_for(Action.MANAGE_MEMBERS))


def get_user(*, user_id: int) -> User:
    return User.objects.get(pk=user_id)


def get_user_named(*, username: str) -> User:
    return User.objects.get(username=username)


def find_user(*, username: str) -> User | None:
    return User.objects.filter(username=username).first()


def find_namespace_by_name(*, name: str) -> Namespace | None:
    """Return a namespace for those who run the server; callers are served by find_namespace."""
    return Namespace.objects.filter(name=name).first()
