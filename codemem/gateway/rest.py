"""The tools over REST, and who-am-I: django-ninja's part of the API, for machines that act."""

from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import NinjaAPI, Router, Schema
from ninja.errors import ValidationError
from ninja.openapi.schema import OpenAPISchema

from codemem import metrics
from codemem.accounts import queries as accounts
from codemem.accounts.values import Caller
from codemem.gateway import body, tool
from codemem.gateway.address import address_of
from codemem.gateway.agents import agent_of
from codemem.gateway.auth import authenticate
from codemem.gateway.departure import is_abandoned
from codemem.gateway.errors import ArgumentsInvalid, response, translate
from graph import queries as graph

api = NinjaAPI(title="codemem", version="1", urls_namespace="rest", docs_url=None, openapi_url=None)


class TokenView(Schema):
    name: str
    kind: str
    scopes: list[str]
    expires_at: datetime | None


class NamespaceView(Schema):
    name: str
    role: str
    repositories: list[str]


class MeView(Schema):
    """Who the token speaks for and where it may go."""

    user: str
    token: TokenView | None
    namespaces: list[NamespaceView]


class ErrorDetail(Schema):
    code: str
    message: str
    hint: str | None = None


class ErrorView(Schema):
    error: ErrorDetail


def bearer(request: HttpRequest) -> Caller:
    """Let ninja ask our one `authenticate`."""
    return authenticate(request)


@api.exception_handler(Exception)
def answer_error(_request: HttpRequest, error: Exception) -> HttpResponse:
    """Give every anticipated error the shape that MCP gives it."""
    report = translate(error)
    if report is None:
        raise error
    if report.status in {401, 413}:
        metrics.REFUSED.labels(report.code).inc()
    return response(report)


@api.exception_handler(ValidationError)
def answer_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Say what is wrong with the address or its query in a sentence, as everywhere."""
    parts = [
        f"{str(problem['loc'][-1])[:50]}: {str(problem['msg'])[:200]}" for problem in error.errors
    ]
    return answer_error(request, ArgumentsInvalid(f"{'; '.join(parts[:10])}."))


@api.get("/me", auth=bearer, response=MeView, tags=["account"], summary="Who am I")
def me(request: HttpRequest) -> MeView:
    """Return the caller's user, token, namespaces with role, and the repositories in them."""
    caller: Caller = request.auth  # type: ignore[attr-defined]
    token = accounts.get_token(token_id=caller.token_id) if caller.token_id else None
    namespaces = list(accounts.member_namespaces(caller=caller))
    names: dict[Any, list[str]] = {row.pk: [] for row in namespaces}
    for repository in graph.list_repositories(namespace_ids=tuple(names)):
        names[repository.namespace_id].append(repository.name)
    return MeView(
        user=caller.username,
        token=TokenView(
            name=token.name, kind=token.kind, scopes=token.scopes, expires_at=token.expires_at
        )
        if token
        else None,
        namespaces=[
            NamespaceView(
                name=row.name,
                role=caller.roles[row.pk].title,
                repositories=sorted(names[row.pk]),
            )
            for row in namespaces
        ],
    )


def call_of(request: HttpRequest) -> tool.Call:
    """Return the call of an authenticated ninja request."""
    return tool.Call(
        caller=request.auth,  # type: ignore[attr-defined]
        address=address_of(request),
        now=timezone.now(),
        is_abandoned=partial(is_abandoned, request),
        agent=agent_of(request),
    )


def tools_router() -> Router:
    """Publish every registered tool as POST /tools/<name> with its own schema."""
    router = Router(tags=["tools"], auth=bearer)
    for item in tool.registry().values():
        router.add_api_operation(
            f"/{item.name}",
            ["POST"],
            _view_of(item.name),
            response={200: item.result, 400: ErrorView, 404: ErrorView, 422: ErrorView},
            operation_id=item.name,
            summary=item.name,
            description=item.description,
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": item.input_schema}},
                }
            },
        )
    router.add_api_operation(
        "/{name}", ["POST"], _run_named, include_in_schema=False, response={404: ErrorView}
    )
    return router


def openapi() -> OpenAPISchema:
    return api.get_openapi_schema(path_prefix="/api/v1/")


def _view_of(name: str) -> Any:
    def view(request: HttpRequest) -> HttpResponse:
        return _run(request, name)

    view.__name__ = name
    return view


def _run_named(request: HttpRequest, name: str) -> HttpResponse:
    return _run(request, name)


def _run(request: HttpRequest, name: str) -> HttpResponse:
    called = tool.find_tool(name)
    arguments = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    outcome = tool.run(called, arguments=arguments, call=call_of(request))
    return HttpResponse(
        outcome.text,
        content_type="application/json",
        status=outcome.error.status if outcome.error else 200,
    )
