"""Who is asking: one `authenticate` for MCP, REST, hooks and DRF."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from codemem.accounts import queries as accounts
from codemem.accounts.services import TokenInvalid, authenticate_token, caller_of_user
from codemem.accounts.values import Caller

_NO_TOKEN = (
    "Send a token: `Authorization: Bearer cm_...`. Make one under Tokens in the admin, or ask the"
    " person who runs this server."
)


def authenticate(request: HttpRequest) -> Caller:
    """Return the caller of a bearer token; raise TokenInvalid with a sentence to act on."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise TokenInvalid(_NO_TOKEN)
    return authenticate_token(
        secret=secret.strip(), now=timezone.now(), ip=request.META.get("REMOTE_ADDR") or None
    )


class BearerAuthentication(BaseAuthentication):
    """DRF's door to `authenticate`; `request.auth` is the Caller."""

    def authenticate(self, request: Request) -> tuple[Any, Caller] | None:
        if "Authorization" not in request.headers:
            return None
        caller = authenticate(request._request)  # noqa: SLF001  DRF wraps Django's request
        return accounts.get_user(user_id=caller.user_id), caller

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Bearer realm="codemem"'


def caller_of(request: Any) -> Caller:
    """Return the caller of a DRF request, whether it came by token or by signed-in browser."""
    if isinstance(request.auth, Caller):
        return request.auth
    if isinstance(request.user, AnonymousUser):
        raise TokenInvalid(_NO_TOKEN)
    return caller_of_user(user=request.user)
