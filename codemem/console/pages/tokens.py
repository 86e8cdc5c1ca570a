"""Your own tokens: made (the secret shown once), listed, revoked."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse

from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import DEFAULT_SCOPES, TokenKind, TokenScope
from codemem.console.access import Visit
from codemem.console.refusals import InputRefused

_LONGEST_DAYS = 3_650
_ABOUT = {
    TokenKind.USER: "For you and your agents: read and write memories, read code, reviews, hooks.",
    TokenKind.CI: "For a pipeline: reviews, and reading code and memories.",
    TokenKind.SERVICE: "For other programs: read code and memories.",
}


def index(visit: Visit) -> HttpResponse:
    """List the caller's tokens; POST makes one and shows its secret, on this answer only."""
    if visit.request.method == "POST":
        return _issued(visit)
    return _shown(visit)


def revoke(visit: Visit, token_id: UUID) -> HttpResponse:
    """Close a token at once."""
    token = accounts.tokens_of(caller=visit.caller).get(pk=token_id)
    account_services.revoke_token(token=token, actor=visit.caller.username, now=visit.now)
    visit.say(f"Revoked {token.name}: the next request that carries it is refused.")
    return visit.go("tokens")


def _issued(visit: Visit) -> HttpResponse:
    issued = account_services.issue_own_token(
        caller=visit.caller,
        name=_name(visit),
        kind=_kind(visit),
        scopes=_scopes(visit),
        namespaces=_namespaces(visit),
        expires_at=visit.now + timedelta(days=_days(visit)),
        default_lifetime=timedelta(days=settings.TOKEN_DEFAULT_DAYS),
        now=visit.now,
    )
    return _shown(visit, issued=issued)


def _shown(visit: Visit, **more: Any) -> HttpResponse:
    context = {
        "tokens": accounts.tokens_of(caller=visit.caller),
        "kinds": [(kind.value, _ABOUT[kind], sorted(DEFAULT_SCOPES[kind])) for kind in TokenKind],
        "scopes": list(TokenScope),
        "days": settings.TOKEN_DEFAULT_DAYS,
        "server": settings.PUBLIC_URL,
        **more,
    }
    return visit.render("tokens/index.html", context, title="Your tokens")


def _name(visit: Visit) -> str:
    name = visit.typed("name")
    if not 0 < len(name) <= 100:  # noqa: PLR2004  the column's length
        raise InputRefused("Give the token a name of at most 100 characters.")
    return name


def _kind(visit: Visit) -> TokenKind:
    try:
        return TokenKind(visit.typed("kind"))
    except ValueError as error:
        raise InputRefused("Choose what the token is for.") from error


def _scopes(visit: Visit) -> list[TokenScope] | None:
    given = visit.request.POST.getlist("scopes")
    try:
        return [TokenScope(scope) for scope in given] or None
    except ValueError as error:
        raise InputRefused("There is no such scope.") from error


def _namespaces(visit: Visit) -> list[Any]:
    found = [
        accounts.find_namespace(caller=visit.caller, name=name)
        for name in visit.request.POST.getlist("namespaces")
    ]
    if None in found:
        raise InputRefused("There is no such namespace.")
    return found


def _days(visit: Visit) -> int:
    text = visit.typed("days")
    if not text.isdecimal() or not 1 <= int(text[:6]) <= _LONGEST_DAYS:
        raise InputRefused(f"Days are a whole number from 1 to {_LONGEST_DAYS}.")
    return int(text)
