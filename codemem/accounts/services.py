"""Everything that changes who may do what: namespaces, members, tokens; each leaves an audit event."""

import hashlib
import secrets
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Q

from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.values import DEFAULT_SCOPES, Caller, Role, TokenKind, TokenScope

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LAST_USED_EVERY = timedelta(minutes=1)


class NamespaceNameTaken(Exception):
    """Another namespace has this name."""


class LastOwner(Exception):
    """The change would leave the namespace without an owner."""


class TokenInvalid(Exception):
    """The bearer token does not admit anyone; the message is a sentence for its user."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which exists nowhere else and is never shown again."""

    token: Token
    secret: str


# --- People -------------------------------------------------------------------------------------
@transaction.atomic
def create_user(*, username: str, actor: str) -> User:
    """Create a person who cannot sign in yet: tokens only, until an admin sets a password."""
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    record(actor=actor, action="user.create", target=username)
    return user


@transaction.atomic
def save_administrator(*, username: str, password: str) -> User:
    """Create the person who runs the server, or set the password anew."""
    user = User.objects.filter(username=username).first() or User(username=username)
    user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    record(actor=username, action="user.save_administrator", target=username)
    return user


# --- Namespaces ---------------------------------------------------------------------------------
def create_namespace(*, name: str, owner: User, actor: str, description: str = "") -> Namespace:
    """Create a namespace with its first owner; raise NamespaceNameTaken."""
    try:
        with transaction.atomic():
            namespace = Namespace.objects.create(name=name, description=description)
            Membership.objects.create(namespace=namespace, user=owner, role=Role.OWNER)
            record(actor=actor, action="namespace.create", namespace=namespace, target=name)
    except IntegrityError as error:
        raise NamespaceNameTaken(f"There is a namespace named {name!r} already.") from error
    return namespace


def rename_namespace(*, namespace: Namespace, name: str, actor: str) -> None:
    """Rename a namespace; ids, graph and tokens stay. Raise NamespaceNameTaken."""
    former = Namespace.objects.only("name").get(pk=namespace.pk).name
    if former == name:
        return
    namespace.name = name
    try:
        with transaction.atomic():
            namespace.save(update_fields=["name"])
            record(
                actor=actor,
                action="namespace.rename",
                namespace=namespace,
                target=name,
                detail={"from": former},
            )
    except IntegrityError as error:
        namespace.name = former
        raise NamespaceNameTaken(f"There is a namespace named {name!r} already.") from error


@transaction.atomic
def describe_namespace(*, namespace: Namespace, description: str, actor: str) -> None:
    namespace.description = description
    namespace.save(update_fields=["description"])
    record(actor=actor, action="namespace.describe", namespace=namespace, target=namespace.name)


@transaction.atomic
def archive_namespace(*, namespace: Namespace, actor: str, now: datetime) -> None:
    """Close a namespace to every caller; its data stays. Undone by restore_namespace."""
    if Namespace.objects.filter(pk=namespace.pk, archived_at=None).update(archived_at=now):
        namespace.archived_at = now
        record(actor=actor, action="namespace.archive", namespace=namespace, target=namespace.name)


@transaction.atomic
def restore_namespace(*, namespace: Namespace, actor: str) -> None:
    if Namespace.objects.filter(pk=namespace.pk).exclude(archived_at=None).update(archived_at=None):
        namespace.archived_at = None
        record(actor=actor, action="namespace.restore", namespace=namespace, target=namespace.name)


# --- Members ------------------------------------------------------------------------------------
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
    _lock(namespace)
    _refuse_last_owner(namespace=namespace, leaving=user)
    if Membership.objects.filter(namespace=namespace, user=user).delete()[0]:
        record(
            actor=actor, action="member.remove", namespace=namespace, target=user.username
        )


# --- Tokens -------------------------------------------------------------------------------------
@transaction.atomic
def issue_token(
    *,
    user: User,
    name: str,
    actor: User,
    now: datetime,
    kind: TokenKind = TokenKind.USER,
    scopes: Collection[TokenScope] | None = None,
    namespaces: Collection[Namespace] = (),
    expires_at: datetime | None,
) -> IssuedToken:
    """Make a token; without `scopes` it gets the usual ones of its kind.

    `namespaces` narrows it for good: if they are removed later the token opens nothing.
    """
    if expires_at is not None and expires_at <= now:
        raise ValueError("A token cannot expire before it is made.")
    public, secret = _new_secret()
    token = Token.objects.create(
        user=user,
        name=name,
        kind=kind,
        prefix=f"cm_{public}",
        digest=_digest(secret),
        scopes=sorted(DEFAULT_SCOPES[kind] if scopes is None else scopes),
        is_limited=bool(namespaces),
        created_by=actor,
        expires_at=expires_at,
    )
    token.namespaces.set(namespaces)
    record(
        actor=actor.username,
        action="token.issue",
        target=token.prefix,
        detail={"user": user.username, "name": name, "kind": kind, "scopes": token.scopes},
    )
    return IssuedToken(token=token, secret=secret)


