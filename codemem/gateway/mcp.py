"""MCP over one HTTP endpoint, in both eras of the protocol, as a plain synchronous view.

2026-07-28 is stateless; clients of 2025 send `initialize` first and get answers that need no
session either. A request without a version header is a legacy one (some clients send none).
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from codemem import metrics
from codemem.client.version import VERSION
from codemem.gateway import body, listing, prompts, readings, tool
from codemem.gateway.address import address_of
from codemem.gateway.agents import agent_of
from codemem.gateway.auth import authenticate
from codemem.gateway.departure import is_abandoned
from codemem.gateway.errors import BodyMalformed, ToolUnknown, response, translate

MODERN_VERSIONS = ("2026-07-28",)
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
SERVER_INFO = {"name": "codemem", "title": "codemem team memory", "version": VERSION}
INSTRUCTIONS = (
    "The team's memory: recall what was decided or went wrong before you change code, ask who"
    " depends on a symbol, and store what the next session must know. Every tool takes namespace"
    " and repository, by default the connection's; those about code take ref: a branch, or"
    " worktree:<name> for what you are editing."
)
_CAPABILITIES = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "prompts": {"listChanged": False},
}
# What one connection may see depends on its token, so nobody else may reuse the answer.
_CACHEABLE = {"ttlMs": 60_000, "cacheScope": "private"}

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
# Of the revisions of 2025; since 2026 it is the code of any wrong parameter.
_RESOURCE_NOT_FOUND = -32002


class ProtocolError(Exception):
    """A request that breaks the protocol: answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@csrf_exempt
def endpoint(
    request: HttpRequest, namespace: str | None = None, repository: str | None = None
) -> HttpResponse:
    """Answer one MCP message; the path may name the namespace and repository of the connection."""
    refused = _refuse(request)
    if refused is not None:
        return refused
    try:
        caller = authenticate(request)
        selection = listing.selection_of(request.GET.get("toolsets"))
        message = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    except BodyMalformed as error:
        return _failure(None, ProtocolError(_PARSE_ERROR, error.message), status=400)
    except Exception as error:
        report = translate(error)
        if report is None:
            raise
        metrics.REFUSED.labels(report.code).inc()
        return response(report)
    call = tool.Call(
        caller=caller,
        address=address_of(request, namespace=namespace, repository=repository),
        now=timezone.now(),
        is_abandoned=partial(is_abandoned, request),
        agent=agent_of(request, message),
    )
    return _answer(request, message, call, selection)


def not_served(_request: HttpRequest, rest: str = "") -> JsonResponse:  # noqa: ARG001
    """Answer OAuth discovery in JSON: clients print what they get, and we have no OAuth."""
    return JsonResponse(
        {
            "error": "not_found",
            "message": "This server takes bearer tokens, not OAuth: set an Authorization header.",
        },
        status=404,
    )


def _refuse(request: HttpRequest) -> HttpResponse | None:
    origin = request.headers.get("Origin")
    if origin is not None and origin not in settings.ALLOWED_ORIGINS:
        return JsonResponse(
            {"error": "origin_refused", "message": "Requests from this origin are refused."},
            status=403,
        )
    if request.method != "POST":
        # No server-sent stream and no session to delete: 405 is what clients expect then.
        return HttpResponse(status=405, headers={"Allow": "POST"})
    return None


def _answer(
    request: HttpRequest, message: Any, call: tool.Call, selection: listing.Selection
) -> HttpResponse:
    if not _is_message(message):
        error = ProtocolError(_INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message.")
        return _failure(None, error, status=400)
    version = request.headers.get("MCP-Protocol-Version")
    is_modern = version is not None and version not in LEGACY_VERSIONS
    if "id" not in message:
        return HttpResponse(status=202)
    if is_modern:
        rejection = _classify(request, message)
        if rejection is not None:
            return rejection
    try:
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise ProtocolError(_INVALID_PARAMS, "params must be an object.")  # noqa: TRY301
        result = _dispatch(message["method"], params, call, selection, is_modern=is_modern)
    except ProtocolError as error:
        return _failure(message["id"], error, status=_status(error.code, is_modern=is_modern))
    if is_modern:
        result = {
            "resultType": "complete",
            **result,
            "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO},
        }
    return _json({"jsonrpc": "2.0", "id": message["id"], "result": result})


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        # An id is echoed: nothing else may come back by it.
        and type(message.get("id", "")) in {str, int}
    )


