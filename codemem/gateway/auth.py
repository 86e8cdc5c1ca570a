"""Who is asking: one `authenticate` for MCP, REST, hooks and DRF."""

from typing import Any

import structlog
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from codemem.accounts import queries as accounts
from codemem.accounts.services import TokenInvalid, authenticate_token, caller_of_user
from codemem.accounts.values import Caller
from codemem.gateway.errors import HOW_TO_SIGN_IN


def authenticate(request: HttpRequest) -> Caller:
    """Return the caller of a bearer token; raise TokenInvalid with a sentence to act on."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise TokenInvalid(HOW_TO_SIGN_IN)
    caller = authenticate_token(
        secret=secret.strip(), now=timezone.now(), ip=request.META.get("REMOTE_ADDR") or None
    )
    # From here on every log line and audit event of this request says which token it was.
    structlog.contextvars.bind_contextvars(token_id=str(caller.token_id))
    return caller


class BearerAuthentication(BaseAuthentication):
    """DRF's door to `authenticate`; `request.auth` is the Caller."""

    def authenticate(self, request: Request) -> tuple[Any, Caller] | None:
        if "Authorization" not in request.headers:
            return None
        caller = authenticate(request._request)  # noqa: SLF001  DRF wraps Django's request
        return accounts.get_user(user_id=caller.user_id), caller

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Bearer realm="codemem"'


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document speaks of BearerAuthentication."""

    target_class = "codemem.gateway.auth.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "bearerFormat": "cm_..."}


def caller_of(request: Any) -> Caller:
    """Return the caller of a DRF request, whether it came by token or by signed-in browser."""
    if isinstance(request.auth, Caller):
        return request.auth
    if isinstance(request.user, AnonymousUser):
        raise TokenInvalid(HOW_TO_SIGN_IN)
    return caller_of_user(user=request.user)
