"""One OpenAPI 3.1 document for both halves of the API: django-ninja's and DRF's."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator

from codemem.gateway import rest

_METHODS = frozenset({"get", "post", "put", "patch", "delete"})
_ERROR = {
    "description": "What was wrong, as a code, a sentence, and sometimes a hint.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorView"}}},
}


class DocumentsCollide(Exception):
    """Both halves claim a path, or give one component name two meanings."""


def document(_request: HttpRequest) -> JsonResponse:
    """Answer /api/openapi.json; open to all, because it tells nothing of anybody."""
    return JsonResponse(merged())


def viewer(request: HttpRequest) -> HttpResponse:
    """Answer /api/docs: the document as a plain page, without scripts."""
    operations = [
        {
            "path": path,
            "method": method.upper(),
            "text": operation.get("description") or operation.get("summary", ""),
            "body": json.dumps(operation["requestBody"], indent=2)
            if "requestBody" in operation
            else "",
        }
        for path, method, operation in _operations(merged())
    ]
    return render(request, "gateway/openapi.html", {"operations": operations})


@cache
def merged() -> dict[str, Any]:
    """Return the merged document; raise DocumentsCollide. Cached: routes do not change."""
    machines = _plain(rest.openapi())
    resources = _plain(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
    _lift_definitions(machines)
    components = resources.get("components", {})
    whole = {
        **resources,
        "paths": _union("path", resources["paths"], machines["paths"]),
        "components": {
            **components,
            "schemas": _union(
                "component", components["schemas"], machines["components"]["schemas"]
            ),
        },
        "security": [{"bearer": []}],
    }
    for _, _, operation in _operations(whole):
        operation["responses"].setdefault("default", _ERROR)
    return whole


def _operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in openapi["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield path, method, operation


def _lift_definitions(openapi: dict[str, Any]) -> None:
    """Make a component of each tool's arguments.

    Their schema refers to its own `$defs`, which mean nothing inside a larger document.
    """
    schemas = openapi["components"]["schemas"]
    for _, _, operation in _operations(openapi):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        schema = content.get("schema", {})
        if "properties" not in schema:
            continue
        name = f"{operation['operationId']}_arguments"
        text = json.dumps(schema).replace('"#/$defs/', f'"#/components/schemas/{name}.')
        arguments = json.loads(text)
        for part, definition in arguments.pop("$defs", {}).items():
            schemas[f"{name}.{part}"] = definition
        schemas[name] = arguments
        content["schema"] = {"$ref": f"#/components/schemas/{name}"}


def _union(what: str, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    twice = sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
    if twice:
        raise DocumentsCollide(f"Declared twice, differently: {what} {', '.join(twice)}.")
    return {**one, **other}


def _plain(openapi: Any) -> dict[str, Any]:
    # Both generators leave lazy texts and enums in theirs.
    plain: dict[str, Any] = json.loads(json.dumps(openapi, default=str))
    return plain
