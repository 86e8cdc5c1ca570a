"""One table of errors for every surface: what a caller did wrong, as a code, a status, a sentence.

Domain code raises errors named for facts; `translate` maps them here to what MCP, REST and DRF
answer, so that the same mistake reads the same everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, OperationalError
from django.http import Http404, JsonResponse
from redis import RedisError
from rest_framework import exceptions as rest_exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from codemem.accounts.services import LastOwner, NamespaceNameTaken, TokenInvalid
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


_RETRY = "Try again in a moment; the server recovers by itself."

# Domain error -> (code, status). Filled by `register`, beside the tools that can meet the error.
_TABLE: dict[type[Exception], tuple[str, int]] = {
    TokenInvalid: ("invalid_token", 401),
    NamespaceNameTaken: ("name_taken", 409),
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
    if isinstance(error, OperationalError) or _is_interface_error(error):
        return ErrorReport("database_unavailable", 503, "The database does not answer.", _RETRY)
    if isinstance(error, RedisError):
        return ErrorReport("queue_unavailable", 503, "Redis does not answer.", _RETRY)
    return None


def response(report: ErrorReport) -> JsonResponse:
    answer = JsonResponse(report.body, status=report.status)
    if report.status == 401:  # noqa: PLR2004
        answer["WWW-Authenticate"] = 'Bearer realm="codemem", error="invalid_token"'
    return answer


def rest_framework_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Give DRF's errors the shape of ours."""
    report = translate(error)
    if report is None and isinstance(error, Http404 | rest_exceptions.NotFound):
        report = ErrorReport("not_found", 404, "There is no such thing here, or not for you.")
    if report is None and isinstance(error, rest_exceptions.ValidationError):
        report = ErrorReport("invalid_arguments", 422, _validation_sentence(error.detail))
    if report is None and isinstance(error, rest_exceptions.APIException):
        report = ErrorReport(_code(error), error.status_code, str(error.detail))
    if report is None:
        return exception_handler(error, context)
    headers = {}
    if report.status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = 'Bearer realm="codemem"'
    return Response(report.body, status=report.status, headers=headers)


def _code(error: rest_exceptions.APIException) -> str:
    codes = error.get_codes()
    return codes if isinstance(codes, str) else "invalid"


def _validation_sentence(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{field}: {_validation_sentence(value)}" for field, value in detail.items())
    if isinstance(detail, list):
        return " ".join(_validation_sentence(value) for value in detail)
    return str(detail)


def _is_interface_error(error: Exception) -> bool:
    # A connection that died between the health check and the query.
    return isinstance(error, DatabaseError) and "connection" in str(error).lower()
