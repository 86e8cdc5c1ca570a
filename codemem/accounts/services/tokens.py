"""Bearer tokens: made, shown once, checked, revoked. The database holds their SHA-256 only."""

import hashlib
import re
import secrets
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from codemem.accounts.models import Membership, Namespace, Token, User
from codemem.accounts.services.audit import record
from codemem.accounts.values import DEFAULT_SCOPES, Caller, Role, TokenKind, TokenScope
from codemem.plans import kept_rows

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(r"(?P<body>cm_[0-9A-Za-z]{8}_[0-9A-Za-z]{43})_(?P<checksum>[0-9A-Za-z]{6})")
_LAST_USED_EVERY = timedelta(minutes=1)


class TokenInvalid(Exception):
    """The bearer token does not admit anyone; the message is a sentence for its user."""


class TokenExceedsMaker(Exception):
    """A token may not make one that can do more, reach further or live longer than itself."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which exists nowhere else and is never shown again."""

    token: Token
    secret: str


def issue_own_token(
    *,
    caller: Caller,
    name: str,
    kind: TokenKind,
    scopes: Collection[TokenScope] | None,
    namespaces: Collection[Namespace],
    expires_at: datetime | None,
    default_lifetime: timedelta,
    now: datetime,
) -> IssuedToken:
    """Make a token for the caller; raise TokenExceedsMaker.

    What is left out is the usual, cut to what the token that asks may do itself; without
    `namespaces` the new one reaches as far as that one. `namespaces` are ones the caller sees.
    """
    user = User.objects.get(pk=caller.user_id)
    maker = Token.objects.get(pk=caller.token_id) if caller.token_id else None
    if maker is not None and maker.is_limited and not namespaces:
        namespaces = list(Namespace.objects.filter(pk__in=caller.roles.keys()))
        # None left: without this line the new token would be one for every namespace.
        if not namespaces:
            raise TokenExceedsMaker("Every namespace that your own token was made for is closed.")
    return issue_token(
        user=user,
        name=name,
        kind=kind,
        scopes=_scopes_within(caller, DEFAULT_SCOPES[kind], scopes),
        namespaces=namespaces,
        expires_at=_expiry_within(maker, now + default_lifetime, expires_at),
        actor=user,
        now=now,
    )


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
        detail={
            "user": user.username,
            "name": name,
            "kind": kind,
            "scopes": token.scopes,
            "namespaces": sorted(namespace.name for namespace in namespaces),
        },
    )
    return IssuedToken(token=token, secret=secret)


@transaction.atomic
def revoke_token(*, token: Token, actor: str, now: datetime) -> None:
    """Close a token at once: the next request that carries it is refused."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
        record(actor=actor, action="token.revoke", target=token.prefix)


def authenticate_token(*, secret: str, now: datetime, ip: str | None) -> Caller:
    """Return who this token speaks for; raise TokenInvalid. One query, two once a minute.

    Nothing is cached, so that a revocation or a changed role holds from the next request on.
    """
    rows = _token_rows(secret)
    if not rows:
        raise TokenInvalid("This token is not known here. Make one under Tokens in the admin.")
    token = rows[0]
    if token.revoked_at is not None:
        raise TokenInvalid(f"Token {token.prefix} was revoked. Make a new one in the admin.")
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenInvalid(
            f"Token {token.prefix} expired on {token.expires_at:%Y-%m-%d}. Make a new one."
        )
    if not token.is_active:
        raise TokenInvalid("The account of this token is closed. Ask whoever runs the server.")
    _note_use(token=token, now=now, ip=ip)
    return Caller(
        user_id=token.user_id,
        username=token.username,
        token_id=token.id,
        scopes=frozenset(scope for scope in TokenScope if scope in token.scopes),
        roles={row.namespace_id: Role(row.role) for row in rows if row.namespace_id is not None},
        names={row.namespace_id: row.namespace for row in rows if row.namespace_id is not None},
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
    memberships = Membership.objects.filter(user=user, namespace__archived_at=None)
    rows = list(memberships.values_list("namespace_id", "namespace__name", "role"))
    return Caller(
        user_id=user.pk,
        username=user.username,
        token_id=None,
        scopes=frozenset(TokenScope),
        roles={key: Role(role) for key, _, role in rows},
        names={key: name for key, name, _ in rows},
    )


def _scopes_within(
    caller: Caller, usual: frozenset[TokenScope], wanted: Collection[TokenScope] | None
) -> frozenset[TokenScope]:
    if wanted is None:
        return usual & caller.scopes
    missing = sorted(frozenset(wanted) - caller.scopes)
    if missing:
        raise TokenExceedsMaker(f"Your own token lacks: {', '.join(missing)}.")
    return frozenset(wanted)


def _expiry_within(maker: Token | None, usual: datetime, wanted: datetime | None) -> datetime:
    # A leaked token must not outlive itself by a copy.
    latest = maker.expires_at if maker is not None else None
    if latest is None:
        return wanted or usual
    if wanted is not None and wanted > latest:
        raise TokenExceedsMaker(f"Your own token ends on {latest:%Y-%m-%d}: ask for fewer days.")
    return wanted or min(usual, latest)


class _TokenRow(NamedTuple):
    """A token, its user, and one of the namespaces that it opens: none when it opens none."""

    id: UUID
    prefix: str
    scopes: Sequence[str]
    revoked_at: datetime | None
    expires_at: datetime | None
    last_used_at: datetime | None
    user_id: int
    username: str
    is_active: bool
    namespace_id: UUID | None
    namespace: str
    role: int


# Every request asks this: the ORM would take longer to put it together than Postgres to answer.
_SELECT_BY_DIGEST: Final = """
    SELECT token.id, token.prefix, token.scopes, token.revoked_at, token.expires_at,
        token.last_used_at, account.id, account.username, account.is_active,
        namespace.id, namespace.name, membership.role
    FROM accounts_token token
    JOIN accounts_user account ON account.id = token.user_id
    LEFT JOIN (
        accounts_membership membership
        JOIN accounts_namespace namespace
            ON namespace.id = membership.namespace_id AND namespace.archived_at IS NULL
    ) ON membership.user_id = token.user_id AND (
        NOT token.is_limited
        OR EXISTS (
            SELECT FROM accounts_token_namespaces named
            WHERE named.token_id = token.id AND named.namespace_id = membership.namespace_id
        )
    )
    WHERE token.digest = %s
"""


def _token_rows(secret: str) -> list[_TokenRow]:
    if not _has_shape(secret):
        return []
    return [_TokenRow(*row) for row in kept_rows(_SELECT_BY_DIGEST, [_digest(secret)])]


def _note_use(*, token: _TokenRow, now: datetime, ip: str | None) -> None:
    if token.last_used_at is not None and token.last_used_at > now - _LAST_USED_EVERY:
        return
    # Conditional, so that a burst of requests writes the row once.
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - _LAST_USED_EVERY)
    Token.objects.filter(due, pk=token.id).update(last_used_at=now, last_used_ip=ip)


def _new_secret() -> tuple[str, str]:
    """Return (public id, secret); a checksum lets scanners tell our tokens from noise."""
    public = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    body = f"cm_{public}_{_base62(secrets.randbits(256), 43)}"
    return public, f"{body}_{_checksum(body)}"


def _has_shape(secret: str) -> bool:
    match = _SHAPE.fullmatch(secret)
    return match is not None and match["checksum"] == _checksum(match["body"])


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