def _classify(request: HttpRequest, message: dict[str, Any]) -> HttpResponse | None:
    # A second of imports that commands and workers do without; gunicorn's workers make it early.
    from mcp.shared.inbound import (
        ERROR_CODE_HTTP_STATUS,
        InboundLadderRejection,
        classify_inbound_request,
    )

    verdict = classify_inbound_request(
        message, headers={name.lower(): value for name, value in request.headers.items()}
    )
    if not isinstance(verdict, InboundLadderRejection):
        return None
    error = ProtocolError(verdict.code, verdict.message, verdict.data)
    return _failure(message.get("id"), error, status=ERROR_CODE_HTTP_STATUS.get(verdict.code, 400))


def _dispatch(
    method: str,
    params: dict[str, Any],
    call: tool.Call,
    selection: listing.Selection,
    *,
    is_modern: bool,
) -> dict[str, Any]:
    cacheable = _CACHEABLE if is_modern else {}
    if (lists := _listed(method, selection)) is not None:
        return {**lists, **cacheable}
    match method:
        case "resources/read":
            return {**_read_resource(params, call, is_modern=is_modern), **cacheable}
        case "prompts/get":
            return _get_prompt(params)
        case "tools/call":
            return _call_tool(params, call)
        case "server/discover":
            return {
                "supportedVersions": [*MODERN_VERSIONS, *LEGACY_VERSIONS],
                "capabilities": _CAPABILITIES,
                "instructions": INSTRUCTIONS,
                **_CACHEABLE,
            }
    if not is_modern:
        return _dispatch_legacy(method, params)
    raise ProtocolError(_METHOD_NOT_FOUND, f"Method not found: {method}")


def _listed(method: str, selection: listing.Selection) -> dict[str, Any] | None:
    match method:
        case "tools/list":
            return {"tools": list(listing.listed(selection))}
        case "prompts/list":
            return {"prompts": prompts.listed()}
        case "resources/list":
            return {"resources": readings.listed()}
        case "resources/templates/list":
            return {"resourceTemplates": readings.templates()}
    return None


def _dispatch_legacy(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0],
                "capabilities": {**_CAPABILITIES, "logging": {}},
                "serverInfo": SERVER_INFO,
                "instructions": INSTRUCTIONS,
            }
        case "ping" | "logging/setLevel":
            return {}
    raise ProtocolError(_METHOD_NOT_FOUND, f"Method not found: {method}")


def _call_tool(params: dict[str, Any], call: tool.Call) -> dict[str, Any]:
    try:
        called = tool.find_tool(params.get("name"))
    except ToolUnknown as error:
        name = _text(params.get("name"))
        raise ProtocolError(_INVALID_PARAMS, f"Unknown tool: {name}") from error
    outcome = tool.run(called, arguments=params.get("arguments", {}), call=call)
    # Models read the structured form in some clients and the text in others: both say the same.
    return {
        "content": [{"type": "text", "text": outcome.text}],
        "structuredContent": outcome.content,
        "isError": outcome.error is not None,
    }


def _read_resource(params: dict[str, Any], call: tool.Call, *, is_modern: bool) -> dict[str, Any]:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(_INVALID_PARAMS, "uri must be a text.", {"uri": ""})
    try:
        return readings.read(call, uri)
    except readings.ResourceRefused as error:
        if error.report.code != "not_found":
            raise ProtocolError(
                _INVALID_PARAMS, error.report.message, {"uri": _text(uri), **error.report.body}
            ) from error
        code = _INVALID_PARAMS if is_modern else _RESOURCE_NOT_FOUND
        raise ProtocolError(code, "Resource not found", {"uri": _text(uri)}) from error


def _get_prompt(params: dict[str, Any]) -> dict[str, Any]:
    name = params.get("name")
    try:
        return prompts.get(name, params.get("arguments"))
    except prompts.PromptUnknown as error:
        raise ProtocolError(_INVALID_PARAMS, "Prompt not found", {"name": _text(name)}) from error
    except prompts.PromptArgumentsInvalid as error:
        raise ProtocolError(_INVALID_PARAMS, str(error), {"name": _text(name)}) from error


def _status(code: int, *, is_modern: bool) -> int:
    if not is_modern:
        return 200
    return 404 if code == _METHOD_NOT_FOUND else 400


def _failure(message_id: object, error: ProtocolError, *, status: int) -> HttpResponse:
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        detail["data"] = error.data
    return _json({"jsonrpc": "2.0", "id": message_id, "error": detail}, status=status)


def _json(payload: dict[str, Any], *, status: int = 200) -> HttpResponse:
    # An id may be half of a surrogate pair, which has no UTF-8.
    content = tool.dumps(payload).encode(errors="replace")
    return HttpResponse(content, content_type="application/json", status=status)


def _text(value: object) -> str:
    """Return what a client sent as a name, short enough to be shown to it again."""
    return value[:500] if isinstance(value, str) else ""
