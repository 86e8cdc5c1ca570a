"""Namespaces and their members: a namespace always keeps an owner, and its name is its own."""

from datetime import datetime

from django.db import IntegrityError, transaction

from codemem.accounts.models import Membership, Namespace, User
from codemem.accounts.services.audit import record
from codemem.accounts.values import Role


class NamespaceNameTaken(Exception):
    """Another namespace has this name."""


class LastOwner(Exception):
    """The change would leave the namespace without an owner."""


def create_namespace(*, name: str, owner: User, actor: str, description: str = "") -> Namespace:
    """Create a namespace with its first owner; raise NamespaceNameTaken."""
    try:
        with transaction.atomic():
            namespace = Namespace.objects.create(name=name, description=description)
            Membership.objects.create(namespace=namespace, user=owner, role=Role.OWNER)
            record(actor=actor, action="namespace.create", namespace=namespace, target=name)
    except IntegrityError as error:
        raise _name_taken(name) from error
    return namespace


def change_namespace(
    *, namespace: Namespace, actor: str, name: str | None = None, description: str | None = None
) -> None:
    """Rename or describe a namespace; what is None stays. Raise NamespaceNameTaken.

    Ids, graph and tokens keep their meaning: nothing refers to a namespace by its name.
    """
    former = Namespace.objects.get(pk=namespace.pk)
    try:
        with transaction.atomic():
            if name is not None and name != former.name:
                _set(namespace, "name", name, former=former.name, action="rename", actor=actor)
            if description is not None and description != former.description:
                _set(
                    namespace,
                    "description",
                    description,
                    former=former.description,
                    action="describe",
                    actor=actor,
                )
    except IntegrityError as error:
        raise _name_taken(str(name)) from error


@transaction.atomic
def archive_namespace(*, namespace: Namespace, actor: str, now: datetime) -> None:
    """Close a namespace to every caller; its data stays. Undone by restore_namespace."""
    if Namespace.objects.filter(pk=namespace.pk, archived_at=None).update(archived_at=now):
        namespace.archived_at = now
        record(actor=actor, action="namespace.archive", namespace=namespace, target=namespace.name)


@transaction.atomic
def restore_namespace(*, namespace: Namespace, actor: str) -> None:
    """Open an archived namespace to its members again."""
    archived = Namespace.objects.filter(pk=namespace.pk, archived_at__isnull=False)
    if archived.update(archived_at=None):
        namespace.archived_at = None
        record(actor=actor, action="namespace.restore", namespace=namespace, target=namespace.name)


@transaction.atomic
def set_role(*, namespace: Namespace, user: User, role: Role, actor: str) -> Membership:
    """Add a member or change the role; raise LastOwner when nobody would own the namespace."""
    _lock(namespace)
    if role < Role.OWNER:
        _refuse_last_owner(namespace=namespace, leaving=user)
    membership, _ = Membership.objects.update_or_create(
        namespace=namespace, user=user, defaults={"role": role}
    )
    record(
        actor=actor,
        action="member.set_role",
        namespace=namespace,
        target=user.username,
        detail={"role": role.title},
    )
    return membership


@transaction.atomic
def remove_member(*, namespace: Namespace, user: User, actor: str) -> None:
    """Take a member out; raise LastOwner. Their tokens open the namespace no more."""
    _lock(namespace)
    _refuse_last_owner(namespace=namespace, leaving=user)
    if Membership.objects.filter(namespace=namespace, user=user).delete()[0]:
        record(actor=actor, action="member.remove", namespace=namespace, target=user.username)


def _set(
    namespace: Namespace, field: str, value: str, *, former: str, action: str, actor: str
) -> None:
    setattr(namespace, field, value)
    namespace.save(update_fields=[field])
    record(
        actor=actor,
        action=f"namespace.{action}",
        namespace=namespace,
        target=namespace.name,
        detail={"from": former},
    )


def _lock(namespace: Namespace) -> None:
    # Two owners who demote each other at once would both pass the check below.
    Namespace.objects.select_for_update().get(pk=namespace.pk)


def _refuse_last_owner(*, namespace: Namespace, leaving: User) -> None:
    owners = Membership.objects.filter(namespace=namespace, role=Role.OWNER)
    is_owner = owners.filter(user=leaving).exists()
    if is_owner and not owners.exclude(user=leaving).exists():
        raise LastOwner(f"{leaving.username} is the last owner of {namespace.name}.")


def _name_taken(name: str) -> NamespaceNameTaken:
    return NamespaceNameTaken(f"There is a namespace named {name!r} already.")
