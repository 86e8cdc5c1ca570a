"""One OpenAPI 3.1 document for both halves of the API: django-ninja's and DRF's."""

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator

from codemem.gateway import rest


class DocumentsCollide(Exception):
    """Both halves claim a path, or give one component name two meanings."""


def document(_request: HttpRequest) -> JsonResponse:
    return JsonResponse(merged())


def viewer(request: HttpRequest) -> HttpResponse:
    """Answer /api/docs: the document as a plain page, without scripts."""
    paths = [
        {"path": path, "method": method.upper(), **operation}
        for path, item in merged()["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    ]
    for operation in paths:
        operation["body"] = json.dumps(operation.get("requestBody", {}), indent=2)
    return render(request, "gateway/openapi.html", {"operations": paths})


@cache
def merged() -> dict[str, Any]:
    """Return the merged document; raise DocumentsCollide. Cached: routes do not change."""
    machine = json.loads(json.dumps(rest.openapi(), default=str))
    resources = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    whole = json.loads(json.dumps(resources, default=str))
    whole["paths"] = _union(whole["paths"], machine["paths"], what="path")
    components = whole.setdefault("components", {})
    components["schemas"] = _union(
        components.get("schemas", {}),
        machine.get("components", {}).get("schemas", {}),
        what="component",
    )
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "cm_..."}
    }
    whole["security"] = [{"bearer": []}]
    return whole


def _union(one: dict[str, Any], other: dict[str, Any], *, what: str) -> dict[str, Any]:
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            raise DocumentsCollide(f"The {what} {name} is declared twice.")
    return {**one, **other}
