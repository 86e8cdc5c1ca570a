"""One table of errors for every surface: what a caller did wrong, as a code, a status, a sentence.

Domain code raises errors named for facts; `translate` maps them here to what MCP, REST and DRF
answer, so that the same mistake reads the same everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from psycopg.errors import QueryCanceled
from redis import RedisError
from rest_framework import exceptions as rest_exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings

from codemem.accounts.services import (
    LastOwner,
    NamespaceNameTaken,
    TokenExceedsMaker,
    TokenInvalid,
)
from graph.services import RemoteTaken, RepositoryNameTaken
from workers.queue import QueueUnavailable


class GatewayError(Exception):
    """A request that cannot be carried out; the message is for the caller's eyes."""

    code = "invalid"
    status = 400

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ArgumentsInvalid(GatewayError):
    code = "invalid_arguments"
    status = 422


class BodyMalformed(GatewayError):
    code = "malformed_json"


class BodyTooLarge(GatewayError):
    code = "body_too_large"
    status = 413


class NotFound(GatewayError):
    """Does not exist, or not for this caller: the two are never told apart."""

    code = "not_found"
    status = 404


class Ambiguous(GatewayError):
    code = "ambiguous"
    status = 409


class RightMissing(GatewayError):
    code = "right_missing"
    status = 403


class ScopeNeeded(GatewayError):
    code = "scope_needed"
    status = 400


class RefNotIndexed(GatewayError):
    code = "ref_not_indexed"
    status = 409


class ToolUnknown(GatewayError):
    code = "tool_unknown"
    status = 404


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What a surface answers: `body` is the same JSON on all of them."""

    code: str
    status: int
    message: str
    hint: str = ""

    @property
    def body(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.message}
        if self.hint:
            error["hint"] = self.hint
        return {"error": error}


HOW_TO_SIGN_IN = (
    "Send a token: `Authorization: Bearer cm_...`. Make one under Tokens in the admin, or ask the"
    " person who runs this server."
)
_RETRY = "Try again in a moment; the server recovers by itself."
_NARROW = "Ask for less: name the repository, lower the depth or the limit."
_ADDRESSES = "/api/docs lists the addresses there are; they have no slash at the end."
_MACHINE_PATHS = ("/api/", "/mcp", "/hooks/")
_CHALLENGE = 'Bearer realm="codemem", error="invalid_token"'

# Domain error -> (code, status). Filled by `register`, beside the tools that can meet the error.
_TABLE: dict[type[Exception], tuple[str, int]] = {
    TokenInvalid: ("invalid_token", 401),
    TokenExceedsMaker: ("right_missing", 403),
    NamespaceNameTaken: ("name_taken", 409),
    RepositoryNameTaken: ("name_taken", 409),
    RemoteTaken: ("remote_taken", 409),
    LastOwner: ("last_owner", 409),
    QueueUnavailable: ("queue_unavailable", 503),
}


def register(table: Mapping[type[Exception], tuple[str, int]]) -> None:
    """Add domain errors of an app to the table."""
    _TABLE.update(table)


def translate(error: Exception) -> ErrorReport | None:
    """Return what to answer, or None when the error needs a code change (then it is a 500)."""
    if isinstance(error, GatewayError):
        return ErrorReport(error.code, error.status, error.message, error.hint)
    for kind in type(error).__mro__:
        if kind in _TABLE:
            code, status = _TABLE[kind]
            return ErrorReport(code, status, str(error), getattr(error, "hint", ""))
    if isinstance(error, OperationalError) and isinstance(error.__cause__, QueryCanceled):
        return ErrorReport("too_slow", 503, "This took longer than the server allows.", _NARROW)
    # InterfaceError: the connection was found dead before anything was sent.
    if isinstance(error, OperationalError | InterfaceError):
        return ErrorReport("database_unavailable", 503, "The database does not answer.", _RETRY)
    if isinstance(error, RedisError):
        return ErrorReport("queue_unavailable", 503, "Redis does not answer.", _RETRY)
    return None


def response(report: ErrorReport) -> JsonResponse:
    answer = JsonResponse(report.body, status=report.status)
    if report.status == HTTPStatus.UNAUTHORIZED:
        answer["WWW-Authenticate"] = _CHALLENGE
    return answer


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that nothing serves: machines get JSON as everywhere, people a page."""
    if not request.path.startswith(_MACHINE_PATHS):
        return defaults.page_not_found(request, exception)
    return response(ErrorReport("not_found", 404, "There is no such address.", _ADDRESSES))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a fault of ours; Sentry and the log have it by now."""
    if not request.path.startswith(_MACHINE_PATHS):
        return defaults.server_error(request)
    return response(ErrorReport("server_error", 500, "The server has a fault; it is reported."))


def rest_framework_handler(error: Exception, _context: dict[str, Any]) -> Response | None:
    """Give DRF's errors the shape of ours; None has DRF raise what nobody anticipated."""
    report = translate(error) or _translate_rest_framework(error)
    if report is None:
        return None
    is_refused = report.status == HTTPStatus.UNAUTHORIZED
    headers = {"WWW-Authenticate": _CHALLENGE} if is_refused else {}
    return Response(report.body, status=report.status, headers=headers)


def _translate_rest_framework(error: Exception) -> ErrorReport | None:
    match error:
        case Http404() | rest_exceptions.NotFound():
            # One sentence for all: what is not yours reads like what does not exist.
            return ErrorReport("not_found", 404, "There is no such thing here, or not for you.")
        case rest_exceptions.ValidationError():
            return ErrorReport("invalid_arguments", 422, _validation_sentence(error.detail))
        case rest_exceptions.NotAuthenticated():
            return ErrorReport("invalid_token", 401, HOW_TO_SIGN_IN)
        case rest_exceptions.APIException():
            codes = error.get_codes()
            code = codes if isinstance(codes, str) else "invalid"
            return ErrorReport(code, error.status_code, str(error.detail))
    return None


def _validation_sentence(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(
            _validation_sentence(value)
            if field == api_settings.NON_FIELD_ERRORS_KEY
            else f"{field}: {_validation_sentence(value)}"
            for field, value in detail.items()
        )
    if isinstance(detail, list):
        return " ".join(_validation_sentence(value) for value in detail)
    return str(detail)
