"""Reading the answer of GET /api/v1/me: whose token, until when, with which roles."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from codemem.client.terminal import line


def user_name(identity: dict[str, Any]) -> str:
    """Return the name of whoever the token belongs to."""
    user = identity.get("user")
    if isinstance(user, dict):
        user = user.get("username") or user.get("name") or user.get("email")
    return str(user or "an unnamed user")


def namespaces_with_roles(identity: dict[str, Any]) -> list[str]:
    """Return one phrase for each namespace that the token reaches."""
    memberships = [entry for entry in identity.get("namespaces") or [] if isinstance(entry, dict)]
    return [_membership(entry) for entry in memberships] or ["none: ask a maintainer to add you"]


def days_left(identity: dict[str, Any], *, now: datetime) -> float | None:
    """Return the days until the token expires, negative once it has, None if it never does."""
    expires_at = _expires_at(identity)
    return (expires_at - now).total_seconds() / 86400 if expires_at else None


def describe_expiry(identity: dict[str, Any]) -> str:
    """Return one phrase: the token's name, scopes and expiry."""
    token = identity.get("token")
    token = token if isinstance(token, dict) else {}
    expires_at = _expires_at(identity)
    until = f"valid until {expires_at:%Y-%m-%d}" if expires_at else "does not expire"
    scopes = ", ".join(map(str, token.get("scopes") or [])) or "no scopes"
    return f"{line(token.get('name') or 'unnamed')}, {until} ({line(scopes)})"


def _membership(entry: dict[str, Any]) -> str:
    repositories = entry.get("repositories")
    count = len(repositories) if isinstance(repositories, list) else 0
    plural = "repository" if count == 1 else "repositories"
    return f"{entry.get('name', '?')} ({entry.get('role', 'no role')}, {count} {plural})"


def _expires_at(identity: dict[str, Any]) -> datetime | None:
    token = identity.get("token")
    text = token.get("expires_at") if isinstance(token, dict) else None
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