@transaction.atomic
def revoke_token(*, token: Token, actor: str, now: datetime) -> None:
    """Close a token at once: the next request that carries it is refused."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
        record(actor=actor, action="token.revoke", target=token.prefix)


def authenticate_token(*, secret: str, now: datetime, ip: str | None) -> Caller:
    """Return who this token speaks for; raise TokenInvalid. Two queries, three once a minute.

    Nothing is cached, so that a revocation or a changed role holds from the next request on.
    """
    token = (
        Token.objects.select_related("user").filter(digest=_digest(secret)).first()
        if _has_shape(secret)
        else None
    )
    if token is None:
        raise TokenInvalid("This token is not known here. Make one under Tokens in the admin.")
    if token.revoked_at is not None:
        raise TokenInvalid(f"Token {token.prefix} was revoked. Make a new one in the admin.")
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenInvalid(
            f"Token {token.prefix} expired on {token.expires_at:%Y-%m-%d}. Make a new one."
        )
    if not token.user.is_active:
        raise TokenInvalid("The account of this token is closed. Ask whoever runs the server.")
    _note_use(token=token, now=now, ip=ip)
    return Caller(
        user_id=token.user_id,
        username=token.user.username,
        token_id=token.pk,
        scopes=frozenset(TokenScope(scope) for scope in token.scopes),
        roles=_roles(user_id=token.user_id, token=token),
    )


def is_usable(*, secret: str, now: datetime) -> bool:
    """Return whether this token admits anyone."""
    try:
        authenticate_token(secret=secret, now=now, ip=None)
    except TokenInvalid:
        return False
    return True


def caller_of_user(*, user: User) -> Caller:
    """Return the caller of a signed-in browser: every scope, the user's own roles."""
    return Caller(
        user_id=user.pk,
        username=user.username,
        token_id=None,
        scopes=frozenset(TokenScope),
        roles=_roles(user_id=user.pk, token=None),
    )


def default_scopes(kind: TokenKind) -> frozenset[TokenScope]:
    """Return the scopes that a token of this kind gets when nobody chooses."""
    return DEFAULT_SCOPES[kind]


# --- Audit --------------------------------------------------------------------------------------
def record(
    *,
    actor: str,
    action: str,
    target: str = "",
    namespace: Namespace | None = None,
    token_id: UUID | None = None,
    result: str = "done",
    detail: dict[str, object] | None = None,
) -> None:
    """Add one event to the audit trail, in the caller's transaction."""
    AuditEvent.objects.create(
        actor=actor,
        action=action,
        target=target[:200],
        namespace_id=namespace.pk if namespace else None,
        namespace_name=namespace.name if namespace else "",
        token_id=token_id,
        result=result,
        detail=detail or {},
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", "")),
    )


def _lock(namespace: Namespace) -> None:
    # Two owners who demote each other at once would both pass the check below.
    Namespace.objects.select_for_update().get(pk=namespace.pk)


def _refuse_last_owner(*, namespace: Namespace, leaving: User) -> None:
    owners = Membership.objects.filter(namespace=namespace, role=Role.OWNER)
    is_owner = owners.filter(user=leaving).exists()
    if is_owner and not owners.exclude(user=leaving).exists():
        raise LastOwner(f"{leaving.username} is the last owner of {namespace.name}.")


def _roles(*, user_id: int, token: Token | None) -> dict[UUID, Role]:
    memberships = Membership.objects.filter(user_id=user_id, namespace__archived_at=None)
    if token is not None and token.is_limited:
        memberships = memberships.filter(namespace__token=token)
    return {key: Role(role) for key, role in memberships.values_list("namespace_id", "role")}


def _note_use(*, token: Token, now: datetime, ip: str | None) -> None:
    if token.last_used_at is not None and token.last_used_at > now - _LAST_USED_EVERY:
        return
    # Conditional, so that a burst of requests writes the row once.
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - _LAST_USED_EVERY)
    Token.objects.filter(due, pk=token.pk).update(last_used_at=now, last_used_ip=ip)


def _new_secret() -> tuple[str, str]:
    """Return (public id, secret); a checksum lets scanners tell our tokens from noise."""
    public = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    body = f"cm_{public}_{_base62(secrets.randbits(256), 43)}"
    return public, f"{body}_{_checksum(body)}"


def _has_shape(secret: str) -> bool:
    body, _, checksum = secret.rpartition("_")
    return body.startswith("cm_") and secrets.compare_digest(
        checksum.encode(), _checksum(body).encode()
    )


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), 6)


def _base62(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, remainder = divmod(value, 62)
        digits.append(_ALPHABET[remainder])
    return "".join(reversed(digits))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
